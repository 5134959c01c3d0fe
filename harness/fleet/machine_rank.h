/* Whether a machine's figures are normal: each beside those of other machines with the same device
 * and processor. */
#pragma once

#include "harness/fleet/fleet.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

/* A figure of the machine itself. The texts are the caller's, and live longer than its standing. */
struct own_figure {
    const char *name, *unit; /* a unit that figure_is_speed() knows */
    double value;
};

struct machine_rank {
    struct own_figure figure;
    int count;                       /* others that have this figure */
    int rank;                        /* 1: faster than all of them; count + 1: slower than all */
    double slowest, median, fastest; /* of the others, in the figure's unit */
};

struct machine_ranks {
    struct machine_rank *items; /* [count] figures that another has too */
    int count;
    int alone; /* figures that no other has */
    int nodes; /* others of the kind, whatever figures they have */
};

/* `fleet` has the others; `kind` is as fleet.h has it: "device; processor". OUT_OF_MEMORY. Release
 * in every case. */
enum status machine_ranks_make(struct machine_ranks *standings, const struct own_figure *figures,
                               int count, const struct fleet *fleet, const char *kind);
void machine_ranks_release(struct machine_ranks *standings);

/* `where` names the files: "results/". */
void machine_ranks_page(const struct page *page, const struct machine_ranks *standings,
                        const char *where);

/* Adds "against": [{KEY, "unit", "rank", "of", "slowest", "median", "fastest"}]; `key` is what a
 * figure is of: "check". */
void machine_ranks_json(struct json *json, cJSON *root, const char *key,
                        const struct machine_ranks *standings);
