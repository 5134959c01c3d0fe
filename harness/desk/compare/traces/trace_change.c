/* Diagnoses both traces, compares their steps (step_change.c), and adds what the files state of
 * themselves: settings, the device, other programs, and steps without a profiler, which must
 * confirm a change. */
#include "harness/desk/compare/traces/trace_change.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/desk/compare/file/workload.h"
#include "harness/text/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS_TEXT = 1024 };

static const double OTHER_CORES_MOST = 0.2;

/* A normal value is farther from its mean in 1% of cases. */
static const double NORMAL_99 = 2.576;

/* --- The files about themselves --- */

static enum status add_difference(struct trace_change *change, const char *name, const char *base,
                                  const char *new)
{
    struct trace_difference *row;

    TRY(rows_grow(&change->differences, change->difference_count + 1, &change->difference_room));
    row = &change->differences[change->difference_count++];
    *row = (struct trace_difference){ .name = NULL };
    TRY(text_make(&row->name, "%s", name));
    if (base != NULL)
        TRY(text_make(&row->side[SIDE_BASE], "%s", base));
    if (new != NULL)
        TRY(text_make(&row->side[SIDE_NEW], "%s", new));

    return STATUS_OK;
}

/* Members that differ from file to file, and those that are compared by what is in them. */
static bool is_compared(const char *key)
{
    static const char *const others[] = { "baseTimeNanoseconds", "traceName",    "trace_id",
                                          "deviceProperties",    "chokepoint",   "traceEvents",
                                          "displayTimeUnit",     "schemaVersion" };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (strcmp(key, others[i]) == 0)
            return false;
    return true;
}

/* A number, text or truth: objects and lists hold more than a line can. */
static const char *scalar_of(const struct trace_file *trace, const char *key)
{
    const char *json = trace_file_metadata(trace, key);

    return json != NULL && json[0] != '{' && json[0] != '[' ? json : NULL;
}

static bool is_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static enum status compare_members(struct trace_change *change)
{
    const struct trace_file *base = change->sides[SIDE_BASE].traces[change->at],
                            *new = change->sides[SIDE_NEW].traces[change->at];

    for (int side = 0; side < SIDES; side++) {
        const struct trace_file *trace = side == SIDE_BASE ? base : new;
        for (int64_t i = 0; i < trace->metadata_count; i++) {
            const char *key = trace->metadata[i].key, *first = scalar_of(base, key),
                       *second = scalar_of(new, key);
            if (!is_compared(key) || is_equal(first, second) ||
                (side == SIDE_NEW && trace_file_metadata(base, key) != NULL))
                continue;
            TRY(add_difference(change, key, first, second));
        }
    }

    return STATUS_OK;
}

/* A trace is of one stretch of steps. The medians of the windows must differ the same way: by
 * STEP_LEAST, and by more than their own noise. The range of n <= 10 windows is about sqrt(n)
 * standard deviations (Tippett, Biometrika 17, 1925), and a median's error 1.25 of those over
 * sqrt(n). */
static bool is_confirmed(const struct trace_change *change)
{
    const struct untraced *base = &change->untraced[SIDE_BASE], *new = &change->untraced[SIDE_NEW];
    double a = base->spread / base->windows, b = new->spread / new->windows;
    /* No hypot(): it would ask for glibc 2.35, and all else is content with 2.34. */
    double noise = NORMAL_99 * 1.2533 * sqrt(a * a + b * b), moved;

    if (!(base->step_ns > 0 && new->step_ns > 0))
        return true;
    moved = log(new->step_ns / base->step_ns);
    return (moved > 0) == (change->step.change_ns > 0) &&
           fabs(moved) >= fmax(log(1 + STEP_LEAST), noise);
}

/* Facts that our own traces state. */
static enum status compare_ours(struct trace_change *change)
{
    enum status status = STATUS_OK;
    cJSON *roots[SIDES] = { NULL };
    struct workload works[SIDES] = { { .memory = NAN }, { .memory = NAN } };
    char text[SETTINGS_TEXT];

    for (int side = 0; side < SIDES; side++) {
        const char *json =
            trace_file_metadata(change->sides[side].traces[change->at], "chokepoint");
        roots[side] = json != NULL ? cJSON_Parse(json) : NULL;
        works[side].settings =
            cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(roots[side], "settings"));
        change->other_cores[side] = json_number_of(roots[side], "other_programs_cores");
        change->untraced[side] = (struct untraced){
            .step_ns = 1e3 * json_number_of(roots[side], "step_time_us"),
            .spread = fmax(0, json_number_of(roots[side], "tracing_spread")),
            .windows = fmax(1, json_number_of(roots[side], "windows")),
        };
    }
    change->confirmed = is_confirmed(change);
    if (workload_differs(&works[SIDE_BASE], &works[SIDE_NEW], text, sizeof text))
        TRY_OUT(add_difference(change, "settings", text, NULL));

out:
    for (int side = 0; side < SIDES; side++) cJSON_Delete(roots[side]);
    return status;
}

/* --- Findings --- */

const struct finding *trace_change_only(const struct trace_change *change, int side, int64_t i)
{
    const struct finding *finding = &change->sides[side].findings[change->at].items[i];
    const struct findings *others = &change->sides[SIDES - 1 - side].findings[change->at];

    return finding->severity == SEVERITY_INFORMATION || findings_find(others, finding->id) != NULL
               ? NULL
               : finding;
}

const struct finding *trace_change_cause(const struct trace_change *change)
{
    const struct step_change *step = &change->step;
    int side = step->change_ns > 0 ? SIDE_NEW : SIDE_BASE;
    const struct findings *findings = &change->sides[side].findings[change->at];
    const struct finding *cause = NULL;
    double most_ns = STEP_CHANGE_LEAST * (double)step->step_ns[side];
    bool stands_out = step->pace.stands_out;

    for (int64_t i = 0; i < step->count; i++) stands_out = stands_out || step->parts[i].stands_out;
    for (int64_t i = 0; step->differs && !stands_out && i < findings->count; i++) {
        const struct finding *finding = trace_change_only(change, side, i);
        if (finding == NULL || !(finding->lost_ns_per_step >= most_ns))
            continue;
        cause = finding;
        most_ns = finding->lost_ns_per_step;
    }
    return cause;
}

/* --- Words --- */

void part_change_name(char text[PART_TEXT], const struct part_change *part)
{
    bool by_cause = part->kind == PART_IDLE || part->kind == PART_HOST;

    snprintf(text, PART_TEXT, "%s%s%s", by_cause ? part_kind_name(part->kind) : "",
             by_cause ? ": " : "", part->name);
}

/* Whether it moves the step the way that the step moved. */
static bool explains(const struct step_change *step, int64_t change_ns)
{
    return (change_ns > 0) == (step->change_ns > 0) && change_ns != 0;
}

static size_t add_words(char *text, size_t size, size_t length, const char *name, int64_t change_ns)
{
    int more = snprintf(text + length, size - length, "%s%s %s%s", length > 0 ? ", " : "", name,
                        change_ns < 0 ? "-" : "+", quantity_time(fabs((double)change_ns)).text);

    if (more < 0 || (size_t)more >= size - length) {
        text[length] = '\0';
        return size;
    }
    return length + (size_t)more;
}

void trace_change_words(char *text, size_t size, const struct trace_change *change)
{
    const struct step_change *step = &change->step;
    bool pace = step->pace.stands_out && explains(step, step->pace.change_ns);
    const struct finding *cause = trace_change_cause(change);
    size_t length = 0;

    text[0] = '\0';
    if (cause != NULL)
        add_words(text, size, length, cause->id,
                  (step->change_ns > 0 ? 1 : -1) * llround(cause->lost_ns_per_step));
    for (int64_t i = 0; i < step->count && length < size; i++) {
        const struct part_change *part = &step->parts[i];
        char name[PART_TEXT];
        if (pace && llabs(step->pace.change_ns) >= llabs(part->change_ns)) {
            pace = false;
            length = add_words(text, size, length, "all computation", step->pace.change_ns);
        }
        if (!part->stands_out || !explains(step, part->change_ns) || length >= size)
            continue;
        part_change_name(name, part);
        length = add_words(text, size, length, name, part->change_ns);
    }
}

void trace_change_doubts(char *text, size_t size, const struct trace_change *change)
{
    static const char *const names[SIDES] = { "base", "new" };
    const struct device_pace *pace = &change->step.pace;
    char factor[QUANTITY_SIZE];

    text[0] = '\0';
    for (int side = 0; side < SIDES; side++)
        if (change->other_cores[side] >= OTHER_CORES_MOST)
            text_join(text, size, " ",
                      "Other programs used %.2f cores while %s was recorded: what they cost is in "
                      "its parts.",
                      change->other_cores[side], names[side]);
    if (pace->parts == 0 || pace->other_work || fabs(log(pace->factor)) < log(1 + PACE_LEAST))
        return;
    quantity_factor(factor, pace->factor);
    text_join(
        text, size, " ",
        "Computation took %s as long by the same kernels (the median of %d parts): the device "
        "itself ran %s, by its clock, its power or other programs.",
        factor, pace->parts, pace->factor > 1 ? "slower" : "faster");
}

/* --- Both files --- */

struct reading {
    struct trace_change *change;
    int side;
};

static void split_side(struct arena *arena, void *context)
{
    struct reading *reading = context;
    struct trace_change *change = reading->change;

    change->parts[reading->side] =
        time_parts_of(arena, &change->sides[reading->side].summaries[change->at]);
}

static enum status split_step(struct trace_change *change, int side)
{
    struct diagnosis *diagnosis = &change->sides[side];
    struct reading reading = { change, side };

    TRY(arena_run(diagnosis->arenas[change->at], split_side, &reading));
    if (change->parts[side].window_ns == 0)
        FAIL(STATUS_BAD_INPUT,
             "%s shows no work of a device and no operators: there is nothing to compare",
             diagnosis->paths[change->at]);

    return STATUS_OK;
}

static void compare_steps(struct arena *arena, void *context)
{
    struct trace_change *change = context;
    const struct summary *const summaries[SIDES] = {
        &change->sides[SIDE_BASE].summaries[change->at],
        &change->sides[SIDE_NEW].summaries[change->at]
    };

    change->step = step_change_of(arena, change->parts, summaries);
}

static void forget_differences(struct trace_change *change)
{
    for (int i = 0; i < change->difference_count; i++) {
        free(change->differences[i].name);
        for (int side = 0; side < SIDES; side++) free(change->differences[i].side[side]);
    }
    change->difference_count = 0;
}

enum status trace_change_select(struct trace_change *change, int at)
{
    const char *devices[SIDES];

    forget_differences(change);
    change->at = at;
    for (int side = 0; side < SIDES; side++) TRY(split_step(change, side));
    TRY(arena_run(change->sides[SIDE_NEW].arenas[at], compare_steps, change));
    TRY(compare_ours(change));
    if (!change->confirmed)
        step_change_withdraw(&change->step);
    for (int side = 0; side < SIDES; side++) {
        const struct event_device *device =
            timeline_device(&change->sides[side].summaries[at].timeline);
        devices[side] = device != NULL ? device->name : NULL;
    }
    if (!is_equal(devices[SIDE_BASE], devices[SIDE_NEW]))
        TRY(add_difference(change, "device", devices[SIDE_BASE], devices[SIDE_NEW]));
    return compare_members(change);
}

enum status trace_change_make(struct trace_change *change, const char *const paths[SIDES])
{
    memset(change, 0, sizeof *change);
    for (int side = 0; side < SIDES; side++)
        TRY(diagnosis_make(&change->sides[side], &paths[side], 1, NULL, NULL));
    change->count = change->sides[SIDE_BASE].count;
    if (change->count != change->sides[SIDE_NEW].count)
        FAIL(STATUS_BAD_INPUT,
             "%d process%s steps in %s, and %d in %s: give traces of as many processes",
             change->count, change->count == 1 ? " marks" : "es mark", paths[SIDE_BASE],
             change->sides[SIDE_NEW].count, paths[SIDE_NEW]);

    return trace_change_select(change, 0);
}

void trace_change_release(struct trace_change *change)
{
    forget_differences(change);
    free(change->differences);
    for (int side = 0; side < SIDES; side++) diagnosis_release(&change->sides[side]);
    memset(change, 0, sizeof *change);
}

enum status trace_change_each(const char *const paths[SIDES],
                              void (*visit)(void *context, const struct trace_change *change),
                              void *context)
{
    enum status status = STATUS_OK;
    struct trace_change change;

    TRY_OUT(trace_change_make(&change, paths));
    visit(context, &change);
    for (int i = 1; i < change.count; i++) {
        TRY_OUT(trace_change_select(&change, i));
        visit(context, &change);
    }

out:
    trace_change_release(&change);
    return status;
}
