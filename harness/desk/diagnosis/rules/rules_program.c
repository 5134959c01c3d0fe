/* Findings of a whole recorded program, which no trace of a few steps has: program_times.c makes
 * them of the recorder's times of all steps. */
#include "harness/desk/diagnosis/rules/rules.h"

const struct rule rules_of_program[] = {
    {
        .id = "rare_work",
        .title = "Work between steps, now and then, takes a large part of the run",
        .also = "evaluation, validation, validation loop, val_check_interval",
        .symptom = "some of the steps that `record` timed take three times as long as the usual "
                   "one or more",
        .meaning = "evaluation, saving or logging every so many steps, or an epoch's end, is a "
                   "large part of the run, though most steps have none of it",
        .advice = "do it less often, on fewer samples (validation), in a thread (saving), or make "
                  "it cheaper",
        .cost = "what exceeds usual steps, but for collections of garbage and compilations, spread "
                "over all of them; at most the time without the device's work",
        .threshold = "5% of the time of all steps",
        .bottleneck = BOTTLENECK_HOST_WORK,
        .judge = NULL,
        .site = SITE_NONE, /* the line is the recorder's */
    },
    {
        .id = "host_memory_growth",
        .title = "The host's memory grows with every step",
        .also = "host memory leak, RAM leak, copy-on-write, DataLoader memory leak, OOM killer",
        .symptom = "the program and its loader's workers take more and more of the host's memory, "
                   "a tenth more or more after the first quarter of the run (all steps that "
                   "`record` timed)",
        .meaning = "something is kept for each step; or workers, which begin with the parent's "
                   "memory, copy a page of it whenever they touch an object, as that counts "
                   "references",
        .advice = "keep a data set's samples in arrays (NumPy, Arrow, a tensor), not in lists of "
                  "Python objects, which each worker copies; look for lists, caches and logs that "
                  "only grow",
        .cost = "no time; major if what is left of memory lasts for ten times the steps so far or "
                "less, else minor",
        .costs_no_time = true,
        .threshold = "a tenth, in four of five pairs of looks",
        .bottleneck = BOTTLENECK_ALLOCATION,
        .judge = NULL,
        .site = SITE_NONE, /* it shows where memory is taken, not what keeps it */
    },
    { .id = NULL },
};
