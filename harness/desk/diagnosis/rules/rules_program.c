/* Findings of a whole recorded program, which no trace of a few steps has: the recorder's times of
 * all steps are judged in program_times.c. */
#include "harness/desk/diagnosis/rules/rules.h"

static bool judged_by_program_times(struct finding *finding, const struct facts *facts)
{
    (void)finding;
    (void)facts;
    return false;
}

const struct rule rules_of_program[] = {
    {
        .id = "rare_work",
        .title = "Work between steps, now and then, takes a large part of the run",
        .symptom = "of all steps that `record` timed, some take three times as long as the usual "
                   "one or more",
        .meaning = "evaluation, saving or logging every so many steps, or an epoch's end, is a "
                   "large part of the run, though most steps have none of it",
        .advice = "do it less often, on fewer samples (validation), in a thread (saving), or make "
                  "it cheaper",
        .cost = "what exceeds usual steps, spread over all of them; at most the time without the "
                "device's work",
        .threshold = "5% of the time of all steps",
        .bottleneck = BOTTLENECK_HOST_WORK,
        .judge = judged_by_program_times,
        .site = SITE_NONE, /* the line is the recorder's */
    },
    {
        .id = "garbage_collection",
        .title = "Python collects garbage in the steps",
        .symptom = "of all steps that `record` timed, some are long because Python looks through "
                   "its objects for garbage (gc.callbacks)",
        .meaning = "a full collection looks at every object of the program, and large imports and "
                   "data sets of Python objects are many",
        .advice = "gc.freeze() once all is set up, or gc.disable() and gc.collect() every so many "
                  "steps, at the same step of all ranks",
        .cost = "the collections in long steps, spread over all of them",
        .threshold = "5% of the time of all steps",
        .bottleneck = BOTTLENECK_HOST_WORK,
        .judge = judged_by_program_times,
        .site = SITE_NONE, /* any line that makes an object may bring it about */
    },
    {
        .id = "growing_steps",
        .title = "Steps get longer and longer",
        .symptom = "of all steps that `record` timed, those of the last quarter of the run take "
                   "half as long again as those of the first, or more, and they grow steadily",
        .meaning = "something grows with the run: a list that is walked, a history that is kept, "
                   "a graph that is never freed",
        .advice = "look for what is appended to in each step and read as a whole (losses that keep "
                  "their graph, replay buffers, logs)",
        .cost = "what exceeds the steps of the first quarter",
        .threshold = "half as long again, in four of five pairs of pieces of the run",
        .bottleneck = BOTTLENECK_HOST_WORK,
        .judge = judged_by_program_times,
        .site = SITE_NONE, /* the recorded steps do not show what grows */
    },
    { .id = NULL },
};
