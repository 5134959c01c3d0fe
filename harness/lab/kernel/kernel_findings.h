/* The faults of a kernel that its counts show: a table of rules, a row for each, named as the
 * lessons that teach them. No rule knows a time: a finding says what is wasted, and where. */
#pragma once

#include "harness/lab/kernel/kernel_counts.h"

struct kernel_rule;

struct kernel_finding {
    const struct kernel_rule *rule;
    double share;     /* of what the rule looks at, that is wasted: 0 .. 1; the order of findings */
    const char *file; /* of the line that wastes most; NULL: the kernel as a whole */
    int line;
    char text[256]; /* "line 14 touches 32 sectors where 4 would do" */
};

struct kernel_rule {
    const char *id;     /* of the lesson */
    const char *title;  /* what it is */
    const char *advice; /* what to change */
    /* Whether it is so; fills all of *finding but the rule. */
    bool (*finds)(const struct kernel_facts *facts, struct kernel_finding *finding);
};

enum { KERNEL_FINDINGS_MOST = 16 };

/* The rules that hold, the largest share first; returns how many. None for a kernel that did not
 * run to its end. */
int kernel_findings(const struct kernel_facts *facts,
                    struct kernel_finding findings[KERNEL_FINDINGS_MOST]);
