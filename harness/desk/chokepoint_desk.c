/* The paths are found first (trace_paths.h), snapshots of memory are told from traces, and
 * diagnosis_make() reads and judges all traces. A file that cannot be read does not stop the
 * others. */
#include "harness/desk/chokepoint_desk.h"

#include "harness/base/rows.h"
#include "harness/desk/compare/traces/trace_change.h"
#include "harness/desk/diagnosis/digest/digest.h"
#include "harness/desk/diagnosis/program_times.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/files/record_file.h"
#include "harness/desk/files/trace_paths.h"
#include "harness/desk/page/diagnosis_page.h"
#include "harness/desk/page/json/diagnosis_json.h"
#include "harness/desk/page/snapshot_page.h"
#include "harness/desk/page/trace_change_page.h"
#include "harness/desk/read/input/deflate.h"
#include "harness/desk/trace/trace_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Opening --- */

struct chokepoint_files {
    struct trace_paths paths;
    struct snapshots snapshots;
    struct stack_lines lines;
    struct program_times *programs;
    bool is_for_digests;
    struct chokepoint_desk *desk;
    chokepoint_skip *skip; /* NULL: the caller does not ask */
    void *context;
};

/* One of several: the others are read all the same. */
static void skip_file(void *context)
{
    struct chokepoint_files *files = context;

    files->desk->skipped++;
    if (files->skip != NULL)
        files->skip(files->context);
}

/* The times of whole programs that `record` wrote beside the traces, and their findings. */
static enum status take_programs(struct chokepoint_desk *desk)
{
    struct diagnosis *diagnosis = &desk->diagnosis;

    TRY(rows_make(&desk->files->programs, diagnosis->count));
    for (int i = 0; i < diagnosis->count; i++) {
        struct program_times *program = &desk->files->programs[i];
        struct finding found[PROGRAM_FINDINGS];
        const struct facts *facts = &diagnosis->facts[i];
        if (!record_file_program(program, diagnosis->paths[i])) {
            *program = (struct program_times){ .wall_s = 0 };
            continue;
        }
        if (facts->has_steps && facts->device != NULL)
            program->busy_s = facts->busy_ns / 1e9;
        TRY(diagnosis_join(diagnosis, i, found, program_times_judge(found, program)));
    }
    diagnosis->programs = desk->files->programs;

    return STATUS_OK;
}

/* A trace and a snapshot are one run's. */
static enum status take_snapshots(struct chokepoint_desk *desk)
{
    struct diagnosis *diagnosis = &desk->diagnosis;
    struct snapshots *snapshots = &desk->files->snapshots;
    bool alone = desk->files->paths.count + snapshots->path_count == 1;

    TRY(snapshots_read(snapshots, alone ? NULL : skip_file, desk->files));
    diagnosis->snapshots = snapshots->files;
    diagnosis->snapshot_count = snapshots->count;
    if (diagnosis->count == 1 && snapshots->count == 1)
        TRY(snapshot_join(diagnosis, &snapshots->files[0]));

    return STATUS_OK;
}

/* A single file that cannot be read is the failure of all; one of several is passed over, and
 * counted. */
static enum status open_files(struct chokepoint_desk *desk, const char *const *arguments, int count)
{
    struct chokepoint_files *files = desk->files;
    struct trace_paths *paths = &files->paths;

    paths->takes_snapshots = !files->is_for_digests;
    TRY(trace_paths_make(paths, arguments, count, count > 1 ? skip_file : NULL, files));
    if (paths->takes_snapshots)
        TRY(snapshots_take(&files->snapshots, paths));
    desk->skipped_arguments = paths->skipped;
    desk->given = paths->count + files->snapshots.path_count + paths->skipped;
    if (paths->count > 0)
        TRY((files->is_for_digests ? diagnosis_make_for_digests : diagnosis_make)(
            &desk->diagnosis, paths->items, paths->count,
            paths->count + paths->skipped > 1 ? skip_file : NULL, files));
    if (!files->is_for_digests)
        TRY(take_programs(desk));
    /* The traces with stacks that `record` wrote beside these give their lines of code. */
    TRY(stack_lines_take(&files->lines, &desk->diagnosis, skip_file, files));
    return take_snapshots(desk);
}

static enum status open_desk(struct chokepoint_desk **opened, const char *const *arguments,
                             int count, struct chokepoint_files how)
{
    enum status status = STATUS_OK;
    struct chokepoint_desk *desk = calloc(1, sizeof *desk);

    *opened = NULL;
    if (desk == NULL || (desk->files = malloc(sizeof how)) == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory to read a file");
    *desk->files = how;
    desk->files->desk = desk;
    TRY_OUT(open_files(desk, arguments, count));
    *opened = desk;
    desk = NULL;

out:
    chokepoint_desk_close(desk);
    return status;
}

enum status chokepoint_desk_open(struct chokepoint_desk **desk, const char *const *arguments,
                                 int count, chokepoint_skip *skip, void *context)
{
    return open_desk(desk, arguments, count,
                     (struct chokepoint_files){ .skip = skip, .context = context });
}

enum status chokepoint_desk_open_for_digests(struct chokepoint_desk **desk,
                                             const char *const *arguments, int count,
                                             chokepoint_skip *skip, void *context)
{
    return open_desk(
        desk, arguments, count,
        (struct chokepoint_files){ .is_for_digests = true, .skip = skip, .context = context });
}

void chokepoint_desk_close(struct chokepoint_desk *desk)
{
    if (desk == NULL)
        return;
    if (desk->files != NULL) {
        free(desk->files->programs);
        stack_lines_release(&desk->files->lines);
        diagnosis_release(&desk->diagnosis);
        snapshots_release(&desk->files->snapshots);
        trace_paths_release(&desk->files->paths);
    }
    free(desk->files);
    free(desk);
}

/* --- Looking --- */

static enum status refuse_digests(const struct diagnosis *diagnosis,
                                  const struct chokepoint_view *view)
{
    for (int i = 0; i < diagnosis->count; i++)
        if (diagnosis->traces[i]->digest != NULL && (view->timeline > 0 || view->what_if.asked))
            FAIL(STATUS_BAD_USAGE, "--%s: %s is a digest, which holds no events: give the trace",
                 view->timeline > 0 ? "timeline" : "what-if", diagnosis->paths[i]);

    return STATUS_OK;
}

enum status chokepoint_desk_look(struct chokepoint_desk *desk, const struct chokepoint_view *view,
                                 int *only)
{
    *only = view->has_rank ? diagnosis_rank(&desk->diagnosis, view->rank) : -1;
    TRY(refuse_digests(&desk->diagnosis, view));
    if (view->has_rank && *only < 0)
        FAIL(STATUS_BAD_USAGE, "--rank=%lld: none of the traces is of that rank",
             (long long)view->rank);
    desk->diagnosis.tables = view->tables;
    desk->diagnosis.what_if = view->what_if;

    return STATUS_OK;
}

enum status chokepoint_desk_json(struct chokepoint_desk *desk, const struct chokepoint_view *view,
                                 char **json)
{
    int only;

    TRY(chokepoint_desk_look(desk, view, &only));
    return diagnosis_json(&desk->diagnosis, only, view->timeline, json);
}

/* Pages of snapshots come after those of traces. */
enum status chokepoint_desk_page(struct chokepoint_desk *desk, const struct chokepoint_view *view,
                                 const struct page *page)
{
    const struct diagnosis *diagnosis = &desk->diagnosis;
    struct diagnosis_view shown = { .timeline = view->timeline,
                                    .thresholds = view->thresholds,
                                    .checklist = view->checklist };
    bool first = diagnosis->count == 0;

    TRY(chokepoint_desk_look(desk, view, &shown.only));
    if (view->what_if.asked && shown.only < 0 && diagnosis->run_count > 0)
        FAIL(STATUS_BAD_USAGE,
             "--what-if: the traces are ranks of one run, and a replay is of one of them: name it "
             "with --rank=N");
    TRY(diagnosis_page(page, diagnosis, &shown));
    for (int i = 0; i < diagnosis->snapshot_count; i++) {
        const struct snapshot_file *file = &diagnosis->snapshots[i];
        /* A snapshot that was joined to its trace is on the page of that trace. */
        if (file == diagnosis->joined)
            continue;
        if (!first && !page->markdown)
            fputc('\n', page->console.stream);
        first = false;
        snapshot_page(page, file, view->tables.rows, false);
    }
    return STATUS_OK;
}

/* --- One member alone --- */

static enum status look_at(struct chokepoint_desk *desk, int which,
                           const struct chokepoint_view *view)
{
    int only;

    if (which < 0 || which >= desk->diagnosis.count)
        FAIL(STATUS_BAD_USAGE, "there is no trace number %d", which);
    return chokepoint_desk_look(desk, view, &only);
}

enum status chokepoint_desk_what_if(struct chokepoint_desk *desk, int which, const char *causes,
                                    char **json)
{
    struct chokepoint_view view = { .timeline = 0 };

    *json = NULL;
    TRY(what_if_choice_read(&view.what_if, causes));
    TRY(look_at(desk, which, &view));
    return what_if_json(&desk->diagnosis, which, json);
}

enum status chokepoint_desk_timeline(struct chokepoint_desk *desk, int which, int steps,
                                     char **json)
{
    const struct chokepoint_view view = { .timeline = steps };

    *json = NULL;
    TRY(look_at(desk, which, &view));
    return drawing_json(&desk->diagnosis, which, steps, json);
}

/* --- Two traces --- */

struct comparing {
    struct json json;
    cJSON *array;
};

static void add_change(void *context, const struct trace_change *change)
{
    struct comparing *comparing = context;

    trace_change_json(&comparing->json, comparing->array, change);
}

enum status chokepoint_compare(const char *base, const char *other, char **json)
{
    enum status status = STATUS_OK;
    struct comparing comparing = { .array = NULL };
    cJSON *root = trace_changes_json(&comparing.json, &comparing.array);

    *json = NULL;
    TRY_OUT(trace_change_each((const char *const[SIDES]){ base, other }, add_change, &comparing));
    TRY_OUT(json_print(&comparing.json, root, json));

out:
    cJSON_Delete(root);
    return status;
}

/* --- Digests --- */

/* One digest under way. */
struct making_digest {
    const struct diagnosis *diagnosis;
    int which;
    int64_t most; /* collectives */
    const char *node, *job;
    struct digest digest;
};

static void make_digest(struct arena *arena, void *context)
{
    struct making_digest *making = context;
    const struct diagnosis *diagnosis = making->diagnosis;
    int which = making->which;

    making->digest = (struct digest){
        .trace = diagnosis->traces[which],
        .summary = &diagnosis->summaries[which],
        .facts = &diagnosis->facts[which],
        .findings = &diagnosis->findings[which],
        .record = rank_record_of(arena, &diagnosis->summaries[which], making->most),
    };
    making->digest.record.source = diagnosis->paths[which];
    making->digest.record.node = making->node;
    making->digest.record.job = making->job;
}

/* All digests, each a gzip member. */
struct written_digests {
    char *bytes;
    int64_t count, room;
};

/* If a digest is too large, it gets half as many collectives. */
static enum status add_digest(struct written_digests *written, struct making_digest *making)
{
    enum status status = STATUS_OK;
    char *line = NULL, *bytes = NULL;
    size_t count = 0;

    for (making->most = RECORD_COLLECTIVES; making->most > 0; making->most /= 2) {
        free(line);
        free(bytes);
        line = bytes = NULL;
        TRY_OUT(arena_run(making->diagnosis->arenas[making->which], make_digest, making));
        TRY_OUT(digest_write(&line, &making->digest));
        TRY_OUT(deflate_text(&bytes, &count, line, strlen(line), DEFLATE_GZIP));
        if (count <= DIGEST_BYTES)
            break;
    }
    if (count > DIGEST_BYTES)
        FAIL_OUT(STATUS_BAD_INPUT, "%s: its digest would take %zu bytes, more than %d",
                 making->diagnosis->paths[making->which], count, DIGEST_BYTES);
    TRY_OUT(rows_grow(&written->bytes, written->count + (int64_t)count, &written->room));
    memcpy(written->bytes + written->count, bytes, count);
    written->count += (int64_t)count;

out:
    free(bytes);
    free(line);
    return status;
}

enum status chokepoint_desk_digest(struct chokepoint_desk *desk, const char *node, const char *job,
                                   char **bytes, size_t *count)
{
    enum status status = STATUS_OK;
    const struct diagnosis *diagnosis = &desk->diagnosis;
    struct written_digests written = { .bytes = NULL };
    struct making_digest making = { .diagnosis = diagnosis, .node = node, .job = job };

    *bytes = NULL;
    *count = 0;
    for (making.which = 0; making.which < diagnosis->count; making.which++) {
        if (diagnosis->traces[making.which]->digest != NULL)
            FAIL_OUT(STATUS_BAD_USAGE, "%s is a digest already", diagnosis->paths[making.which]);
        TRY_OUT(add_digest(&written, &making));
    }
    *bytes = written.bytes;
    *count = (size_t)written.count;
    written.bytes = NULL;

out:
    free(written.bytes);
    return status;
}
