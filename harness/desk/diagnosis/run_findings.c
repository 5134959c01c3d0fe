/* A finding of several ranks is shown once, as the rank has it that it costs most, and stands where
 * its mean cost over all ranks puts it. */
#include "harness/desk/diagnosis/diagnosis.h"

#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/rules/rules.h"

#include <math.h>
#include <string.h>

/* A finding of rank `first`, which no rank before it has, over all ranks. *mean has the mean cost,
 * ranks without the finding included. */
static struct finding_spread spread_of(const struct findings *ranks, int64_t count, int64_t first,
                                       const char *id, struct finding *mean)
{
    const struct finding *some = findings_find(&ranks[first], id), *worst = some;
    struct finding_spread spread = { first, 0, NAN, NAN, false };
    double sum = 0;

    for (int64_t i = first; i < count; i++) {
        const struct finding *finding = findings_find(&ranks[i], id);
        if (finding == NULL)
            continue;
        spread.count++;
        spread.least_ns = fmin(spread.least_ns, finding->lost_ns_per_step);
        spread.most_ns = fmax(spread.most_ns, finding->lost_ns_per_step);
        spread.differs = spread.differs || strcmp(finding->evidence, some->evidence) != 0;
        sum += finding->lost_ns_per_step;
        if (finding->severity > worst->severity ||
            (finding->severity == worst->severity &&
             finding->lost_ns_per_step > worst->lost_ns_per_step)) {
            worst = finding;
            spread.which = i;
        }
    }
    spread.differs = spread.differs || spread.count < count;
    *mean = *worst;
    mean->lost_ns_per_step = sum / (double)count;
    return spread;
}

/* Keeps the order by the mean cost. */
static void insert_mean(struct run_findings *run, const struct finding *mean,
                        const struct finding_spread *spread, const struct facts *facts)
{
    int64_t at = run->findings.count++;

    for (; at > 0 && finding_comes_before(mean, &run->findings.items[at - 1], facts); at--) {
        run->findings.items[at] = run->findings.items[at - 1];
        run->spreads[at] = run->spreads[at - 1];
    }
    run->findings.items[at] = *mean;
    run->spreads[at] = *spread;
}

struct run_findings run_findings_of(struct arena *arena, const struct findings *ranks,
                                    const struct facts *facts, int64_t count)
{
    struct run_findings run = { .findings.count = 0 };
    const struct finding *limit;
    int64_t room = 0;

    for (int64_t i = 0; i < count; i++) room += ranks[i].count;
    run.findings.items = ARENA_NEW(arena, struct finding, room);
    run.spreads = ARENA_NEW(arena, struct finding_spread, room);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < ranks[i].count; j++) {
            const char *id = ranks[i].items[j].id;
            struct finding mean;
            struct finding_spread spread;
            if (findings_find(&run.findings, id) != NULL)
                continue;
            spread = spread_of(ranks, count, i, id, &mean);
            insert_mean(&run, &mean, &spread, &facts[0]);
        }
    for (int64_t i = 0; i < run.findings.count; i++)
        run.findings.items[i] =
            *findings_find(&ranks[run.spreads[i].which], run.findings.items[i].id);
    limit = findings_limit(&run.findings);
    run.findings.headline = headline_of(
        limit, &facts[limit != NULL ? run.spreads[limit - run.findings.items].which : 0]);
    return run;
}
