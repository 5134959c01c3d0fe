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

/* Ranks against steps, for a picture. */

/* At most so many values of own time, and as many of everything else together: if there are more,
 * neighbouring steps are joined into one column, of their mean. As many values the timelines of
 * ranks have, which hold fewer steps if need be. */
enum { JOB_MAP_CELLS = 700000 };

/* A member "map". Within arena_run(). */
void job_map_json(struct json *json, cJSON *to, const struct job_view *view, struct arena *arena);
