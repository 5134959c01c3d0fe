/* The output of a trial: a page for people, and result.json, whose rows `compare`, `history` and
 * Google Benchmark's tools read. */
#pragma once

#include "harness/desk/compare/trial/trial.h"
#include "harness/text/page.h"

struct trial_report {
    const struct trial *trial;
    const char *const *command; /* the program's words, up to NULL */
    const cJSON *findings;      /* of the recording, as diagnosis_json.h has them; NULL: none */
    const char *disturbed;      /* what other programs did meanwhile; NULL: nothing that matters */
};

void trial_page(const struct page *page, const struct trial_report *report);

/* The file: rows "data_loading/workers/before" and "/after", a repetition per pair, and the arms
 * with their verdicts. The caller owns it. */
cJSON *trial_json(struct json *json, const struct trial_report *report);
