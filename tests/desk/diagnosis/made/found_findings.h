/* A made trace and what is found in it, which stays until the test ends. */
#pragma once

#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/findings.h"
#include "tests/desk/diagnosis/made/made_loop.h"
#include "tests/fixtures/made/made_trace.h"

#include <stddef.h>

struct found {
    struct analysed analysed;
    struct summary summary;
    struct findings findings;
};

struct found found_judge_trace(struct analysed analysed);
struct found found_judge(const struct made_loop *loop);

/* The finding of that id; NULL: there is none. */
const struct finding *found_find(const struct found *found, const char *id);

/* The same, if it does not only share the time of another finding (finding.h), and a replay gains
 * something. */
const struct finding *found_own(const struct found *found, const char *id);

/* The cost of found_own() per step, in us; 0: it is not found. */
double found_lost_us(const struct made_loop *loop, const char *id);

/* The time per step that its predicted gain stands for, in us; 0: it is not found. */
double found_saved_us(const struct made_loop *loop, const char *id);

void found_list(const struct found *found, char *text, size_t size);
