/* The faults of a kernel that its counts show: a table of rules, a row for each, named as the
 * scenarios of the group gpu_kernels that teach them. No rule knows a time: a finding says what is
 * wasted, and where. */
#ifndef HARNESS_LAB_KERNEL_RUN_KERNEL_FINDINGS_H
#define HARNESS_LAB_KERNEL_RUN_KERNEL_FINDINGS_H

#include "harness/lab/kernel_run/kernel_run.h"
#include "harness/lab/kernel_run/residency.h"

/* The facts that rules look at. */
struct kernel_facts {
    const struct kernel_run *run;
    const struct kernel_outcome *outcome;
    const struct architecture *architecture;
    struct residency residency; /* warps 0: no block fits */
    int registers;              /* of a thread, that residency was computed with */
    int spilled_bytes; /* that ptxas stores and loads because registers ran out; 0: none, or not
                          known */
};

/* `registers` and `spilled_bytes` as ptxas says them; registers 0: those that the PTX has in use at
 * once. */
struct kernel_facts kernel_facts_of(const struct kernel_run *run,
                                    const struct kernel_outcome *outcome,
                                    const struct architecture *architecture, int registers,
                                    int spilled_bytes);

struct kernel_rule;

struct kernel_finding {
    const struct kernel_rule *rule;
    double share;     /* of what the rule looks at, that is wasted: 0 .. 1; the order of findings */
    const char *file; /* of the line that wastes most; NULL: the kernel as a whole */
    int line;
    char text[256]; /* "line 14 touches 32 sectors where 4 would do" */
};

struct kernel_rule {
    const char *id;     /* of the scenario */
    const char *title;  /* what it is */
    const char *advice; /* what to change */
    /* Whether it is so; fills all of *finding but the rule. */
    bool (*finds)(const struct kernel_facts *facts, struct kernel_finding *finding);
};

enum { KERNEL_FINDINGS_MOST = 16 };

/* Those that hold, the largest share first; returns how many. None for a kernel that did not run to
 * its end. */
int kernel_findings(const struct kernel_facts *facts,
                    struct kernel_finding findings[KERNEL_FINDINGS_MOST]);

#endif
