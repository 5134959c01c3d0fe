/* A trace that cannot be judged costs its diagnosis, and not the verdict, which the times give. */
#include "harness/lab/experiment/parent/variant_diagnosis.h"

#include "harness/base/rows.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/lab/experiment/rank_trace.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The traces of several ranks are judged together: then the findings are those of the whole run,
 * else those of the one trace. */
static enum status diagnose_variant(struct variant_diagnosis *to, const char *folder,
                                    const struct tracing *tracing)
{
    struct diagnosis diagnosis = { .count = 0 };
    int ranks = tracing->ranks > 1 ? tracing->ranks : 1;
    char(*names)[PATH_MAX] = NULL;
    const char **paths = NULL;
    enum status status = STATUS_OK;

    TRY_OUT(rows_make(&names, ranks));
    TRY_OUT(rows_make(&paths, ranks));
    for (int rank = 0; rank < ranks; rank++) {
        /* The path of the trace of rank `rank`; the first one's is `tracing->file`. */
        char given[NAME_MAX + 1], whole[PATH_MAX];

        rank_trace_given(given, tracing->file);
        if (snprintf(whole, PATH_MAX, "%s/%s", folder, given) >= PATH_MAX)
            FAIL_OUT(STATUS_BAD_INPUT, "%s/%s is too long a path", folder, tracing->file);
        TRY_OUT(rank_trace_name(names[rank], PATH_MAX, whole, rank, tracing->ranks));
        paths[rank] = names[rank];
    }
    TRY_OUT(diagnosis_make(&diagnosis, paths, ranks, NULL, NULL));
    to->busy_share = diagnosis_busy_share(&diagnosis, 0);
    TRY_OUT(findings_copy(&to->findings, diagnosis.run_count > 0 ? &diagnosis.run.findings
                                                                 : &diagnosis.findings[0]));

out:
    diagnosis_release(&diagnosis);
    free(names);
    free(paths);
    return status;
}

void variant_diagnosis_make(struct scenario_result *result)
{
    for (int v = 0; v < VARIANT_COUNT; v++) {
        struct variant_diagnosis *to = &result->diagnoses[v];
        if (result->tracing[v].file[0] == '\0')
            continue;
        to->made = diagnose_variant(to, result->protocol.traces, &result->tracing[v]) == STATUS_OK;
        if (!to->made)
            snprintf(to->reason, sizeof to->reason, "%s", status_last()->text);
    }
}

bool variant_diagnosis_complete(const struct scenario_result *result)
{
    return result->diagnoses[VARIANT_BEFORE].made && result->diagnoses[VARIANT_AFTER].made;
}

static bool is_listed(const struct accepted_finding list[SCENARIO_FINDINGS], const char *id,
                      const struct device_properties *device)
{
    for (int i = 0; i < SCENARIO_FINDINGS && list[i].id != NULL; i++)
        if (strcmp(list[i].id, id) == 0 && where_holds(list[i].where, device))
            return true;
    return false;
}

bool variant_diagnosis_expected(const struct scenario_result *result)
{
    const struct accepted_finding *accept = result->scenario->accept;

    for (int i = 0; i < SCENARIO_FINDINGS && accept[i].id != NULL; i++)
        if (where_holds(accept[i].where, &result->device))
            return true;
    return false;
}

const struct finding *variant_diagnosis_accepted(const struct scenario_result *result)
{
    const struct findings *before = &result->diagnoses[VARIANT_BEFORE].findings;

    for (int64_t i = 0; i < before->count; i++)
        if (is_listed(result->scenario->accept, before->items[i].id, &result->device))
            return &before->items[i];
    return NULL;
}

bool variant_diagnosis_accepted_first(const struct scenario_result *result)
{
    const struct finding *accepted = variant_diagnosis_accepted(result);

    return accepted != NULL && accepted == result->diagnoses[VARIANT_BEFORE].findings.items;
}

bool variant_diagnosis_tolerates(const struct scenario_result *result, const char *id)
{
    return is_listed(result->scenario->tolerated_after, id, &result->device);
}

bool variant_diagnosis_tolerated_after(const struct scenario_result *result)
{
    const struct findings *after = &result->diagnoses[VARIANT_AFTER].findings;

    for (int64_t i = 0; i < after->count; i++)
        if (after->items[i].severity >= SEVERITY_MAJOR &&
            !variant_diagnosis_tolerates(result, after->items[i].id))
            return false;
    return true;
}
