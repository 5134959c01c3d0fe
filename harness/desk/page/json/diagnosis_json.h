/* A diagnosis for programs. docs/diagnosis.md describes every member, and a test holds it complete.
 * Times are nanoseconds; an unknown value is null. */
#pragma once

#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/snapshot/snapshot.h"
#include "harness/text/json.h"

/* `only`: the trace that is written, -1 for all. With the timeline of `timeline_steps` steps; 0:
 * without one. *text is malloc'd. OUT_OF_MEMORY. */
enum status diagnosis_json(const struct diagnosis *diagnosis, int only, int timeline_steps,
                           char **text);

/* The member "what_if" of trace number `which` alone: the causes that the diagnosis chose. *text is
 * malloc'd. OUT_OF_MEMORY. */
enum status what_if_json(const struct diagnosis *diagnosis, int which, char **text);

/* {"timeline": of so many steps, at least one, of trace number `which`}. *text is malloc'd.
 * OUT_OF_MEMORY. */
enum status drawing_json(const struct diagnosis *diagnosis, int which, int steps, char **text);

/* A place in the program as above, as member `name` of `to`; null where it is unknown. */
void place_json(struct json *json, cJSON *to, const char *name, const struct call_place *place);

/* An array of findings as above, for a KEY(). */
cJSON *findings_json(struct json *json, const struct findings *findings);

/* --- Parts, each with a file of its own --- */

/* Adds an array of snapshots of PyTorch's memory as the member "snapshots". `joined`: the one whose
 * findings stand among those of the trace; NULL: none is. */
void snapshots_json(struct json *json, cJSON *to, const struct snapshot_file *files, int count,
                    const struct snapshot_file *joined);

enum { MEMORY_JSON_POINTS = 400 };

/* The tables of a trace: its members from "kernels" to "memory". A curve of memory has
 * MEMORY_JSON_POINTS at most, chosen as memory_curve.h says. Runs within arena_run(). */
void tables_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary,
                 const struct table_choice *choice);

/* The member "gaps": LONGEST_GAPS at most, the longest first (idle.h). Runs within arena_run(). */
void gaps_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary);

/* The member "timeline", bars to draw (excerpt.h): of `steps` steps, at least one. Runs within
 * arena_run(). */
void timeline_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary,
                   int steps);
