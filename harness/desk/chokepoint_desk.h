/* The desk as a library: traces, snapshots of PyTorch's memory and digests in, a diagnosis out, as
 * JSON for programs or as a page for people. `diagnose` and the page that runs in a browser
 * (scripts/web.sh) use it.
 *
 * Errors: a function that can fail returns enum status, and status_last() has the sentence for
 * users (harness/base/status.h). Ownership: texts that are returned are malloc'd, and the caller
 * frees them; texts that are given stay the caller's and must live as long as the desk. A desk
 * belongs to one thread at a time; it uses the machine's cores itself.
 *
 *   struct chokepoint_desk *desk;
 *   struct chokepoint_view view = { .timeline = 3, .what_if.asked = true };
 *   const char *files[] = { "trace.json.gz" };
 *   char *json = NULL;
 *   if (chokepoint_desk_open(&desk, files, 1, NULL, NULL) != STATUS_OK ||
 *       chokepoint_desk_json(desk, &view, &json) != STATUS_OK)
 *       fprintf(stderr, "%s\n", status_last()->text);
 *   chokepoint_desk_close(desk); */
#pragma once

#include "harness/base/status.h"
#include "harness/desk/diagnosis/diagnosis.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page;

/* Files that were read and judged. */
struct chokepoint_desk {
    struct diagnosis diagnosis; /* of all traces and snapshots that could be read */
    int given, skipped;         /* files, and arguments that gave none */
    int skipped_arguments;      /* those among the skipped */
    struct chokepoint_files *files;
};

/* Called for a file or folder that is left out; status_last() says why. */
typedef void chokepoint_skip(void *context);

/* Opens files and folders of them, as the arguments of `diagnose` name them (trace_paths.h), and
 * judges all. Traces that are the ranks of one run are judged together, one trace and one snapshot
 * as of one run, and a trace with what `record` wrote beside it. With several arguments, one that
 * cannot be read is passed to `skip`, which may be NULL, and counted; if none could be read,
 * diagnosis.count and diagnosis.snapshot_count are 0. BAD_INPUT, IO: the only one cannot be read.
 * OUT_OF_MEMORY. *desk is NULL after a failure; close it else. */
enum status chokepoint_desk_open(struct chokepoint_desk **desk, const char *const *arguments,
                                 int count, chokepoint_skip *skip, void *context);

/* NULL is allowed. */
void chokepoint_desk_close(struct chokepoint_desk *desk);

/* The part that is shown of a desk. Zeros: all traces, tables of the usual length, no timeline, no
 * replay. */
struct chokepoint_view {
    int timeline; /* steps to draw; 0: none */
    bool has_rank;
    int64_t rank; /* the page of that rank alone */
    struct table_choice tables;
    struct what_if_choice what_if; /* what_if_choice_read() fills it from names */
    bool thresholds, checklist;    /* of pages */
};

/* The trace that the view is of; -1: all. BAD_USAGE: no trace is of its rank, or a digest is asked
 * for a timeline or a replay, for which it has no events. */
enum status chokepoint_desk_look(struct chokepoint_desk *desk, const struct chokepoint_view *view,
                                 int *only);

/* As `diagnose --format=json` prints it. BAD_USAGE as above, OUT_OF_MEMORY. */
enum status chokepoint_desk_json(struct chokepoint_desk *desk, const struct chokepoint_view *view,
                                 char **json);

/* As `diagnose` prints it. BAD_USAGE: as above, or a replay of several ranks at once.
 * OUT_OF_MEMORY. */
enum status chokepoint_desk_page(struct chokepoint_desk *desk, const struct chokepoint_view *view,
                                 const struct page *page);

/* The step of trace number `which` replayed without these causes, "host_sync,data_loading", as
 * JSON: the member "what_if" of a diagnosis (docs/diagnosis.md), whose last row is without all of
 * them. BAD_USAGE: a name is no cause that replays know, or the trace is a digest. OUT_OF_MEMORY.
 */
enum status chokepoint_desk_what_if(struct chokepoint_desk *desk, int which, const char *causes,
                                    char **json);

/* {"timeline": of so many steps, at least one, of trace number `which`}, as a diagnosis has it,
 * without a diagnosis. BAD_USAGE: there is no such trace, or it is a digest. OUT_OF_MEMORY. */
enum status chokepoint_desk_timeline(struct chokepoint_desk *desk, int which, int steps,
                                     char **json);

/* Why a step of the second trace takes longer than one of the first, as `compare --explain
 * --format=json` prints it. BAD_INPUT, IO, OUT_OF_MEMORY. */
enum status chokepoint_compare(const char *base, const char *other, char **json);

/* The digests of all traces of a desk that chokepoint_desk_open_for_digests() opened, each a gzip
 * member. `node` and `job`: names of the machine and of the job, "" for none. BAD_USAGE: one is a
 * digest already. BAD_INPUT: one would be too large. OUT_OF_MEMORY. */
enum status chokepoint_desk_digest(struct chokepoint_desk *desk, const char *node, const char *job,
                                   char **bytes, size_t *count);

/* As chokepoint_desk_open(), for digests only: each trace is judged by itself, and snapshots are no
 * traces. */
enum status chokepoint_desk_open_for_digests(struct chokepoint_desk **desk,
                                             const char *const *arguments, int count,
                                             chokepoint_skip *skip, void *context);
