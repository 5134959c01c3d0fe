/* Ranks against steps, for a picture. */
#pragma once

#include "harness/fleet/job/job_output.h"

/* At most so many values of own time, and as many of everything else together: if there are more,
 * neighbouring steps are joined into one column, of their mean. As many values the timelines of
 * ranks have, which hold fewer steps if need be. */
enum { JOB_MAP_CELLS = 700000 };

/* A member "map". Within arena_run(). */
void job_map_json(struct json *json, cJSON *to, const struct job_view *view, struct arena *arena);
