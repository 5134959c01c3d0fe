/* Findings of copies between host and device, and on the device. */
#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/diagnosis/rules/host_facts.h"

#include <math.h>
#include <string.h>

/* From the CUDA runtime's documentation (API synchronization behavior): a transfer from pageable
 * memory of up to 64 KB is staged at once; a larger one may hold the host up. */
enum { SMALL_BYTES = 65536 };

#define COPIED_BEFORE 0.9 /* nearly all of the copies' time */

/* Copies of one direction, per step. */
struct copies {
    double count, bytes, ns;
    double pageable_ns; /* of large ones */
};

static bool is_large(const struct kernel_row *row)
{
    return row->bytes == 0 || row->bytes / row->count > SMALL_BYTES;
}

static struct copies copies_of(const struct facts *facts, const char *direction)
{
    const struct kernels *kernels = &facts->summary->kernels;
    struct copies copies = { 0, 0, 0, 0 };

    for (int64_t i = 0; i < kernels->count; i++) {
        const struct kernel_row *row = &kernels->rows[i];
        if (row->kind != WORK_COPY ||
            strstr(trace_file_name(facts->summary->trace, row->name), direction) == NULL)
            continue;
        copies.count += (double)row->count / facts->steps;
        copies.bytes += (double)row->bytes / facts->steps;
        copies.ns += (double)row->total_ns / facts->steps;
        if (row->pageable && is_large(row))
            copies.pageable_ns += (double)row->total_ns / facts->steps;
    }
    return copies;
}

static struct copies copies_between(const struct facts *facts)
{
    struct copies in = copies_of(facts, "HtoD"), out = copies_of(facts, "DtoH");

    return (struct copies){ in.count + out.count, in.bytes + out.bytes, in.ns + out.ns,
                            in.pageable_ns };
}

/* The share of all copy time in which no kernel runs. */
static double exposed_share(const struct facts *facts)
{
    const struct usage *usage = &facts->summary->usage;

    return usage->kind_ns[WORK_COPY] > 0
               ? (double)usage->copy_exposed_ns / (double)usage->kind_ns[WORK_COPY]
               : 0;
}

/* Copies that cost their own time and the idle time in their calls. Those that go on at once are
 * one time. */
static bool cost_with_calls(struct finding *finding, const struct facts *facts, double copies_ns)
{
    double exposed = (double)facts->summary->usage.copy_exposed_ns / facts->steps;

    return finding_replays(finding, facts,
                           fmin(copies_ns, exposed) + facts_host_ns(facts, HOST_COPYING));
}

static bool is_batch(const struct facts *facts, const struct graph_node *node, bool pageable)
{
    const struct trace_file *trace = facts->summary->trace;
    const struct trace_event *event =
        node->event != GRAPH_NONE ? &trace->events[node->event] : NULL;

    return facts_copies_to(facts, node, "HtoD") &&
           (strstr(trace_file_name(trace, event->name), "Pageable") != NULL) == pageable &&
           !(pageable && event->bytes >= 0 && event->bytes <= SMALL_BYTES);
}

/* A copy goes on beside all other work, in time for it, and its call returns at once. From pinned
 * memory it takes half the time (Harris: How to Optimize Data Transfers in CUDA C/C++, NVIDIA,
 * 2012). */
static void copy_beside(const struct facts *facts, const struct trace_graph *graph, int64_t at,
                        struct graph_node *node, bool pageable)
{
    const struct graph_node *work = graph_work_of(graph, at);

    if (is_batch(facts, node, pageable)) {
        node->stream = (int16_t)graph->stream_count;
        node->duration_ns /= pageable ? 2 : 1;
    } else if (node->after != GRAPH_NONE && is_batch(facts, &graph->nodes[node->after], pageable))
        node->after = GRAPH_NONE;
    else if (pageable && work != NULL && is_batch(facts, work, pageable) &&
             node->duration_ns > facts->summary->launches.call_median_ns)
        node->duration_ns = facts->summary->launches.call_median_ns;
}

static void copy_pinned(const void *context, const struct trace_graph *graph, int64_t at,
                        struct graph_node *node)
{
    copy_beside(context, graph, at, node, true);
}

static void copy_ahead(const void *context, const struct trace_graph *graph, int64_t at,
                       struct graph_node *node)
{
    copy_beside(context, graph, at, node, false);
}

/* One copy for all: what each costs beside its bytes is small, and no call waits for it any
 * more. */
static void copy_at_once(const void *context, const struct trace_graph *graph, int64_t at,
                         struct graph_node *node)
{
    const struct facts *facts = context;
    const struct graph_node *work = node->is_call ? graph_work_of(graph, at) : node;

    if (node->stream == GRAPH_NONE && node->after != GRAPH_NONE &&
        facts_copies_to(facts, &graph->nodes[node->after], "HtoD")) {
        node->after = GRAPH_NONE;
        node->duration_ns = 0;
    } else if (work != NULL &&
               (facts_copies_to(facts, work, "HtoD") || facts_copies_to(facts, work, "DtoH"))) {
        node->duration_ns = 0;
        node->gap_ns = 0;
    }
}

static void copy_nothing(const void *context, const struct trace_graph *graph, int64_t at,
                         struct graph_node *node)
{
    const struct facts *facts = context;
    (void)graph;
    (void)at;

    if (facts_copies_to(facts, node, "DtoD"))
        node->duration_ns = 0;
}

/* Traces of AMD devices do not state how many bytes a copy moves. */
static bool are_many_small(const struct copies *copies)
{
    return copies->count >= 8 && copies->bytes > 0 && copies->bytes / copies->count <= SMALL_BYTES;
}

/* Without steps, copies that come before the first kernel are done once, as those of a model's
 * weights are: what comes with each input has kernels before it. */
static bool is_found_again(struct finding *finding, const struct facts *facts, bool found)
{
    const struct timeline *timeline = &facts->summary->timeline;
    double before_ns = 0, all_ns = copies_between(facts).ns;

    if (!found || !facts_of_whole(facts))
        return found;
    for (int64_t i = 0; i < timeline->work_count && timeline->work[i].kind != WORK_COMPUTATION; i++)
        if (timeline->work[i].kind == WORK_COPY)
            before_ns +=
                (double)(timeline->work[i].event->end_ns - timeline->work[i].event->start_ns);
    if (before_ns >= COPIED_BEFORE * all_ns) {
        finding_says(finding, "; they come before the first kernel, and so once");
        finding_gains_nothing(finding, facts);
    }
    return true;
}

static bool judge_pageable_copy(struct finding *finding, const struct facts *facts)
{
    struct copies copies = copies_between(facts);

    if (!(copies.pageable_ns > 0))
        return false;
    finding_says(
        finding,
        "copies from pageable memory take %s of %s, %.0f%% of that while no kernel runs; the "
        "device is idle for %s while the host is in such calls",
        quantity_time(copies.pageable_ns).text, step_text(facts).text, 100 * exposed_share(facts),
        quantity_time(facts_host_ns(facts, HOST_COPYING)).text);
    return is_found_again(
        finding, facts, cost_with_calls(finding, facts, copies.pageable_ns * exposed_share(facts)));
}

static bool judge_small_copies(struct finding *finding, const struct facts *facts)
{
    struct copies copies = copies_between(facts);

    if (!are_many_small(&copies))
        return false;
    finding_says(finding,
                 "%.4g copies %s between host and device, of %s on average; they take %s, and the "
                 "device is idle for %s while the host is in their calls",
                 copies.count, facts_per(facts), quantity_bytes(copies.bytes / copies.count).text,
                 quantity_time(copies.ns).text,
                 quantity_time(facts_host_ns(facts, HOST_COPYING)).text);
    return cost_with_calls(finding, facts, copies.ns * exposed_share(facts));
}

/* The part of all copies that is between host and device and not pageable, as durations add up. */
static double pinned_share(const struct facts *facts, const struct copies *copies)
{
    double all = copies_of(facts, "").ns;

    return all > 0 ? (copies->ns - copies->pageable_ns) / all : 0;
}

/* Copies that go on beside all else still take their own time, so a step that is little but copies
 * gains little from that: there the copies themselves are to be fewer. */
static bool judge_exposed_copy(struct finding *finding, const struct facts *facts)
{
    struct copies copies = copies_between(facts);
    /* The time per step in which the device copies: two directions at once are one time. */
    double all = (double)facts->summary->usage.kind_ns[WORK_COPY] / facts->steps, exposed, lost;

    if (are_many_small(&copies))
        return false;
    exposed = all * pinned_share(facts, &copies) * exposed_share(facts);
    lost = exposed - facts_saved_copies_ns(facts);
    finding_says(finding,
                 "copies between host and device take %s of %s, %.0f%% of that while no "
                 "kernel runs",
                 quantity_time(fmin(copies.ns, all)).text, step_text(facts).text,
                 100 * exposed_share(facts));
    if (facts_on_host_cores(facts)) /* so a copy beside a kernel may slow it down */
        finding->confidence = CONFIDENCE_MEDIUM;
    if (2 * all > facts->step_ns) {
        finding->advice = "copy less: keep on the device what is needed again, in a shorter type, "
                          "and both directions at once; there is little to hide copies behind";
        finding->gain_is_least = true; /* copying beside the rest; copying less gains more */
    }
    return is_found_again(finding, facts, finding_replays(finding, facts, lost));
}

/* --- Round trips --- */

enum { TRIP_BYTES = 1024 }; /* a smaller copy is a number that is read, not an operand */

struct trips {
    int64_t count, ns;
};

static bool is_copy(const struct facts *facts, const struct work *work, const char *direction)
{
    return work->kind == WORK_COPY && work->event->bytes >= TRIP_BYTES &&
           strstr(trace_file_name(facts->summary->trace, work->event->name), direction) != NULL;
}

/* A round trip is a copy to the host that is followed at once by a copy to the device, with kernels
 * before and after both in the same step. */
static struct trips find_trips(const struct facts *facts)
{
    const struct timeline *timeline = &facts->summary->timeline;
    const struct steps *steps = &facts->summary->steps;
    struct trips trips = { 0, 0 };
    int64_t step = 0;

    for (int64_t i = 1; i + 2 < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        const struct trace_event *around;
        if (!is_copy(facts, work, "DtoH") || !is_copy(facts, work + 1, "HtoD") ||
            work[-1].kind != WORK_COMPUTATION || work[2].kind != WORK_COMPUTATION ||
            work->call == NULL || work[2].call == NULL)
            continue;
        while (step + 1 < steps->count &&
               steps->items[step + 1].event->start_ns <= work->call->start_ns)
            step++;
        around = steps->count > 0 ? steps->items[step].event : NULL;
        if (around == NULL || work[2].call->start_ns >= around->end_ns)
            continue;
        trips.count++;
        trips.ns += work[1].event->end_ns - work->event->start_ns;
    }
    return trips;
}

static bool judge_host_round_trip(struct finding *finding, const struct facts *facts)
{
    struct trips trips = find_trips(facts);

    finding_says(
        finding,
        "data goes to the host and back between two kernels %.3g times %s, which takes %s of %s "
        "while nothing else runs",
        (double)trips.count / facts->steps, facts_per(facts),
        quantity_time((double)trips.ns / facts->steps).text, quantity_time(facts->step_ns).text);
    return finding_costs(finding, facts, (double)trips.ns / facts->steps);
}

/* --- Copies on the device --- */

/* Time per step in which the device copies to itself and computes nothing. A message to other ranks
 * beside such a copy hides nothing of it: what is computed next waits for the copy. */
static double uncovered_ns(const struct facts *facts)
{
    const struct timeline *timeline = &facts->summary->timeline;
    SCRATCH_ARENA(scratch, facts->summary->arena);
    struct intervals copying = { .arena = scratch }, computing = { .arena = scratch },
                     uncovered = { .arena = scratch };
    double ns = 0;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        const struct trace_event *event = work->event;
        if (work->kind == WORK_COMPUTATION)
            intervals_add(&computing, event->start_ns, event->end_ns);
        else if (work->kind == WORK_COPY &&
                 strstr(trace_file_name(timeline->trace, event->name), "DtoD") != NULL)
            intervals_add(&copying, event->start_ns, event->end_ns);
    }
    intervals_merge(&copying);
    intervals_merge(&computing);
    intervals_without(&uncovered, &copying, &computing);
    for (int64_t i = 0; i < uncovered.count; i++)
        ns += (double)(uncovered.items[i].end_ns - uncovered.items[i].start_ns) / facts->steps;
    return ns;
}

static bool judge_device_copies(struct finding *finding, const struct facts *facts)
{
    struct copies copies = copies_of(facts, "DtoD");
    double ns;

    if (!(copies.count > 0))
        return false;
    ns = uncovered_ns(facts);
    finding_says(
        finding,
        "%.4g copies %s from the device to itself, of %s in all; nothing is computed during "
        "%s of them, in %s",
        copies.count, facts_per(facts), quantity_bytes(copies.bytes).text, quantity_time(ns).text,
        step_text(facts).text);
    return finding_replays(finding, facts, ns);
}

const struct rule rules_of_copies[] = {
    {
        .id = "host_round_trip",
        .title = "Data goes to the host and back within a step",
        .also = "CPU fallback, tensor.cpu(), device-to-host copy",
        .symptom = "between two kernels of a step, a copy to the host and one back",
        .meaning = "an operation within the step runs on the host (.cpu(), NumPy)",
        .advice = "do the operation on the device, or before the step",
        .cost = "from the start of the first copy to the end of the second",
        .threshold = "5% of a step",
        .bottleneck = BOTTLENECK_COPIES,
        .judge = judge_host_round_trip,
        .site = SITE_COPIES,
        .shortens_work = true,
    },
    {
        .id = "pageable_copy",
        .title = "Copies from pageable memory",
        .also = "pin_memory, pinned memory, page-locked memory",
        .symptom = "copies with \"Pageable\" in their name, larger than 64 KiB",
        .meaning = "the driver copies such memory to a pinned buffer of its own first, while the "
                   "host waits",
        .advice = "pin the host memory (pin_memory=True) and copy asynchronously "
                  "(non_blocking=True)",
        .plain = "pin the host memory (cudaHostAlloc(), cudaHostRegister()) and copy with "
                 "cudaMemcpyAsync()",
        .cost = "what a replay gains with pinned copies on a stream of their own",
        .threshold = "nsys analyze, cuda_memcpy_async: any; 5% of a step, 15% is bad",
        .bottleneck = BOTTLENECK_COPIES,
        .judge = judge_pageable_copy,
        .site = SITE_PAGEABLE_COPIES,
        .shortens_work = true,
        .alter = copy_pinned,
    },
    {
        .id = "small_copies",
        .title = "Many small copies",
        .also = "small transfers, batched transfers",
        .symptom = "8 or more copies per step between host and device, 64 KiB or less on average",
        .meaning = "every copy has a fixed cost, which small ones pay for nothing",
        .advice = "put all tensors of a batch into one buffer and copy that at once",
        .cost = "what a replay gains with one copy for all",
        .threshold = "8 copies per step of up to 64 KiB; 5% of a step",
        .bottleneck = BOTTLENECK_COPIES,
        .judge = judge_small_copies,
        .site = SITE_COPIES,
        .shortens_work = true,
        .alter = copy_at_once,
    },
    {
        .id = "device_copies",
        .title = "Data is copied on the device",
        .also = "contiguous(), transpose, Memcpy DtoD",
        .symptom = "copies with \"DtoD\" in their name while nothing is computed",
        .meaning = "the next kernels wait while the device reads and writes data only to have it "
                   "twice",
        .advice = "use it where it is: gradient_as_bucket_view=True in DistributedDataParallel, "
                  "views instead of clone() and contiguous()",
        .inferring = "use it where it is: views instead of clone() and contiguous(), results "
                     "written into their place (out=)",
        .plain = "use it where it is, or write results into their place",
        .cost = "what a replay gains without these copies",
        .threshold = "5% of a step",
        .bottleneck = BOTTLENECK_COPIES,
        .judge = judge_device_copies,
        .site = SITE_DEVICE_COPIES,
        .shortens_work = true,
        .alter = copy_nothing,
    },
    {
        .id = "exposed_copy",
        .title = "Copies do not overlap with compute",
        .also = "non_blocking, transfer overlap, Memcpy HtoD, H2D, PCIe bandwidth",
        .symptom = "copies between host and device while no kernel runs",
        .meaning = "the step waits for a batch that could be copied while the one before is "
                   "computed",
        .advice = "copy the next batch on its own stream while the current one is computed",
        .cost = "what a replay gains with these copies on a stream of their own; where copies "
                "take half of the step, at least that",
        .threshold = "nsys analyze, cuda_memcpy_sync; 5% of a step, 15% is bad",
        .bottleneck = BOTTLENECK_COPIES,
        .judge = judge_exposed_copy,
        .site = SITE_COPIES,
        .shortens_work = true,
        .alter = copy_ahead,
    },
    { .id = NULL },
};
