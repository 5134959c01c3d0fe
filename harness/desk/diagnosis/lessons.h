/* The meaning of a finding, for people who meet it for the first time. A row per rule, by id; the rule itself has
 * title, advice and the source of its threshold. */
#ifndef HARNESS_DESK_DIAGNOSIS_LESSONS_H
#define HARNESS_DESK_DIAGNOSIS_LESSONS_H

#include <stdbool.h>

struct lesson {
    const char *id;
    const char *symptom; /* what one sees in the trace */
    const char *meaning; /* why that costs something */
    const char *cost;    /* how the lost time is computed and bounded, or that none is stated */
};

/* Whether the cost is a time, whose share of a step sets the severity. Where it is none, the text of the cost
 * begins with "no time", "none" or "unknown". */
bool lesson_costs_time(const struct lesson *lesson);

const struct lesson *lesson_find(const char *id); /* NULL: none */

/* The lesson of that number, from 0 on; NULL: there are fewer. */
const struct lesson *lesson_at(int number);

#endif
