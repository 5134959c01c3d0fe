/* Takes a call stack at each pass, as a profiler with stacks does. A ring of rows, filled by a
 * listener of the passes, in the thread that launches. */
#include "harness/engine/step/measuring/stack_profiler.h"

#include "harness/base/clock.h"
#include "harness/base/rows.h"

#include <execinfo.h>
#include <stdlib.h>

enum { FRAMES = 64, ROWS = 4096 }; /* rows: of the last passes */

struct row {
    int64_t at_ns;
    int pass, depth;
    void *frames[FRAMES]; /* return addresses; a profiler names them when it writes its file */
};

struct stack_profiler {
    struct pass_listener listener;
    struct row *rows; /* [ROWS], in a ring */
    int64_t count;    /* of all that were written */
};

static enum status record(void *context, int pass)
{
    struct stack_profiler *profiler = context;
    struct row *row = &profiler->rows[profiler->count++ % ROWS];

    row->at_ns = clock_ns();
    row->pass = pass;
    row->depth = backtrace(row->frames, FRAMES);

    return STATUS_OK;
}

enum status stack_profiler_open(struct stack_profiler **opened)
{
    struct stack_profiler *profiler = NULL;
    enum status status = STATUS_OK;
    void *frame;

    *opened = NULL;
    TRY_OUT(rows_make(&profiler, 1));
    TRY_OUT(rows_make(&profiler->rows, ROWS));
    profiler->listener = (struct pass_listener){ .queued = record, .context = profiler };
    backtrace(&frame, 1); /* loads a library, the first time */
    *opened = profiler;
    profiler = NULL;

out:
    stack_profiler_close(profiler);
    return status;
}

void stack_profiler_close(struct stack_profiler *profiler)
{
    if (profiler == NULL)
        return;
    free(profiler->rows);
    free(profiler);
}

const struct pass_listener *stack_profiler_listener(const struct stack_profiler *profiler)
{
    return profiler != NULL ? &profiler->listener : NULL;
}

int64_t stack_profiler_rows(const struct stack_profiler *profiler)
{
    return profiler->count;
}

int stack_profiler_depth(const struct stack_profiler *profiler)
{
    return profiler->count > 0 ? profiler->rows[(profiler->count - 1) % ROWS].depth : 0;
}
