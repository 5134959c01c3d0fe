/* A rule looks at the instruction, or at the line of the source, that wastes most of something, and
 * at how much all of them waste. Its bounds leave out what costs little beside the rest of the
 * kernel. */
#include "harness/lab/kernel/kernel_output.h"

#include "harness/lab/kernel/kernel_bound.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bounds, of shares unless said otherwise. */
#define WASTE_LEAST     0.25 /* of sectors, of passes, of lanes */
#define SCATTERED_LEAST 0.5  /* of the worst instruction: every other word */
#define SHIFTED_LEAST   0.10 /* of sectors: a fifth one for each four is the most that can be */
#define ACCESSES_LEAST  0.05 /* of the instructions, if accesses are at fault */
#define REUSE_LEAST     5    /* fetches of a sector by a block; neighbours in 2 dimensions need 4 */
#define OCCUPANCY_LEAST 0.5
#define FILLED_LEAST    0.75
#define COMBINED_LEAST  4   /* atomic operations of a block on one address */
#define ALONE_LEAST     0.2 /* of the instructions */
#define BARRIERS_NEEDED 0.1
#define WAITS_LEAST     8 /* of a warp, one after the other */
#define IN_FLIGHT_LEAST 2 /* loads of a warp */
#define SCALARS_LEAST   4 /* requests of a warp that could be one */
#define LOCAL_LEAST     0.02
#define SHARED_REUSE    16 /* loads of a value in shared memory: a tile of 16 x 16 has so many */
#define SHARED_LEAST    4  /* times as long as arithmetic: two operands from it for each product */
#define LOAD_CLOCKS                                                                                \
    500 /* of a load from memory: Luo et al., "Benchmarking and Dissecting the                     \
           Nvidia Hopper GPU Architecture", 2024 */

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static double instructions(const struct kernel_facts *facts)
{
    return (double)facts->outcome->counts.instructions;
}

static double warps(const struct kernel_facts *facts)
{
    return (double)facts->outcome->counts.warps;
}

static unsigned threads(const struct kernel_facts *facts)
{
    return facts->run->threads[0] * facts->run->threads[1] * facts->run->threads[2];
}

static double touched_globally(const struct kernel_facts *facts)
{
    return (double)simt_accesses_sum(facts->outcome->counts.global).touched;
}

static double per_request(const struct simt_sample *sample, uint64_t count)
{
    return share((double)count, (double)sample->counts.requests);
}

static void say(struct kernel_finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(struct kernel_finding *finding, const char *format, ...)
{
    size_t length = strlen(finding->text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(finding->text + length, sizeof finding->text - length, format, arguments);
    va_end(arguments);
}

/* The waste of an instruction, as a rule sees it. */
typedef double waste_of(const struct simt_sample *sample);

static double wasted(const struct kernel_facts *facts, waste_of *waste)
{
    double all = 0;

    for (int i = 0; i < facts->outcome->sample_count; i++)
        all += waste(&facts->outcome->samples[i]);
    return all;
}

/* The instruction that wastes most, at whose line the finding then is; NULL: none wastes any. */
static const struct simt_sample *worst(const struct kernel_facts *facts, waste_of *waste,
                                       struct kernel_finding *finding)
{
    const struct simt_sample *found = NULL;

    for (int i = 0; i < facts->outcome->sample_count; i++) {
        const struct simt_sample *sample = &facts->outcome->samples[i];
        if (waste(sample) > (found != NULL ? waste(found) : 0))
            found = sample;
    }
    if (found != NULL) {
        finding->file = found->file;
        finding->line = found->line;
    }
    return found;
}

/* The same for lines of the source: the finding is at the line that wastes most, and what all of
 * them waste is returned. For what no single instruction is to blame for, such as waits and idle
 * lanes. */
typedef double waste_of_line(const struct simt_line *line);

static double at_worst_line(const struct kernel_facts *facts, waste_of_line *waste,
                            struct kernel_finding *finding)
{
    double most = 0, all = 0;

    for (int i = 0; i < facts->outcome->line_count; i++) {
        const struct simt_line *line = &facts->outcome->lines[i];
        double own = waste(line);
        all += own;
        if (own > most) {
            most = own;
            finding->file = line->file;
            finding->line = line->line;
        }
    }
    return all;
}

/* --- Global memory --- */

/* 16-bit rows that do not begin at multiples of 16 bytes are tensor_core_shapes. */
static bool is_half_row(const struct simt_sample *sample)
{
    return !sample->shared && sample->access == SIMT_LOADS && sample->bytes == 2 &&
           sample->counts.shifted > 0;
}

/* Sectors that are neither filled by the bytes, nor due to where rows begin, nor between lanes that
 * take no part: lanes are far from each other. */
static double scattered(const struct simt_sample *sample)
{
    const struct simt_accesses *of = &sample->counts;

    return sample->shared ? 0 : (double)(of->touched - of->wanted - of->shifted - of->holes);
}

static bool uncoalesced(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct simt_sample *sample = worst(facts, scattered, finding);

    finding->share = share(wasted(facts, scattered), touched_globally(facts));
    if (sample == NULL || finding->share < WASTE_LEAST ||
        scattered(sample) < SCATTERED_LEAST * (double)sample->counts.touched)
        return false;
    say(finding,
        "line %d touches %.3g sectors per request where %.3g would do; of all sectors, %.0f%% are "
        "in excess",
        sample->line, per_request(sample, sample->counts.touched),
        per_request(sample, sample->counts.wanted), 100 * finding->share);
    return true;
}

/* Sectors that are touched because rows begin inside one. */
static double shifted(const struct simt_sample *sample)
{
    return sample->shared || is_half_row(sample) ? 0 : (double)sample->counts.shifted;
}

static bool misaligned(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct simt_sample *sample = worst(facts, shifted, finding);

    finding->share = share(wasted(facts, shifted), touched_globally(facts));
    if (sample == NULL || finding->share < SHIFTED_LEAST)
        return false;
    say(finding,
        "line %d touches %.3g sectors per request where %.3g would do if its rows began at a "
        "multiple of 32 bytes",
        sample->line, per_request(sample, sample->counts.touched),
        per_request(sample, sample->counts.touched - sample->counts.shifted));
    return true;
}

static double half_rows(const struct simt_sample *sample)
{
    return is_half_row(sample) ? (double)sample->counts.bytes : 0;
}

static double share_of_half_rows(const struct kernel_facts *facts)
{
    return share(wasted(facts, half_rows), (double)facts->outcome->counts.global[SIMT_LOADS].bytes);
}

static bool tensor_core_shapes(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct simt_sample *sample = worst(facts, half_rows, finding);

    finding->share = share_of_half_rows(facts);
    if (sample == NULL || finding->share < WASTE_LEAST)
        return false;
    say(finding,
        "line %d loads 2 bytes a lane, from rows that do not begin at multiples of 16 bytes: "
        "tensor cores and loads of 16 bytes are out of reach",
        sample->line);
    return true;
}

/* Accesses of up to 4 bytes per lane, next to each other, and where a wider access could begin. */
static double scalar_bytes(const struct simt_sample *sample)
{
    const struct simt_accesses *of = &sample->counts;
    bool dense = 32 * of->wanted <= of->bytes + 31 * of->requests && of->bytes <= 32 * of->wanted;

    if (sample->shared || sample->access == SIMT_ATOMICS || sample->bytes > 4 || !dense ||
        of->touched != of->wanted)
        return 0;
    return (double)of->bytes;
}

static double scalar_loads(const struct simt_sample *sample)
{
    return sample->access == SIMT_LOADS && scalar_bytes(sample) > 0
               ? (double)sample->counts.requests
               : 0;
}

static double scalar_stores(const struct simt_sample *sample)
{
    return sample->access == SIMT_STORES && scalar_bytes(sample) > 0
               ? (double)sample->counts.requests
               : 0;
}

static bool scalar(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    double loads = wasted(facts, scalar_loads), stores = wasted(facts, scalar_stores);
    double global_bytes = (double)simt_accesses_sum(facts->outcome->counts.global).bytes;
    const struct simt_sample *sample = worst(facts, scalar_bytes, finding);

    finding->share = share(loads + stores, instructions(facts));
    if (sample == NULL || wasted(facts, scalar_bytes) < 0.5 * global_bytes ||
        finding->share < ACCESSES_LEAST ||
        (loads > stores ? loads : stores) < SCALARS_LEAST * warps(facts))
        return false;
    /* Operands of rows that begin anywhere are read 2 bytes at a time, as the rows are. */
    if (sample->bytes == 2 && share_of_half_rows(facts) >= WASTE_LEAST)
        return false;
    say(finding,
        "line %d %ss %u bytes a lane, in %.3g requests of each warp that could be a quarter as "
        "many of 16 bytes",
        sample->line, sample->access == SIMT_LOADS ? "load" : "store", sample->bytes,
        share(loads + stores, warps(facts)));
    return true;
}

/* Only sectors that requests want count: lanes that are scattered fetch a sector in parts, which is
 * another finding. */
static double fetched_again(const struct simt_sample *sample)
{
    const struct simt_accesses *of = &sample->counts;

    if (sample->shared || sample->access != SIMT_LOADS || of->wanted < of->fresh)
        return 0;
    return (double)(of->wanted - of->fresh);
}

/* A sector may be fetched by each of a few neighbours. A tile in shared memory, or values in
 * registers, would fetch it once for the block. */
static bool no_reuse(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct simt_sample *sample = worst(facts, fetched_again, finding);
    const struct simt_accesses *loads = &facts->outcome->counts.global[SIMT_LOADS];
    double times = share((double)loads->wanted, (double)loads->fresh);

    finding->share = share(wasted(facts, fetched_again), (double)loads->wanted);
    if (sample == NULL || times < REUSE_LEAST ||
        share((double)loads->requests, instructions(facts)) < ACCESSES_LEAST)
        return false;
    say(finding, "blocks load each sector %.3g times from global memory, most of them at line %d",
        times, sample->line);
    return true;
}

static double waits_of(const struct simt_line *line)
{
    return (double)line->counts.waits;
}

/* Loads that do not depend on each other share a wait. */
static bool few_loads(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct simt_accesses *loads = &facts->outcome->counts.global[SIMT_LOADS];
    double waits = (double)facts->outcome->counts.waits, of_a_warp = share(waits, warps(facts)),
           ahead = share((double)loads->requests, waits);

    finding->share = share((double)loads->requests, instructions(facts));
    if (of_a_warp < WAITS_LEAST || ahead >= IN_FLIGHT_LEAST || finding->share < ACCESSES_LEAST)
        return false;
    at_worst_line(facts, waits_of, finding);
    say(finding,
        "line %d: a warp waits %.3g times, one after the other, each time for %.3g loads: %.0f "
        "bytes in flight",
        finding->line, of_a_warp, ahead, share((double)loads->bytes, waits));
    return true;
}

/* --- Shared memory --- */

/* Atomic operations are left out: the banks that they meet in depend on the data. */
static double conflicts(const struct simt_sample *sample)
{
    if (!sample->shared || sample->access == SIMT_ATOMICS)
        return 0;
    return (double)(sample->counts.touched - sample->counts.wanted);
}

/* Passes over those that the accesses would take without conflicts. */
static bool bank_conflicts(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct simt_sample *sample = worst(facts, conflicts, finding);
    double all = wasted(facts, conflicts);

    finding->share = share(all, (double)simt_accesses_sum(facts->outcome->counts.shared).touched);
    if (sample == NULL || finding->share < WASTE_LEAST ||
        all < ACCESSES_LEAST * instructions(facts))
        return false;
    say(finding, "line %d takes %.3g passes of shared memory per request where %.3g would do",
        sample->line, per_request(sample, sample->counts.touched),
        per_request(sample, sample->counts.wanted));
    return true;
}

static double loaded_passes(const struct simt_sample *sample)
{
    return sample->shared && sample->access == SIMT_LOADS ? (double)sample->counts.touched : 0;
}

/* Products whose operands all come from shared memory wait for it, not for arithmetic. */
static bool no_reuse_in_registers(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct simt_accesses *loads = &facts->outcome->counts.shared[SIMT_LOADS];
    struct kernel_bound bound = kernel_bound_of(facts);
    const struct simt_sample *sample = worst(facts, loaded_passes, finding);
    double arithmetic = bound.ns[BOUND_FP32] + bound.ns[BOUND_FP16] + bound.ns[BOUND_FP64] +
                        bound.ns[BOUND_TENSOR],
           times = share((double)loads->bytes,
                         (double)facts->outcome->counts.shared[SIMT_STORES].bytes);

    finding->share = 1 - share(arithmetic, bound.ns[BOUND_SHARED]);
    if (sample == NULL || bound.by != BOUND_SHARED || times < SHARED_REUSE || arithmetic <= 0 ||
        bound.ns[BOUND_SHARED] < SHARED_LEAST * arithmetic ||
        (double)(loads->touched - loads->wanted) > WASTE_LEAST * (double)loads->touched)
        return false;
    say(finding,
        "shared memory bounds the time, at %.3g times that of the arithmetic: each value there is "
        "loaded %.3g times, most of them at line %d",
        bound.ns[BOUND_SHARED] / arithmetic, times, sample->line);
    return true;
}

/* Passes of a barrier that orders nothing in most of them. */
static double needless(const struct simt_line *line)
{
    if ((double)line->counts.needed >= BARRIERS_NEEDED * (double)line->counts.passed)
        return 0;
    return (double)(line->counts.passed - line->counts.needed);
}

/* A block of one warp has no other warp to wait for: there the rule has nothing to say. */
static bool redundant_barriers(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    if (threads(facts) <= 32)
        return false;
    finding->share =
        share(at_worst_line(facts, needless, finding), (double)facts->outcome->counts.passed);
    if (finding->share <= 0)
        return false;
    say(finding,
        "the barrier of line %d orders no accesses of different warps: %.0f%% of the passed "
        "barriers of this launch could be left out, or be __syncwarp()",
        finding->line, 100 * finding->share);
    return true;
}

/* --- Lanes --- */

/* Lanes that do nothing in instructions of more than one lane; what one lane does is `serial`. */
static double idle_lanes(const struct simt_counts *counts)
{
    return 32 * (double)(counts->instructions - counts->alone) -
           (double)(counts->lanes - counts->alone);
}

static double idle_lanes_of_line(const struct simt_line *line)
{
    return idle_lanes(&line->counts);
}

/* Blocks that are no whole warps have idle lanes for another reason. */
static bool divergent(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct simt_counts *counts = &facts->outcome->counts;

    finding->share = share(idle_lanes(counts), 32 * instructions(facts));
    if (counts->diverged == 0 || finding->share < WASTE_LEAST || threads(facts) % 32 != 0)
        return false;
    at_worst_line(facts, idle_lanes_of_line, finding);
    say(finding,
        "%.0f%% of the branches part the lanes of a warp: %.3g lanes of 32 are active on average; "
        "line %d has most idle ones",
        100 * share((double)counts->diverged, (double)counts->branches),
        share((double)(counts->lanes - counts->alone),
              (double)(counts->instructions - counts->alone)),
        finding->line);
    return true;
}

static double done_alone(const struct simt_line *line)
{
    return (double)line->counts.alone;
}

/* Instructions with one lane, whatever the reason. */
static bool serial(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    finding->share = share((double)facts->outcome->counts.alone, instructions(facts));
    if (finding->share < ALONE_LEAST)
        return false;
    at_worst_line(facts, done_alone, finding);
    say(finding,
        "one lane of a warp does %.0f%% of the instructions, most of them at line %d, while 31 "
        "wait",
        100 * finding->share, finding->line);
    return true;
}

/* --- Atomic operations --- */

static double contended_lanes(const struct simt_sample *sample)
{
    return sample->access == SIMT_ATOMICS ? (double)sample->counts.conflicts : 0;
}

static double atomic_lanes(const struct simt_sample *sample)
{
    return sample->access == SIMT_ATOMICS ? (double)sample->counts.lanes : 0;
}

/* Atomic operations that each block does on each address, on average. The machine knows which words
 * they changed, but not how many blocks changed a word, so every block is taken to change all. */
static double atomics_of_a_block(const struct kernel_facts *facts)
{
    uint64_t words = 0;

    for (int i = 0; i < facts->outcome->array_count; i++)
        words += facts->outcome->arrays[i].footprint.atomic_words;
    return share((double)facts->outcome->counts.global[SIMT_ATOMICS].lanes,
                 (double)words * (double)kernel_run_blocks(facts->run));
}

/* Two ways to be too many: lanes of a request at one address, or a block that changes an address
 * again and again, which it could do once after adding up. */
static bool contended(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct simt_sample *sample = worst(facts, atomic_lanes, finding);
    double lanes = wasted(facts, atomic_lanes), each = atomics_of_a_block(facts),
           conflicting = share(wasted(facts, contended_lanes), lanes);

    finding->share = conflicting;
    /* Fewer than one lane in a hundred costs little beside the rest, however it waits. */
    if (sample == NULL || share(lanes, 32 * instructions(facts)) < 0.01 ||
        (conflicting < 0.5 && each < COMBINED_LEAST))
        return false;
    say(finding, "line %d: %.0f%% of the lanes of a request meet another one at their address",
        sample->line, 100 * conflicting);
    if (each < COMBINED_LEAST)
        return true;
    if (1 - 1 / each > finding->share)
        finding->share = 1 - 1 / each;
    say(finding, "; a block changes an address in global memory %.3g times", each);
    return true;
}

/* --- Registers, residency --- */

static double local_requests(const struct simt_line *line)
{
    return (double)simt_accesses_sum(line->counts.local).requests;
}

/* Arrays that are indexed at run time are local memory in the PTX; spills are ptxas' own. */
static bool spills(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    int spilled_bytes = facts->needs.spilled_bytes;

    finding->share = share(at_worst_line(facts, local_requests, finding), instructions(facts));
    if (finding->share < LOCAL_LEAST && spilled_bytes == 0)
        return false;
    if (finding->file != NULL)
        say(finding,
            "line %d uses local memory, %d bytes of each thread: %.0f%% of the instructions",
            finding->line, facts->outcome->shape.local_bytes, 100 * finding->share);
    if (spilled_bytes > 0)
        say(finding, "%sptxas spills %d bytes of each thread", finding->file != NULL ? "; " : "",
            spilled_bytes);
    return true;
}

/* Few warps may be the price of large tiles. They are enough if what they have to do between two
 * waits for memory, in each of the four parts of a multiprocessor, takes as long as a load. */
static bool low_occupancy(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct residency *residency = &facts->residency;
    double occupied = share(residency->warps, residency->most_warps),
           waits = (double)facts->outcome->counts.waits;

    finding->share = 1 - occupied;
    if (residency->warps == 0 || occupied >= OCCUPANCY_LEAST ||
        instructions(facts) * residency->warps / 4 >= LOAD_CLOCKS * waits)
        return false;
    say(finding, "%d of %d warps fit on a multiprocessor of sm_%d: %s allows %d blocks",
        residency->warps, residency->most_warps, facts->architecture->number,
        residency_limit_text(residency->limit), residency->blocks);
    return true;
}

/* Waves of blocks take as long whatever they hold, if all blocks take the same time. */
static bool tail(const struct kernel_facts *facts, struct kernel_finding *finding)
{
    const struct residency *residency = &facts->residency;

    if (residency->warps == 0 || residency->waves < 2 ||
        residency_filled(residency) >= FILLED_LEAST)
        return false;
    finding->share = 1 - residency_filled(residency);
    say(finding,
        "%lld waves of %lld blocks, and the last one has %lld: %.0f%% of the time of the waves is "
        "empty on sm_%d",
        (long long)residency->waves, (long long)residency->wave, (long long)residency->last,
        100 * finding->share, facts->architecture->number);
    return true;
}

/* --- All --- */

static const struct kernel_rule rules[] = {
    { "uncoalesced_access", "lanes of a request are far from each other",
      "let neighbouring lanes access neighbouring elements; pass through shared memory if they "
      "cannot",
      uncoalesced },
    { "scalar_access", "4 bytes a lane where 16 would do",
      "load and store float4, or the like: a quarter of the requests", scalar },
    { "misaligned_rows", "rows do not begin where sectors do",
      "pad rows to a multiple of 32 bytes: cudaMallocPitch(), or a leading dimension of your own",
      misaligned },
    { "bank_conflicts", "lanes of a request meet in banks of shared memory",
      "pad rows of the tile by a word, or permute its columns", bank_conflicts },
    { "divergent_branches", "lanes of a warp go different ways",
      "let whole warps decide alike: order the work by kind, or give each thread both kinds",
      divergent },
    { "serial_reduction", "one thread works for its block",
      "reduce by exchanges between lanes, then between warps", serial },
    { "contended_atomics", "atomic operations meet at one address",
      "combine within the warp, then within the block, and change global memory once per block",
      contended },
    { "no_reuse", "a block fetches the same sectors again and again",
      "fetch a tile into shared memory or registers once, and use it from there", no_reuse },
    { "no_reuse", "a value in shared memory is loaded again for each product",
      "let a thread compute a tile of results, so that what it loads once serves several",
      no_reuse_in_registers },
    { "register_spills", "threads keep values in local memory",
      "index arrays by constants only (unroll), or give threads fewer values at a time", spills },
    { "low_occupancy", "few warps fit on a multiprocessor",
      "use less of what limits the blocks: shared memory, registers, or too large a block",
      low_occupancy },
    { "few_loads_in_flight", "a warp waits for each load before it asks for the next",
      "ask for several before the first is used: unroll, or load ahead", few_loads },
    { "tail_effect", "the grid is slightly larger than what the GPU holds",
      "choose more and smaller blocks, or as many as fit and a loop in each", tail },
    { "tensor_core_shapes", "16-bit rows whose length is no multiple of 8",
      "pad rows to a multiple of 8 elements", tensor_core_shapes },
    { "redundant_barriers", "barriers of the block that order nothing",
      "leave it out, or use __syncwarp() if a warp exchanges with itself", redundant_barriers },
};

/* The largest share comes first. Sorted as they come; there are few. A kernel that the machine
 * found wrong was not executed to its end, so its counts would mislead. */
int kernel_findings(const struct kernel_facts *facts,
                    struct kernel_finding findings[KERNEL_FINDINGS_MOST])
{
    int count = 0;

    if (facts->outcome->finding.kind != SIMT_NONE)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        struct kernel_finding finding = { .rule = &rules[i] };
        int at = count;
        if (!rules[i].finds(facts, &finding))
            continue;
        for (; at > 0 && findings[at - 1].share < finding.share; at--)
            findings[at] = findings[at - 1];
        findings[at] = finding;
        count++;
    }
    return count;
}
