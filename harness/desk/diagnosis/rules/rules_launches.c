/* Findings of launching: what the host spends to give the device its work, and what it does for
 * that only once. */
#include "harness/desk/diagnosis/rules/host_facts.h"

#include "harness/base/words/text.h"
#include "harness/desk/analysis/names/event_names.h"

#include <math.h>
#include <stdio.h>

/* --- Work that is done once --- */

/* Steps include what happens before their first work; without steps, the window begins with that
 * work. */
static double idle_for_first_uses(const struct facts *facts)
{
    const struct summary *summary = facts->summary;
    int64_t start_ns =
        facts->has_steps ? summary->steps.items[0].event->start_ns : summary->idle.start_ns;

    return (double)intervals_within_ns(&facts->summary->first_uses.idle, start_ns,
                                       summary->idle.end_ns);
}

/* Adds "3 graphs are captured" to a list; nothing for none of them. */
static void list(char *text, size_t size, int64_t count, const char *one, const char *many)
{
    if (count > 0)
        text_join(text, size, ", ", "%lld %s", (long long)count, count == 1 ? one : many);
}

static bool judge_initialisation(struct finding *finding, const struct facts *facts)
{
    const struct trace_file *trace = facts->summary->trace;
    const struct first_uses *uses = &facts->summary->first_uses;
    char what[200] = "";

    if (uses->times.count == 0)
        return false;
    list(what, sizeof what, uses->launches,
         "kernel is launched for the first time in a call of over 1 ms",
         "kernels are launched for the first time in a call of over 1 ms");
    if (uses->compiling_steps == 0)
        list(what, sizeof what, uses->compilations, "compilation", "compilations");
    list(what, sizeof what, uses->captures, "capture of a graph", "captures of graphs");
    list(what, sizeof what, uses->instantiated, "instantiation", "instantiations");
    list(what, sizeof what, uses->loads, "module loaded", "modules loaded");
    finding_says(
        finding,
        "%s; meanwhile, and in the operators around such calls, the device is idle for %s of %s",
        what, quantity_time(idle_for_first_uses(facts)).text,
        facts->has_steps ? "the steps" : "the trace");
    if (uses->longest != NULL)
        finding_says(finding, "; the longest takes %s: %.60s%s%.80s",
                     quantity_time((double)(uses->longest->end_ns - uses->longest->start_ns)).text,
                     trace_file_name(trace, uses->longest->name),
                     uses->kernel != NULL ? " for " : "",
                     uses->kernel != NULL ? trace_file_name(trace, uses->kernel->name) : "");
    if (facts->has_steps)
        finding->once_in_steps = llround(facts->steps);
    return finding_costs(finding, facts, idle_for_first_uses(facts) / facts->steps);
}

static void capture_once(const void *context, const struct trace_graph *graph, int64_t at,
                         struct graph_node *node)
{
    (void)context;
    (void)graph;
    (void)at;
    graph_node_shorten(node, HOST_CAPTURING);
}

static bool judge_graph_recapture(struct finding *finding, const struct facts *facts)
{
    const struct captures *captures = &facts->summary->captures;
    double idle = (double)intervals_within_ns(&captures->idle, facts->summary->idle.start_ns,
                                              facts->summary->idle.end_ns) /
                  facts->steps;

    if (!captures->again)
        return false;
    finding_says(
        finding,
        "%lld graphs are captured in %.0f steps; meanwhile the device is idle for %s of %s",
        (long long)captures->count, facts->steps, quantity_time(idle).text, step_text(facts).text);
    return finding_replays(finding, facts, idle);
}

static bool judge_recompilation(struct finding *finding, const struct facts *facts)
{
    const struct first_uses *uses = &facts->summary->first_uses;
    double idle = (double)intervals_within_ns(&uses->idle_again, facts->summary->idle.start_ns,
                                              facts->summary->idle.end_ns) /
                  facts->steps;

    if (uses->compiling_steps == 0)
        return false;
    finding_says(finding,
                 "code is compiled in %lld of %lld steps, %lld times; meanwhile the device is idle "
                 "for %s of %s",
                 (long long)uses->compiling_steps, (long long)facts->summary->steps.count,
                 (long long)uses->compilations, quantity_time(idle).text, step_text(facts).text);
    return finding_replays(finding, facts, idle);
}

/* --- Launching --- */

enum { LATE_CALLS_LEAST = 10 }; /* fewer show no pattern */

/* A call that takes a few microseconds and now and then ten times as long has lost its core
 * meanwhile: a trace has no row for that, and PyTorch's does not tell how many threads there are.
 * Where most calls are long, something else is the matter. */
static bool calls_are_late(const struct facts *facts)
{
    const struct launches *launches = &facts->summary->launches;

    return launches->late_call_count >= LATE_CALLS_LEAST &&
           launches->late_call_count * 4 <= launches->count;
}

/* Only the rule about late calls counts their time, of which the device's queue hides a part. */
static double late_calls_ns(const struct facts *facts)
{
    double idle = facts_host_ns(facts, HOST_LAUNCHING) + facts_host_ns(facts, HOST_OPERATOR) +
                  facts_host_ns(facts, HOST_OUTSIDE) + facts_host_ns(facts, HOST_WORKING);

    return calls_are_late(facts)
               ? fmin((double)facts->summary->launches.late_call_ns, idle * facts->steps)
               : 0;
}

static const enum host_kind launch_kinds[] = { HOST_OUTSIDE, HOST_OPERATOR, HOST_LAUNCHING };

/* Idle time in which the host launches, or prepares its next launch as it usually does (pauses.h),
 * whether or not it waited before, and without late calls. Queued work that began late counts too:
 * it waited for its launch to reach the device. */
static double lost_to_launches(const struct facts *facts)
{
    const struct idle_time *time = facts_idle(facts);
    double lost = (double)facts->summary->idle.late_ns;

    for (size_t i = 0; i < ARRAY_SIZE(launch_kinds); i++)
        lost += (double)idle_host_ns(time, launch_kinds[i]);
    return fmax(0, (lost - late_calls_ns(facts)) / facts->steps);
}

static int64_t next_call(const struct trace_graph *graph, int64_t at, int direction)
{
    do at += direction;
    while (at >= 0 && at < graph->count && !graph->nodes[at].is_call);
    return at < graph->count ? at : -1;
}

/* Whether the host computes on what it has waited for, and copies the result back: no graph takes
 * that over. */
static bool is_round_trip(const struct facts *facts, const struct trace_graph *graph, int64_t at)
{
    int64_t before = next_call(graph, at, -1), after = next_call(graph, at, 1);
    const struct graph_node *back = after >= 0 ? graph_work_of(graph, after) : NULL;
    int32_t awaited = before >= 0 ? graph->nodes[before].after : GRAPH_NONE;

    return back != NULL && awaited != GRAPH_NONE && facts_copies_to(facts, back, "HtoD") &&
           facts_copies_to(facts, &graph->nodes[awaited], "DtoH");
}

/* One call launches the step as a graph, whose kernels follow each other in half the time (late_ns
 * in idle.h). */
static void launch_as_graph(const void *context, const struct trace_graph *graph, int64_t at,
                            struct graph_node *node)
{
    if (node->stream != GRAPH_NONE)
        node->gap_ns = node->gap_ns < IDLE_DEVICE_WAIT_NS ? node->gap_ns / 2 : node->gap_ns;
    else if ((node->kind == HOST_OUTSIDE || node->kind == HOST_OPERATOR ||
              node->kind == HOST_LAUNCHING) &&
             (node->is_call || !is_round_trip(context, graph, at)))
        node->duration_ns = 0;
}

/* The share of launches whose kernel is shorter than the call that launches it. */
static double short_share(const struct facts *facts)
{
    const struct launches *launches = &facts->summary->launches;

    return launches->count > 0 ? (double)launches->short_count / (double)launches->count : 0;
}

/* If graphs launch most of the work, "capture the step" is no advice. */
static bool graphs_do_most(const struct facts *facts)
{
    const struct launches *launches = &facts->summary->launches;

    return launches->work_count >= 2 * launches->count;
}

static void launch_evidence(struct finding *finding, const struct facts *facts, const char *more)
{
    finding_says(
        finding,
        "%s%.0f launches %s, whose call takes %s (the median); %.0f%% of them launch a kernel "
        "that is "
        "shorter than the call; the device is idle for %s of %s while the host launches, or "
        "prepares "
        "that in operators and between them",
        more, facts->launches, facts_per(facts),
        quantity_time((double)facts->summary->launches.call_median_ns).text,
        100 * short_share(facts), quantity_time(lost_to_launches(facts)).text,
        quantity_time(facts->step_ns).text);
}

static bool judge_launch_bound(struct finding *finding, const struct facts *facts)
{
    double own_ns = lost_to_launches(facts);

    if (facts->launches < FACTS_LAUNCHES_LEAST || facts_waits_for_launches(facts))
        return false;
    launch_evidence(finding, facts, "");
    if (graphs_do_most(facts))
        finding->advice = "capture what is still launched outside of graphs, fuse it, or capture "
                          "larger graphs";
    else if (facts->program.is_rocm && !facts->program.serves && !facts->program.is_plain)
        finding->advice =
            "capture the step as a graph (HIP graphs, torch.compile), fuse kernels, or "
            "raise the batch";
    finding->behind = "data_loading"; /* a loop that loads its own data is not slow to launch */
    if (!finding_replays(finding, facts, own_ns))
        return false;
    /* In modelled loops that is so: with the time of launches alone, gains of 1.5x seem 1.15x. */
    if (finding->lost_ns_per_step > own_ns)
        finding_says(finding,
                     "; launched at once, the device is also busy for %s while the host does other "
                     "things, which it now waits for",
                     quantity_time(finding->lost_ns_per_step - own_ns).text);
    return true;
}

/* The recorder has counted how often the loop's thread was taken off its core, and how many cores
 * the program wants. */
static bool judge_too_many_threads(struct finding *finding, const struct facts *facts)
{
    const struct trace_cost *cost = &facts->summary->trace->cost;

    finding->title = "The program wants more cores than it has";
    finding->bottleneck = BOTTLENECK_UNCLEAR; /* the wait is in the times of all parts */
    finding->confidence = CONFIDENCE_MEDIUM;
    finding_says(finding,
                 "the loop's thread is taken off its core %.3g times per step (involuntary context "
                 "switches) and has none for %.0f%% of a step; all threads of the program and of "
                 "its loader want %.3g cores, of %.0f",
                 cost->involuntary_switches, 100 * cost->core_wait_share, cost->wanted_cores,
                 cost->cores);
    return finding_costs_from(finding, facts, cost->core_wait_share * facts->step_ns,
                              TRACE_CORE_WAIT_MOST);
}

static bool judge_oversubscribed_host(struct finding *finding, const struct facts *facts)
{
    const struct launches *launches = &facts->summary->launches;
    int cores = facts->device != NULL ? facts->device->host_cores : 0;
    char of_cores[64] = "";

    if (facts_are_oversubscribed(facts))
        return judge_too_many_threads(finding, facts);
    if (!calls_are_late(facts))
        return false;
    if (cores > 0)
        snprintf(of_cores, sizeof of_cores, "; the process may run on %d core%s", cores,
                 cores == 1 ? "" : "s");
    finding->confidence = facts_on_host_cores(facts) ? CONFIDENCE_LOW : CONFIDENCE_MEDIUM;
    finding_says(
        finding,
        "%lld of %lld launches took over %s in their call while the device had nothing else to "
        "do, %s longer than the others on average%s",
        (long long)launches->late_call_count, (long long)launches->count,
        quantity_time(LAUNCH_LONG_CALL_NS).text,
        quantity_time((double)launches->late_call_ns / (double)launches->late_call_count).text,
        of_cores);
    return finding_costs(finding, facts, late_calls_ns(facts) / facts->steps);
}

/* Kernels and copies per step that the optimizer launches. */
static double optimizer_work(const struct facts *facts)
{
    return facts->summary->phases.means[PHASE_OPTIMIZER].work_count;
}

static double optimizer_share(const struct facts *facts)
{
    return fmin(1, optimizer_work(facts) / fmax(1, facts->launches));
}

static bool is_of_each_pass(const struct facts *facts, const struct kernel_row *row)
{
    return row->kind == WORK_COMPUTATION && (double)row->count >= facts->passes * facts->steps;
}

/* The part of a kernel's time that one pass over the whole batch would save if the kernel gives
 * blocks to a share of the GPU's SMs only: the blocks of the other pieces run beside them, as many
 * as there are SMs. On an H200 steps of 64 pieces had kernels for 21.6 ms; this model leaves 1.4 ms
 * of them, and one pass over the batch took 0.54 ms, so it is a bound (small_batch in
 * results/nvidia-h200). 0 on a CPU, and where the grid is not known. */
static double shared_with_other_passes(const struct facts *facts, const struct kernel_row *row)
{
    if (!facts_on_gpu(facts) || !(row->blocks_per_sm < 1))
        return 0;
    return 1 - fmax(1 / facts->passes, row->blocks_per_sm);
}

/* The mean time of the shortest kernel of each pass, but no more than a call of the host: part of
 * it may be work. */
static double fixed_ns_of_kernels(const struct facts *facts)
{
    const struct kernels *kernels = &facts->summary->kernels;
    const struct launches *launches = &facts->summary->launches;
    double shortest = (double)launches->host_ns / fmax(1, (double)launches->count);

    for (int64_t i = 0; i < kernels->count; i++)
        if (is_of_each_pass(facts, &kernels->rows[i]))
            shortest =
                fmin(shortest, (double)kernels->rows[i].total_ns / (double)kernels->rows[i].count);
    return shortest;
}

/* The part of the matrix units that a product of a short type leaves empty, because one of its
 * sides, which the batch makes longer, is shorter than the 16 rows of a tile (Intel AMX; NVIDIA's
 * mma has m16n8k16). Only our names tell the sides. If two are shorter, as in attention over few
 * tokens, the batch has more such products, not larger ones. */
static double empty_part(const char *name)
{
    const int tile = 16;
    int sides[3], shorter = 0, least = tile;

    if (sscanf(name, "gemm_%*[bf]16_%*2[nt]_%dx%dx%d", &sides[0], &sides[1], &sides[2]) != 3)
        return 0;
    for (int i = 0; i < 3; i++)
        if (sides[i] < tile) {
            shorter++;
            least = sides[i];
        }
    return shorter == 1 ? 1 - (double)least / tile : 0;
}

/* The time per step of products, beyond what each takes however small it is, in which units work on
 * empty rows. */
static double lost_to_empty_tiles(const struct facts *facts)
{
    const struct kernels *kernels = &facts->summary->kernels;
    double fixed = facts->summary->product_fixed_ns, lost = 0;

    for (int64_t i = 0; isfinite(fixed) && i < kernels->count; i++) {
        const struct kernel_row *row = &kernels->rows[i];
        if (is_of_each_pass(facts, row))
            lost += empty_part(trace_file_name(facts->summary->trace, row->name)) *
                    fmax(0, (double)row->total_ns - (double)row->count * fixed);
    }
    return lost / facts->steps;
}

/* The device time that a step would save if it ran once over its batch instead of in passes over
 * pieces: that for starting and ending kernels, which is known for matrix products if their work is
 * stated, and for empty rows of tiles, or more where the kernels of all passes fit beside each
 * other. The optimizer runs once per step already, and multiplies nothing. */
static double busy_lost_to_passes(const struct facts *facts)
{
    const struct kernels *kernels = &facts->summary->kernels;
    double fixed = fixed_ns_of_kernels(facts), product_ns = facts->summary->product_fixed_ns;
    double count = 0, products = 0, beside = 0;

    if (isnan(product_ns))
        product_ns = fixed;
    for (int64_t i = 0; i < kernels->count; i++) {
        const struct kernel_row *row = &kernels->rows[i];
        bool is_product = name_is_product(trace_file_name(facts->summary->trace, row->name));
        double calls = (double)row->count / facts->steps;
        if (!is_of_each_pass(facts, row))
            continue;
        *(is_product ? &products : &count) += calls;
        beside +=
            fmax(0, shared_with_other_passes(facts, row) * (double)row->total_ns / facts->steps -
                        (1 - 1 / facts->passes) * calls * (is_product ? product_ns : fixed));
    }
    count = fmax(0, count - optimizer_work(facts));
    return (1 - 1 / facts->passes) *
               (count * fixed + products * product_ns + lost_to_empty_tiles(facts)) +
           (1 - optimizer_share(facts)) * beside;
}

/* The idle time that would be saved: that of launches, which is given, but those of one pass, as
 * far as its kernels are not long enough to hide them; and that between queued kernels. The
 * optimizer's part remains. */
static double idle_lost_to_passes(const struct facts *facts, double launching, double busy_lost)
{
    double between = (double)(facts_idle(facts)->queued_ns - facts_idle(facts)->stalled_ns -
                              facts->summary->idle.late_ns) /
                     facts->steps;
    double longer = facts->busy_ns - busy_lost - facts->busy_ns / facts->passes;
    double left = fmax(0, launching / facts->passes - fmax(0, longer));

    return (1 - optimizer_share(facts)) *
           (launching - left + (1 - 1 / facts->passes) * fmax(0, between));
}

/* A tracer makes calls longer but not kernels, so the time that it adds to a step is idle time, as
 * far as there is any. The result is in time of the traced step, like that of other rules. */
static double lost_to_passes(const struct facts *facts, double launching)
{
    double busy = busy_lost_to_passes(facts), idle = idle_lost_to_passes(facts, launching, busy);
    double untraced = facts->summary->trace->cost.step_ns;
    double idle_at_all = facts->step_ns - facts->busy_ns;

    if (!(untraced > 0 && untraced < facts->step_ns))
        return idle + busy;
    if (idle_at_all > 0)
        idle *= fmax(0, untraced - facts->busy_ns) / idle_at_all;
    busy *= fmin(1, untraced / facts->busy_ns);
    return (idle + busy) * facts->step_ns / untraced;
}

/* A step that runs the same kernels several times, each time on a piece of its batch. */
static bool judge_small_kernels(struct finding *finding, const struct facts *facts)
{
    char more[120];

    if (!facts->has_steps || facts->passes < 2 || short_share(facts) < 0.25)
        return false;
    snprintf(more, sizeof more, "every step runs the forward pass %.0f times; ", facts->passes);
    if (isfinite(facts->summary->product_fixed_ns))
        text_append(more, sizeof more, "a matrix product takes at least %s, however small it is; ",
                    quantity_time(facts->summary->product_fixed_ns).text);
    /* Products of short tiles do not tell how fast full ones are multiplied. */
    finding->gain_is_least =
        isnan(facts->summary->product_fixed_ns) || lost_to_empty_tiles(facts) > 0;
    launch_evidence(finding, facts, more);
    return finding_costs(
        finding, facts,
        lost_to_passes(facts, fmax(lost_to_launches(facts),
                                   facts_saved_ns(facts, rule_find("launch_bound")))));
}

const struct rule rules_of_launches[] = {
    {
        .id = "initialisation",
        .title = "One-time initialisation",
        .also = "warm-up, cudnn.benchmark, autotuning, max-autotune, torch.compile "
                "mode=max-autotune, cuDNN auto-tuner",
        .symptom = "a call of over 1 ms that launches a kernel for the first time; calls that "
                   "load modules; captures and instantiations of graphs; spans in which PyTorch "
                   "compiles",
        .meaning = "the first use of a kernel, a shape or a graph takes longer than all others, "
                   "and may come late",
        .advice = "warm up before you measure or profile: it happens only once",
        .cost = "the time for which the device is idle meanwhile, and in the operators around "
                "such calls",
        .threshold = "a first call of 1 ms, 20 times HolisticTraceAnalysis' bound for long ones",
        .bottleneck = BOTTLENECK_FIRST_USE,
        .judge = judge_initialisation,
        .site = SITE_FIRST_USES,
    },
    {
        .id = "small_kernels",
        .title = "Micro-batches are too small for the device",
        .also = "batch size, small batch",
        .symptom = "the forward pass runs several times per step, and a quarter of the kernels or "
                   "more are shorter than the calls that launch them",
        .meaning = "each micro-batch is so small that launching costs more than computing",
        .advice = "raise the micro-batch until memory is nearly full; accumulate gradients only "
                  "beyond that",
        .inferring = "raise the micro-batch until memory is nearly full",
        .cost =
            "the idle time for launches, and the time to start and end kernels, that one pass "
            "over the whole batch would save, and that of products in which it would fill tiles of "
            "matrix units; on a GPU also the time of kernels whose blocks fit "
            "beside those of the other passes, with one block per SM",
        .threshold = "HolisticTraceAnalysis: kernels shorter than their launch",
        .bottleneck = BOTTLENECK_LAUNCHING,
        .judge = judge_small_kernels,
        .site = SITE_NONE, /* the whole pass is too small */
    },
    {
        .id = "graph_recapture",
        .title = "Graphs are captured again and again",
        .also = "dynamic shapes, CUDA graph re-recording",
        .symptom =
            "graphs are captured in every fifth step or more often, 8 times or after steps that "
            "captured none",
        .meaning = "shapes change, so an earlier graph does not fit and another one is captured",
        .advice = "keep a captured graph for each shape, and pad to a few lengths so that shapes "
                  "are few",
        .inferring = "keep a captured graph for each shape, and pad to a few lengths so that "
                     "shapes are few; without training, switch autograd off "
                     "(torch.inference_mode())",
        .serving = "let the engine capture a graph for each batch size before it serves, and pad "
                   "to these",
        .cost = "what a replay gains without captures",
        .threshold = "5% of a step, and a capture in every fifth step",
        .bottleneck = BOTTLENECK_FIRST_USE,
        .judge = judge_graph_recapture,
        .site = SITE_CAPTURES,
        .alter = capture_once,
    },
    {
        .id = "recompilation",
        .title = "Code is compiled again and again",
        .also = "recompile limit, guards, graph breaks, torch.compile dynamic, TorchDynamo, "
                "TORCH_LOGS",
        .symptom = "spans in which PyTorch compiles, in three steps or more, with a step between "
                   "them that has none, or in most of the steps",
        .meaning = "the compiled code does not fit the next input: other shapes, or a guard on a "
                   "value that changes",
        .advice = "see why (TORCH_LOGS=recompiles); mark what varies (torch._dynamo.mark_dynamic, "
                  "dynamic=True), or pad to a few shapes",
        .cost = "what a replay gains without these compilations",
        .threshold = "5% of a step; compilations in the first steps alone are a warm-up",
        .bottleneck = BOTTLENECK_FIRST_USE,
        .judge = judge_recompilation,
        .site = SITE_CAPTURES,
        .alter = capture_once,
    },
    {
        .id = "launch_bound",
        .title = "The device waits for launches",
        .also = "kernel launch overhead, overhead-bound, CUDA graphs, torch.compile, "
                "reduce-overhead, kernel launch latency, eager mode",
        .symptom = "the device is idle between short kernels until the next one is launched",
        .meaning = "the host takes longer to launch a step's work than the device takes to do it",
        .advice = "capture the step as a graph (CUDA graphs, torch.compile), fuse kernels, or "
                  "raise the batch",
        .plain = "capture the step as a CUDA graph, fuse kernels, or give each of them more to do",
        .serving = "let the engine replay captured graphs (vLLM: without enforce_eager; SGLang: "
                   "without --disable-cuda-graph), fuse kernels, or serve more requests at once",
        .cost = "what a replay gains that launches the step at once, after the fix of loading",
        .threshold = "HolisticTraceAnalysis: idle time by host wait",
        .bottleneck = BOTTLENECK_LAUNCHING,
        .judge = judge_launch_bound,
        .site = SITE_LAUNCHING,
        .alter = launch_as_graph,
    },
    {
        .id = "oversubscribed_host",
        .title = "The thread that launches loses its core",
        .also = "oversubscription, OMP_NUM_THREADS, torch.set_num_threads",
        .symptom = "now and then, at most in one of four, a launch takes over 50 us while the "
                   "device has nothing else to do; or the kernel's scheduler takes the loop's "
                   "thread off its core while the program and its workers want a tenth more cores "
                   "than they have (only the recorder asks it)",
        .meaning = "more threads want to run than there are cores, so the thread that launches "
                   "waits for one",
        .advice = "use no more threads than cores: fewer loader workers (num_workers), fewer "
                  "threads per worker (OMP_NUM_THREADS), and no other programs",
        .inferring = "use no more threads than cores: fewer workers, fewer threads in each "
                     "(OMP_NUM_THREADS), and no other programs",
        .plain = "use no more threads than cores, and no other programs",
        .cost = "how much longer these calls take than the others; or for how much of a step the "
                "thread has no core",
        .threshold = "HolisticTraceAnalysis: a launch call over 50 us is an outlier",
        .bottleneck = BOTTLENECK_LAUNCHING,
        .judge = judge_oversubscribed_host,
        .site = SITE_NONE, /* any launch may lose its core */
    },
    { .id = NULL },
};
