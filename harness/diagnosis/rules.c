#include "harness/diagnosis/rules.h"

#include "harness/analysis/phases.h"
#include "harness/analysis/products.h"
#include "harness/base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct event_device *busiest(const struct summary *summary)
{
    const struct timeline *timeline = &summary->timeline;
    const struct track_usage *most = NULL;

    for (int64_t i = 0; i < timeline->device_count; i++)
        if (most == NULL || timeline->devices[i].usage.busy_ns > most->usage.busy_ns)
            most = &timeline->devices[i];
    return most != NULL ? trace_file_device(summary->trace, most->device) : NULL;
}

static enum status find_loadings(struct facts *facts)
{
    const struct summary *summary = facts->summary;
    int64_t count = summary->steps.count;
    enum status status = STATUS_OK;

    facts->loadings = malloc((size_t)count * sizeof *facts->loadings);
    if (facts->loadings == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for %lld steps", (long long)count);
    for (int64_t i = 0; i < count; i++) {
        const struct idle_time *time = &summary->idle.steps[i];
        facts->loadings[i] = (double)(time->free_ns[HOST_LOADING] + time->drained_ns[HOST_LOADING]);
    }
    stats_sort(facts->loadings, (int)count);

out:
    return status;
}

/* Work whose call is missing may be that of a call whose work is: then only their numbers are. */
static bool lacks_work(const struct launches *launches)
{
    int64_t lost = launches->lost_count - launches->orphan_count;

    return lost * 10 > launches->count + launches->lost_count;
}

static enum status look_at_passes(struct facts *facts)
{
    const struct summary *summary = facts->summary;
    enum status status = STATUS_OK;
    struct phases phases;

    TRY(phases_make(&phases, &summary->timeline, &summary->steps));
    facts->optimizer_work = phases.means[PHASE_OPTIMIZER].work_count;
    TRY(products_fixed_ns(&facts->product_fixed_ns, &summary->timeline,
                          facts->passes * facts->steps));

out:
    phases_release(&phases);
    return status;
}

enum status facts_make(struct facts *facts, const struct summary *ranks, int64_t count,
                       int64_t which)
{
    const struct summary *summary = &ranks[which];
    const struct span_row *optimizer, *forward;
    enum status status = STATUS_OK;

    *facts = (struct facts){ .summary = summary, .ranks = ranks, .rank_count = count, .steps = 1 };
    facts->device = busiest(summary);
    facts->has_steps = summary->steps.count > 0;
    optimizer = facts_span(facts, "Optimizer.step#", true);
    if (facts->has_steps)
        facts->steps = (double)summary->steps.count;
    else if (optimizer != NULL)
        facts->steps = (double)optimizer->count;
    facts->window_ns = (double)(summary->idle.end_ns - summary->idle.start_ns);
    facts->step_ns = facts->window_ns / facts->steps;
    facts->busy_ns = (double)summary->idle.busy_ns / facts->steps;
    facts->launches = (double)summary->launches.count / facts->steps;
    facts->lacks_work = lacks_work(&summary->launches);
    forward = facts_span(facts, "forward", false);
    facts->passes = forward != NULL ? (double)forward->count / facts->steps : 1;
    facts->product_fixed_ns = NAN;
    TRY(first_uses_make(&facts->first_uses, &summary->timeline));
    if (facts->passes >= 2)
        TRY(look_at_passes(facts));
    facts->median_step_ns = facts->has_steps ? summary->steps.median_ns : facts->step_ns;
    if (facts->has_steps)
        TRY(find_loadings(facts));

out:
    return status;
}

void facts_release(struct facts *facts)
{
    first_uses_release(&facts->first_uses);
    free(facts->loadings);
    facts->loadings = NULL;
}

bool finding_costs(struct finding *finding, const struct facts *facts, double lost_ns)
{
    double share = facts->step_ns > 0 ? lost_ns / facts->step_ns : 0;

    if (!(share >= RULE_SHARE_LEAST))
        return false;
    finding->lost_ns_per_step = lost_ns;
    finding->predicted_gain = share < 1 ? 1 / (1 - share) : NAN;
    finding->severity = share < 0.15  ? SEVERITY_MINOR
                        : share < 0.5 ? SEVERITY_MAJOR
                                      : SEVERITY_CRITICAL;
    return true;
}

void finding_informs(struct finding *finding)
{
    finding->severity = SEVERITY_INFORMATION;
    finding->lost_ns_per_step = 0;
    finding->predicted_gain = 1;
}

bool facts_are_few(const struct facts *facts)
{
    return !facts->has_steps && facts->summary->timeline.work_count < RULE_WORK_LEAST;
}

bool facts_of_whole(const struct facts *facts)
{
    return !facts->has_steps && facts->steps < 2;
}

struct step_text step_text(const struct facts *facts)
{
    struct step_text step;

    snprintf(step.text, sizeof step.text, facts_of_whole(facts) ? "the trace's %s" : "a %s step",
             quantity_time(facts->step_ns).text);
    return step;
}

const char *facts_per(const struct facts *facts)
{
    return facts_of_whole(facts) ? "in total" : "per step";
}

const struct span_row *facts_span(const struct facts *facts, const char *name, bool begins)
{
    const struct spans *spans = &facts->summary->spans;

    for (int64_t i = 0; i < spans->count; i++) {
        const char *row = trace_file_name(facts->summary->trace, spans->rows[i].name);
        if (begins ? strncmp(row, name, strlen(name)) == 0 : strcmp(row, name) == 0)
            return &spans->rows[i];
    }
    return NULL;
}
