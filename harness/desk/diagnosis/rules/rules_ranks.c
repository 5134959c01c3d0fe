/* Findings of communication, in one rank's trace and between those of a run. */
#include "harness/base/words/text.h"
#include "harness/desk/diagnosis/facts/ranks.h"
#include "harness/desk/diagnosis/rules/host_facts.h"
#include "harness/desk/diagnosis/rules/rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- One rank --- */

static struct ranks_together together_of(struct arena *arena, const struct facts *facts)
{
    return facts->together != NULL ? *facts->together
                                   : ranks_together(arena, facts->ranks, facts->rank_count);
}

/* How long this rank waits for the slow one, which is another finding; 0: none is slow. */
static double waits_ns(const struct facts *facts)
{
    int64_t which = facts->summary - facts->ranks;
    SCRATCH_ARENA(scratch, facts->summary->arena);
    struct ranks_together together = together_of(scratch, facts);
    const struct rank_figures *figures = &together.figures[which];

    return slow_rank_matters(&together.slow) && figures->is_compared ? figures->waits_ns : 0;
}

/* Collectives that reduce gradients in backward, per step, if the trace states their size. */
struct reductions {
    double count, bytes;
};

static struct reductions reductions(const struct facts *facts)
{
    const struct message_sum *sums = facts->summary->messages.backward;
    struct reductions reductions = { 0, 0 };
    static const enum message_kind reducing[] = { MESSAGE_ALL_REDUCE, MESSAGE_REDUCE_SCATTER };

    for (size_t i = 0; i < ARRAY_SIZE(reducing); i++) {
        reductions.count += (double)sums[reducing[i]].sized_count / facts->steps;
        reductions.bytes += (double)sums[reducing[i]].bytes / facts->steps;
    }
    return reductions;
}

/* Forward sends no gradients: if it reduces as much as backward, both send activations, of a model
 * that is split. */
static bool model_is_split(const struct facts *facts)
{
    const struct messages *messages = &facts->summary->messages;

    return 2 * (double)messages->elsewhere[MESSAGE_ALL_REDUCE].bytes / facts->steps >=
           reductions(facts).bytes;
}

/* A category's bytes at the peak, as the allocator states them; 0: it does not. */
static int64_t stated_bytes(const struct facts *facts, const char *of)
{
    const struct memory_curve *memory = &facts->summary->memory;
    int64_t most = 0;

    for (int64_t i = 0; i < memory->device_count; i++)
        for (int64_t j = 0; j < memory->devices[i].category_count; j++) {
            const struct memory_category *category = &memory->devices[i].categories[j];
            const char *name = trace_file_name(facts->summary->trace, category->name);
            if (strcmp(name, of) == 0 && category->at_peak > most)
                most = category->at_peak;
        }
    return most;
}

/* Buckets of DistributedDataParallel: bucket_cap_mb, and its first one, the smallest (PyTorch,
 * torch/nn/parallel/distributed.py). */
#define BUCKET_BYTES (25.0 * (1 << 20))
#define SMALL_BYTES  (1.0 * (1 << 20))

enum { MESSAGES_LEAST = 8 }; /* per step, as of small copies */
enum { SENDINGS_LEAST = 2 }; /* per step: with one nothing is sent twice */

static double bucket_count(const struct reductions *reductions)
{
    return fmax(1, ceil(reductions->bytes / BUCKET_BYTES));
}

/* --- Pipelines --- */

/* GPipe (Huang et al., 2019, 2.2): with four micro-batches per rank the bubble is negligible. It is
 * at most a fifth of a step then. */
enum { MICRO_BATCHES_A_RANK = 4 };
#define BUBBLE_SHARE_MOST 0.2

/* Time per step in which this rank only sends to another one, or receives from it. */
static double waits_for_peers_ns(const struct facts *facts)
{
    return (double)facts->summary->messages.peer_exposed_ns / facts->steps;
}

/* The part of it that all ranks of the pipeline wait. */
static double bubble_ns(const struct facts *facts)
{
    double own_ns = waits_for_peers_ns(facts), least_ns;
    struct arena *scratch;

    if (!(own_ns > 0))
        return 0;
    scratch = arena_scratch(facts->summary->arena);
    least_ns = together_of(scratch, facts).peer_wait_ns;
    arena_close(scratch);
    return least_ns > 0 ? fmin(own_ns, least_ns) : own_ns;
}

/* The share of a rank's slots that is idle with so many micro-batches; the limit for many ranks if
 * it is not known how many they are. */
static double idle_share(double ranks, double micro_batches)
{
    return (ranks - 1) / (micro_batches + ranks - 1);
}

static double ranks_of(const struct facts *facts)
{
    int64_t ranks = facts->summary->trace->world_size;

    return ranks > 1 ? (double)ranks : 0;
}

/* Whether the bubble is larger than a healthy pipeline's, and more micro-batches would make it
 * smaller. */
static bool bubble_matters(const struct facts *facts)
{
    double ranks = ranks_of(facts);

    return bubble_ns(facts) > BUBBLE_SHARE_MOST * facts->step_ns &&
           !(ranks > 0 && facts->passes >= MICRO_BATCHES_A_RANK * ranks);
}

/* Waits that are a pipeline's: its bubble, or as much as any healthy one has. */
static double waits_of_pipeline_ns(const struct facts *facts)
{
    double own_ns = waits_for_peers_ns(facts);

    return bubble_matters(facts) || own_ns <= BUBBLE_SHARE_MOST * facts->step_ns ? own_ns : 0;
}

static bool judge_pipeline_bubble(struct finding *finding, const struct facts *facts)
{
    double bubble = bubble_ns(facts), ranks = ranks_of(facts);
    double enough = MICRO_BATCHES_A_RANK * ranks;
    double rest = ranks > 0 ? idle_share(ranks, enough) : BUBBLE_SHARE_MOST;

    if (!bubble_matters(facts))
        return false;
    finding->confidence = CONFIDENCE_MEDIUM; /* small micro-batches may compute less efficiently */
    finding_says(
        finding,
        "sending to and receiving from single other ranks takes %s of %s, in which nothing is "
        "computed",
        quantity_time(bubble).text, step_text(facts).text);
    if (ranks > 0)
        finding_says(finding,
                     "; with %.0f micro-batch%s in %.0f ranks %.0f%% of all slots are idle, with "
                     "%.0f it would be %.0f%%",
                     facts->passes, facts->passes == 1 ? "" : "es", ranks,
                     100 * idle_share(ranks, facts->passes), enough,
                     100 * idle_share(ranks, enough));
    return finding_costs(finding, facts,
                         facts->step_ns - fmax((facts->step_ns - bubble) / (1 - rest),
                                               facts_least_of_cores_ns(facts)));
}

/* --- Gradients --- */

/* The part of communication that nothing hides. */
static double exposed_share(const struct facts *facts)
{
    const struct usage *usage = &facts->summary->usage;
    double all = (double)usage->kind_ns[WORK_COMMUNICATION];

    return all > 0 ? (double)usage->communication_exposed_ns / all : 0;
}

/* The time that messages have whatever their size, of those that larger buckets would save; 0: they
 * are few, large, or what they send is not known to be gradients. */
static double lost_to_small_messages(const struct facts *facts)
{
    struct reductions sent = reductions(facts);

    if (sent.count < MESSAGES_LEAST || !(sent.bytes <= SMALL_BYTES * sent.count) ||
        model_is_split(facts))
        return 0;
    return fmax(0, sent.count - bucket_count(&sent)) * facts->summary->messages.fixed_ns *
           exposed_share(facts);
}

static bool judge_small_messages(struct finding *finding, const struct facts *facts)
{
    const struct messages *messages = &facts->summary->messages;
    struct reductions sent = reductions(facts);
    double lost = lost_to_small_messages(facts);

    if (!(lost > 0))
        return false;
    finding->confidence = CONFIDENCE_MEDIUM;
    finding_says(
        finding,
        "backward sends its gradients of %s in %.4g messages %s, of %s on average, where "
        "buckets of %s would be %.0f; the shortest takes %s, of which %s do not depend on its "
        "size; %.0f%% of communication does not overlap with compute",
        quantity_bytes(sent.bytes).text, sent.count, facts_per(facts),
        quantity_bytes(sent.bytes / sent.count).text, quantity_bytes(BUCKET_BYTES).text,
        bucket_count(&sent), quantity_time(messages->shortest_ns).text,
        quantity_time(messages->fixed_ns).text, 100 * exposed_share(facts));
    return finding_costs(finding, facts, lost);
}

/* Compared with backward, which could hide it. Where the trace does not tell what backward
 * computed, the share of the step is all there is to compare. */
static void judge_share_of_backward(struct finding *finding, const struct facts *facts,
                                    double exposed)
{
    const double good = 0.15, bad = 0.3;
    double backward = (double)facts->summary->messages.backward_ns / facts->steps;

    if (!(backward > 0))
        return;
    finding_judges(finding, "exposed share of backward", exposed / (backward + exposed), good, bad);
    finding_says(finding, "; without that, backward would be %.0f%% shorter",
                 100 * exposed / (backward + exposed));
}

/* Messages can hide behind computation that none hides behind yet, and sending less gains more. On
 * a device with one multiprocessor, messages and kernels take turns: overlapping gains nothing, and
 * the gain of fewer or smaller messages is not known. */
static bool judge_overlap(struct finding *finding, const struct facts *facts, double exposed)
{
    const struct usage *usage = &facts->summary->usage;
    double computing =
        (double)(usage->kind_ns[WORK_COMPUTATION] - usage->communication_overlap_ns) / facts->steps;

    if (!finding_costs_from(finding, facts, exposed, RULE_COMMUNICATION_LEAST))
        return false;
    if (facts->device != NULL && facts->device->multiprocessors == 1) {
        finding->predicted_gain = NAN;
        finding_says(
            finding,
            "; the device has one multiprocessor, on which messages and kernels take turns");
        return true;
    }
    if (exposed <= computing)
        return true;
    finding->gain_is_least = true;
    if (computing > 0)
        finding_says(finding, "; there are %s of computation to hide it behind",
                     quantity_time(computing).text);
    else
        finding_says(finding, "; there is no computation to hide it behind");
    if (!finding_costs(finding, facts, computing))
        finding_gains_nothing(finding, facts);
    return true;
}

/* A host that computes itself: messages while its loop does nothing. */
static bool judge_messages_of_host(struct finding *finding, const struct facts *facts)
{
    const struct idle_time *time = &facts->summary->idle.all;
    double waits = (double)idle_host_ns(time, HOST_WAITING) / facts->steps;

    finding->advice =
        facts->program.trains
            ? "send less often (accumulate gradients, no_sync()), in larger buckets, or over a "
              "faster network; on one machine use fewer processes with more threads"
            : "send less often, in larger messages, or over a faster network; on one machine use "
              "fewer processes with more threads";
    finding_says(finding,
                 "messages between processes take %s of %s in which the loop does nothing else",
                 quantity_time(waits).text, step_text(facts).text);
    return finding_costs_from(finding, facts, waits, RULE_COMMUNICATION_LEAST);
}

/* --- What to do about messages, by what they are --- */

/* The kind of which most is sent, by bytes where the trace states them. */
static enum message_kind most_sent(const struct facts *facts)
{
    const struct messages *messages = &facts->summary->messages;
    double most = 0;
    enum message_kind kind = MESSAGE_COUNT;

    for (int i = 0; i < MESSAGE_COUNT; i++) {
        const struct message_sum *in = &messages->backward[i], *out = &messages->elsewhere[i];
        double sent = (double)(in->count + out->count) + (double)(in->bytes + out->bytes);
        if (sent > most) {
            most = sent;
            kind = (enum message_kind)i;
        }
    }
    return kind;
}

/* Each of so many micro-batches sends its gradients; 1: there is one, or the last alone sends. */
static double sendings(const struct facts *facts)
{
    return !facts->program.trains
               ? 1
               : fmax(1, (double)facts->summary->messages.sendings / facts->steps);
}

static const char *advice_on_messages(const struct finding *finding, const struct facts *facts)
{
    const struct messages *messages = &facts->summary->messages;
    const struct message_sum *gathers = &messages->elsewhere[MESSAGE_ALL_GATHER];
    enum message_kind kind = most_sent(facts);

    if (sendings(facts) >= SENDINGS_LEAST)
        return "send gradients once per update: all micro-batches but the last within no_sync() "
               "(FSDP: set_requires_gradient_sync(False))";
    if (kind == MESSAGE_OTHER && messages->exchanges > 0)
        return "exchange less or earlier: start it while what does not need it is computed (shared "
               "experts, dense layers), in a shorter type, most of it within a node";
    if (kind == MESSAGE_POINT_TO_POINT)
        return "give each rank of the pipeline something to compute meanwhile: more micro-batches, "
               "and sends that do not wait (batch_isend_irecv)";
    if (messages->elsewhere[MESSAGE_ALL_REDUCE].bytes > 0 && model_is_split(facts))
        return "these are activations of a model that is split: split it over fewer ranks or over "
               "faster links, or let messages go while something else is computed";
    if (kind == MESSAGE_ALL_GATHER && gathers->bytes < SMALL_BYTES * (double)gathers->count)
        return "many small gathers in forward are statistics (SyncBatchNorm): use them in fewer "
               "layers, or a norm that needs none";
    if (kind == MESSAGE_ALL_GATHER || kind == MESSAGE_REDUCE_SCATTER)
        return "gather parameters before they are needed (FSDP: prefetch, larger units), or keep "
               "all of them within a node (HYBRID_SHARD)";
    return finding->advice;
}

/* Time of the first message beyond the mean of the others, if that is ten times as much or more:
 * ranks that start apart meet in it, and NCCL connects them when a communicator is first used. 0:
 * no such message, or there are few; other ranks are there to tell who waits for whom. */
static double first_meeting_ns(const struct facts *facts)
{
    enum { TIMES_LEAST = 10, OTHERS_LEAST = 2 };
    const struct timeline *timeline = &facts->summary->timeline;
    double first = 0, sum = 0;
    int64_t count = 0;

    for (int64_t i = 0; i < timeline->work_count && facts->rank_count <= 1; i++) {
        const struct trace_event *event = timeline->work[i].event;
        if (timeline->work[i].kind != WORK_COMMUNICATION || !timeline_counts(timeline, event))
            continue;
        sum += (double)(event->end_ns - event->start_ns);
        first = count++ == 0 ? sum : first;
    }
    if (count <= OTHERS_LEAST || first < TIMES_LEAST * (sum - first) / (double)(count - 1))
        return 0;
    return first - (sum - first) / (double)(count - 1);
}

/* One sending of all gradients has the bytes of the parameters: more is sent twice, or is of
 * another kind. */
static void say_bytes(struct finding *finding, const struct facts *facts)
{
    struct reductions sent = reductions(facts);
    double parameters = (double)stated_bytes(facts, "parameters");

    if (!(sent.bytes > 0))
        return;
    finding_says(finding, "; backward reduces %s %s", quantity_bytes(sent.bytes).text,
                 facts_per(facts));
    if (parameters > 0)
        finding_says(finding, ", %.2g times the parameters' %s", sent.bytes / parameters,
                     quantity_bytes(parameters).text);
}

static bool judge_exposed_communication(struct finding *finding, const struct facts *facts)
{
    const struct usage *usage = &facts->summary->usage;
    double exposed = (double)usage->communication_exposed_ns / facts->steps;
    double meeting = fmin(exposed, first_meeting_ns(facts) / facts->steps);
    double waits = facts->rank_count > 1 ? fmin(exposed, waits_ns(facts)) : 0;
    double rest = fmax(0, exposed - waits - meeting - lost_to_small_messages(facts) -
                              waits_of_pipeline_ns(facts));
    char waiting[80] = "";
    bool found;

    if (facts->summary->timeline.host_alone)
        return judge_messages_of_host(finding, facts);
    if (waits > 0)
        snprintf(waiting, sizeof waiting, ", %s of them waiting for the slow rank",
                 quantity_time(waits).text);
    finding_says(finding,
                 "communication takes %s of %s; %s of that does not overlap with compute%s",
                 quantity_time((double)usage->kind_ns[WORK_COMMUNICATION] / facts->steps).text,
                 step_text(facts).text, quantity_time(exposed).text, waiting);
    if (meeting > 0)
        finding_says(finding,
                     "; the first message takes %s longer than the others: ranks that start apart, "
                     "or use a communicator for the first time, meet in it, once",
                     quantity_time(meeting * facts->steps).text);
    finding->advice = advice_on_messages(finding, facts);
    say_bytes(finding, facts);
    if (sendings(facts) >= SENDINGS_LEAST) {
        finding_says(finding, "; gradients are sent after each of %.3g backward passes of a step",
                     sendings(facts));
        return finding_costs_from(finding, facts, rest * (1 - 1 / sendings(facts)),
                                  RULE_COMMUNICATION_LEAST);
    }
    found = judge_overlap(finding, facts, rest);
    judge_share_of_backward(finding, facts, exposed);
    return found;
}

/* --- Replicated state --- */

/* The gradients of all parameters. Each pass that reduces them sends a message at least; with fewer
 * messages than passes, only the last pass of an update does
 * (DistributedDataParallel.no_sync()). */
static double gradient_bytes(const struct facts *facts)
{
    struct reductions sent = reductions(facts);

    return sent.count >= facts->passes && facts->passes > 1 ? sent.bytes / facts->passes
                                                            : sent.bytes;
}

/* Whether parameters come back after the update, which they do if each rank updates a part of them.
 * DistributedDataParallel broadcasts too, but only buffers, which are small. */
static bool update_is_shared(const struct facts *facts, double reduced_bytes)
{
    const struct messages *messages = &facts->summary->messages;
    static const enum message_kind returning[] = { MESSAGE_ALL_GATHER, MESSAGE_BROADCAST };
    double returned = 0;

    for (size_t i = 0; i < ARRAY_SIZE(returning); i++)
        returned += (double)(messages->backward[returning[i]].bytes +
                             messages->elsewhere[returning[i]].bytes) /
                    facts->steps;
    return messages->backward[MESSAGE_REDUCE_SCATTER].count > 0 ||
           messages->elsewhere[MESSAGE_REDUCE_SCATTER].count > 0 || returned >= reduced_bytes / 4;
}

/* The states that an optimizer keeps for each parameter, by its name in "Optimizer.step#AdamW.step"
 * or in its kernels; 0: not known. SGD may have one or none. */
static int states_of(const char *name)
{
    static const struct {
        const char *part;
        int states;
    } optimizers[] = { { "Adagrad", 1 }, { "RMSprop", 1 }, { "Adam", 2 }, { "adam", 2 },
                       { "NAdam", 2 },   { "LAMB", 2 },    { "Lamb", 2 }, { "lamb", 2 } };

    for (size_t i = 0; i < ARRAY_SIZE(optimizers); i++)
        if (strstr(name, optimizers[i].part) != NULL)
            return optimizers[i].states;
    return 0;
}

static int optimizer_states(const struct facts *facts)
{
    const struct trace_file *trace = facts->summary->trace;
    const struct kernels *kernels = &facts->summary->kernels;
    const struct span_row *row = spans_find(&facts->summary->spans, trace, "Optimizer.step#", true);
    int states = row != NULL ? states_of(trace_file_name(trace, row->name)) : 0;

    for (int64_t i = 0; i < kernels->count && states == 0; i++)
        states = states_of(trace_file_name(trace, kernels->rows[i].name));
    return states;
}

/* Ranks that reduce their gradients to all of them, and get no parameters back, must each make the
 * whole update, and so keep the whole state. Where the allocator does not state what that takes, it
 * has the type of the parameters (torch/optim/adamw.py: zeros_like), and so of the gradients. */
static bool judge_replicated_state(struct finding *finding, const struct facts *facts)
{
    const struct event_device *device = facts->device;
    double reduced = gradient_bytes(facts), memory, state, freed;
    double ranks = (double)facts->summary->trace->world_size;

    if (device == NULL || !(ranks >= 2) || !(reduced > 0) || model_is_split(facts) ||
        update_is_shared(facts, reduced))
        return false;
    memory = (double)(device->memory_budget_bytes > 0 ? device->memory_budget_bytes
                                                      : device->memory_bytes);
    state = (double)stated_bytes(facts, "optimizer");
    finding->confidence = state > 0 ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
    if (!(state > 0))
        state = optimizer_states(facts) * reduced;
    freed = state * (1 - 1 / ranks);
    if (!(memory > 0) || !(state > 0))
        return false;
    finding_judges(finding, "replicated share of memory", freed / memory, 0.1, 0.25);
    if (!(freed >= 0.1 * memory))
        return false;
    finding_says(
        finding,
        "each of %.0f ranks reduces gradients of %s per step and gets no parameters back, so "
        "it updates all of them; the optimizer's state takes %s, %.0f%% of the %s available; "
        "in equal parts it would take %s",
        ranks, quantity_bytes(reduced).text, quantity_bytes(state).text, 100 * state / memory,
        quantity_bytes(memory).text, quantity_bytes(state / ranks).text);
    return true;
}

/* --- All ranks --- */

static long long number_of(const struct facts *facts, int64_t which)
{
    const struct trace_file *trace = facts->ranks[which].trace;

    return (long long)(trace->rank >= 0 ? trace->rank : which);
}

enum { NEAR_MOST = 8 }; /* ranks to name */

/* " (as slow: ranks 5, 7)"; nothing if there are none. */
static void name_near(char *text, size_t size, const struct facts *facts,
                      const struct slow_rank *slow, const struct rank_figures *figures)
{
    int64_t named = 0;

    text[0] = '\0';
    if (slow->near == 0)
        return;
    text_append(text, size, " (as slow: rank%s", slow->near == 1 ? "" : "s");
    for (int64_t i = 0; i < facts->rank_count && named < NEAR_MOST; i++)
        if (i != slow->which && rank_is_slow(slow, &figures[i]))
            text_append(text, size, "%s%lld", named++ > 0 ? ", " : " ", number_of(facts, i));
    if (slow->near > named)
        text_append(text, size, " and %lld more", (long long)(slow->near - named));
    text_append(text, size, ")");
}

/* A rank without a core is late for that: no work of its own is known to be the cause. */
static void doubt_late_rank(struct finding *finding, const struct facts *facts,
                            const struct slow_rank *slow)
{
    double waits = facts->ranks[slow->which].trace->cost.core_wait_share;

    if (!(waits >= 0.5 * slow->lost_ns / slow->step_ns))
        return;
    finding->confidence = CONFIDENCE_LOW;
    finding_says(finding, "; the loop's thread of that rank had no core for %.0f%% of a step",
                 100 * waits);
}

/* The ranks share one step, and so a share of it: a rank that sees a longer one loses no more. */
static bool judge_straggler(struct finding *finding, const struct facts *facts)
{
    SCRATCH_ARENA(scratch, facts->summary->arena);
    struct ranks_together together = together_of(scratch, facts);
    struct slow_rank slow = together.slow;
    char near[240], does[160] = "";
    bool found = slow_rank_matters(&slow);

    if (found) {
        name_near(near, sizeof near, facts, &slow, together.figures);
        if (slow_rank_advice(&slow) != NULL)
            finding->advice = slow_rank_advice(&slow);
        if (slow_rank_does(&slow) != NULL)
            snprintf(does, sizeof does, ", while it %s for %s, the others for %s",
                     slow_rank_does(&slow), quantity_time(slow.part_ns).text,
                     quantity_time(slow.part_typical_ns).text);
        finding_says(
            finding,
            "rank %lld%s communicates for %s %s, the others for %s (median): they wait for "
            "it%s; as fast as the next rank, it would make the step %s instead of %s",
            number_of(facts, slow.which), near, quantity_time(slow.least_ns).text, facts_per(facts),
            quantity_time(slow.typical_ns).text, does,
            quantity_time(slow.step_ns - slow.lost_ns).text, quantity_time(slow.step_ns).text);
        doubt_late_rank(finding, facts, &slow);
        found = finding_costs(finding, facts, slow.lost_ns / slow.step_ns * facts->step_ns);
    }
    return found;
}

/* The time that all devices would work if they shared the work evenly, over that of the busiest:
 * below a half is uneven, as two devices are of which one does nothing. */
static bool judge_uneven_devices(struct finding *finding, const struct facts *facts)
{
    enum { NAMED_MOST = 8 };
    const struct timeline *timeline = &facts->summary->timeline;
    const struct track_usage *most = timeline_busiest(timeline);
    double all_ns = (double)timeline->all.span_ns, sum_ns = 0, even;
    int named = 0;

    if (timeline->device_count < 2 || most == NULL || !(most->usage.busy_ns > 0))
        return false;
    for (int64_t i = 0; i < timeline->device_count; i++)
        sum_ns += (double)timeline->devices[i].usage.busy_ns;
    even = sum_ns / (double)timeline->device_count / (double)most->usage.busy_ns;
    finding_judges(finding, "mean work over that of the busiest device", even, 0.8, 0.5);
    finding_says(
        finding,
        "device %lld is busy for %.0f%% of the trace, and the others for less than half as long:",
        (long long)most->device, 100 * (double)most->usage.busy_ns / all_ns);
    for (int64_t i = 0; i < timeline->device_count; i++) {
        const struct track_usage *device = &timeline->devices[i];
        if (2 * device->usage.busy_ns < most->usage.busy_ns && named++ < NAMED_MOST)
            finding_says(finding, "%s device %lld for %.0f%%", named > 1 ? "," : "",
                         (long long)device->device, 100 * (double)device->usage.busy_ns / all_ns);
    }
    if (named > NAMED_MOST)
        finding_says(finding, ", and %d more", named - NAMED_MOST);
    finding_informs(finding);
    return named > 0 && even < 0.8;
}

const struct rule rules_of_ranks[] = {
    {
        .id = "straggler",
        .title = "One rank keeps the others waiting",
        .also = "slow rank, slow node, rank imbalance",
        .symptom = "one rank's collectives are short and those of the others long",
        .meaning = "a collective ends on all ranks together, so who enters it last communicates "
                   "least",
        .advice = "look at the trace of that rank: what its host does, its share of the work, the "
                  "clocks of its device",
        .cost = "how much longer the next rank communicates, at most what the others do not hide "
                "behind compute",
        .threshold = "10% of a step",
        .bottleneck = BOTTLENECK_COMMUNICATION,
        .judge = judge_straggler,
        .asks_ranks = true,
        .site = SITE_NONE, /* the place is on another rank */
    },
    {
        .id = "pipeline_bubble",
        .title = "Ranks of a pipeline wait for each other",
        .also = "pipeline parallelism, GPipe, 1F1B",
        .symptom = "every rank sends to single others and receives from them for more than a fifth "
                   "of a step, and computes nothing meanwhile",
        .meaning = "a rank needs what the one before it made, and later gradients of the one after "
                   "it; with few micro-batches it has nothing else to do until these come",
        .advice = "cut the batch into more micro-batches, four times as many as ranks, with a "
                  "schedule that keeps few of them (1F1B, Schedule1F1B), or interleave several "
                  "parts of the model on each rank",
        .cost = "that time, on the rank that has least of it; the gain is with four micro-batches "
                "per rank, if those take as much less as they are smaller",
        .threshold = "GPipe: with four micro-batches per rank or more the bubble is negligible, at "
                     "most a fifth of a step",
        .bottleneck = BOTTLENECK_COMMUNICATION,
        .judge = judge_pipeline_bubble,
        .asks_ranks = true,
        .site = SITE_NONE, /* the schedule's, which is in no line of the loop */
    },
    {
        .id = "exposed_communication",
        .title = "Exposed communication",
        .also = "all-reduce, communication overlap, communication overhead, NCCL, no_sync",
        .symptom = "communication while nothing is computed",
        .meaning = "the step waits for messages that could go while backward computes",
        .advice = "start it in buckets during backward (DDP), compress gradients, or accumulate "
                  "them",
        .inferring = "split the model over fewer ranks, or over faster links; let messages go "
                     "while something else is computed; send a shorter type",
        .cost = "that time, without what is a wait for a slow rank, or in a first message in which "
                "ranks meet, without what larger messages would save (small_messages), and without "
                "a pipeline's waits (pipeline_bubble); the gain is at most the computation that "
                "can hide it",
        .threshold = "torch_tb_profiler: communication over 10% of a step; below 15% of backward "
                     "is good, over 30% bad",
        .bottleneck = BOTTLENECK_COMMUNICATION,
        .judge = judge_exposed_communication,
        .asks_ranks = true,
        .site = SITE_NONE, /* it is sent in backward, by hooks that are not in the loop */
    },
    {
        .id = "small_messages",
        .title = "Gradients are sent in many small messages",
        .also = "bucket_cap_mb, gradient bucketing, gradient buckets",
        .symptom = "backward sends 8 or more all-reduces or reduce-scatters per step, of 1 MiB or "
                   "less on average",
        .meaning = "every message has a fixed time, for its start and for each rank on its way, "
                   "which small ones pay for nothing",
        .advice = "send them in larger buckets: DistributedDataParallel(bucket_cap_mb=25) or "
                  "more, larger units of FSDP, or one flat buffer",
        .cost = "that time of all messages that buckets of 25 MiB would save, by the share of "
                "communication that does not overlap with compute",
        .threshold = "buckets of DistributedDataParallel: 25 MiB, the first one 1 MiB; 5% of a "
                     "step",
        .bottleneck = BOTTLENECK_COMMUNICATION,
        .judge = judge_small_messages,
        .site = SITE_NONE, /* they are sent in backward, by hooks that are not in the loop */
    },
    {
        .id = "replicated_state",
        .title = "Every rank keeps the whole optimizer state",
        .also = "ZeRO, ZeRO-1, ZeroRedundancyOptimizer",
        .symptom = "gradients are all-reduced in backward, and no parameters are gathered or "
                   "broadcast after the update",
        .meaning = "each rank makes the same update, with the same state, which fills memory that "
                   "a larger batch or model could have",
        .advice = "give each rank a part of it: ZeroRedundancyOptimizer, or FSDP (fully_shard)",
        .cost = "no time; a tenth of the device's memory or more must come free if each rank "
                "keeps a part",
        .costs_no_time = true,
        .threshold = "a tenth of the device's memory, and a quarter is bad",
        .bottleneck = BOTTLENECK_NONE,
        .judge = judge_replicated_state,
        .site = SITE_NONE, /* all of the update */
    },
    {
        .id = "uneven_devices",
        .title = "The devices of this process do not share its work evenly",
        .also = "DataParallel, nn.DataParallel, GPU imbalance",
        .symptom = "one device works for more than twice as long as others of the same process",
        .meaning = "the step lasts as long as the busiest device; the others wait for it, or have "
                   "nothing to do",
        .advice = "move layers or batches to the idle devices, or use one process per device "
                  "(DistributedDataParallel instead of DataParallel), or fewer devices",
        .cost = "none: it is for information, as the trace does not tell what could move",
        .costs_no_time = true,
        .threshold = "half of the busiest device's time; means of 80% of it are even enough",
        .bottleneck = BOTTLENECK_NONE,
        .judge = judge_uneven_devices,
        .site = SITE_NONE, /* the cost is on devices, not in a line */
    },
    { .id = NULL },
};
