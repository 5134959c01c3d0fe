/* A list of the rows that are left, which each round visits in an order of its own. */
#include "harness/bench/rounds.h"

#include "harness/base/rows.h"
#include "harness/device/many_ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct rounds {
    struct bench_row *rows;
    uint32_t *order;
    uint32_t count; /* of rows in `order` that are to be visited */
    const struct bench_settings *settings;
    struct random random;
};

/* A row that failed once is not tried again. */
static bool is_left(const struct rounds *rounds, const struct bench_row *row)
{
    return row->lack == NULL && row->status == STATUS_OK &&
           !bench_is_done(&row->result, rounds->settings);
}

/* Keeps those that are left, in another order. */
static void next_round(struct rounds *rounds)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < rounds->count; i++)
        if (is_left(rounds, &rounds->rows[rounds->order[i]]))
            rounds->order[left++] = rounds->order[i];
    rounds->count = left;
    random_shuffle(&rounds->random, rounds->order, left);
}

enum status bench_rounds(struct bench_row *rows, int count, struct device *device,
                         const struct bench_settings *settings, bench_rounds_progress *progress,
                         void *context)
{
    enum status status = STATUS_OK;
    struct rounds rounds = { .rows = rows,
                             .settings = settings,
                             .random = random_seed(settings->seed, 0) };
    int round = 0, visits = bench_visits(settings);

    TRY_OUT(rows_make(&rounds.order, count));
    for (int i = 0; i < count; i++)
        if (is_left(&rounds, &rows[i]))
            rounds.order[rounds.count++] = (uint32_t)i;
    for (; rounds.count > 0; next_round(&rounds), round++)
        for (uint32_t i = 0; i < rounds.count; i++) {
            double part = (double)(i + 1) / rounds.count;
            struct bench_row *row = &rows[rounds.order[i]];
            row->status = bench_visit(&row->result, row->bench, row->argument, device, settings);
            if (row->status != STATUS_OK)
                snprintf(row->failure, sizeof row->failure, "%s", status_last()->text);
            /* The other ranks would wait for this one in the next row. */
            if (row->status != STATUS_OK && ranks_count() > 1)
                FAIL_OUT(row->status, "%s: %s", row->result.name, row->failure);
            TRY_OUT(progress(context, fmin(1, (round + part) / visits), i + 1 == rounds.count));
        }

out:
    free(rounds.order);
    return status;
}
