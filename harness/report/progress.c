#include "harness/report/progress.h"

#include "harness/base/clock.h"
#include "harness/base/quantity.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct progress progress_start(int count)
{
    const char *terminal = getenv("TERM");

    return (struct progress){
        .shown = isatty(STDERR_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0,
        .scenarios = count,
        .start_ns = clock_ns(),
    };
}

/* The time left assumes that the rest goes as what is done. */
void progress_show(const struct progress *progress, double share, const char *format, ...)
{
    double seconds = (double)(clock_ns() - progress->start_ns) * 1e-9;
    char left[QUANTITY_SIZE];
    va_list values;

    if (!progress->shown)
        return;
    fprintf(stderr, "\r\033[K");
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    if (share > 0) {
        quantity_duration(left, seconds * (1 - share) / share);
        fprintf(stderr, ", about %s left", left);
    }
    fflush(stderr);
}

void progress_update(void *context, const struct scenario *scenario, int windows, int total)
{
    const struct progress *progress = context;
    double share =
        (progress->done + (total > 0 ? (double)windows / total : 0)) / progress->scenarios;
    char state[64] = "starting";

    if (windows > 0)
        snprintf(state, sizeof state, "window %d of %d", windows, total);
    progress_show(progress, share, "[%d/%d] %s  %s", progress->done + 1, progress->scenarios,
                  scenario->name, state);
}

void progress_next(struct progress *progress)
{
    progress->done++;
}

void progress_clear(const struct progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
}
