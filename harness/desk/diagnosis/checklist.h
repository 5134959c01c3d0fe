/* The seven questions that guides on the speed of training ask, in their order, answered for a
 * trace or a run.
 *
 * A view of the findings, which measures and judges nothing itself: each rule belongs to one
 * question, or is about the trace (rules_trace.c). A finding answers its question with no. Without
 * one the answer is yes, with the figure that the rules looked at, unless the trace lacks what they
 * look at. */
#pragma once

#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/diagnosis/rules/rules.h"

enum { CHECKLIST_COUNT = 7 };

enum answer {
    ANSWER_YES,
    ANSWER_UNKNOWN, /* the trace does not tell, or the finding is only possible */
    ANSWER_NO,
};

const char *answer_name(enum answer answer); /* "cannot be told" */

struct checklist_row {
    enum answer answer;
    const struct finding *finding; /* that decided it; NULL: none did */
    char figures[600];
};

struct checklist_question {
    const char *id, *text; /* "busy", "Is the device busy?": yes is what one wants */
    const char *meaning;   /* why guides ask */
    const char *sources;   /* those guides */
    /* findings of these that cost something say no; NONE: no more */
    enum bottleneck bottlenecks[5];
    const char *findings[4]; /* these say no, even if they only inform; NULL: no more */
    /* Without a finding: sets the figures and returns the answer. */
    enum answer (*look)(struct checklist_row *row, const struct findings *findings,
                        const struct facts *facts);
};

extern const struct checklist_question checklist_questions[CHECKLIST_COUNT];

/* Whether findings of that rule answer the question. */
bool checklist_asks(const struct checklist_question *question, const struct rule *rule);

struct checklist {
    struct checklist_row rows[CHECKLIST_COUNT]; /* of checklist_questions */
};

/* `findings` are those of the page: of one trace, or of the run. `ranks` and `facts` [count] are
 * the traces' own; the first one with the worst answer counts. */
struct checklist checklist_of(const struct findings *findings, const struct findings *ranks,
                              const struct facts *facts, int count);

/* The checklist of trace number `which`; -1: of the run. */
struct checklist checklist_of_diagnosis(const struct diagnosis *diagnosis, int which);
