#include "harness/experiment/parent/variant_diagnosis.h"

#include "harness/diagnosis/diagnosis.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static enum status diagnose(struct variant_diagnosis *to, const char *folder, const char *file)
{
    struct diagnosis diagnosis = { .count = 0 };
    char path[PATH_MAX];
    const char *const paths[] = { path };
    enum status status = STATUS_OK;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, file) >= sizeof path)
        FAIL(STATUS_BAD_INPUT, "%s/%s is too long a path", folder, file);
    TRY(diagnosis_make(&diagnosis, paths, 1, NULL, NULL));
    to->busy_share = diagnosis_busy_share(&diagnosis, 0);
    to->findings = diagnosis.findings[0];
    memset(&diagnosis.findings[0], 0, sizeof diagnosis.findings[0]);

out:
    diagnosis_release(&diagnosis);
    return status;
}

void variant_diagnosis_make(struct scenario_result *result)
{
    for (int v = 0; v < VARIANT_COUNT; v++) {
        struct variant_diagnosis *to = &result->diagnoses[v];
        if (result->tracing[v].file[0] == '\0')
            continue;
        to->made = diagnose(to, result->protocol.traces, result->tracing[v].file) == STATUS_OK;
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
