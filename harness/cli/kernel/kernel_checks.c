/* Counts are exact, so one above the baseline's has grown: there is nothing to average, and nothing
 * to allow for. The baseline is what --format=json printed, and both are compared as JSON. */
#include "harness/cli/kernel/kernel_checks.h"

#include "harness/base/words/text.h"
#include "harness/cli/kernel/kernel_source.h"
#include "harness/lab/kernel/input/npy.h"
#include "harness/text/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "3:y.npy" or "y.npy", which means the only array that the kernel writes. *array is a place among
 * the arguments. */
static enum status parse_array(const char *text, const char *option, const struct kernel_run *run,
                               const struct kernel_outcome *outcome, int *array, const char **path)
{
    char *end;
    long number = strtol(text, &end, 10);
    int count = 0;

    *path = end > text && *end == ':' ? end + 1 : text;
    if (*path != text) {
        if (number < 1 || number > run->argument_count || run->arguments[number - 1].count == 0)
            FAIL(STATUS_BAD_USAGE, "--%s=%s: argument %ld is no array", option, text, number);
        *array = (int)number - 1;
        return STATUS_OK;
    }
    for (int i = 0; i < run->argument_count; i++)
        if (outcome->arrays[i].footprint.written + outcome->arrays[i].footprint.atomic_words > 0) {
            *array = i;
            count++;
        }
    if (count != 1)
        FAIL(STATUS_BAD_USAGE, "--%s=%s: the kernel writes %d arrays: say which, as in --%s=3:%s",
             option, text, count, option, text);
    return STATUS_OK;
}

/* "3:y.npy,4:z.npy" */
static enum status save_arrays(const char *list, const struct kernel_run *run,
                               const struct kernel_outcome *outcome)
{
    enum status status = STATUS_OK;
    char *copy, *save = NULL;
    const char *path;
    int array;

    TRY(text_make(&copy, "%s", list));
    for (char *one = strtok_r(copy, ",", &save); one != NULL; one = strtok_r(NULL, ",", &save)) {
        TRY_OUT(parse_array(one, "save", run, outcome, &array, &path));
        TRY_OUT(npy_write(&run->arguments[array], outcome->arrays[array].elements, path));
    }

out:
    free(copy);
    return status;
}

static enum status check_reference(const struct kernel_checks *checks, const struct kernel_run *run,
                                   const struct kernel_outcome *outcome, int *exit_code)
{
    struct kernel_argument reference = { .count = 0 };
    const struct kernel_argument *own;
    struct npy_difference found;
    const char *path;
    int array;

    TRY(parse_array(checks->reference, "check", run, outcome, &array, &path));
    TRY(npy_read(&reference, path, strlen(path)));
    own = &run->arguments[array];
    if (reference.count != own->count) {
        free(reference.data);
        FAIL(STATUS_BAD_USAGE, "%s has %lld elements, and array %d has %lld", path,
             (long long)reference.count, array + 1, (long long)own->count);
    }
    found = npy_compare(own, outcome->arrays[array].elements, &reference, checks->relative,
                        checks->absolute);
    if (found.count > 0) {
        *exit_code = 1;
        fprintf(stderr,
                "array %d differs from %s in %lld of %lld elements: [%lld] is %.9g, not %.9g; at "
                "most by %.3g\n",
                array + 1, path, (long long)found.count, (long long)own->count,
                (long long)found.first,
                kernel_element(own->type, outcome->arrays[array].elements, found.first),
                kernel_element(reference.type, reference.data, found.first), found.most);
    }
    free(reference.data);
    return STATUS_OK;
}

/* Whether a count of `now` is above that of `then`; a missing row is all zeros. */
static void compare_count(const char *what, const cJSON *now, const cJSON *then, const char *count,
                          int *grown)
{
    double a = json_number_of(now, count), b = json_number_of(then, count);

    b = b == b ? b : 0;
    if (!(a > b))
        return;
    fprintf(stderr, "%s%s%s: %.0f, not %.0f\n", what, what[0] != '\0' ? ", " : "", count, a, b);
    ++*grown;
}

static int compare_counts(const cJSON *now, const cJSON *then)
{
    static const char *const counts[] = { "instructions", "diverged", "barriers", "waits" };
    static const char *const accesses[] = { "requests", "touched", "conflicts" };
    const cJSON *row, *rows = cJSON_GetObjectItem(then, "accesses");
    int grown = 0;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) compare_count("", now, then, counts[i], &grown);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(now, "accesses"))
    {
        const cJSON *other, *same = NULL;
        const char *name = json_text_of(row, "name");
        cJSON_ArrayForEach(other, rows) if (strcmp(json_text_of(other, "name"), name) == 0) same =
            other;
        for (size_t i = 0; i < ARRAY_SIZE(accesses); i++)
            compare_count(name, row, same, accesses[i], &grown);
    }
    return grown;
}

static enum status check_baseline(const char *path, const char *json, int *exit_code)
{
    enum status status = STATUS_OK;
    char *text;
    size_t bytes;
    cJSON *now = NULL, *then = NULL;
    static const char *const same[] = { "kernel", "grid", "block" };

    TRY(kernel_text_read(&text, &bytes, path));
    TRY_OUT(json_parse(&then, text, NULL, false));
    TRY_OUT(json_parse(&now, json, NULL, false));
    if (cJSON_GetObjectItem(then, "counts") == NULL || now == NULL)
        FAIL_OUT(STATUS_BAD_INPUT, "%s is not what kernel --format=json writes", path);
    for (size_t i = 0; i < ARRAY_SIZE(same); i++)
        if (!cJSON_Compare(cJSON_GetObjectItem(now, same[i]), cJSON_GetObjectItem(then, same[i]),
                           true))
            FAIL_OUT(STATUS_BAD_INPUT, "%s is of another %s, so its counts say nothing here", path,
                     same[i]);
    if (compare_counts(cJSON_GetObjectItem(now, "counts"), cJSON_GetObjectItem(then, "counts")) >
        0) {
        fprintf(stderr, "counts have grown since %s\n", path);
        *exit_code = 1;
    }

out:
    cJSON_Delete(now);
    cJSON_Delete(then);
    free(text);
    return status;
}

enum status kernel_check(const struct kernel_checks *checks, const struct kernel_run *run,
                         const struct kernel_outcome *outcome, const char *json, int *exit_code)
{
    if (checks->save != NULL)
        TRY(save_arrays(checks->save, run, outcome));
    if (checks->reference != NULL)
        TRY(check_reference(checks, run, outcome, exit_code));
    return checks->baseline != NULL ? check_baseline(checks->baseline, json, exit_code) : STATUS_OK;
}
