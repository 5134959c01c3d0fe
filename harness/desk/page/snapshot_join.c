#include "harness/desk/page/snapshot_join.h"

#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/rules/rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* As the rule for traces has it. */
#define PIECES_MAJOR 0.25

static enum severity severity_of(const struct snapshot_device *device,
                                 const struct snapshot_finding *finding, const struct facts *facts)
{
    int64_t memory = facts->device != NULL ? facts->device->memory_bytes : 0;

    if (finding->is_critical)
        return SEVERITY_CRITICAL;
    if (strcmp(finding->id, "memory_growth") == 0)
        return SEVERITY_MAJOR;
    if (strcmp(finding->id, "fragmentation") == 0 && memory > 0 &&
        (double)device->free_pieces >= PIECES_MAJOR * (double)memory)
        return SEVERITY_MAJOR;
    return SEVERITY_MINOR;
}

static struct finding joined(const struct snapshot_device *device,
                             const struct snapshot_finding *finding, const struct facts *facts)
{
    const struct rule *rule = rule_find(finding->id);
    struct finding made = { .id = rule->id,
                            .title = rule->title,
                            .advice = finding->advice,
                            .bottleneck = rule->bottleneck,
                            .severity = severity_of(device, finding, facts),
                            .confidence = CONFIDENCE_HIGH,
                            .lost_ns_per_step = NAN,
                            .predicted_gain = NAN,
                            .replayed_share = 1,
                            .of_whole = facts_of_whole(facts) };

    snprintf(made.evidence, sizeof made.evidence, "%s", finding->evidence);
    return made;
}

enum status snapshot_join(struct diagnosis *diagnosis, const struct snapshot_file *file)
{
    const struct snapshot *snapshot = &file->snapshot;
    struct finding others[SNAPSHOT_FINDINGS];
    int64_t count = 0;

    diagnosis->joined = file;
    for (int i = 0; i < snapshot->device_count; i++)
        for (int j = 0; j < snapshot->devices[i].finding_count; j++) {
            const struct snapshot_device *device = &snapshot->devices[i];
            struct finding made = joined(device, &device->findings[j], &diagnosis->facts[0]);
            int64_t at = 0;
            while (at < count && others[at].id != made.id) at++;
            if (at == count)
                others[count++] = made;
            else if (made.severity > others[at].severity)
                others[at] = made;
        }
    return diagnosis_join(diagnosis, 0, others, count);
}
