/* Inflates a file window by window and takes one line at a time, so that memory is that of the
 * digests and not of the files. */
#include "harness/fleet/job/job.h"

#include "harness/base/rows.h"
#include "harness/desk/diagnosis/digest/digest.h"
#include "harness/desk/read/digest_lines.h"
#include "harness/desk/read/input/inflate_window.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = 256 << 10 };

struct adding {
    struct job_ranks *ranks;
    struct job_rank rank;
    int64_t world;
};

/* Called through arena_run(), which turns a lack of memory into a status. */
static void add_rank(struct arena *arena, void *context)
{
    const struct adding *adding = context;
    struct job_ranks *ranks = adding->ranks;

    ARENA_ROOM(arena, ranks->ranks, ranks->count, ranks->room);
    ARENA_ROOM(arena, ranks->worlds, ranks->count, ranks->world_room);
    ranks->worlds[ranks->count] = adding->world;
    ranks->ranks[ranks->count++] = adding->rank;
}

/* All whole lines of a text; *length is what is left of it, moved to the front. */
static enum status take_digests(struct job_ranks *ranks, const char *path, char *text,
                                int64_t *length)
{
    char *line = text, *end;

    while ((end = memchr(line, '\n', (size_t)(text + *length - line))) != NULL) {
        *end = '\0';
        struct trace_file trace = { .digest = line, .rank = -1, .world_size = -1 };
        struct adding adding = { .ranks = ranks, .rank.file = path };
        if (!digest_begins(line, strlen(line)))
            FAIL(STATUS_BAD_INPUT,
                 "%s is no file of digests: chokepoint digest makes them of traces", path);
        TRY(digest_take_record(ranks->arena, &trace, &adding.rank.record));
        if (trace.rank < 0 || trace.world_size < 1)
            FAIL(STATUS_BAD_INPUT, "its trace states no rank");
        adding.rank.rank = trace.rank;
        adding.world = trace.world_size;
        TRY(arena_run(ranks->arena, add_rank, &adding));
        line = end + 1;
    }
    *length -= line - text;
    memmove(text, line, (size_t)*length);

    return STATUS_OK;
}

enum status job_read(struct job_ranks *ranks, const char *path)
{
    enum status status = STATUS_OK;
    struct inflate_window *window = NULL;
    char *text = NULL;
    int64_t length = 0, all = 0, before = ranks->count;
    size_t count;

    TRY_OUT(inflate_window_open(&window, path));
    /* Room for a line that is not over yet, and for the next window. */
    TRY_OUT(rows_make(&text, DIGEST_LINE_MOST + WINDOW + 1));
    do {
        TRY_OUT(inflate_window_read(window, text + length, WINDOW, &count));
        length += (int64_t)count;
        all += (int64_t)count;
        if (all > DIGEST_FILE_MOST)
            FAIL_OUT(STATUS_BAD_INPUT,
                     "it has more than %d MB of digests; give them in several files",
                     DIGEST_FILE_MOST >> 20);
        TRY_OUT(take_digests(ranks, path, text, &length));
        if (length > DIGEST_LINE_MOST)
            FAIL_OUT(STATUS_BAD_INPUT, "a line is longer than %d KB", DIGEST_LINE_MOST >> 10);
    } while (count > 0);
    if (inflate_window_damage(window) != NULL)
        FAIL_OUT(STATUS_BAD_INPUT, "it is damaged: %s", inflate_window_damage(window));
    /* Every line ends with a newline, so one that does not was cut. */
    if (length > 0 || ranks->count == before)
        FAIL_OUT(STATUS_BAD_INPUT, "it has no whole digest: it is cut, or none");

out:
    if (status != STATUS_OK)
        status_context("reading %s", path);
    free(text);
    inflate_window_close(window);
    return status;
}
