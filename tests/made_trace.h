/* A trace made by hand, for tests of its analysis. Times are whole microseconds. */
#ifndef TESTS_MADE_TRACE_H
#define TESTS_MADE_TRACE_H

#include "harness/analysis/steps.h"
#include "harness/analysis/timeline.h"

struct analysed {
    struct trace_file *trace;
    struct timeline timeline;
    struct steps steps;
};

void made_begin(void);
void made_begin_with(const char *members); /* of the trace beside its events, as JSON */

/* `arguments`: more members of "args", as JSON, or "". */
void made_add_with(const char *category, const char *name, int pid, int tid, int start_us,
                   int end_us, int correlation, const char *arguments);
void made_add(const char *category, const char *name, int pid, int tid, int start_us, int end_us,
              int correlation);

/* Work on a stream of device 0, and a call of 1 us on thread 100 that launched it. */
void made_add_work(const char *category, const char *name, int stream, int start_us, int end_us,
                   int called_us);

/* An instant with those arguments, on thread 100. */
void made_add_instant(const char *name, int at_us, const char *arguments);

/* Reads and analyses what was made. */
struct analysed made_analyse(void);
void made_release(struct analysed *analysed);

void check_us(int64_t ns, int64_t us);

#endif
