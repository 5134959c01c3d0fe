#include "harness/desk/compare/comparison.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Comparable files --- */

/* Members of the context in which files must agree, where both have them; the others are reasons to doubt. */
static const struct member {
    const char *key, *what;
    bool must;
    bool is_machine; /* a part of the machine's key, besides those that must agree */
} members[] = {
    { "device", "device", true, false },
    { "device_name", "device", true, false },
    { "device_isa", "device's instruction set", true, false },
    { "real_time_clock", "clock", true, false },
    { "cpu_time_clock", "clock of cpu_time", true, false },
    { "num_cpus", "number of processors", true, false },
    { "host_name", "host", false, false },
    { "cpu_model", "processor", false, true },
    { "library_build_type", "build type", false, false },
    { "device_driver", "driver", false, false },
    { "environment", "environment", false, false },
};

static const struct benchmark_file *file_at(const struct compare_files *sides, int index)
{
    return index < sides[SIDE_BASE].count ? &sides[SIDE_BASE].files[index]
                                          : &sides[SIDE_NEW].files[index - sides[SIDE_BASE].count];
}

/* The first file that disagrees with an earlier one in `member`; false: none does. */
static bool disagree(const struct compare_files *sides, const struct member *member, char text[512])
{
    const struct benchmark_file *known = NULL;
    char first[160] = "", other[160];

    for (int i = 0; i < sides[SIDE_BASE].count + sides[SIDE_NEW].count; i++) {
        const struct benchmark_file *file = file_at(sides, i);
        benchmark_file_context(file, member->key, other, sizeof other);
        if (other[0] == '\0')
            continue;
        if (known != NULL && strcmp(first, other) != 0) {
            snprintf(text, 512, "another %s: %.100s has \"%.60s\", %.100s has \"%.60s\"",
                     member->what, known->path, first, file->path, other);
            return true;
        }
        known = file;
        memcpy(first, other, sizeof first);
    }
    return false;
}

enum status compare_check(const struct compare_files *sides)
{
    char text[512];

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (members[i].must && disagree(sides, &members[i], text))
            FAIL(STATUS_BAD_INPUT, "%s; use --force to compare them anyway", text);

    return STATUS_OK;
}

void compare_doubts(const struct compare_files *sides, char *text, size_t size)
{
    char doubt[512];

    text[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (disagree(sides, &members[i], doubt))
            text_join(text, size, "; ", "%s", doubt);
}

void compare_machine(const struct benchmark_file *file, char *text, size_t size)
{
    char value[160];
    bool is_named = false;

    text[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        benchmark_file_context(file, members[i].key, value, sizeof value);
        if (value[0] == '\0' || !(members[i].must || members[i].is_machine))
            continue;
        is_named = is_named || members[i].is_machine;
        text_join(text, size, ", ", "%s%s", value,
                  strcmp(members[i].key, "num_cpus") == 0 ? " CPUs" : "");
    }
    benchmark_file_context(file, "host_name", value, sizeof value);
    if (!is_named && value[0] != '\0')
        text_join(text, size, ", ", "%s", value);
}

/* --- The rows of several files --- */

/* The runs of one row that have values, and the sides that have the row at all. */
struct found {
    const struct benchmark_row **runs[SIDES];
    int count[SIDES];
    bool present[SIDES];
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

/* Shares are compared, not counts: each benchmark may have its own file, on both sides. */
static bool has_fewer(const struct found *found, const struct compare_files *sides)
{
    long long base = (long long)found->count[SIDE_BASE] * sides[SIDE_NEW].count;
    long long after = (long long)found->count[SIDE_NEW] * sides[SIDE_BASE].count;

    return after > 0 && after < base;
}

static void find_runs(struct found *found, struct compared_row *row,
                      const struct compare_files *sides)
{
    static const char *const names[] = { "base", "new" };

    row->lost[0] = '\0';
    for (int side = 0; side < SIDES; side++) {
        found->count[side] = 0;
        found->present[side] = false;
        for (int i = 0; i < sides[side].count; i++) {
            const struct benchmark_row *run = benchmark_file_row(&sides[side].files[i], row->name);
            if (run == NULL)
                continue;
            found->present[side] = true;
            if (!isnan(run->median))
                found->runs[side][found->count[side]++] = run;
            if (run->lost > 0)
                text_join(row->lost, sizeof row->lost, "; ", "%d of %s: %s", run->lost, names[side],
                          run->reason);
        }
    }
    row->fewer = has_fewer(found, sides);
    for (int side = 0; side < SIDES && row->fewer; side++)
        if (found->count[side] < sides[side].count)
            text_join(row->lost, sizeof row->lost, "; ", "values in %d of %d files of %s",
                      found->count[side], sides[side].count, names[side]);
    find_other_work(found);
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
        double date = date_of(file_at(sides, i));
        int place = i;
        if (isnan(date))
            return false;
        for (; place > 0 && date_of(file_at(sides, turns[place - 1])) > date; place--)
            turns[place] = turns[place - 1];
        turns[place] = i;
    }
    for (int i = 0; i + 1 < files; i += 2)
        if ((turns[i] < base) == (turns[i + 1] < base))
            return false;
    return files % 2 == 0;
}

/* Learns how runs differ from all complete rows. */
static enum status learn(struct comparison *comparison, struct found *found,
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

    if (has_base && has_new && !differs) {
        TRY(compare_runs(row, found->runs[SIDE_BASE], found->count[SIDE_BASE],
                         found->runs[SIDE_NEW], found->count[SIDE_NEW], noise, rule));
        return STATUS_OK;
    }
    row->change = row->low = row->high = row->within = row->between = NAN;
    row->place = PLACE_BEST;
    for (int side = 0; side < SIDES; side++) {
        row->runs[side] = found->count[side];
        row->value[side] = found->count[side] > 0 && !differs ? found->runs[side][0]->median : NAN;
    }
    row->verdict = differs    ? COMPARE_OTHER_WORK
                   : has_base ? COMPARE_MISSING
                   : has_new  ? COMPARE_NEW
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
    const struct benchmark_file *file = file_at(sides, index);

    for (int i = 0; i < file->count; i++) {
        const char *name = file->rows[i].name;
        bool there = wanted != NULL && !wanted(context, name);
        for (int j = 0; !there && j < index; j++)
            there = benchmark_file_row(file_at(sides, j), name) != NULL;
        if (!there)
            comparison->rows[comparison->count++].name = name;
    }
}

static enum status check_found(const struct comparison *comparison,
                               const struct compare_files *sides)
{
    char counters[256] = "";
    int measured = 0, rows = 0;

    for (int i = 0; i < sides[SIDE_BASE].count + sides[SIDE_NEW].count; i++)
        rows += file_at(sides, i)->count;
    if (comparison->count == 0)
        FAIL(STATUS_BAD_USAGE, "nothing to compare: %s",
             rows == 0 ? "the files have no rows" : "no row's name matches the filter");
    for (int i = 0; i < comparison->count; i++)
        measured += comparison->rows[i].runs[SIDE_BASE] + comparison->rows[i].runs[SIDE_NEW];
    benchmark_file_counters(file_at(sides, 0), counters, sizeof counters);
    if (measured == 0)
        FAIL(STATUS_BAD_USAGE, "no row has a value of %.60s; there are real_time, cpu_time%s%s",
             comparison->rule.metric, counters[0] != '\0' ? ", " : "", counters);

    return STATUS_OK;
}

enum status comparison_make(struct comparison *comparison, const struct compare_files *sides,
                            const struct compare_rule *rule, compare_wanted *wanted, void *context)
{
    enum status status = STATUS_OK;
    struct found found = { .count = { 0 } };
    int files = sides[SIDE_BASE].count + sides[SIDE_NEW].count, most = 0;

    *comparison = (struct comparison){ .rule = *rule };
    for (int i = 0; i < files; i++) most += file_at(sides, i)->count;
    TRY_OUT(rows_make(&comparison->rows, most));
    for (int side = 0; side < SIDES; side++)
        TRY_OUT(rows_make(&found.runs[side], sides[side].count));
    for (int i = 0; i < files; i++) add_names(comparison, sides, i, wanted, context);
    for (int place = 0; place < PLACES; place++)
        TRY_OUT(learn(comparison, &found, sides, (enum compare_place)place));
    for (int i = 0; i < comparison->count; i++) {
        struct compared_row *row = &comparison->rows[i];
        find_runs(&found, row, sides);
        TRY_OUT(compare_row(row, &found, is_complete(&found, sides) ? comparison->run_noise : NULL,
                            rule));
        comparison->counts[row->verdict]++;
        comparison->fewer += row->fewer && row->verdict != COMPARE_OTHER_WORK;
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

bool comparison_passes(const struct comparison *comparison, const struct compare_gate *gate,
                       char *why, size_t size)
{
    const struct {
        enum compare_verdict verdict;
        bool accepted;
    } faults[] = {
        { COMPARE_SLOWER, false },
        { COMPARE_OTHER_WORK, gate->allow_missing },
        { COMPARE_MISSING, gate->allow_missing },
        { COMPARE_UNDECIDED, !gate->strict },
        { COMPARE_NOT_MEASURED, !gate->strict },
    };
    int common = 0;

    why[0] = '\0';
    for (int i = 0; i < COMPARE_VERDICTS; i++)
        if (compare_is_common((enum compare_verdict)i))
            common += comparison->counts[i];
    if (common == 0)
        text_append(why, size, "no row could be compared");
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        int count = comparison->counts[faults[i].verdict];
        if (!faults[i].accepted && count > 0)
            text_join(why, size, ", ", "%d %s", count, compare_verdict_name(faults[i].verdict));
    }
    if (comparison->fewer > 0 && !gate->allow_missing)
        text_join(why, size, ", ", "%d missing in some files of new", comparison->fewer);
    return why[0] == '\0';
}
