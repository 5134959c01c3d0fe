/* Files are read on all cores, those with several processes become several traces, and traces are
 * summed up and judged on all cores, each in its own memory. Traces that state different ranks of
 * one world are a run: their rules look at all of them. A file that fails is left out, or fails all
 * if nobody is told of it. */
#include "harness/desk/diagnosis/diagnosis.h"

#include "harness/base/bisect.h"
#include "harness/base/sort.h"
#include "harness/base/system/thread.h"
#include "harness/desk/analysis/host/call_sites.h"
#include "harness/desk/analysis/soundness/soundness.h"
#include "harness/desk/diagnosis/digest/digest.h"
#include "harness/desk/diagnosis/finding_place.h"
#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/read/digest_lines.h"
#include "harness/desk/read/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WORLD_MOST = 1 << 20 }; /* of ranks: more than any run has had, so the number is damaged */

static bool states_rank(const struct trace_file *trace)
{
    return trace->rank >= 0 && trace->rank < trace->world_size && trace->world_size <= WORLD_MOST;
}

/* Moves the files that state a rank to the front, and returns how many there are. */
static int put_ranks_first(struct diagnosis *diagnosis)
{
    int ranks = 0;

    for (int i = 0; i < diagnosis->count; i++) {
        struct trace_file *trace = diagnosis->traces[i];
        const char *path = diagnosis->paths[i];
        if (!states_rank(trace))
            continue;
        memmove(diagnosis->traces + ranks + 1, diagnosis->traces + ranks,
                (size_t)(i - ranks) * sizeof *diagnosis->traces);
        memmove(diagnosis->paths + ranks + 1, diagnosis->paths + ranks,
                (size_t)(i - ranks) * sizeof *diagnosis->paths);
        diagnosis->traces[ranks] = trace;
        diagnosis->paths[ranks++] = path;
    }
    return ranks;
}

static int by_rank(const void *a, const void *b, void *context)
{
    struct trace_file *const *traces = context;
    int64_t left = traces[*(const int *)a]->rank, right = traces[*(const int *)b]->rank;

    return (left > right) - (left < right);
}

/* The first `count` are of one run if each is another rank of the same world. They are put in
 * order. */
static bool is_run(const struct diagnosis *diagnosis, int count)
{
    const int *order = diagnosis->by_rank;

    for (int i = 0; i < count; i++) diagnosis->by_rank[i] = i;
    qsort_r(diagnosis->by_rank, (size_t)count, sizeof *order, by_rank, diagnosis->traces);
    for (int i = 1; i < count; i++) {
        const struct trace_file *before = diagnosis->traces[order[i - 1]],
                                *trace = diagnosis->traces[order[i]];
        if (before->rank == trace->rank || before->world_size != trace->world_size)
            return false;
    }
    return count > 1;
}

/* --- Each trace --- */

struct making {
    struct diagnosis *diagnosis;
    struct status_error *errors; /* [count], of its traces */
    int count;                   /* at first */
    int room;
    diagnosis_skip *skip;
    void *context;
};

/* Leaves out the traces that failed. Without `skip` the first of them is the failure. */
static enum status leave_out(struct making *making)
{
    struct diagnosis *diagnosis = making->diagnosis;
    int kept = 0;

    for (int i = 0; i < diagnosis->count; i++) {
        if (making->errors[i].status == STATUS_OK) {
            diagnosis->paths[kept] = diagnosis->paths[i];
            diagnosis->traces[kept] = diagnosis->traces[i];
            diagnosis->arenas[kept] = diagnosis->arenas[i];
            diagnosis->summaries[kept++] = diagnosis->summaries[i];
            continue;
        }
        status_raise(&making->errors[i]);
        if (making->skip == NULL)
            return making->errors[i].status;
        making->skip(making->context);
        trace_file_close(diagnosis->traces[i]);
        arena_close(diagnosis->arenas[i]);
    }
    diagnosis->count = kept;
    return STATUS_OK;
}

/* Runs `task` for each trace. */
static enum status for_all(struct making *making, enum status (*task)(void *context, int number))
{
    memset(making->errors, 0, (size_t)making->count * sizeof *making->errors);
    tasks_run(making->diagnosis->count, task, making->diagnosis, making->errors);
    return leave_out(making);
}

/* A pipe may be named twice, or have the same writer as another: such files are read one after the
 * other. */
static bool is_stream(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

static enum status read_if(const struct diagnosis *diagnosis, int number, bool stream)
{
    const struct trace_file_limits limits = { .digests = true };
    const char *path = diagnosis->paths[number];

    return is_stream(path) == stream ? trace_file_read(&diagnosis->traces[number], path, &limits)
                                     : STATUS_OK;
}

static enum status read_file(void *context, int number)
{
    return read_if(context, number, false);
}

static enum status read_all(struct making *making)
{
    struct diagnosis *diagnosis = making->diagnosis;

    for (int i = 0; i < diagnosis->count; i++)
        if (read_if(diagnosis, i, true) != STATUS_OK)
            making->errors[i] = *status_last();
    tasks_run(diagnosis->count, read_file, diagnosis, making->errors);
    return leave_out(making);
}

/* Work on one trace. */
struct trace_task {
    const struct diagnosis *diagnosis;
    int number;
};

/* Errors of a trace's work have no path yet. */
static enum status named(const struct diagnosis *diagnosis, int number, enum status status)
{
    struct status_error error;

    if (status == STATUS_OK)
        return status;
    error = *status_last();
    return status_fail(error.status, error.file, error.line, "%s: %s", diagnosis->paths[number],
                       error.text);
}

/* The one place where a trace's lack of memory arrives. */
static enum status run_task(const struct diagnosis *diagnosis, int number,
                            void (*work)(struct arena *arena, void *context))
{
    struct trace_task task = { diagnosis, number };

    return named(diagnosis, number, arena_run(diagnosis->arenas[number], work, &task));
}

static void find_summary(struct arena *arena, void *context)
{
    const struct trace_task *task = context;

    task->diagnosis->summaries[task->number] =
        summary_of(arena, task->diagnosis->traces[task->number]);
}

static enum status take_head(void *context, int number)
{
    const struct diagnosis *diagnosis = context;
    struct trace_file *trace = diagnosis->traces[number];

    return trace->digest == NULL ? STATUS_OK : named(diagnosis, number, digest_take_head(trace));
}

static enum status summarise(void *context, int number)
{
    const struct diagnosis *diagnosis = context;

    diagnosis->arenas[number] = arena_open();
    if (diagnosis->traces[number]->digest != NULL)
        return named(diagnosis, number,
                     digest_take_summary(diagnosis->arenas[number], diagnosis->traces[number],
                                         &diagnosis->summaries[number]));
    return run_task(diagnosis, number, find_summary);
}

static void find_findings(struct arena *arena, void *context)
{
    const struct trace_task *task = context;
    const struct diagnosis *diagnosis = task->diagnosis;
    int number = task->number, which = number < diagnosis->run_count ? number : 0;
    const struct summary *ranks = &diagnosis->summaries[number - which];
    const struct digest *digest = ranks[which].digest;
    struct facts *facts = &diagnosis->facts[number];
    int64_t count = number < diagnosis->run_count ? diagnosis->run_count : 1;
    (void)arena;

    *facts = digest != NULL ? digest_facts(ranks, count, which) : facts_of(ranks, count, which);
    if (number < diagnosis->run_count)
        facts->together = diagnosis->together;
    diagnosis->findings[number] = digest != NULL ? findings_of_digest(digest->findings, facts)
                                  : diagnosis->is_for_digests ? findings_judged(facts)
                                                              : findings_of(facts);
}

static enum status judge_trace(void *context, int number)
{
    return run_task(context, number, find_findings);
}

static void gather_ranks(struct arena *arena, void *context)
{
    struct diagnosis *diagnosis = context;

    diagnosis->together = ARENA_NEW(arena, struct ranks_together, 1);
    *diagnosis->together = ranks_together(arena, diagnosis->summaries, diagnosis->run_count);
}

/* Findings of a rank are made from all ranks, so if one is left out, the others are judged once
 * more. */
static enum status judge_all(struct making *making)
{
    struct diagnosis *diagnosis = making->diagnosis;
    int before;

    do {
        int ranks = put_ranks_first(diagnosis);
        diagnosis->run_count = !diagnosis->is_for_digests && is_run(diagnosis, ranks) ? ranks : 0;
        before = diagnosis->count;
        if (diagnosis->run_count > 0)
            TRY(arena_run(diagnosis->arena, gather_ranks, diagnosis));
        TRY(for_all(making, judge_trace));
    } while (diagnosis->count < before);

    return STATUS_OK;
}

/* --- Several processes in one file --- */

static void make_room(struct arena *arena, void *context)
{
    struct making *making = context;

    *making->diagnosis = (struct diagnosis){
        .arena = arena,
        .is_for_digests = making->diagnosis->is_for_digests,
        .paths = ARENA_NEW(arena, const char *, making->room),
        .traces = ARENA_NEW(arena, struct trace_file *, making->room),
        .arenas = ARENA_NEW(arena, struct arena *, making->room),
        .summaries = ARENA_NEW(arena, struct summary, making->room),
        .facts = ARENA_NEW(arena, struct facts, making->room),
        .findings = ARENA_NEW(arena, struct findings, making->room),
        .by_rank = ARENA_NEW(arena, int, making->room),
        .lines_from = ARENA_NEW(arena, const char *, making->room),
        .count = making->count,
    };
    making->errors = ARENA_NEW(arena, struct status_error, making->room);
}

struct splitting {
    struct trace_file *trace, **parts;
    struct processes processes;
    const char *path, **names; /* [processes.count] "merged.json, process 200" */
};

static void find_parts(struct arena *arena, void *context)
{
    struct splitting *splitting = context;

    if (splitting->trace->digest != NULL)
        splitting->processes.count = digest_lines_count(splitting->trace);
    else
        splitting->processes = processes_of(arena, splitting->trace);
    splitting->parts = ARENA_NEW(arena, struct trace_file *, splitting->processes.count);
}

static void name_parts(struct arena *arena, void *context)
{
    enum { NUMBER_MOST = 40 };
    struct splitting *splitting = context;
    const struct processes *processes = &splitting->processes;
    size_t size = strlen(splitting->path) + NUMBER_MOST;

    splitting->names = ARENA_NEW(arena, const char *, processes->count);
    for (int64_t i = 0; i < processes->count; i++) {
        char *name = arena_alloc(arena, (int64_t)size, 1);
        if (splitting->trace->digest == NULL)
            snprintf(name, size, "%s, process %lld", splitting->path, (long long)processes->ids[i]);
        else if (processes->count == 1)
            snprintf(name, size, "%s", splitting->path);
        else
            snprintf(name, size, "%s, digest %lld", splitting->path, (long long)i + 1);
        splitting->names[i] = name;
    }
}

/* Room for more traces; those that were read keep their place. */
static enum status make_more_room(struct making *making, int more)
{
    struct diagnosis *diagnosis = making->diagnosis, before = *diagnosis;

    making->count += more;
    if (making->count <= making->room)
        return STATUS_OK;
    making->room = 2 * making->count;
    TRY(arena_run(diagnosis->arena, make_room, making));
    memcpy(diagnosis->paths, before.paths, (size_t)before.count * sizeof *before.paths);
    memcpy(diagnosis->traces, before.traces, (size_t)before.count * sizeof *before.traces);
    diagnosis->count = before.count;

    return STATUS_OK;
}

static enum status split_parts(const struct splitting *splitting)
{
    const struct processes *processes = &splitting->processes;

    if (splitting->trace->digest != NULL)
        return digest_lines_split(splitting->trace, splitting->parts, processes->count);
    return trace_file_split(splitting->trace, processes->ids, processes->count,
                            processes->event_part, processes->frame_part, splitting->parts);
}

/* Puts the traces of the file's processes in its place, if they are several. Returns by how many
 * there are more. */
static enum status split_file(struct making *making, int which, int *more)
{
    enum status status = STATUS_OK;
    struct diagnosis *diagnosis = making->diagnosis;
    struct splitting splitting = { .trace = diagnosis->traces[which],
                                   .path = diagnosis->paths[which] };
    const struct processes *processes = &splitting.processes;
    struct arena *scratch = arena_open();

    *more = 0;
    TRY_OUT(arena_run(scratch, find_parts, &splitting));
    if (processes->count == 0)
        goto out;
    TRY_OUT(make_more_room(making, (int)processes->count - 1));
    TRY_OUT(arena_run(diagnosis->arena, name_parts, &splitting));
    TRY_OUT(split_parts(&splitting));
    *more = (int)processes->count - 1;
    memmove(diagnosis->traces + which + 1 + *more, diagnosis->traces + which + 1,
            (size_t)(diagnosis->count - which - 1) * sizeof *diagnosis->traces);
    memmove(diagnosis->paths + which + 1 + *more, diagnosis->paths + which + 1,
            (size_t)(diagnosis->count - which - 1) * sizeof *diagnosis->paths);
    for (int i = 0; i <= *more; i++) {
        diagnosis->traces[which + i] = splitting.parts[i];
        diagnosis->paths[which + i] = splitting.names[i];
    }
    diagnosis->count += *more;

out:
    arena_close(scratch);
    return status;
}

/* --- All --- */

static void judge_run(struct arena *arena, void *context)
{
    struct diagnosis *diagnosis = context;

    diagnosis->run =
        run_findings_of(arena, diagnosis->findings, diagnosis->facts, diagnosis->run_count);
}

static enum status diagnose(struct making *making, const char *const *paths)
{
    struct diagnosis *diagnosis = making->diagnosis;
    int more;

    TRY(arena_run(diagnosis->arena, make_room, making));
    memcpy(diagnosis->paths, paths, (size_t)making->count * sizeof *paths);
    TRY(read_all(making));
    for (int i = 0; i < diagnosis->count; i += 1 + more) TRY(split_file(making, i, &more));
    TRY(for_all(making, take_head));
    put_ranks_first(diagnosis);
    TRY(for_all(making, summarise));
    TRY(judge_all(making));
    if (diagnosis->run_count > 0)
        TRY(arena_run(diagnosis->arena, judge_run, diagnosis));

    return STATUS_OK;
}

enum status diagnosis_make(struct diagnosis *diagnosis, const char *const *paths, int count,
                           diagnosis_skip *skip, void *context)
{
    struct making making = { diagnosis, NULL, count, count, skip, context };

    *diagnosis = (struct diagnosis){ .arena = arena_open() };
    return diagnose(&making, paths);
}

enum status diagnosis_make_for_digests(struct diagnosis *diagnosis, const char *const *paths,
                                       int count, diagnosis_skip *skip, void *context)
{
    struct making making = { diagnosis, NULL, count, count, skip, context };

    *diagnosis = (struct diagnosis){ .arena = arena_open(), .is_for_digests = true };
    return diagnose(&making, paths);
}

/* --- Findings of another file --- */

struct joining {
    struct diagnosis *diagnosis;
    int which;
    const struct finding *others;
    int64_t count;
};

static void join_findings(struct arena *arena, void *context)
{
    const struct joining *joining = context;
    (void)arena;

    findings_join(&joining->diagnosis->findings[joining->which], joining->others, joining->count,
                  &joining->diagnosis->facts[joining->which]);
}

enum status diagnosis_join(struct diagnosis *diagnosis, int which, const struct finding *others,
                           int64_t count)
{
    struct joining joining = { diagnosis, which, others, count };

    if (count == 0)
        return STATUS_OK;
    TRY(arena_run(diagnosis->arenas[which], join_findings, &joining));
    if (which < diagnosis->run_count)
        TRY(arena_run(diagnosis->arena, judge_run, diagnosis));

    return STATUS_OK;
}

/* --- Lines from another trace --- */

struct taking_lines {
    struct findings *findings;
    const struct facts *facts; /* that they were made of */
    struct trace_file *trace;
};

/* Only a DataLoader says when it loads. The other work of a loop is loading as well if most of it
 * is in what the loop iterates over. */
static void name_iterator(struct finding *finding, struct findings *findings,
                          const struct facts *facts)
{
    if (strcmp(finding->id, "host_work") != 0 || !(finding->where.iterated > CALL_SITE_CALLED_BACK))
        return;
    finding->title = "The loop prepares its batches itself";
    finding->advice = "give what the loop iterates over to a DataLoader with workers (an iterator: "
                      "as an IterableDataset), prepare batches ahead, or make that cheaper";
    finding->bottleneck = BOTTLENECK_LOADING;
    finding_says(finding, "; %.0f%% of the work is in what the loop iterates over",
                 100 * finding->where.iterated);
    findings->headline = headline_of(findings_limit(findings), facts);
}

static void take_lines(struct arena *arena, void *context)
{
    struct taking_lines *taking = context;
    struct summary summary = summary_of(arena, taking->trace);
    struct facts facts = facts_of(&summary, 1, 0);

    for (int64_t i = 0; i < taking->findings->count; i++) {
        struct finding *finding = &taking->findings->items[i], placed = *finding;
        const struct rule *rule = rule_find(finding->id);
        finding_place_of(arena, &placed, rule->site, &facts);
        if (placed.where.kind == PLACE_LINE) {
            finding->where = placed.where;
            finding->library = placed.library;
            name_iterator(finding, taking->findings, taking->facts);
        }
    }
}

static enum status take_lines_of(struct diagnosis *diagnosis, int number, const char *path)
{
    struct taking_lines taking = { .findings = &diagnosis->findings[number],
                                   .facts = &diagnosis->facts[number] };
    struct trace_file *trace = NULL;
    struct arena *arena = arena_open();
    enum status status = trace_file_read(&trace, path, NULL);

    taking.trace = trace;
    if (status == STATUS_OK)
        status = arena_run(arena, take_lines, &taking);
    if (status == STATUS_OK)
        diagnosis->lines_from[number] = path;
    arena_close(arena);
    trace_file_close(trace);
    return status;
}

enum status diagnosis_take_lines(struct diagnosis *diagnosis, const char *const *paths,
                                 diagnosis_skip *skip, void *context)
{
    for (int i = 0; i < diagnosis->count; i++)
        if (paths[i] != NULL && take_lines_of(diagnosis, i, paths[i]) != STATUS_OK)
            skip(context);
    if (diagnosis->run_count > 0)
        TRY(arena_run(diagnosis->arena, judge_run, diagnosis));

    return STATUS_OK;
}

int diagnosis_next_rank(const struct diagnosis *diagnosis, int64_t rank)
{
    int low = 0, high = diagnosis->run_count;

    BISECT(low, high, i, diagnosis->traces[diagnosis->by_rank[i]]->rank <= rank);
    return low < diagnosis->run_count ? diagnosis->by_rank[low] : -1;
}

int diagnosis_rank(const struct diagnosis *diagnosis, int64_t rank)
{
    int of_run = diagnosis_next_rank(diagnosis, rank - 1);

    if (of_run >= 0 && diagnosis->traces[of_run]->rank == rank)
        return of_run;
    for (int i = diagnosis->run_count; i < diagnosis->count; i++)
        if (diagnosis->traces[i]->rank == rank)
            return i;
    return -1;
}

void diagnosis_release(struct diagnosis *diagnosis)
{
    for (int i = 0; i < diagnosis->count; i++) {
        arena_close(diagnosis->arenas[i]);
        trace_file_close(diagnosis->traces[i]);
    }
    arena_close(diagnosis->arena);
    *diagnosis = (struct diagnosis){ .count = 0 };
}

double diagnosis_busy_share(const struct diagnosis *diagnosis, int which)
{
    const struct facts *facts = &diagnosis->facts[which];

    return facts->step_ns > 0 ? facts->busy_ns / facts->step_ns : NAN;
}
