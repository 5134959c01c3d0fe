/* The output of `fleet`, for people and for programs. */
#pragma once

#include "harness/fleet/fleet.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

/* A file that could not be read, and why. */
struct fleet_skipped {
    const char *path;
    char reason[256];
};

void fleet_page(const struct page *page, const struct fleet *fleet,
                const struct fleet_skipped *skipped, int skipped_count);

/* docs/fleet.md describes the members. */
void fleet_json(struct json *json, cJSON *root, const struct fleet *fleet,
                const struct fleet_skipped *skipped, int skipped_count);

/* Why `count` nodes of one machine are out: "gemm_fp32 20% less, numerics_gemm fails". */
void fleet_why(char *text, size_t size, const struct fleet *fleet, const int *nodes, int count);
