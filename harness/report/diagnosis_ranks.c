#include "harness/report/diagnosis_ranks.h"

#include "harness/analysis/summary.h"
#include "harness/base/quantity.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>

/* The mean per step. */
static double part_ns(const struct steps *steps, enum step_part part)
{
    double ns = 0;

    for (int64_t i = 0; i < steps->count; i++) ns += (double)steps->items[i].part_ns[part];
    return steps->count > 0 ? ns / (double)steps->count : NAN;
}

static double own_ns(const struct summary *summary)
{
    return summary->steps.count > 0
               ? summary->steps.mean_ns - part_ns(&summary->steps, STEP_COMMUNICATION)
               : NAN;
}

static const struct column columns[] = {
    { "rank", 5, 0 },    { "step", 8, 0 },    { "own work", 9, 0 }, { "busy", 6, 2 },
    { "compute", 8, 0 }, { "commun.", 8, 0 }, { "exposed", 8, 0 },  { "data", 8, 1 },
};

/* Times of a step, but for the shares of the span that the device is busy. */
static void add_rank(struct page_rows *rows, const struct summary *summary)
{
    const struct usage *usage = &summary->timeline.all;
    double steps = summary->steps.count > 0 ? (double)summary->steps.count : NAN;
    double communication_ns = summary->timeline.host_alone
                                  ? part_ns(&summary->steps, STEP_COMMUNICATION)
                                  : (double)usage->kind_ns[WORK_COMMUNICATION] / steps;
    struct quantity_text step =
                             quantity_time(summary->steps.count > 0 ? summary->steps.mean_ns : NAN),
                         own = quantity_time(own_ns(summary)),
                         compute = quantity_time((double)usage->kind_ns[WORK_COMPUTATION] / steps),
                         communication = quantity_time(communication_ns),
                         exposed = quantity_time((double)usage->communication_exposed_ns / steps),
                         data = quantity_time(part_ns(&summary->steps, STEP_DATA_LOADING));
    char rank[24], busy[24];
    const char *const cells[] = { rank,         step.text,          own.text,     busy,
                                  compute.text, communication.text, exposed.text, data.text };

    snprintf(rank, sizeof rank, "%lld", (long long)summary->trace->rank);
    snprintf(busy, sizeof busy, "%.1f%%",
             usage->span_ns > 0 ? 100 * (double)usage->busy_ns / (double)usage->span_ns : 0);
    page_rows_add(rows, cells, NULL);
}

/* The file of the least rank above `rank`; -1: there is none. */
static int next_file(const struct diagnosis *diagnosis, int64_t rank)
{
    int next = -1;

    for (int i = 0; i < diagnosis->count; i++)
        if (diagnosis->traces[i]->rank > rank &&
            (next < 0 || diagnosis->traces[i]->rank < diagnosis->traces[next]->rank))
            next = i;
    return next;
}

/* The largest over the mean, less one: the usual load imbalance (DeRose, Homer and Johnson, "Detecting
 * Application Load Imbalance on High End Massively Parallel Systems", Euro-Par 2007). */
static void print_imbalance(const struct page *page, const struct diagnosis *diagnosis,
                            int *slowest)
{
    double sum = 0, largest = 0, mean_ns;

    *slowest = 0;
    for (int i = 0; i < diagnosis->count; i++) {
        double ns = own_ns(&diagnosis->summaries[i]);
        sum += ns;
        if (!(ns > largest))
            continue;
        largest = ns;
        *slowest = i;
    }
    if (!(sum > 0)) {
        page_paragraph(page, INK_DIM, "Not every rank marks its steps: they cannot be compared.");
        return;
    }
    mean_ns = sum / diagnosis->count;
    page_paragraph(page, INK_PLAIN,
                   "Rank %lld is the slowest: %s per step without communication; the mean is %s; "
                   "imbalance %.1f%%.",
                   (long long)diagnosis->traces[*slowest]->rank, quantity_time(largest).text,
                   quantity_time(mean_ns).text, 100 * (largest / mean_ns - 1));
}

void diagnosis_ranks(const struct page *page, const struct diagnosis *diagnosis, int *slowest)
{
    struct page_rows *rows = page_rows_open(columns, ARRAY_SIZE(columns));
    char title[64];

    snprintf(title, sizeof title, "%d of %lld ranks, means per step", diagnosis->count,
             (long long)diagnosis->traces[0]->world_size);
    page_title(page, title);
    for (int i = next_file(diagnosis, -1); i >= 0;
         i = next_file(diagnosis, diagnosis->traces[i]->rank))
        add_rank(rows, &diagnosis->summaries[i]);
    page_rows_print(page, rows);
    print_imbalance(page, diagnosis, slowest);
}
