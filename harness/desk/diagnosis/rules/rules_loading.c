/* Findings of a loop that waits for its data. */
#include "harness/base/figures/statistics.h"
#include "harness/base/status.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/diagnosis/facts/epoch_borders.h"
#include "harness/desk/diagnosis/rules/host_facts.h"
#include "harness/desk/diagnosis/rules/rules.h"

#include <math.h>
#include <string.h>

/* --- How a loader spends its time --- */

/* Whether it reads, prepares samples, or puts batches together, since each has another remedy.
 *
 * A recorder may state it (struct trace_cost), as no trace shows workers, which are processes of
 * their own. Else the loop's own calls tell, if the trace has them: Python's functions (with_stack)
 * and operators within its loading. A time that is in two parts counts for the first of them. */
struct loading_parts {
    double reads;    /* files: from a disk, a network, or the page cache */
    double collates; /* samples into a batch */
    double prepares; /* decoding and transforms */
};

/* Calls are known by their names: those of Python's files and archives, of decoders and transforms,
 * and of functions that collate. */
enum { READING, COLLATING, PREPARING, PART_COUNT };

enum { PARTS_MOST = 12 };

static const struct {
    const char *names[PARTS_MOST]; /* of functions, as PyTorch's profiler writes them */
} part_calls[PART_COUNT] = {
    [READING] = { { "built-in method read", "method 'read", "function open>", "method open",
                    "function read", "function stat>", "method recv", "npyio.py", "fromfile",
                    "lmdb", "method get of Transaction" } },
    [COLLATING] = { { "collate", "aten::stack", "aten::cat", "function stack>" } },
    [PREPARING] = { { "decode", "imread", "decompress", "transforms/", "ImageFile.py", "resize",
                      "preprocess", "augment", "convert", "loads>", "tokeniz" } },
};

static bool is_of_part(const char *name, int part)
{
    for (int i = 0; i < PARTS_MOST && part_calls[part].names[i] != NULL; i++)
        if (strstr(name, part_calls[part].names[i]) != NULL)
            return true;
    return false;
}

static bool is_of_loop(const struct facts *facts, uint32_t track)
{
    return facts->summary->host.has_loop && track == facts->summary->host.loop;
}

/* The times of each part on the loop's thread. */
static void gather_calls(struct intervals times[PART_COUNT], const struct facts *facts)
{
    const struct trace_file *trace = facts->summary->trace;
    uint32_t names = trace_file_name_count(trace);
    uint8_t *are = ARENA_NEW(times[0].arena, uint8_t, names); /* a bit for each part */

    for (uint32_t i = 0; i < names; i++)
        for (int part = 0; part < PART_COUNT; part++)
            are[i] = (uint8_t)(are[i] | is_of_part(trace_file_name(trace, i), part) << part);
    for (int part = 0; part < PART_COUNT; part++) {
        for (int64_t i = 0; i < trace->frame_count; i++)
            if (are[trace->frames[i].name] >> part & 1 &&
                is_of_loop(facts, trace->frames[i].track) && !trace->frames[i].is_stack)
                intervals_add(&times[part], trace->frames[i].start_ns, trace->frames[i].end_ns);
        for (int64_t i = 0; i < trace->event_count; i++)
            if (are[trace->events[i].name] >> part & 1 &&
                trace->events[i].kind == EVENT_KIND_OPERATOR &&
                is_of_loop(facts, trace->events[i].track))
                intervals_add(&times[part], trace->events[i].start_ns, trace->events[i].end_ns);
        intervals_merge(&times[part]);
    }
}

/* Time that is in an earlier part is in no later one. */
static void take_earlier(struct intervals times[PART_COUNT])
{
    for (int part = 1; part < PART_COUNT; part++)
        for (int earlier = 0; earlier < part; earlier++) {
            struct intervals rest = { .arena = times[part].arena };
            intervals_without(&rest, &times[part], &times[earlier]);
            times[part] = rest;
        }
}

static struct loading_parts parts_of_loop(const struct facts *facts)
{
    const struct host_activity *host = &facts->summary->host;
    SCRATCH_ARENA(scratch, facts->summary->arena);
    struct intervals times[PART_COUNT];
    double ns[PART_COUNT] = { 0 }, all = 0;

    for (int part = 0; part < PART_COUNT; part++)
        times[part] = (struct intervals){ .arena = scratch };
    gather_calls(times, facts);
    take_earlier(times);
    for (int64_t i = 0; i < host->count; i++) {
        const struct host_segment *segment = &host->items[i];
        if (segment->activity != HOST_LOADING || !is_of_loop(facts, segment->track))
            continue;
        all += (double)(segment->end_ns - segment->start_ns);
        for (int part = 0; part < PART_COUNT; part++)
            ns[part] +=
                (double)intervals_within_ns(&times[part], segment->start_ns, segment->end_ns);
    }
    return all > 0 ? (struct loading_parts){ ns[READING] / all, ns[COLLATING] / all,
                                             ns[PREPARING] / all }
                   : (struct loading_parts){ 0 };
}

/* Shares of the loader's time, 0 if nothing tells. Calls whose names do not tell are in no part. */
static struct loading_parts loading_parts_of(const struct facts *facts)
{
    const struct trace_cost *cost = &facts->summary->trace->cost;
    struct loading_parts of_loop = parts_of_loop(facts);

    if (!(cost->loader_reads_share > 0 || cost->loader_computes_share > 0))
        return of_loop;
    /* Computing is not told apart, but by the loop's own calls. */
    return (struct loading_parts){ cost->loader_reads_share, of_loop.collates,
                                   fmax(0, cost->loader_computes_share - of_loop.collates) };
}

/* Workers have the batch ready. */
static void load_in_workers(const void *context, const struct trace_graph *graph, int64_t at,
                            struct graph_node *node)
{
    (void)context;
    (void)graph;
    (void)at;
    graph_node_drop(node, HOST_LOADING);
}

/* Workers share the cores that are left, so a step cannot get shorter than its loading divided by
 * these. Waiting for files takes no core. 0: there is no telling how many there are. */
static double least_step_ns(const struct facts *facts)
{
    const struct event_device *device = facts->device;
    double computes = facts->summary->trace->cost.loader_computes_share;
    int cores = device != NULL ? device->host_cores : 0;

    if (cores <= 0)
        return 0;
    cores -= device->shares_host_cores == 1 && cores > 1;
    return facts_typical_loading_ns(facts) * (computes > 0 ? computes : 1) / cores;
}

/* Idle time for loading that more workers would save. */
static double lost_to_loading(const struct facts *facts)
{
    return fmax(0, fmin(facts_host_ns(facts, HOST_LOADING), facts->step_ns - least_step_ns(facts)));
}

/* The cost is that of a replay, or the share of it that is the finding's own. Not so where batches
 * are pageable: then the device runs dry at each copy, and how soon it has work again depends on
 * what workers leave of the host, which a replay takes as recorded. On a V100 the idle time was
 * right (27.3 of 27.4 ms), the replay a fifth too high. */
static void take_as_replayed(struct finding *finding, const struct facts *facts, double share)
{
    finding->replayed_share = facts_batches_are_pageable(facts) ? 0 : share;
    finding->least_step_ns = least_step_ns(facts);
}

#define PART_LEAST 0.5 /* of the loader's time */

/* Events of the loop's thread, and those of them that lie within loading. */
struct loop_events {
    double all, loading; /* per step */
};

static struct loop_events count_events(const struct facts *facts)
{
    const struct timeline *timeline = &facts->summary->timeline;
    const struct host_activity *host = &facts->summary->host;
    const struct host_segment *segment = host->items, *end = segment + host->count;
    int64_t all = 0, loading = 0;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (event->track != host->loop)
            continue;
        while (segment < end &&
               (segment->track < event->track ||
                (segment->track == event->track && segment->end_ns <= event->start_ns)))
            segment++;
        all++;
        loading += segment < end && segment->track == event->track &&
                   segment->start_ns <= event->start_ns && segment->activity == HOST_LOADING;
    }
    return (struct loop_events){ (double)all / facts->steps, (double)loading / facts->steps };
}

/* PyTorch 2.15's profiler took 300 and 550 ns per operator of two trainings on a host alone, with
 * 3,643 and 10,638 operators per step. If a step is longer by more than this per event, it is
 * longer for other reasons as well. */
#define TRACER_NS_MOST 1000.0

/* The tracer takes this long per event, and a loader that makes its batches of many small operators
 * has most of them. 0: not known, or the loop is no slower with the tracer. */
static double tracer_ns(const struct facts *facts, const struct loop_events *events)
{
    double untraced_ns = facts->summary->trace->cost.step_ns;

    if (!(events->all > 0 && untraced_ns > 0 && untraced_ns < facts->step_ns))
        return 0;
    return fmin((facts->step_ns - untraced_ns) / events->all, TRACER_NS_MOST);
}

/* If nobody timed the loader: the share of loading in the step without the tracer's time. This is
 * too little: a tracer slows all else down as well, not by events but by the memory that it fills
 * (docs/record.md). */
static double lost_by_events(struct finding *finding, const struct facts *facts)
{
    double lost_ns = lost_to_loading(facts);
    struct loop_events events = count_events(facts);
    double event_ns = tracer_ns(facts, &events);
    double tracer_in_loading_ns = event_ns * events.loading;

    if (!(event_ns > 0))
        return lost_ns;
    if (tracer_in_loading_ns >= RULE_SHARE_LEAST * facts_host_ns(facts, HOST_LOADING))
        finding_says(finding,
                     "; %s of the loading is the tracer's, with %.0f%% of the loop's events",
                     quantity_time(tracer_in_loading_ns).text, 100 * events.loading / events.all);
    return fmax(0, lost_ns - tracer_in_loading_ns) * facts->step_ns /
           (facts->step_ns - event_ns * events.all);
}

/* The recorder timed the loader in steps with the tracer and in steps without. */
static double lost_as_timed(struct finding *finding, const struct facts *facts)
{
    const struct trace_cost *cost = &facts->summary->trace->cost;
    double most_ns = facts->step_ns;

    if (fabs(cost->traced_loading_share - cost->loading_share) >= RULE_SHARE_LEAST)
        finding_says(finding, "; loading is %.0f%% of a step without the tracer, %.0f%% with it",
                     100 * cost->loading_share, 100 * cost->traced_loading_share);
    if (cost->mean_loading_share > 0) /* else one long wait in the recording would set it */
        most_ns *= cost->mean_loading_share;
    return fmin(most_ns, lost_to_loading(facts) * cost->loading_share / cost->traced_loading_share);
}

/* In time of the traced step, as other rules have it. A host alone spends the tracer's time
 * itself. */
static double lost_without_tracer(struct finding *finding, const struct facts *facts)
{
    const struct trace_cost *cost = &facts->summary->trace->cost;

    if (!facts->summary->timeline.host_alone)
        return lost_to_loading(facts);
    if (cost->loading_share > 0 && cost->traced_loading_share > 0)
        return lost_as_timed(finding, facts);
    return lost_by_events(finding, facts);
}

/* If a program's threads want twice as many cores as there are, they wait for each other, and more
 * workers or batches ahead would wait with them. A loop, its workers and a device on the same cores
 * want more than there are, too, but not that many: 2.3 of 2 where each worker has one thread, and
 * 14 where it has 16 (scenario oversubscribed_workers). */
#define TAKEN 2

static void say_cores(struct finding *finding, const struct facts *facts)
{
    const struct trace_cost *cost = &facts->summary->trace->cost;

    if (!(cost->cores > 0 && cost->wanted_cores >= TAKEN * cost->cores))
        return;
    finding_says(finding, "; all threads of the program and of its loader want %.3g cores, of %.0f",
                 cost->wanted_cores, cost->cores);
    finding->advice =
        facts->program.trains
            ? "use no more threads than cores in the loader (OMP_NUM_THREADS=1, "
              "cv2.setNumThreads(0) in worker_init_fn), decode less (smaller files, a faster "
              "decoder), or store samples decoded: more workers would wait for a core"
            : "use no more threads than cores, or make the input cheaper: more threads would wait "
              "for a core";
}

/* If it is known what takes half of the loader's time, the advice is about that. */
static void say_part(struct finding *finding, const struct facts *facts)
{
    const struct loading_parts shares = loading_parts_of(facts);
    const struct {
        double share;
        const char *does, *advice;
    } parts[] = {
        { shares.reads, "waiting for files",
          "read fewer and larger files (shards, LMDB, Parquet), from a local disk or a cache in "
          "memory, ahead of their use; more workers help as long as the storage serves them all" },
        { shares.collates, "putting batches together",
          facts->program.trains
              ? "collate in workers (num_workers), into memory that is there already, or return "
                "tensors of one size so that one torch.stack() does it"
              : "put batches together in another thread, or into memory that is there already" },
        { shares.prepares, "decoding and transforms",
          facts->program.trains
              ? "load in more workers (num_workers), decode less (smaller files, a faster decoder, "
                "to the size that is used), or store samples decoded"
              : "prepare samples in other threads or processes, decode less (smaller files, a "
                "faster decoder), or keep them decoded" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (parts[i].share >= PART_LEAST) {
            finding_says(finding, "; %.0f%% of loading is %s", 100 * fmin(1, parts[i].share),
                         parts[i].does);
            finding->advice = parts[i].advice;
            break;
        }
    if (!(shares.reads >= PART_LEAST))
        say_cores(finding, facts);
}

static bool judge_data_loading(struct finding *finding, const struct facts *facts)
{
    double exposed = facts_host_ns(facts, HOST_LOADING);

    if (facts_loading_is_uneven(facts))
        return false;
    if (facts->summary->timeline.host_alone)
        finding_says(
            finding,
            "the loop waits for data or prepares it for %s of %s; no gain is predicted, since more "
            "workers would take cores from the step",
            quantity_time(exposed).text, step_text(facts).text);
    else
        finding_says(finding,
                     "the device is idle for %s of %s while the loop waits for data or "
                     "prepares it; its own work takes %s",
                     quantity_time(exposed).text, step_text(facts).text,
                     quantity_time(facts->busy_ns).text);
    /* On a host alone, loading and computing share the cores. */
    take_as_replayed(finding, facts, facts->summary->timeline.host_alone ? 0 : 1);
    if (!finding_replays(finding, facts, lost_without_tracer(finding, facts)))
        return false;
    if (facts->summary->timeline.host_alone)
        finding->predicted_gain = NAN;
    say_part(finding, facts);
    return true;
}

/* A wait counts for the step that it is in; idle time, for the one that it begins in. */
static struct epoch_borders find_borders(const struct facts *facts)
{
    const struct steps *steps = &facts->summary->steps;
    int64_t count = steps->count;
    SCRATCH_ARENA(scratch, facts->summary->arena);
    double *values = ARENA_NEW(scratch, double, count), *sorted = ARENA_NEW(scratch, double, count),
           *calls = ARENA_NEW(scratch, double, count),
           *sorted_calls = ARENA_NEW(scratch, double, count);
    struct epoch_borders borders;

    for (int64_t i = 0; i < count; i++) {
        values[i] = sorted[i] = (double)steps->items[i].part_ns[STEP_DATA_LOADING];
        calls[i] = sorted_calls[i] = (double)facts->summary->phases.steps[i][PHASE_DATA].times;
    }
    stats_sort(sorted, (int)count);
    stats_sort(sorted_calls, (int)count);
    borders = epoch_borders_find(
        &(struct step_waits){ .wait_ns = values,
                              .sorted = sorted,
                              .calls = calls,
                              .usual_calls = stats_sorted_median(sorted_calls, (int)count),
                              .count = count,
                              .step_ns = facts->median_step_ns });
    return borders;
}

/* The part of all waiting that is at the borders, or elsewhere. */
static double share_of_waiting(const struct facts *facts, const struct epoch_borders *borders,
                               bool at_borders)
{
    double part = 0, all = 0;

    for (int64_t i = 0; i < facts->summary->steps.count; i++) {
        double wait = facts_loading_ns(facts, i);
        all += wait;
        part += epoch_borders_have(borders, i) == at_borders ? wait : 0;
    }
    return all > 0 ? part / all : 0;
}

/* Twice may be chance. */
static bool come_again(struct finding *finding, const struct facts *facts,
                       const struct epoch_borders *borders)
{
    int64_t times = facts_waits_apart(facts, borders);

    if (times < 2)
        return !borders->found && facts_loading_comes_again(facts);
    if (times < FACTS_WAITS_TO_REPEAT && !(!borders->found && facts_loading_comes_again(facts)))
        finding->confidence = CONFIDENCE_LOW;
    return true;
}

static bool judge_uneven(struct finding *finding, const struct facts *facts, bool at_borders)
{
    int64_t count = facts->summary->steps.count, waiting;
    struct epoch_borders borders;
    double share;

    if (count < FACTS_STEPS_TO_REPEAT || !facts_loading_is_uneven(facts))
        return false;
    borders = find_borders(facts);
    finding->confidence = CONFIDENCE_MEDIUM;
    if (at_borders ? !borders.found : !come_again(finding, facts, &borders))
        return false;
    waiting = facts_steps_that_wait(facts);
    finding_says(
        finding,
        "%lld of %lld steps account for most of the wait for data, up to %s each; the median "
        "step waits %s of %s",
        (long long)waiting, (long long)count,
        quantity_time(facts->summary->idle.loadings[count - 1]).text,
        quantity_time(facts_typical_loading_ns(facts)).text,
        quantity_time(facts->median_step_ns).text);
    if (at_borders)
        finding_says(
            finding,
            "; an epoch begins every %lld steps, and waits at random steps would look like "
            "that with a chance of %.2g%%",
            (long long)borders.steps, 100 * borders.chance);
    else if (borders.found)
        finding_says(finding, "; %.0f%% of it is not where epochs begin",
                     100 * share_of_waiting(facts, &borders, false));
    share = share_of_waiting(facts, &borders, at_borders);
    take_as_replayed(finding, facts, share);
    return finding_replays(finding, facts, lost_to_loading(facts) * share);
}

static bool judge_data_jitter(struct finding *finding, const struct facts *facts)
{
    if (!judge_uneven(finding, facts, false))
        return false;
    say_cores(finding, facts);
    return true;
}

static bool judge_epoch_gap(struct finding *finding, const struct facts *facts)
{
    return judge_uneven(finding, facts, true);
}

const struct rule rules_of_loading[] = {
    {
        .id = "data_loading",
        .title = "The step waits for data",
        .also = "num_workers, data loading bottleneck, input-bound, data starvation, I/O "
                "bottleneck, DataLoader, asynchronous data loading",
        .symptom = "the device is idle while the loop waits for its next batch "
                   "(enumerate(DataLoader)) or prepares it",
        .meaning = "the loader is slower than the device, or the loop does its work",
        .advice = "load in more workers (num_workers), ahead of the loop, or make loading cheaper",
        .inferring = "prepare the next input in another thread or process while the device "
                     "computes, or make it cheaper",
        .cost = "what a replay gains without loading, but for what more workers would need "
                "themselves on the cores that are left; where batches are pageable, that idle time",
        .threshold = "torch_tb_profiler: data loading over 5% of a step",
        .bottleneck = BOTTLENECK_LOADING,
        .judge = judge_data_loading,
        .site = SITE_LOADING,
        .alter = load_in_workers,
    },
    {
        .id = "data_jitter",
        .title = "A few steps wait long for data",
        .also = "prefetch_factor, late batches",
        .symptom = "a few steps wait long for their batch, the others do not",
        .meaning = "some samples take much longer, and too few batches are ready to bridge that",
        .advice = "prefetch more batches, so that a slow one is ready in time",
        .cost = "as for data_loading, averaged over all steps",
        .threshold = "step times should vary by less than 10%",
        .bottleneck = BOTTLENECK_LOADING,
        .judge = judge_data_jitter,
        .site = SITE_LOADING,
        .alter = load_in_workers,
    },
    {
        .id = "epoch_gap",
        .title = "The device waits between epochs",
        .also = "persistent_workers, worker start-up",
        .symptom = "long waits for data in the steps that begin an epoch, which ask the loader "
                   "once more than the others; or at equal distances of 10 steps and more, too "
                   "many of them for chance",
        .meaning = "at the border of epochs new workers start, and the loop waits for their first "
                   "batches",
        .advice = "keep the workers alive (persistent_workers=True) and prefetch the next epoch's "
                  "batches",
        .cost = "as for data_loading at these borders, averaged over all steps",
        .threshold = "torch_tb_profiler: data loading over 5% of a step",
        .bottleneck = BOTTLENECK_LOADING,
        .judge = judge_epoch_gap,
        .site = SITE_LOADING,
        .alter = load_in_workers,
    },
    { .id = NULL },
};
