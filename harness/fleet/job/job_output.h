/* The findings of a job's ranks together, for people and for programs. */
#pragma once

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
