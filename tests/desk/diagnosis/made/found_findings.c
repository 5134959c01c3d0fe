#include "tests/desk/diagnosis/made/found_findings.h"

#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "tests/fixtures/cmocka_prelude.h"

struct found found_judge_trace(struct analysed analysed)
{
    struct found found = { .analysed = analysed };
    struct facts facts;

    found.summary = summary_of(found.analysed.arena, found.analysed.trace);
    facts = facts_of(&found.summary, 1, 0);
    found.findings = findings_of(&facts);
    return found;
}

struct found found_judge(const struct made_loop *loop)
{
    return found_judge_trace(made_loop(loop));
}

const struct finding *found_find(const struct found *found, const char *id)
{
    for (int64_t i = 0; i < found->findings.count; i++)
        if (strcmp(found->findings.items[i].id, id) == 0)
            return &found->findings.items[i];
    return NULL;
}

const struct finding *found_own(const struct found *found, const char *id)
{
    const struct finding *finding = found_find(found, id);

    if (finding == NULL || finding->shares_time || finding->once_fixed != NULL)
        return NULL;
    return finding->severity > SEVERITY_INFORMATION || !finding->is_replayed ? finding : NULL;
}

double found_lost_us(const struct made_loop *loop, const char *id)
{
    struct found found = found_judge(loop);
    const struct finding *finding = found_own(&found, id);
    double lost = finding != NULL ? finding->lost_ns_per_step / 1000 : 0;

    return lost;
}

double found_saved_us(const struct made_loop *loop, const char *id)
{
    struct found found = found_judge(loop);
    const struct finding *finding = found_own(&found, id);
    double window_us = (double)(found.summary.idle.end_ns - found.summary.idle.start_ns) / 1000;
    double saved = finding != NULL ? window_us / (double)found.summary.steps.count *
                                         (1 - 1 / finding->predicted_gain)
                                   : 0;

    return saved;
}

/* Who reads a failure wants to know what was found instead. */
void found_list(const struct found *found, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (int64_t i = 0; i < found->findings.count && length < size; i++) {
        const struct finding *finding = &found->findings.items[i];
        length += (size_t)snprintf(text + length, size - length, "\n  %s, %s: %s", finding->id,
                                   severity_name(finding->severity), finding->evidence);
    }
}
