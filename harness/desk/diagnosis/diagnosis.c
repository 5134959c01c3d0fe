#include "harness/desk/diagnosis/diagnosis.h"

#include "harness/base/system/tasks.h"
#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/read/reader.h"

#include <math.h>
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

/* The first `count` are of one run if each is another rank of the same world. */
static bool is_run(const struct diagnosis *diagnosis, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (diagnosis->traces[j]->rank == diagnosis->traces[i]->rank ||
                diagnosis->traces[j]->world_size != diagnosis->traces[i]->world_size)
                return false;
    return count > 1;
}

/* --- Reading --- */

struct readings {
    const char *const *paths;
    struct trace_file **traces; /* [count] */
};

/* A pipe may be named twice, or have the same writer as another: such files are read one after the other. */
static bool is_stream(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && !S_ISREG(about.st_mode);
}

static enum status read_stream(void *context, int number)
{
    const struct readings *readings = context;

    return is_stream(readings->paths[number])
               ? trace_file_read(&readings->traces[number], readings->paths[number], NULL)
               : STATUS_OK;
}

static enum status read_file(void *context, int number)
{
    const struct readings *readings = context;

    return is_stream(readings->paths[number])
               ? STATUS_OK
               : trace_file_read(&readings->traces[number], readings->paths[number], NULL);
}

/* Keeps the traces that could be read, in the order of their files. */
static enum status keep_traces(struct diagnosis *diagnosis, const char *const *paths, int count,
                               const struct status_error *errors, diagnosis_skip *skip,
                               void *context)
{
    const struct status_error *failure = NULL;

    for (int i = 0; i < count; i++) {
        if (errors[i].status == STATUS_OK) {
            diagnosis->traces[diagnosis->count] = diagnosis->traces[i];
            diagnosis->paths[diagnosis->count++] = paths[i];
        } else if (failure == NULL && skip != NULL && errors[i].status != STATUS_OUT_OF_MEMORY) {
            status_raise(&errors[i]);
            skip(context);
        } else if (failure == NULL) {
            failure = &errors[i];
        }
    }
    return failure != NULL ? status_raise(failure) : STATUS_OK;
}

static enum status read_all(struct diagnosis *diagnosis, const char *const *paths, int count,
                            struct status_error *errors, diagnosis_skip *skip, void *context)
{
    struct readings readings = { paths, diagnosis->traces };

    for (int i = 0; i < count; i++)
        if (read_stream(&readings, i) != STATUS_OK)
            errors[i] = *status_last();
    tasks_run(count, read_file, &readings, errors);
    return keep_traces(diagnosis, paths, count, errors, skip, context);
}

/* --- Judging --- */

static enum status summarise(void *context, int number)
{
    const struct diagnosis *diagnosis = context;

    return summary_make(&diagnosis->summaries[number], diagnosis->traces[number]);
}

static enum status judge(void *context, int number)
{
    const struct diagnosis *diagnosis = context;

    diagnosis->facts[number] = number < diagnosis->run_count
                                   ? facts_of(diagnosis->summaries, diagnosis->run_count, number)
                                   : facts_of(&diagnosis->summaries[number], 1, 0);
    return findings_make(&diagnosis->findings[number], &diagnosis->facts[number]);
}

/* Runs `task` for each trace; the error of the first that failed. */
static enum status for_all(struct diagnosis *diagnosis,
                           enum status (*task)(void *context, int number),
                           struct status_error *errors)
{
    tasks_run(diagnosis->count, task, diagnosis, errors);
    for (int i = 0; i < diagnosis->count; i++)
        if (errors[i].status != STATUS_OK)
            return status_raise(&errors[i]);
    return STATUS_OK;
}

enum status diagnosis_make(struct diagnosis *diagnosis, const char *const *paths, int count,
                           diagnosis_skip *skip, void *context)
{
    enum status status = STATUS_OK;
    size_t room = (size_t)count;
    int ranks;
    struct status_error *errors = calloc(room, sizeof *errors);

    *diagnosis = (struct diagnosis){
        .paths = calloc(room, sizeof *diagnosis->paths),
        .traces = calloc(room, sizeof *diagnosis->traces),
        .summaries = calloc(room, sizeof *diagnosis->summaries),
        .facts = calloc(room, sizeof *diagnosis->facts),
        .findings = calloc(room, sizeof *diagnosis->findings),
        .ranks = calloc(room, sizeof *diagnosis->ranks),
    };
    if (errors == NULL || diagnosis->paths == NULL || diagnosis->traces == NULL ||
        diagnosis->summaries == NULL || diagnosis->facts == NULL || diagnosis->findings == NULL ||
        diagnosis->ranks == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %d traces", count);
    TRY(read_all(diagnosis, paths, count, errors, skip, context));
    ranks = put_ranks_first(diagnosis);
    diagnosis->run_count = is_run(diagnosis, ranks) ? ranks : 0;
    memset(errors, 0, room * sizeof *errors);
    TRY(for_all(diagnosis, summarise, errors));
    TRY(for_all(diagnosis, judge, errors));
    if (diagnosis->run_count > 0) {
        TRY(ranks_compare(&diagnosis->slow, diagnosis->ranks, diagnosis->summaries,
                          diagnosis->run_count));
        TRY(run_findings_make(&diagnosis->run, diagnosis->findings, diagnosis->facts,
                              diagnosis->run_count));
    }

out:
    free(errors);
    return status;
}

int diagnosis_rank(const struct diagnosis *diagnosis, int64_t rank)
{
    for (int i = 0; i < diagnosis->count; i++)
        if (diagnosis->traces[i]->rank == rank)
            return i;
    return -1;
}

void diagnosis_release(struct diagnosis *diagnosis)
{
    run_findings_release(&diagnosis->run);
    free(diagnosis->ranks);
    for (int i = 0; i < diagnosis->count; i++) {
        findings_release(&diagnosis->findings[i]);
        summary_release(&diagnosis->summaries[i]);
        trace_file_close(diagnosis->traces[i]);
    }
    free(diagnosis->paths);
    free(diagnosis->findings);
    free(diagnosis->facts);
    free(diagnosis->summaries);
    free(diagnosis->traces);
    memset(diagnosis, 0, sizeof *diagnosis);
}

double diagnosis_busy_share(const struct diagnosis *diagnosis, int which)
{
    const struct facts *facts = &diagnosis->facts[which];

    return facts->step_ns > 0 ? facts->busy_ns / facts->step_ns : NAN;
}
