/* The step without some causes: one replay with the changes of all of them (replay.h).
 *
 * A cause alone gains what its finding says. Together they gain what their changes do together,
 * which is less than both where either would be enough, and more where one only uncovers the
 * other. */
#pragma once

#include "harness/base/status.h"
#include "harness/desk/diagnosis/rules/finding.h"

struct facts;
struct rule;

enum {
    WHAT_IF_CAUSES = 8,
    WHAT_IF_ALL = 4,   /* of so many causes there is a row for every set, of more for one and two */
    WHAT_IF_ROWS = 36, /* 8 causes, and 28 pairs */
};

/* The caller's choice. Zeros: nobody asks. */
struct what_if_choice {
    bool asked;
    const struct rule *rules[WHAT_IF_CAUSES];
    int count; /* 0: the first findings of the trace, in all combinations */
};

/* Asks for these causes: ids of findings between commas; NULL: the first findings, in all
 * combinations. BAD_USAGE: no replay knows one, one is named twice, or they are too many. */
enum status what_if_choice_read(struct what_if_choice *choice, const char *names);

struct what_if_row {
    unsigned causes; /* a bit for each of what_if's */
    double step_ns;  /* of the untraced step where the trace tells */
    double busy_ns;  /* the part of it in which the device works */
};

struct what_if {
    const struct rule *causes[WHAT_IF_CAUSES];
    int cause_count;
    char why[160]; /* why there is no row: a sentence; "": there are rows */
    struct what_if_row recorded;
    /* of chosen causes: the first, the first two and so on */
    struct what_if_row rows[WHAT_IF_ROWS];
    int row_count;
};

/* `findings` are those of `facts`. */
struct what_if what_if_of(const struct findings *findings, const struct facts *facts,
                          const struct what_if_choice *choice);

/* Findings whose changes are made one after the other. Start with zeros and the facts. */
struct what_if_taken {
    const struct facts *facts;
    const struct finding *items[WHAT_IF_CAUSES];
    int count;
};

/* The part of what a finding's change gains that it still gains after the others; 1: no replay
 * knows. */
double what_if_own_share(const struct what_if_taken *taken, const struct finding *finding);
void what_if_take(struct what_if_taken *taken, const struct finding *finding);

/* The first two findings of which replays know the change, whether or not the first is the first of
 * all. */
struct next_fix next_fix_of(const struct findings *findings, const struct facts *facts);
