/* All files are one side, from which the noise of a run is learned as a comparison learns it;
 * compare_shows() then says which change would be called with so many files per side. */
#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/desk/compare/comparison_output.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdlib.h>

/* A row that all files have. */
struct planned {
    const struct benchmark_row **runs; /* [files] */
    double between, freedom;
};

struct plan {
    struct planned *rows;
    int count, files;
    double *logs; /* [count][files] */
    bool largest; /* is the best */
    bool is_count;
};

/* The row in all files, if it can be measured by logarithms. */
static enum status add_planned(struct plan *plan, const struct compare_files *files,
                               const char *name)
{
    struct planned *row = &plan->rows[plan->count];
    struct side side = { .count = files->count };

    TRY(rows_make(&row->runs, files->count));
    for (int i = 0; i < files->count; i++) {
        row->runs[i] = benchmark_file_row(&files->files[i], name);
        if (row->runs[i] == NULL || isnan(row->runs[i]->median)) {
            free(row->runs);
            return STATUS_OK;
        }
    }
    side.runs = row->runs;
    if (side_is_positive(&side))
        plan->count++;
    else
        free(row->runs);

    return STATUS_OK;
}

/* The files of a row as the base of a comparison without anything new. */
static void sides_of(struct side sides[SIDES], const struct plan *plan, int row,
                     struct location *locations)
{
    sides[SIDE_BASE] = (struct side){ .runs = plan->rows[row].runs,
                                      .count = plan->files,
                                      .locations = locations,
                                      .logs = plan->logs + (int64_t)row * plan->files };
    sides[SIDE_NEW] = (struct side){ .count = 0 };
}

/* How much a run of each row varies, as compare would learn it. */
static enum status learn_noise(struct plan *plan)
{
    enum status status = STATUS_OK;
    struct run_noise noise = { .rows = 0 };
    struct location *locations = NULL;
    struct side sides[SIDES];

    TRY_OUT(rows_make(&locations, plan->files));
    /* All rows are located first: what a run varies by is learned from all of them together. */
    for (int i = 0; i < plan->count; i++) {
        sides_of(sides, plan, i, NULL);
        TRY_OUT(sides_locate(sides, PLACE_BEST, plan->largest));
    }
    TRY_OUT(run_noise_learn(&noise, plan->logs, plan->count, plan->files, 0, NULL));
    for (int i = 0; i < plan->count; i++) {
        struct side_noise own;
        sides_of(sides, plan, i, locations);
        TRY_OUT(sides_locate(sides, PLACE_BEST, plan->largest));
        own = sides_noise(sides, &noise, NAN, plan->is_count);
        plan->rows[i].between = own.run;
        plan->rows[i].freedom = own.freedom;
    }

out:
    free(locations);
    run_noise_release(&noise);
    return status;
}

/* The place of nine of ten, of values that are sorted. */
static double nine_of_ten(const double *sorted, int count)
{
    return sorted[(int)ceil(0.9 * count) - 1];
}

/* The change that would be called with so many files per side, in half of the rows and in nine of
 * ten. */
static void add_line(struct page_rows *rows, const struct plan *plan, int files, double limit,
                     double *room)
{
    double half;

    for (int i = 0; i < plan->count; i++) {
        int more = 2 * (files - 1) - (plan->files - 1); /* runs that will tell the noise, too */
        double freedom =
            fmax(plan->rows[i].freedom + more, fmin(2 * (files - 1), plan->rows[i].freedom));
        room[i] = expm1(compare_shows(plan->rows[i].between, freedom, files, limit));
    }
    half = stats_sort_median(room, plan->count); /* and sorted for the next figure */
    PAGE_ROW(rows, NULL, quantity_count(files).text, comparison_percent(half).text,
             comparison_percent(nine_of_ten(room, plan->count)).text);
}

static enum status print_plan(const struct page *page, const struct plan *plan, double threshold)
{
    static const struct column columns[] = { { "files per side", 14, 0 },
                                             { "half of the rows", 16, 0 },
                                             { "nine of ten rows", 16, 0 } };
    static const int files[] = { 2, 3, 4, 6, 8, 12, 20 };
    enum status status = STATUS_OK;
    struct page_rows *rows = page_rows_open(columns, ARRAY_SIZE(columns));
    double *room = NULL, median;

    TRY_OUT(rows_make(&room, plan->count));
    for (int i = 0; i < plan->count; i++) room[i] = plan->rows[i].between;
    median = stats_sort_median(room, plan->count);
    page_paragraph(page, INK_PLAIN,
                   "%d files of one version, %d row%s: a run varies by %.1f%% (half of the "
                   "rows) and %.1f%% (nine of ten), or less. Changes from these on are called in "
                   "nineteen of twenty comparisons:",
                   plan->files, plan->count, plan->count == 1 ? "" : "s", 100 * median,
                   100 * nine_of_ten(room, plan->count));
    for (size_t i = 0; i < ARRAY_SIZE(files); i++)
        add_line(rows, plan, files[i], log1p(threshold), room);
    page_rows_print(page, rows);
    rows = NULL;
    page_paragraph(page, INK_DIM,
                   "One file per side sees nothing but exact counts. Smaller changes show on a "
                   "quieter machine, or with rows of more work.");

out:
    page_rows_close(rows);
    free(room);
    return status;
}

enum status plan_print(const struct page *page, const struct compare_files *files,
                       const struct compare_rule *rule, compare_wanted *wanted, void *context)
{
    enum status status = STATUS_OK;
    struct plan plan = { .files = files->count,
                         .largest = compare_larger_is_better(rule),
                         .is_count = !benchmark_metric_is_time(rule->metric) };

    if (files->count < 2)
        FAIL_OUT(STATUS_BAD_USAGE, "--plan wants two files or more of one version");
    TRY_OUT(rows_make(&plan.rows, files->files[0].count + 1));
    for (int i = 0; i < files->files[0].count; i++)
        if (wanted == NULL || wanted(context, files->files[0].rows[i].name))
            TRY_OUT(add_planned(&plan, files, files->files[0].rows[i].name));
    if (plan.count == 0)
        FAIL_OUT(STATUS_BAD_USAGE, "no row of that name and metric is in all of the files");
    TRY_OUT(rows_make(&plan.logs, (int64_t)plan.count * plan.files));
    TRY_OUT(learn_noise(&plan));
    TRY_OUT(print_plan(page, &plan, rule->threshold));

out:
    for (int i = 0; i < plan.count; i++) free(plan.rows[i].runs);
    free(plan.rows);
    free(plan.logs);
    return status;
}
