/* A digest's answers of the rules: what each found in a trace, before findings are ordered.
 *
 * The trace is not there any more, so rules cannot be asked again. Those that look at other ranks
 * (asks_ranks) are, from the numbers that a digest has; all others answer as they did. */
#ifndef HARNESS_DESK_DIAGNOSIS_RULES_HELD_H
#define HARNESS_DESK_DIAGNOSIS_RULES_HELD_H

#include "harness/desk/diagnosis/rules/rules.h"

/* Tables [rule_count()] go by the rules' numbers (rule_at()). */
struct held {
    struct facts facts;    /* of the trace alone; its numbers only */
    struct finding *asked; /* id NULL: the rule found nothing */
    struct judged *judged;
    bool *shares; /* its time with another finding */
    /* Findings that show once the first one is fixed, that one with its cost, and the step that it
     * leaves. NULL: none was looked for. */
    struct finding *hidden;
    int64_t hidden_count;
    const char *hidden_by;
    double hidden_by_ns, left_step_ns;
    struct next_fix next;
};

int rule_count(void);
int rule_number(const char *id); /* -1: none has it */

#endif
