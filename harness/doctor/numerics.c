#include "harness/doctor/numerics.h"

#include "benches/benches.h"
#include "harness/bench/timing.h"

#include <stdio.h>
#include <string.h>

/* By the beginning of a bench's name; the last takes the others. */
static const struct family {
    const char *prefix, *row;
} families[] = {
    { "gemm", "numerics_gemm" },
    { "bw_copy", "numerics_copies" },
    { "lat_", "numerics_calls" },
    { "", "numerics_kernels" },
};

static size_t family_of(const char *name)
{
    size_t i = 0;

    while (strncmp(name, families[i].prefix, strlen(families[i].prefix)) != 0) i++;
    return i;
}

void numerics_check(struct checks *checks, struct device *device)
{
    /* One iteration, for the check that comes before it. */
    const struct bench_settings settings = { .iterations = 1, .repetitions = 1, .seed = 1 };
    struct bench_result result;

    checks->group = "numerics";
    for (size_t family = 0; family < ARRAY_SIZE(families); family++) {
        int tried = 0, right = 0;
        char error[320] = "";
        for (int i = 0; i < bench_count; i++) {
            if (family_of(benches[i]->name) != family)
                continue;
            tried++;
            if (bench_measure(&result, benches[i], benches[i]->arguments[0], device, &settings) ==
                STATUS_OK)
                right++;
            else
                snprintf(error, sizeof error, "%s: %.240s", benches[i]->name, status_last()->text);
        }
        if (tried > 0)
            checks_add(checks, families[family].row, right == tried ? CHECK_OK : CHECK_FAIL,
                       "all as their references", error, "%d of %d", right, tried);
    }
}
