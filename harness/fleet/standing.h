/* Whether a machine's figures are normal: each beside those of other machines with the same device and processor. */
#ifndef HARNESS_FLEET_STANDING_H
#define HARNESS_FLEET_STANDING_H

#include "harness/doctor/checks.h"
#include "harness/fleet/fleet.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

struct standing {
    const struct check *check;       /* the machine's own */
    int count;                       /* others that have this figure */
    int rank;                        /* 1: faster than all of them; count + 1: slower than all */
    double slowest, median, fastest; /* of the others, in the check's unit */
};

struct standings {
    struct standing items[CHECKS_MAX];
    int count;
    int nodes; /* others of the kind, whatever figures they have */
};

/* `fleet` has the others; `kind` is as node.h has it: "device; processor". The checks must live longer. OUT_OF_MEMORY.
 */
enum status standings_make(struct standings *standings, const struct checks *checks,
                           const struct fleet *fleet, const char *kind);

/* `where` names the files: "results/". */
void standings_page(const struct page *page, const struct standings *standings, const char *where);

/* Adds "against": [{"check", "rank", "of", "slowest", "median", "fastest"}]. */
void standings_json(struct json *json, cJSON *root, const struct standings *standings);

#endif
