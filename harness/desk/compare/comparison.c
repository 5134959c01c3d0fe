/* Goes through the rows twice. The first time it learns from all complete rows how runs differ
 * (row_sides.h), the second time it judges each row by that. */
#include "harness/desk/compare/comparison.h"

#include "harness/base/rows.h"
#include "harness/base/status.h"
#include "harness/base/words/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- The rows of several files --- */

/* The lost repetitions of one row on one side. */
struct losses {
    long long lost, tried;
    int files;       /* with lost ones */
    bool alike;      /* as many in each of them, of as many */
    int first[2];    /* lost and tried, of the first */
    const char *why; /* of the first */
};

/* The runs of one row that have values, and the sides that have the row at all. */
struct found {
    const struct benchmark_row **runs[SIDES];
    int count[SIDES];
    bool present[SIDES];
    struct losses losses[SIDES];
    char other_work[256]; /* how two of them differ in their work; "": they do not */
};

/* Compares the work of all runs, of either side, with that of the first that states it. */
static void find_other_work(struct found *found)
{
    const struct workload *known = NULL;

    found->other_work[0] = '\0';
    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < found->count[side]; i++) {
            const struct workload *own = &found->runs[side][i]->work;
            if (known == NULL && own->settings != NULL)
                known = own;
            if (known != NULL &&
                workload_differs(known, own, found->other_work, sizeof found->other_work))
                return;
        }
}

static const char *const side_names[SIDES] = { "base", "new" };

static void losses_add(struct losses *losses, const struct benchmark_row *run)
{
    int tried = run->count + run->lost;

    losses->tried += tried;
    losses->lost += run->lost;
    if (run->lost == 0)
        return;
    if (losses->files++ == 0) {
        losses->alike = true;
        losses->first[0] = run->lost;
        losses->first[1] = tried;
        losses->why = run->reason;
    }
    losses->alike = losses->alike && losses->first[0] == run->lost && losses->first[1] == tried;
}

/* "new: 4 of 5 failed: boom (in each of 3 files)". */
static void print_losses(char *text, size_t size, const char *side, const struct losses *losses)
{
    text_join(text, size, "; ", "%s: %lld of %lld %s", side,
              losses->alike ? losses->first[0] : losses->lost,
              losses->alike ? losses->first[1] : losses->tried, losses->why);
    if (losses->files > 1)
        text_append(text, size, " (in %s%d files)", losses->alike ? "each of " : "", losses->files);
}

/* Both sides in one sentence where they lost alike. */
static void explain_losses(struct compared_row *row, const struct losses losses[SIDES])
{
    const struct losses *base = &losses[SIDE_BASE], *after = &losses[SIDE_NEW];

    if (base->files > 0 && base->files == after->files && base->alike && after->alike &&
        memcmp(base->first, after->first, sizeof base->first) == 0 &&
        strcmp(base->why, after->why) == 0) {
        print_losses(row->lost, sizeof row->lost, "base and new", base);
        return;
    }
    for (int side = 0; side < SIDES; side++)
        if (losses[side].files > 0)
            print_losses(row->lost, sizeof row->lost, side_names[side], &losses[side]);
}

/* Whether new lost a larger share of its repetitions. Files of aggregates do not tell how many
 * there were. */
static bool lost_more(const struct losses losses[SIDES])
{
    const struct losses *base = &losses[SIDE_BASE], *after = &losses[SIDE_NEW];

    return (double)after->lost * (base->tried > 0 ? (double)base->tried : 1) >
           (double)base->lost * (after->tried > 0 ? (double)after->tried : 1);
}

static void find_runs(struct found *found, const struct compared_row *row,
                      const struct compare_files *sides)
{
    for (int side = 0; side < SIDES; side++) {
        found->count[side] = 0;
        found->present[side] = false;
        found->losses[side] = (struct losses){ .lost = 0 };
        for (int i = 0; i < sides[side].count; i++) {
            const struct benchmark_row *run = benchmark_file_row(&sides[side].files[i], row->name);
            if (run == NULL)
                continue;
            found->present[side] = true;
            if (!isnan(run->median))
                found->runs[side][found->count[side]++] = run;
            losses_add(&found->losses[side], run);
        }
    }
    find_other_work(found);
}

static void find_lost(struct compared_row *row, const struct found *found,
                      const struct compare_files *sides)
{
    /* Shares are compared, not counts: each benchmark may have its own file, on both sides. */
    long long base = (long long)found->count[SIDE_BASE] * sides[SIDE_NEW].count;
    long long after = (long long)found->count[SIDE_NEW] * sides[SIDE_BASE].count;

    row->lost[0] = '\0';
    explain_losses(row, found->losses);
    row->fewer = after > 0 && after < base;
    row->lost_more = !row->fewer && found->count[SIDE_BASE] > 0 && found->count[SIDE_NEW] > 0 &&
                     lost_more(found->losses);
    for (int side = 0; side < SIDES && row->fewer; side++)
        if (found->count[side] < sides[side].count)
            text_join(row->lost, sizeof row->lost, "; ", "values in %d of %d files of %s",
                      found->count[side], sides[side].count, side_names[side]);
}

/* Whether every file has the row, of the same work, with values of which there are logarithms. */
static bool is_complete(const struct found *found, const struct compare_files *sides)
{
    for (int i = 0; i < SIDES; i++) {
        const struct side side = { .runs = found->runs[i], .count = found->count[i] };
        if (found->count[i] != sides[i].count || !side_is_positive(&side))
            return false;
    }
    return found->other_work[0] == '\0';
}

/* When a file was begun, in seconds; NAN: it does not say. */
static double date_of(const struct benchmark_file *file)
{
    char text[64];

    benchmark_file_context(file, "date", text, sizeof text);
    return benchmark_date(text);
}

/* Sorts the files by date and tells whether, of each two in turn, one is of each side. */
static bool take_turns(int *turns, const struct compare_files *sides)
{
    int base = sides[SIDE_BASE].count, files = base + sides[SIDE_NEW].count;

    for (int i = 0; i < files; i++) {
        double date = date_of(compare_file_at(sides, i));
        int place = i;
        if (isnan(date))
            return false;
        for (; place > 0 && date_of(compare_file_at(sides, turns[place - 1])) > date; place--)
            turns[place] = turns[place - 1];
        turns[place] = i;
    }
    for (int i = 0; i + 1 < files; i += 2)
        if ((turns[i] < base) == (turns[i + 1] < base))
            return false;
    return files % 2 == 0;
}

/* Learns how runs differ from all complete rows. */
static enum status learn_noise(struct comparison *comparison, struct found *found,
                               const struct compare_files *sides, enum compare_place place)
{
    enum status status = STATUS_OK;
    int base = sides[SIDE_BASE].count, after = sides[SIDE_NEW].count, rows = 0;
    double *logs = NULL;
    int *turns = NULL;

    TRY_OUT(rows_make(&logs, (int64_t)comparison->count * (base + after)));
    TRY_OUT(rows_make(&turns, base + after));
    for (int i = 0; i < comparison->count; i++) {
        double *own = logs + rows * (base + after);
        struct side runs[SIDES] = {
            { .runs = found->runs[SIDE_BASE], .count = base, .logs = own },
            { .runs = found->runs[SIDE_NEW], .count = after, .logs = own + base }
        };
        find_runs(found, &comparison->rows[i], sides);
        if (!is_complete(found, sides))
            continue;
        TRY_OUT(sides_locate(runs, place, compare_larger_is_better(&comparison->rule)));
        rows++;
    }
    TRY_OUT(run_noise_learn(&comparison->run_noise[place], logs, rows, base, after,
                            take_turns(turns, sides) ? turns : NULL));

out:
    free(logs);
    free(turns);
    return status;
}

static enum status compare_row(struct compared_row *row, struct found *found,
                               const struct run_noise *noise, const struct compare_rule *rule)
{
    const bool has_base = found->count[SIDE_BASE] > 0, has_new = found->count[SIDE_NEW] > 0;
    const bool differs = has_base && has_new && found->other_work[0] != '\0';

    if (has_base && has_new && !differs)
        return compare_runs(row, found->runs[SIDE_BASE], found->count[SIDE_BASE],
                            found->runs[SIDE_NEW], found->count[SIDE_NEW], noise, rule);
    row->change = row->low = row->high = row->within = row->between = NAN;
    row->place = PLACE_BEST;
    for (int side = 0; side < SIDES; side++) {
        row->runs[side] = found->count[side];
        row->value[side] = found->count[side] > 0 && !differs ? found->runs[side][0]->median : NAN;
    }
    row->verdict = differs                                 ? COMPARE_OTHER_WORK
                   : has_base                              ? COMPARE_MISSING
                   : has_new && !found->present[SIDE_BASE] ? COMPARE_NEW
                                                           : COMPARE_NOT_MEASURED;
    if (differs)
        snprintf(row->reason, sizeof row->reason, "other work: %s", found->other_work);
    else if (has_base && found->present[SIDE_NEW])
        snprintf(row->reason, sizeof row->reason, "new has the row, but no value");
    else if (has_new && found->present[SIDE_BASE])
        snprintf(row->reason, sizeof row->reason, "base has the row, but no value");

    return STATUS_OK;
}

/* Adds the rows of file number `index` that no file before it has. */
static void add_names(struct comparison *comparison, const struct compare_files *sides, int index,
                      compare_wanted *wanted, void *context)
{
    const struct benchmark_file *file = compare_file_at(sides, index);

    for (int i = 0; i < file->count; i++) {
        const char *name = file->rows[i].name;
        bool there = wanted != NULL && !wanted(context, name);
        for (int j = 0; !there && j < index; j++)
            there = benchmark_file_row(compare_file_at(sides, j), name) != NULL;
        if (!there)
            comparison->rows[comparison->count++].name = name;
    }
}

/* The files have rows, but none has a value. */
static enum status fail_unmeasured(const struct comparison *comparison,
                                   const struct compare_files *sides)
{
    const char *metric = comparison->rule.metric;
    const struct compared_row *row = &comparison->rows[0];
    char known[400];

    benchmark_file_metrics(compare_file_at(sides, 0), known, sizeof known);
    if (strstr(known, metric) != NULL && row->lost[0] != '\0')
        FAIL(STATUS_BAD_USAGE, "no row has a value of %.60s; %.100s, %.200s", metric, row->name,
             row->lost);
    FAIL(STATUS_BAD_USAGE, "no row has a value of %.60s; %s%s%s", metric,
         known[0] != '\0' ? "there are " : "the rows have no number at all", known,
         known[0] != '\0' ? ": give one of them to --metric" : "");
}

static enum status check_found(const struct comparison *comparison,
                               const struct compare_files *sides)
{
    const struct benchmark_file *first = compare_file_at(sides, 0);
    char aggregates[200] = "";
    int measured = 0, rows = 0;

    for (int i = 0; i < sides[SIDE_BASE].count + sides[SIDE_NEW].count; i++)
        rows += compare_file_at(sides, i)->count;
    benchmark_file_aggregates(first, aggregates, sizeof aggregates);
    if (rows == 0 && aggregates[0] != '\0')
        FAIL(STATUS_BAD_USAGE,
             "nothing to compare: %.100s has aggregates only, and none is a mean or a median (%s); "
             "measure without --benchmark_report_aggregates_only",
             first->path, aggregates);
    if (comparison->count == 0)
        FAIL(STATUS_BAD_USAGE, "nothing to compare: %s",
             rows == 0 ? "the files have no rows" : "no row's name matches the filter");
    for (int i = 0; i < comparison->count; i++)
        measured += comparison->rows[i].runs[SIDE_BASE] + comparison->rows[i].runs[SIDE_NEW];
    if (measured == 0)
        TRY(fail_unmeasured(comparison, sides));

    return STATUS_OK;
}

enum status comparison_make(struct comparison *comparison, const struct compare_files *sides,
                            const struct compare_rule *rule, compare_wanted *wanted, void *context)
{
    enum status status = STATUS_OK;
    struct found found = { .count = { 0 } };
    int files = sides[SIDE_BASE].count + sides[SIDE_NEW].count, most = 0;
    const bool alone = sides[SIDE_BASE].count == 1 && sides[SIDE_NEW].count == 1;

    *comparison = (struct comparison){ .rule = *rule };
    for (int i = 0; i < files; i++) most += compare_file_at(sides, i)->count;
    TRY_OUT(rows_make(&comparison->rows, most));
    for (int side = 0; side < SIDES; side++)
        TRY_OUT(rows_make(&found.runs[side], sides[side].count));
    for (int i = 0; i < files; i++) add_names(comparison, sides, i, wanted, context);
    comparison->rule.rows = comparison->count;
    for (int place = 0; place < PLACES; place++)
        TRY_OUT(learn_noise(comparison, &found, sides, (enum compare_place)place));
    for (int i = 0; i < comparison->count; i++) {
        struct compared_row *row = &comparison->rows[i];
        find_runs(&found, row, sides);
        find_lost(row, &found, sides);
        TRY_OUT(compare_row(row, &found,
                            alone || is_complete(&found, sides) ? comparison->run_noise : NULL,
                            &comparison->rule));
        comparison->counts[row->verdict]++;
        comparison->lacks_better += row->lacks_better;
    }
    TRY_OUT(check_found(comparison, sides));

out:
    for (int side = 0; side < SIDES; side++) free(found.runs[side]);
    if (status != STATUS_OK)
        comparison_release(comparison);
    return status;
}

void comparison_release(struct comparison *comparison)
{
    free(comparison->rows);
    for (int place = 0; place < PLACES; place++) run_noise_release(&comparison->run_noise[place]);
    *comparison = (struct comparison){ .rule = comparison->rule };
}

/* --- The gate --- */

/* The faults of a row, the worst first. */
enum row_fault {
    FAULT_SLOWER,
    FAULT_MOVED,
    FAULT_MISSING,
    FAULT_FEWER,
    FAULT_LOST,
    FAULT_OTHER_WORK,
    FAULT_BEYOND,
    FAULT_UNDECIDED,
    FAULT_NOT_MEASURED,
    FAULTS /* none */
};

static const struct {
    const char *words;
    enum gate_end end;
} faults[FAULTS] = {
    [FAULT_SLOWER] = { "slower", GATE_FAILED },
    [FAULT_MOVED] = { "moved, and --better does not say which way is better", GATE_FAILED },
    [FAULT_MISSING] = { "missing", GATE_FAILED },
    [FAULT_FEWER] = { "missing in some files of new", GATE_FAILED },
    [FAULT_LOST] = { "lost more repetitions in new than in base", GATE_FAILED },
    [FAULT_OTHER_WORK] = { "other work", GATE_UNTOLD },
    [FAULT_BEYOND] = { "undecided beyond the threshold", GATE_UNTOLD },
    [FAULT_UNDECIDED] = { "undecided", GATE_UNTOLD },
    [FAULT_NOT_MEASURED] = { "not measured", GATE_UNTOLD },
};

static enum row_fault fault_of(const struct compared_row *row, const struct compare_gate *gate)
{
    const bool wants_all = !gate->allow_missing, strict = gate->strict;

    if (row->lacks_better)
        return FAULT_MOVED;
    if (row->verdict == COMPARE_SLOWER)
        return FAULT_SLOWER;
    if (row->verdict == COMPARE_OTHER_WORK)
        return wants_all ? FAULT_OTHER_WORK : FAULTS;
    if (wants_all && (row->verdict == COMPARE_MISSING || row->fewer || row->lost_more))
        return row->verdict == COMPARE_MISSING ? FAULT_MISSING
               : row->fewer                    ? FAULT_FEWER
                                               : FAULT_LOST;
    if (row->verdict == COMPARE_UNDECIDED)
        return row->is_beyond ? FAULT_BEYOND : strict ? FAULT_UNDECIDED : FAULTS;
    return row->verdict == COMPARE_NOT_MEASURED && strict ? FAULT_NOT_MEASURED : FAULTS;
}

const char *gate_fault(const struct compared_row *row, const struct compare_gate *gate)
{
    enum row_fault fault = fault_of(row, gate);

    return fault < FAULTS ? faults[fault].words : NULL;
}

enum gate_end comparison_end(const struct comparison *comparison, const struct compare_gate *gate,
                             char *why, size_t size)
{
    enum gate_end end = GATE_PASSED;
    int counts[FAULTS + 1] = { 0 }, common = 0;

    why[0] = '\0';
    for (int i = 0; i < comparison->count; i++) {
        common += compare_is_common(comparison->rows[i].verdict);
        counts[fault_of(&comparison->rows[i], gate)]++;
    }
    if (common == 0) {
        text_append(why, size, "no row could be compared");
        end = GATE_UNTOLD;
    }
    for (int i = 0; i < FAULTS; i++) {
        if (counts[i] == 0)
            continue;
        text_join(why, size, ", ", "%d %s", counts[i], faults[i].words);
        end = end == GATE_FAILED ? end : faults[i].end;
    }
    return end;
}
