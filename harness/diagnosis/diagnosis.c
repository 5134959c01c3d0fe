#include "harness/diagnosis/diagnosis.h"

#include "harness/diagnosis/rules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Files are of one run if each names another rank of the same world. Otherwise each is judged alone. */
static bool is_run(const struct diagnosis *diagnosis)
{
    for (int i = 0; i < diagnosis->count; i++) {
        const struct trace_file *trace = diagnosis->traces[i];
        if (trace->rank < 0 || trace->rank >= trace->world_size ||
            trace->world_size != diagnosis->traces[0]->world_size)
            return false;
        for (int j = 0; j < i; j++)
            if (diagnosis->traces[j]->rank == trace->rank)
                return false;
    }
    return diagnosis->count > 1;
}

static enum status read_one(struct diagnosis *diagnosis, const char *path, diagnosis_skip *skip,
                            void *context)
{
    enum status status = trace_file_read(&diagnosis->traces[diagnosis->count], path, NULL);

    if (status == STATUS_OK) {
        diagnosis->paths[diagnosis->count++] = path;
    } else if (skip != NULL && status != STATUS_OUT_OF_MEMORY) {
        skip(context);
        status = STATUS_OK;
    }
    return status;
}

enum status diagnosis_make(struct diagnosis *diagnosis, const char *const *paths, int count,
                           diagnosis_skip *skip, void *context)
{
    enum status status = STATUS_OK;
    size_t room = (size_t)count;

    *diagnosis = (struct diagnosis){
        .paths = calloc(room, sizeof *diagnosis->paths),
        .traces = calloc(room, sizeof *diagnosis->traces),
        .summaries = calloc(room, sizeof *diagnosis->summaries),
        .findings = calloc(room, sizeof *diagnosis->findings),
        .ranks = calloc(room, sizeof *diagnosis->ranks),
    };
    if (diagnosis->paths == NULL || diagnosis->traces == NULL || diagnosis->summaries == NULL ||
        diagnosis->findings == NULL || diagnosis->ranks == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %d traces", count);
    for (int i = 0; i < count; i++) TRY(read_one(diagnosis, paths[i], skip, context));
    count = diagnosis->count;
    diagnosis->is_run = is_run(diagnosis);
    for (int i = 0; i < count; i++)
        TRY(summary_make(&diagnosis->summaries[i], diagnosis->traces[i]));
    for (int i = 0; i < count; i++)
        TRY(diagnosis->is_run
                ? findings_make(&diagnosis->findings[i], diagnosis->summaries, count, i)
                : findings_make(&diagnosis->findings[i], &diagnosis->summaries[i], 1, 0));
    if (diagnosis->is_run) {
        TRY(ranks_compare(&diagnosis->slow, diagnosis->ranks, diagnosis->summaries, count));
        TRY(run_findings_make(&diagnosis->run, diagnosis->findings, diagnosis->summaries, count));
    }

out:
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
    free(diagnosis->summaries);
    free(diagnosis->traces);
    memset(diagnosis, 0, sizeof *diagnosis);
}

double diagnosis_busy_share(const struct diagnosis *diagnosis, int which)
{
    struct facts facts = facts_of(diagnosis->summaries, diagnosis->count, which);

    return facts.step_ns > 0 ? facts.busy_ns / facts.step_ns : NAN;
}
