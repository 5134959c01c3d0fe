/* Findings of the trace itself: what it cannot tell. */
#include "harness/desk/diagnosis/rules/rules.h"

#include "harness/base/words/text.h"
#include "harness/desk/analysis/names/event_names.h"

#include <stdarg.h>
#include <stdio.h>

static bool judge_unread_device(struct finding *finding, const struct facts *facts)
{
    const char *device = facts->summary->trace->unread_device;

    if (!facts_are_foreign(facts))
        return false;
    finding_says(
        finding,
        "its rows are of %s; only those are read that PyTorch's profiler writes of GPUs (CUDA, "
        "ROCm, XPU) and of the host",
        device != NULL ? device : "kinds that are not known");
    finding->advice = traced_program_viewer(device);
    finding_informs(finding);
    return true;
}

static bool is_empty(const struct trace_file *trace)
{
    return trace->event_count == 0 && trace->frame_count == 0 &&
           trace->other_count == trace->name_count;
}

static bool judge_empty_recording(struct finding *finding, const struct facts *facts)
{
    const struct trace_file *trace = facts->summary->trace;

    if (!is_empty(trace))
        return false;
    finding_says(finding,
                 "%s; the profiler's schedule was still waiting or warming up when it stopped, or "
                 "profiler.step() was never called",
                 trace->stray_count > 0 ? "no event has a time that can be"
                 : trace->bad_count > 0 ? "no event is whole"
                                        : "the file has no events");
    finding->severity = SEVERITY_MAJOR;
    return true;
}

/* PyTorch's profiler asks for the rows of AMD's GPUs by the same name. */
static const char *device_advice(const struct facts *facts)
{
    const struct trace_file *trace = facts->summary->trace;

    if (trace->recorder != NULL)
        return "record what the program gives the GPU (nsys profile --trace=cuda,nvtx; dlprof "
               "--nsys_opts=\"-t cuda,nvtx\"), as a user who may, and let the program end by "
               "itself";
    if (facts->program.is_rocm)
        return "record the device as well (ProfilerActivity.CUDA is for ROCm, too), and check "
               "that this PyTorch has roctracer or rocprofiler-sdk";
    return facts->summary->timeline.needed != NULL ? "record the device as well "
                                                     "(ProfilerActivity.CUDA), and check that "
                                                     "CUPTI is found"
                                                   : NULL;
}

static bool judge_no_device_activity(struct finding *finding, const struct facts *facts)
{
    bool alone = facts->summary->timeline.host_alone;
    const char *needed = facts->summary->timeline.needed;

    if (facts->summary->timeline.work_count > 0 || is_empty(facts->summary->trace) ||
        (alone && facts_computing_share(facts) >= RULE_BUSY_GOOD))
        return false;
    finding_says(finding, "none of the %lld events is a kernel, a copy or a memset%s",
                 (long long)facts->summary->trace->event_count,
                 alone ? ", and no device is described or called" : "");
    if (needed != NULL)
        finding_says(finding, "; there was a GPU, as %.60s shows, but its rows are missing",
                     needed);
    if (facts->summary->trace->recorder_said[0] != '\0')
        finding_says(finding, "; %s says: %.160s", facts->summary->trace->recorder,
                     facts->summary->trace->recorder_said);
    if (device_advice(facts) != NULL)
        finding->advice = device_advice(facts);
    finding->severity = SEVERITY_MAJOR;
    if (alone &&
        facts->summary->trace->recorder == NULL) { /* Nobody is at fault who computes on a host. */
        finding->bottleneck = BOTTLENECK_NONE;
        finding_informs(finding);
    }
    return true;
}

/* Adds a complaint. The advice of the first one becomes the finding's. */
__attribute__((format(printf, 3, 4))) static void
complain(struct finding *finding, const char *advice, const char *format, ...)
{
    va_list arguments;

    if (finding->evidence[0] == '\0')
        finding->advice = advice;
    else
        finding_says(finding, "; ");
    va_start(arguments, format);
    text_append_list(finding->evidence, sizeof finding->evidence, format, arguments);
    va_end(arguments);
}

enum { STEPS_LEAST = 3, OUTSIDE_TIMES = 2 };

static void complain_of_recording(struct finding *finding, const struct trace_file *trace)
{
    if (trace->partial)
        complain(finding, "let the profiler finish writing the file, and copy all of it",
                 "the trace is incomplete: %.200s", trace->partial_reason);
    if (trace->dropped_count > 0)
        complain(finding, "record fewer steps, or give the profiler larger buffers",
                 "the recorder dropped %lld record%s", (long long)trace->dropped_count,
                 trace->dropped_count == 1 ? "" : "s");
    if (trace->bad_count > 0)
        complain(finding, "record the trace again", "%lld event%s broken",
                 (long long)trace->bad_count, trace->bad_count == 1 ? " is" : "s are");
}

static void complain_of_steps(struct finding *finding, const struct facts *facts)
{
    const struct summary *summary = facts->summary;
    bool ranges = summary->trace->recorder != NULL;
    bool serves = facts->program.serves; /* its engine calls the profiler, not the user */
    const char *mark =
        serves ? "let the engine record at least 3 steps of the kind that is slow (decode, prefill)"
        : ranges
            ? "put an NVTX range around every step, such as torch.cuda.nvtx.range(\"step 12\"), "
              "and record at least 3 of them"
            : "call profiler.step() after every step, and record at least 3 of them";
    const char *name;
    int64_t prefills = 0, engine = facts_engine_marks(facts, &name);
    const char *marks = serves ? "" : ranges ? " (NVTX ranges)" : " (profiler.step())";

    if (facts->has_steps && summary->timeline.work_count > 0 && summary->steps.count < STEPS_LEAST)
        complain(finding, "record at least 3 whole steps",
                 "fewer than %d steps: too few to be steady", STEPS_LEAST);
    facts_steps_of_engine(facts, &prefills);
    if (prefills > 0 && prefills < summary->steps.count)
        complain(finding, "look at one kind of step: record decode, or prefill, by itself",
                 "figures are means over %lld steps that prefill and %lld that only decode, which "
                 "differ",
                 (long long)prefills, (long long)(summary->steps.count - prefills));
    if (summary->steps.region != NULL && !facts_steps_of_engine(facts, NULL))
        complain(finding, mark,
                 "no steps are marked%s, so the %lld regions \"%.60s\" count as steps", marks,
                 (long long)summary->steps.count, summary->steps.region);
    if (summary->steps.anchor != NULL)
        complain(finding, mark,
                 "no steps are marked%s, so the %lld repetitions of the work from one "
                 "%.60s to the next count as steps",
                 marks, (long long)summary->steps.count, summary->steps.anchor);
    if (facts->has_steps)
        return;
    if (engine > 0) {
        complain(finding, mark,
                 "%lld step%s of the engine (%.60s): figures are for the whole trace",
                 (long long)engine, engine == 1 ? "" : "s", name);
        return;
    }
    if (summary->timeline.work_count > 0 || summary->operators.count > 0)
        complain(finding, mark,
                 facts_of_whole(facts)
                     ? "no steps are marked%s, so figures are for the whole trace"
                     : "no steps are marked%s, so the optimizer's calls count as steps",
                 marks);
}

static void complain_of_launches(struct finding *finding, const struct facts *facts)
{
    const struct launches *launches = &facts->summary->launches;
    const char *host = facts->summary->trace->recorder != NULL
                           ? "record the calls of CUDA too (nsys profile --trace=cuda,nvtx), in "
                             "whole steps"
                           : "record the host too (ProfilerActivity.CPU), in whole steps";

    if (launches->count == 0)
        complain(finding, host,
                 "the host's calls are missing, so the trace does not show why the device is idle");
    else if (launches->orphan_count * 10 > facts->summary->timeline.work_count)
        complain(finding, host,
                 "for more than 10%% of the device's work the trace has no launch call");
    if (facts->lacks_work)
        complain(finding, "wait for the device before the profiler stops",
                 "the work of %lld of %lld launches is missing, so the device only seems idle",
                 (long long)launches->lost_count,
                 (long long)(launches->count + launches->lost_count));
}

static void complain_of_messages(struct finding *finding, const struct facts *facts)
{
    const struct message_sum *sums = facts->summary->messages.backward;
    const struct message_sum *all = &sums[MESSAGE_ALL_REDUCE],
                             *parts = &sums[MESSAGE_REDUCE_SCATTER];

    if (all->count + parts->count > 0 && all->sized_count + parts->sized_count == 0)
        complain(finding, "record with PyTorch 2.3 or newer",
                 "messages between ranks do not state their size, so it is not known whether they "
                 "are too small, or what each rank keeps");
}

static bool judge_insufficient_data(struct finding *finding, const struct facts *facts)
{
    const struct summary *summary = facts->summary;
    long long graphs = (long long)summary->trace->whole_graph_count;
    double profiler = facts_profiler_ns(facts);

    complain_of_recording(finding, summary->trace);
    for (int i = SOUND_WHOLE + 1; i < SOUND_CHECK_COUNT; i++)
        if (summary->soundness.rows[i].trust != TRUST_WHOLE)
            complain(finding,
                     "record the trace again, and look at it before other programs change it", "%s",
                     summary->soundness.rows[i].found);
    if (facts_are_few(facts) && summary->timeline.work_count > 0)
        complain(finding, "record at least 3 whole steps", "%lld kernel%s too few to judge by",
                 (long long)summary->timeline.work_count,
                 summary->timeline.work_count == 1 ? " or copy is" : "s and copies are");
    if (profiler > 0 && profiler >= RULE_SHARE_LEAST * facts->step_ns)
        complain(
            finding,
            "record less (no stacks, shapes or memory), and leave more steps for warm-up in the "
            "profiler's schedule",
            "the profiler itself keeps the device idle for %s of %s (its rows of cat overhead): "
            "no finding counts that, but shares are of a step with it",
            quantity_time(profiler).text, step_text(facts).text);
    if (facts_cut_ns(facts) > 0)
        complain(finding, "let the recording begin earlier, at the start of a step",
                 "the first work waits for %s for what began before the recording: that is its "
                 "start, and is left out",
                 quantity_time(facts_cut_ns(facts)).text);
    complain_of_steps(finding, facts);
    if (summary->timeline.work_count > 0) {
        complain_of_launches(finding, facts);
        if (graphs > 0) /* A graph that is recorded whole is busy from its first kernel on. */
            complain(finding,
                     "record the kernels of graphs too (nsys profile --cuda-graph-trace=node)",
                     "%lld launch%s of CUDA graphs are one piece of work each: the kernels inside "
                     "are not visible",
                     graphs, graphs == 1 ? "" : "es");
        complain_of_messages(finding, facts);
        if (summary->trace->device_count == 0)
            complain(finding,
                     summary->trace->recorder != NULL
                         ? "export with the nsys that recorded, which describes the device"
                         : "record with a profiler that describes the device, as PyTorch's does",
                     "the device is not described, so its abilities and its memory are unknown");
    }
    finding_informs(finding);
    if ((facts_are_few(facts) || soundness_trust(&summary->soundness, 0) == TRUST_LITTLE ||
         facts_cut_ns(facts) >= facts->window_ns ||
         (profiler >= RULE_SHARE_MAJOR * facts->step_ns &&
          2 * profiler >= facts->step_ns - facts->busy_ns)) &&
        summary->timeline.work_count > 0)
        finding->bottleneck = BOTTLENECK_UNCLEAR;
    return finding->evidence[0] != '\0';
}

/* --- What the host did while no device was at work yet, or any more --- */

static void say_outside(struct finding *finding, const char *when, const char *note, int64_t all_ns,
                        const int64_t *ns, int64_t span_ns)
{
    static const char *const does[HOST_KIND_COUNT] = { "on what is not recorded",
                                                       "in operators",
                                                       "waiting for data",
                                                       "logging",
                                                       "saving",
                                                       "in calls of the runtime",
                                                       "copying",
                                                       "allocating memory",
                                                       "waiting for the device",
                                                       "on what is done once",
                                                       "compiling or capturing",
                                                       "on other work" };
    int most = 0;

    for (int i = 1; i < HOST_KIND_COUNT; i++) most = ns[i] > ns[most] ? i : most;
    if (all_ns >= span_ns)
        finding_says(finding, "; %s for %s, %s of that %s%s", when,
                     quantity_time((double)all_ns).text, quantity_time((double)ns[most]).text,
                     does[most], most == HOST_LAUNCHING ? note : "");
}

/* The page of a trace without steps is about the time of the device's work only, so this tells how
 * much longer the host was active. */
static bool judge_host_outside(struct finding *finding, const struct facts *facts)
{
    const struct summary *summary = facts->summary;
    const struct usage *all = &summary->timeline.all;
    int64_t before[HOST_KIND_COUNT] = { 0 }, after[HOST_KIND_COUNT] = { 0 };
    struct interval span;

    if (facts->has_steps || all->work_count == 0 || !summary->host.has_loop)
        return false;
    span = host_activity_span(&summary->host, &summary->timeline);
    host_activity_between(&summary->host, summary->host.loop, span.start_ns, all->start_ns, before);
    host_activity_between(&summary->host, summary->host.loop, all->end_ns, span.end_ns, after);
    finding_says(finding, "the host's rows span %s, the device's work %s of them",
                 quantity_time((double)(span.end_ns - span.start_ns)).text,
                 quantity_time((double)all->span_ns).text);
    say_outside(finding, "before that the host is at work",
                " (the first makes the device's context, once)", all->start_ns - span.start_ns,
                before, all->span_ns / 2);
    say_outside(finding, "after it", "", span.end_ns - all->end_ns, after, all->span_ns / 2);
    finding_informs(finding);
    return span.end_ns - span.start_ns >= OUTSIDE_TIMES * all->span_ns;
}

const struct rule rules_of_trace[] = {
    {
        .id = "unread_device",
        .title = "This trace cannot be judged",
        .also = "unsupported device, XLA, TPU",
        .symptom = "rows of other devices, or of other profilers, and no GPU's kernels",
        .meaning = "the reader knows the rows of PyTorch's profiler for GPUs and hosts",
        .advice =
            "look at it with the viewer of what wrote it, or record the program on a GPU with "
            "PyTorch's profiler",
        .cost = "unknown",
        .costs_no_time = true,
        .threshold = "without device work there is nothing to judge",
        .bottleneck = BOTTLENECK_UNSUPPORTED,
        .judge = judge_unread_device,
        .site = SITE_NONE, /* the trace shows no cost */
    },
    {
        .id = "empty_recording",
        .title = "The trace holds no events",
        .also = "empty trace",
        .symptom = "the file has a head, and perhaps names of processes, but no events",
        .meaning = "the profiler wrote what it had before its schedule reached a step to record",
        .advice = "call profiler.step() after each step, and run at least wait + warmup + active "
                  "steps of the schedule before the profiler stops",
        .cost = "unknown: nothing was recorded",
        .costs_no_time = true,
        .threshold = "one event is a recording",
        .bottleneck = BOTTLENECK_UNCLEAR,
        .judge = judge_empty_recording,
        .site = SITE_NONE, /* there is nothing in it */
    },
    {
        .id = "no_device_activity",
        .title = "The trace shows no device work",
        .also = "no CUDA events, missing kernels",
        .symptom = "no kernel, copy or memset is in the trace",
        .meaning = "the profiler recorded the host alone, or nothing ran on a device",
        .advice = "nothing, if the program uses no GPU; else record the device as well "
                  "(ProfilerActivity.CUDA or .XPU)",
        .cost = "unknown: without device work there is no idle time",
        .costs_no_time = true,
        .threshold = "without device work there is nothing to judge",
        .bottleneck = BOTTLENECK_UNCLEAR,
        .judge = judge_no_device_activity,
        .site = SITE_NONE, /* the trace shows no cost */
    },
    {
        .id = "insufficient_data",
        .title = "The trace lacks information",
        .also = "no ProfilerStep, profiler schedule",
        .symptom = "rows that the rules need are missing",
        .meaning = "a rule cannot judge what the trace does not show",
        .advice = "record at least 3 whole steps, with the calls of the host",
        .cost = "none: it is for information",
        .costs_no_time = true,
        .threshold = "the least that the rules need",
        .bottleneck = BOTTLENECK_NONE,
        .judge = judge_insufficient_data,
        .site = SITE_NONE, /* the trace shows no cost */
    },
    {
        .id = "host_outside",
        .title = "Most of the recording is not about the device",
        .also = "idle recording",
        .symptom = "no steps are marked, and the host's rows span twice the time of the device's "
                   "work, or more",
        .meaning = "no other finding counts what the host does before the first work and after the "
                   "last, such as loading",
        .advice =
            "mark steps around it (profiler.step()) if it comes back with each input: then it "
            "counts; else record after it",
        .cost = "none: it is for information, as nothing tells whether it comes back",
        .costs_no_time = true,
        .threshold = "half of the recording",
        .bottleneck = BOTTLENECK_NONE,
        .judge = judge_host_outside,
        .site = SITE_OUTSIDE,
    },
    { .id = NULL },
};
