/* The findings of a job's ranks together, for people and for programs. */
#ifndef HARNESS_FLEET_JOB_JOB_OUTPUT_H
#define HARNESS_FLEET_JOB_JOB_OUTPUT_H

#include "harness/fleet/job/job_causes.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

struct job_view {
    const struct job *job;
    const struct job_causes *causes;
    const struct job_stranger *strangers; /* [stranger_count] */
    int64_t stranger_count;
};

void job_page(const struct page *page, const struct job_view *view);
void job_json(struct json *json, cJSON *to, const struct job_view *view);

#endif
