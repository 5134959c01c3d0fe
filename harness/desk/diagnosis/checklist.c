/* Each question looks first for a finding that says no. Without one, its look() says what the
 * trace shows, so that a yes has a figure too. */
#include "harness/desk/diagnosis/checklist.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *answer_name(enum answer answer)
{
    static const char *const names[] = {
        [ANSWER_YES] = "yes", [ANSWER_UNKNOWN] = "cannot be told", [ANSWER_NO] = "no"
    };

    return names[answer];
}

__attribute__((format(printf, 3, 4))) static enum answer
say(struct checklist_row *row, enum answer answer, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(row->figures, sizeof row->figures, format, arguments);
    va_end(arguments);
    return answer;
}

/* --- What the trace shows where no rule found anything --- */

/* Time is exposed, but a replay says that something else would take it. */
#define NO_GAIN ", and no rule finds a gain in hiding that"

static bool is_alone(const struct facts *facts)
{
    return facts->summary->timeline.host_alone;
}

static enum answer look_busy(struct checklist_row *row, const struct findings *findings,
                             const struct facts *facts)
{
    double share = facts_computing_share(facts);
    (void)findings;

    if (facts->lacks_work)
        return say(row, ANSWER_UNKNOWN, "the work of many launches is missing from the trace");
    return say(row, share >= RULE_BUSY_GOOD ? ANSWER_YES : ANSWER_NO,
               "the %s is busy for %.0f%% of %s, and %.0f%% is good",
               is_alone(facts) ? "host" : "device", 100 * share, step_text(facts).text,
               100 * RULE_BUSY_GOOD);
}

static enum answer look_data(struct checklist_row *row, const struct findings *findings,
                             const struct facts *facts)
{
    const struct idle_time *idle = &facts->summary->idle.all;
    double loading_ns = (double)idle_host_ns(idle, HOST_LOADING);
    bool hidden;
    (void)findings;

    if (!(loading_ns > 0) && !facts->summary->phases.seen[PHASE_DATA] &&
        !(facts_computing_share(facts) >= RULE_BUSY_GOOD))
        return say(row, ANSWER_UNKNOWN, "no event of the trace is named after loading");
    hidden = loading_ns < RULE_SHARE_LEAST * facts->window_ns;
    if (!(loading_ns > 0))
        return say(row, ANSWER_YES, "the %s is never idle while the loop loads",
                   is_alone(facts) ? "host" : "device");
    return say(row, hidden ? ANSWER_YES : ANSWER_UNKNOWN,
               "the %s is idle for %s of %s while the loop loads%s",
               is_alone(facts) ? "host" : "device", quantity_time(loading_ns / facts->steps).text,
               step_text(facts).text, hidden ? "" : NO_GAIN);
}

static enum answer look_host(struct checklist_row *row, const struct findings *findings,
                             const struct facts *facts)
{
    const struct launches *launches = &facts->summary->launches;
    (void)findings;

    if (is_alone(facts))
        return say(row, ANSWER_YES, "there is no device that the host could hold up");
    if (launches->count == 0)
        return say(row, ANSWER_UNKNOWN, "the host's calls are missing from the trace");
    return say(row, ANSWER_YES,
               "work starts %s after its launch on average; at most %lld wait on a stream",
               quantity_time((double)launches->delay_ns / (double)launches->count).text,
               (long long)launches->queue_max);
}

static enum answer look_copies(struct checklist_row *row, const struct findings *findings,
                               const struct facts *facts)
{
    double share = (double)facts->summary->usage.copy_exposed_ns / facts->window_ns;
    (void)findings;

    if (is_alone(facts))
        return say(row, ANSWER_YES, "there is no device, and nothing is copied");
    if (facts->summary->usage.kind_ns[WORK_COPY] == 0)
        return say(row, ANSWER_YES, "nothing is copied");
    return say(row, share < RULE_SHARE_LEAST ? ANSWER_YES : ANSWER_UNKNOWN,
               "copies take %.1f%% of %s while no kernel runs%s", 100 * share,
               step_text(facts).text, share < RULE_SHARE_LEAST ? "" : NO_GAIN);
}

static enum answer look_compute(struct checklist_row *row, const struct findings *findings,
                                const struct facts *facts)
{
    const struct finding *bound = findings_find(findings, "device_bound");

    if (bound != NULL)
        return say(row, ANSWER_YES, "%s", bound->evidence);
    if (is_alone(facts))
        return say(row, ANSWER_YES, "operators take %.0f%% of %s",
                   100 * facts_computing_share(facts), step_text(facts).text);
    if (facts->device == NULL || facts->device->name[0] == '\0')
        return say(row, ANSWER_UNKNOWN, "the trace does not name its device");
    return say(row, ANSWER_YES, "%.60s computes for %.0f%% of %s", facts->device->name,
               100 * (double)facts->summary->usage.kind_ns[WORK_COMPUTATION] / facts->window_ns,
               step_text(facts).text);
}

static enum answer look_memory(struct checklist_row *row, const struct findings *findings,
                               const struct facts *facts)
{
    (void)facts;

    for (int64_t i = 0; i < findings->threshold_count; i++) {
        const struct threshold *threshold = &findings->thresholds[i];
        if (strcmp(threshold->id, "activation_memory") == 0 && threshold->judged.what != NULL)
            return say(row, ANSWER_YES,
                       "the peak takes %.3g%% of the device's memory, and no rule finds a gain in "
                       "more samples at once",
                       100 * threshold->judged.value);
    }
    return say(row, ANSWER_UNKNOWN,
               "the trace does not state the memory in use and that of its "
               "device (profile_memory=True)");
}

static enum answer look_ranks(struct checklist_row *row, const struct findings *findings,
                              const struct facts *facts)
{
    const struct usage *usage = &facts->summary->usage;
    double share = (double)usage->communication_exposed_ns / facts->window_ns;
    (void)findings;

    if (usage->kind_ns[WORK_COMMUNICATION] == 0)
        return facts->summary->trace->world_size > 1
                   ? say(row, ANSWER_UNKNOWN, "the trace has no communication")
                   : say(row, ANSWER_YES, "one rank shares with none: no communication");
    return say(row, share < RULE_COMMUNICATION_LEAST ? ANSWER_YES : ANSWER_UNKNOWN,
               "communication takes %.1f%% of %s while nothing is computed", 100 * share,
               step_text(facts).text);
}

/* --- The questions --- */

#define PYTORCH "PyTorch, Performance Tuning Guide"
#define NVIDIA  "NVIDIA, Get Started With Deep Learning Performance"
#define BRRRR   "He, Making Deep Learning Go Brrrr From First Principles"
#define GOOGLE  "Google, Deep Learning Tuning Playbook"
#define FACE    "Hugging Face, Methods and tools for efficient training on a single GPU"

const struct checklist_question checklist_questions[CHECKLIST_COUNT] = {
    { .id = "busy",
      .text = "Is the device busy, at an even pace?",
      .meaning = "an idle device costs as much as a busy one. If it is idle, look at the host and "
                 "at what it waits for; only "
                 "if it is busy do faster kernels make the step shorter",
      .sources = NVIDIA ": math-limited or not; " BRRRR ": compute, bandwidth, overhead",
      .findings = { "low_utilisation", "device_wait", "uneven_steps", "lost_core" },
      .look = look_busy },
    { .id = "data",
      .text = "Is the next batch ready when the step begins?",
      .meaning = "loading and augmentation belong in workers, ahead of the step; a device that "
                 "waits for data gains nothing "
                 "from anything else",
      .sources = PYTORCH ": asynchronous data loading and augmentation; " GOOGLE
                         ": optimizing the input pipeline",
      .bottlenecks = { BOTTLENECK_LOADING },
      .look = look_data },
    { .id = "host",
      .text = "Does the host launch ahead of the device, without waits?",
      .meaning = "launches are asynchronous: a host that is ahead hides all that it does. Reading "
                 "a value of the device, "
                 "printing, saving and many tiny launches let the device catch up",
      .sources = PYTORCH ": avoid unnecessary CPU-GPU synchronization; " BRRRR ": overhead",
      .bottlenecks = { BOTTLENECK_LAUNCHING, BOTTLENECK_WAITING, BOTTLENECK_HOST_WORK,
                       BOTTLENECK_FIRST_USE },
      .findings = { "values_read" },
      .look = look_host },
    { .id = "copies",
      .text = "Are copies hidden behind computation?",
      .meaning = "copies from pinned memory on a stream of their own run beside kernels; pageable, "
                 "small or needless ones "
                 "hold the step up",
      .sources =
          PYTORCH ": pin_memory, tensors made on the device; NVIDIA, CUDA C++ Best Practices "
                  "Guide: overlapping transfers with computation",
      .bottlenecks = { BOTTLENECK_COPIES },
      .look = look_copies },
    { .id = "compute",
      .text = "Do types and kernels suit the device?",
      .meaning = "matrix units need short types and products that fill the device; fused kernels "
                 "read and write memory once",
      .sources = NVIDIA ": Tensor Cores, parallelism; " PYTORCH
                        ": mixed precision, fused operations; " BRRRR ": operator fusion",
      .bottlenecks = { BOTTLENECK_DEVICE, BOTTLENECK_HOST },
      .look = look_compute },
    { .id = "memory",
      .text = "Is the batch large enough, and is no memory wasted?",
      .meaning = "a larger batch makes kernels longer as long as it fits; memory that runs out, "
                 "grows or is taken anew in "
                 "every step does the contrary",
      .sources =
          GOOGLE ": feasible batch sizes and throughput; " FACE ": batch size, checkpointing",
      .bottlenecks = { BOTTLENECK_ALLOCATION },
      .findings = { "small_kernels", "memory_headroom", "fragmentation", "replicated_state" },
      .look = look_memory },
    { .id = "ranks",
      .text = "Do ranks share the work evenly, without waiting?",
      .meaning = "all ranks are as slow as the slowest, and messages cost nothing only while "
                 "something is computed",
      .sources = PYTORCH ": efficient data-parallel backend, load balance",
      .bottlenecks = { BOTTLENECK_COMMUNICATION },
      .findings = { "uneven_devices" },
      .look = look_ranks },
};

static bool names(const struct checklist_question *question, const char *id)
{
    for (size_t i = 0; i < ARRAY_SIZE(question->findings) && question->findings[i] != NULL; i++)
        if (strcmp(question->findings[i], id) == 0)
            return true;
    return false;
}

/* A rule belongs to the question that names it, or else to that of its bottleneck. Rules that only
 * name the one that sets the pace find nothing wrong. */
bool checklist_asks(const struct checklist_question *question, const struct rule *rule)
{
    for (int i = 0; i < CHECKLIST_COUNT; i++)
        if (names(&checklist_questions[i], rule->id))
            return question == &checklist_questions[i];
    if (rule->bottleneck == BOTTLENECK_NONE ||
        (bottleneck_computes(rule->bottleneck) && rule->costs_no_time))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(question->bottlenecks); i++)
        if (question->bottlenecks[i] == rule->bottleneck)
            return true;
    return false;
}

/* --- Answers --- */

static bool says_no(const struct checklist_question *question, const struct finding *finding)
{
    return names(question, finding->id) || (finding->severity > SEVERITY_INFORMATION &&
                                            checklist_asks(question, rule_find(finding->id)));
}

/* The first that says no; one that is only possible counts if there is no other. */
static const struct finding *decides(const struct checklist_question *question,
                                     const struct findings *findings)
{
    const struct finding *possible = NULL;

    for (int64_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        if (!says_no(question, finding))
            continue;
        if (finding->confidence != CONFIDENCE_LOW)
            return finding;
        possible = possible == NULL ? finding : possible;
    }
    return possible;
}

static enum answer answer_of(struct checklist_row *row, const struct checklist_question *question,
                             const struct findings *findings, const struct facts *facts)
{
    const struct summary *summary = facts->summary;

    if (facts_are_foreign(facts))
        return say(row, ANSWER_UNKNOWN, "the trace's rows are not read");
    if ((summary->timeline.work_count == 0 && !is_alone(facts)))
        return say(row, ANSWER_UNKNOWN, "the trace shows no device work");
    if (facts_are_few(facts))
        return say(row, ANSWER_UNKNOWN, "the trace has too little work");
    if (soundness_trust(&summary->soundness, (double)summary->idle.all.idle_ns) == TRUST_LITTLE)
        return say(row, ANSWER_UNKNOWN, "the trace is not sound");
    return question->look(row, findings, facts);
}

struct checklist checklist_of(const struct findings *findings, const struct findings *ranks,
                              const struct facts *facts, int count)
{
    struct checklist checklist = { .rows[0].finding = NULL };

    for (int i = 0; i < CHECKLIST_COUNT; i++) {
        const struct checklist_question *question = &checklist_questions[i];
        struct checklist_row *row = &checklist.rows[i];
        row->finding = decides(question, findings);
        if (row->finding != NULL) {
            bool sure = row->finding->confidence != CONFIDENCE_LOW && !facts_are_few(&facts[0]);
            row->answer = say(row, sure ? ANSWER_NO : ANSWER_UNKNOWN, "%s", row->finding->evidence);
            continue;
        }
        for (int rank = 0; rank < count; rank++) {
            struct checklist_row own = { .finding = NULL };
            own.answer = answer_of(&own, question, &ranks[rank], &facts[rank]);
            if (rank == 0 || own.answer > row->answer)
                *row = own;
        }
    }
    return checklist;
}

struct checklist checklist_of_diagnosis(const struct diagnosis *diagnosis, int which)
{
    if (which < 0)
        return checklist_of(&diagnosis->run.findings, diagnosis->findings, diagnosis->facts,
                            diagnosis->run_count);
    return checklist_of(&diagnosis->findings[which], &diagnosis->findings[which],
                        &diagnosis->facts[which], 1);
}
