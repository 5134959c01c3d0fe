/* Benches are grouped into families by their names; one iteration of each makes it check its
 * result. */
#include "harness/lab/doctor/doctor.h"

#include "benches/benches.h"
#include "harness/bench/bench_measure.h"

#include <stdio.h>
#include <string.h>

/* By the beginning of a bench's name; the last takes the others. No row: it computes nothing, and
 * would fill the cache folder. */
static const struct family {
    const char *prefix, *row;
} families[] = {
    { "gemm", "numerics_gemm" },  { "bw_copy", "numerics_copies" },
    { "lat_", "numerics_calls" }, { "jpeg", "numerics_jpeg" },
    { "loader", NULL },           { "", "numerics_kernels" },
};

static size_t family_of(const char *name)
{
    size_t i = 0;

    while (strncmp(name, families[i].prefix, strlen(families[i].prefix)) != 0) i++;
    return i;
}

static void check_family(struct checks *checks, size_t family, struct device *device)
{
    /* One iteration, for the check that comes before it. */
    const struct bench_settings settings = { .iterations = 1, .repetitions = 1, .seed = 1 };
    struct bench_result result;
    int tried = 0, right = 0;
    char error[320] = "";

    for (int i = 0; i < bench_count; i++) {
        const int64_t *arguments;
        int count;
        /* Cold benches compute the same once more. */
        if (!(family_of(benches[i]->name) == family && !benches[i]->cold &&
              (benches[i]->lack == NULL ||
               benches[i]->lack(benches[i], device_properties(device)) == NULL)))
            continue;
        tried++;
        /* The smallest size: the arithmetic is checked, and not its speed. */
        arguments = bench_arguments(benches[i], device_properties(device), &count);
        if (bench_measure(&result, benches[i], arguments[0], device, &settings) == STATUS_OK)
            right++;
        else
            snprintf(error, sizeof error, "%s: %.240s", benches[i]->name, status_last()->text);
    }
    if (tried > 0) {
        checks_number(checks, right, tried, "benches");
        checks_add(checks, families[family].row, right == tried ? CHECK_OK : CHECK_FAIL,
                   "all correct", error, "%d of %d", right, tried);
    }
}

void numerics_check(struct checks *checks, struct device *device)
{
    checks->group = "numerics";
    for (size_t family = 0; family < ARRAY_SIZE(families); family++)
        if (families[family].row != NULL)
            check_family(checks, family, device);
}
