/* Kernel lessons in JSON: the list of them, and their results in a result file (docs/kernels.md has
 * the members). */
#ifndef HARNESS_LAB_LESSONS_LESSON_JSON_H
#define HARNESS_LAB_LESSONS_LESSON_JSON_H

#include "harness/lab/lessons/lesson_result.h"
#include "harness/text/json.h"

/* Adds all lessons of this version to an array. */
void lessons_json(struct json *json, cJSON *array);

/* Adds a result to the array `kernels` of a result file. */
void lesson_result_add(struct json *json, cJSON *kernels, const struct lesson_result *result);

/* Adds its rows in Google Benchmark's format, "NAME/counts:before" and "NAME/counts:after", unless
 * it failed. The counts are counters. The format wants times: they are the host's, to execute the
 * PTX, and each row says so. */
void lesson_rows_add(struct json *json, cJSON *benchmarks, const struct lesson_result *result,
                     int family);

#endif
