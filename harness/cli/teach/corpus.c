/* chokepoint corpus: traces whose causes are known and whose fixes were measured, to judge
 * diagnosers by. */
#include "harness/base/figures/quantity.h"
#include "harness/base/rows.h"
#include "harness/bench/interrupt.h"
#include "harness/cli/job/job_flags.h"
#include "harness/cli/line/commands.h"
#include "harness/lab/corpus/corpus_truth.h"
#include "harness/lab/experiment/parent/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 50 };

struct corpus {
    struct flags flags;
    int count;
    char device_name[FLAGS_DEVICE_NAME];
    struct device_properties device;
    struct device_health health;
    struct corpus_item *items;
    struct corpus_truth *truth;
};

static enum status draw(struct corpus *corpus)
{
    TRY(rows_make(&corpus->items, corpus->count));
    TRY(corpus_draw(corpus->items, corpus->count, flags_seed(&corpus->flags), scenarios,
                    &corpus->device));

    return STATUS_OK;
}

static struct protocol short_protocol(const struct corpus *corpus)
{
    struct flags flags = corpus->flags;

    flags.quick = true;
    return flags_protocol(&flags);
}

static enum status measure_items(struct corpus *corpus, struct corpus_order *order)
{
    enum status status = STATUS_OK;
    struct progress progress = progress_start(corpus->count);
    struct corpus_measured *measured;
    int begin = corpus_truth_counts(corpus->truth).items; /* those of an earlier call */

    TRY_OUT(rows_make(&measured, 1));
    order->progress = progress_update;
    order->context = &progress;
    for (int i = 0; i < begin; i++) progress_next(&progress);
    for (int i = begin; i < corpus->count && interrupt_signal() == 0; i++) {
        TRY_OUT(corpus_measure(measured, &corpus->items[i], order));
        TRY_OUT(corpus_truth_add(corpus->truth, &corpus->items[i], measured));
        progress_next(&progress);
    }

out:
    progress_clear(&progress);
    free(measured);
    return status;
}

/* The labels stay in the file: whoever makes a corpus may want to take part. */
static enum status print(const struct corpus *corpus)
{
    enum status status = STATUS_OK;
    struct page page = flags_page(&corpus->flags);
    struct corpus_counts counts = corpus_truth_counts(corpus->truth);
    char *text = NULL;

    if (counts.items == 0)
        goto out;
    if (corpus->flags.format == FORMAT_JSON) {
        TRY_OUT(corpus_truth_text(corpus->truth, &text));
        fputs(text, stdout);
        goto out;
    }
    page_summary(&page, "%d traces: %d with one bottleneck, %d with two, %d with none",
                 counts.traces, counts.kinds[CORPUS_ONE], counts.kinds[CORPUS_TWO],
                 counts.kinds[CORPUS_HEALTHY]);
    if (counts.not_measurable > 0)
        page_paragraph(&page, INK_PLAIN,
                       "%d have a bottleneck whose fix had no measurable effect on this machine: "
                       "they keep their labels, and the league leaves them out.",
                       counts.not_measurable);
    if (counts.items > counts.traces)
        page_paragraph(&page, INK_DOUBTFUL, "%d have no trace: %s says why.",
                       counts.items - counts.traces, corpus_truth_path(corpus->truth));
    page_paragraph(&page, INK_DIM, "%s; traces in %s, labels in %s", corpus->device.name,
                   corpus->flags.out, corpus_truth_path(corpus->truth));

out:
    free(text);
    return status;
}

static enum status interrupted(const struct corpus *corpus)
{
    int items = corpus_truth_counts(corpus->truth).items;

    if (items == 0)
        FAIL(STATUS_INTERRUPTED, "stopped by %s before an item was complete; there is no corpus",
             interrupt_name());
    FAIL(STATUS_INTERRUPTED, "stopped by %s; %d of %d items are in %s", interrupt_name(), items,
         corpus->count, corpus_truth_path(corpus->truth));
}

static enum status make(struct corpus *corpus)
{
    enum status status = STATUS_OK;
    struct corpus_order order = { .protocol = short_protocol(corpus),
                                  .program = "/proc/self/exe",
                                  .stop = interrupt_flag() };
    struct status_error error;

    status = corpus_truth_open(&corpus->truth, corpus->flags.out, flags_seed(&corpus->flags),
                               corpus->items, corpus->count, &order.protocol, &corpus->device,
                               &corpus->health);
    if (status != STATUS_OK)
        status_context("--out=%.60s", corpus->flags.out);
    TRY_OUT(status);
    order.protocol.traces = corpus->flags.out;
    order.protocol.lock = corpus_truth_lock(corpus->truth);
    interrupt_catch();
    status = measure_items(corpus, &order);
    if (interrupt_signal() != 0 && (status == STATUS_OK || status == STATUS_INTERRUPTED))
        status = interrupted(corpus);
    error = *status_last();
    if (print(corpus) == STATUS_OK && status != STATUS_OK)
        status_raise(&error);

out:
    return status;
}

static void prepare(void *context)
{
    struct corpus *corpus = context;

    corpus->count = COUNT;
    corpus->flags.out = NULL;
}

static enum status run_corpus(void *context, int *exit_code)
{
    struct corpus *corpus = context;
    struct corpus_counts counts;

    if (corpus->flags.argument_count > 0)
        FAIL(STATUS_BAD_USAGE, "%.60s: corpus takes options only", corpus->flags.arguments[0]);
    if (corpus->flags.out == NULL || corpus->flags.out[0] == '\0')
        FAIL(STATUS_BAD_USAGE, "give a folder for the traces and their labels, as in --out=corpus");
    TRY(flags_resolve_device(&corpus->flags, corpus->device_name, &corpus->device,
                             &corpus->health));
    TRY(draw(corpus));
    TRY(make(corpus));
    counts = corpus_truth_counts(corpus->truth);
    *exit_code = counts.items > counts.traces ? 1 : 0;

    return STATUS_OK;
}

static void release(void *context)
{
    struct corpus *corpus = context;

    corpus_truth_close(corpus->truth);
    free(corpus->items);
}

static const struct option_row options[] = {
    FLAG_DEVICE("where to train"),
    FLAG_DEVICE_MEMORY,
    { "seed", "N", "what the items are drawn from: the same seed, the same items", 1,
      flags_take_seed, .offset = 0 },
    { "count", "N", "how many items; 50 if not given", 1, value_count,
      .offset = offsetof(struct corpus, count), .least = 1, .most = CORPUS_MOST },
    FLAG_PAIRS,
    FLAG("out", "DIR",
         "folder for the traces and truth.json; a corpus that was begun there with the same "
         "options goes on",
         3, value_text, out),
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_corpus = {
    .name = "corpus",
    .text = "make traces whose causes are known, to judge diagnosers by",
    .help =
        "Draws trainings with one bottleneck, two at once, or none, with sizes and settings around "
        "them; measures what each fix gains; and records traces that do not say what they are: "
        "0001.json.gz and so on. truth.json beside them has the labels and the measured gains, "
        "and is sealed by checksums. scripts/league.py DIR scores diagnosers by it. An item takes "
        "about 6 s. No label depends on a measurement: a bottleneck whose fix has no measurable "
        "effect on this machine keeps its label, and says so.\v"
        "Examples:\n"
        "  chokepoint corpus --seed=7 --count=200 --out=corpus\n"
        "  scripts/league.py corpus chokepoint random\n"
        "\n" EXIT_CODES("every item has its trace", "an item could not be measured or traced"),
    .options = options,
    .context_size = sizeof(struct corpus),
    .prepare = prepare,
    .run = run_corpus,
    .release = release,
};
