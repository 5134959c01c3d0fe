/* Each update writes over the line before, which only terminals can: elsewhere a line says that a
 * scenario begins, and no more, or a log would have a line for every update. */
#include "harness/lab/experiment/parent/progress.h"

#include "harness/base/clock.h"
#include "harness/base/figures/quantity.h"
#include "harness/base/words/text.h"
#include "harness/text/wrap.h"

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
    char text[256], left[QUANTITY_SIZE];
    va_list values;

    if (!progress->shown)
        return;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    seconds = share > 0 ? seconds * (1 - share) / share : 0;
    quantity_duration(left, seconds);
    if (seconds >= 0.5)
        text_append(text, sizeof text, ", about %s left", left);
    /* Broken at a space rather than wrapped by the terminal, which would leave a line behind at
     * every update. The width is asked for each time: the terminal may have been resized. */
    int width = wrap_terminal(stderr);
    size_t bytes = width > 0 ? wrap_line(text, width - 1) : strlen(text);
    if (width > 0 && bytes > wrap_bytes(text, width - 1)) /* a word that is longer than the line */
        bytes = wrap_bytes(text, width - 1);
    /* To the beginning of the line, which is then cleared to its end (ECMA-48, EL). */
    fprintf(stderr, "\r\033[K%.*s", (int)bytes, text);
    fflush(stderr);
}

void progress_update(void *context, const struct scenario *scenario,
                     const struct experiment_state *state)
{
    const struct progress *progress = context;
    double share = (progress->done + (state != NULL ? state->share : 0)) / progress->scenarios;
    char text[64] = "starting";

    if (state != NULL)
        snprintf(text, sizeof text, "%s %d of %d", state->part, state->number, state->total);
    progress_show(progress, share, "[%d/%d] %s  %s", progress->done + 1, progress->scenarios,
                  scenario->name, text);
    if (!progress->shown && state == NULL)
        fprintf(stderr, "[%d/%d] %s\n", progress->done + 1, progress->scenarios, scenario->name);
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
