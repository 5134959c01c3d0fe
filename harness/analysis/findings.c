#include "harness/analysis/findings.h"

#include <stdlib.h>
#include <string.h>

const char *severity_name(enum severity severity)
{
    static const char *const names[] = { "information", "minor", "major", "critical" };

    return (unsigned)severity < ARRAY_SIZE(names) ? names[severity] : "unknown";
}

const char *confidence_name(enum confidence confidence)
{
    static const char *const names[] = { "low", "medium", "high" };

    return (unsigned)confidence < ARRAY_SIZE(names) ? names[confidence] : "unknown";
}

enum status findings_make(struct findings *findings, const struct summary *summaries, int64_t count,
                          int64_t which)
{
    (void)summaries, (void)count, (void)which;
    memset(findings, 0, sizeof *findings);
    return STATUS_OK;
}

void findings_release(struct findings *findings)
{
    free(findings->items);
    memset(findings, 0, sizeof *findings);
}
