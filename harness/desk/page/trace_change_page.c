/* Two traces of the same work beside each other: why a step became longer or shorter, then its
 * parts, its phases, the findings that are new or gone, and what else differs; the same as JSON. */
#include "harness/desk/page/trace_change_page.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/text.h"
#include "harness/desk/analysis/timeline/phases.h"
#include "harness/desk/diagnosis/rules/finding.h"
#include "harness/desk/page/tables/diagnosis_tables.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MOST = 20 };
static const double ROW_LEAST = 0.001; /* of the longer step: smaller changes are one row */

/* --- Cells --- */

/* "+2.10 ms". */
static struct cell change_cell(double ns)
{
    return cell("%s%s", ns < 0 ? "-" : "+", quantity_time(fabs(ns)).text);
}

/* "+26.6%"; "new" and "gone" where one side has nothing. */
static struct cell relative_cell(int64_t base_ns, int64_t new_ns)
{
    double change = base_ns > 0 ? (double)(new_ns - base_ns) / (double)base_ns : NAN;

    if (base_ns == 0 || new_ns == 0)
        return cell("%s", base_ns == new_ns ? "-" : base_ns == 0 ? "new" : "gone");
    return change >= 9.995 ? cell("%.3gx", 1 + change) : cell("%+.1f%%", 100 * change);
}

/* --- Why --- */

static void print_step(const struct page *page, const struct trace_change *change)
{
    const struct step_change *step = &change->step;
    char doubts[800];
    const char *unit = step->per_sample ? "sample" : "step";

    page_paragraph(page, INK_BOLD, "A %s takes %s, and took %s: %s, %s.", unit,
                   quantity_time((double)step->step_ns[SIDE_NEW]).text,
                   quantity_time((double)step->step_ns[SIDE_BASE]).text,
                   change_cell((double)step->change_ns).text,
                   relative_cell(step->step_ns[SIDE_BASE], step->step_ns[SIDE_NEW]).text);
    if (step->per_sample)
        page_paragraph(page, INK_DOUBTFUL,
                       "A step has %.4g samples in base and %.4g in new, so times are per sample.",
                       step->samples[SIDE_BASE], step->samples[SIDE_NEW]);
    if (!change->parts[SIDE_BASE].has_steps || !change->parts[SIDE_NEW].has_steps)
        page_paragraph(page, INK_DOUBTFUL,
                       "Nothing marks steps in %s: that whole trace counts as one step.",
                       change->sides[change->parts[SIDE_BASE].has_steps].paths[change->at]);
    trace_change_doubts(doubts, sizeof doubts, change);
    if (doubts[0] != '\0')
        page_paragraph(page, INK_DOUBTFUL, "%s", doubts);
}

/* "4.20 ms, and was 2.10 ms; 81% of the change; gemm_b, and was gemm_a". */
static void describe_change(char *text, size_t size, const struct step_change *step,
                            const struct part_change *part)
{
    static char names[SIDES][NAME_SIZE];

    snprintf(text, size, "%s, and was %s; %.0f%% of the change",
             quantity_time((double)part->ns[SIDE_NEW]).text,
             quantity_time((double)part->ns[SIDE_BASE]).text,
             100 * (double)part->change_ns / (double)step->change_ns);
    if (part->kernels[SIDE_BASE] == NULL || part->kernels[SIDE_NEW] == NULL)
        return;
    for (int side = 0; side < SIDES; side++) cell_name(names[side], part->kernels[side]);
    if (strcmp(part->kernels[SIDE_BASE], part->kernels[SIDE_NEW]) != 0)
        text_append(text, size, "; mostly %s, and was %s", names[SIDE_NEW], names[SIDE_BASE]);
}

/* A pace stands out for a reason, which is said: kernels of another size, or others altogether;
 * other samples per step are said above. */
static void print_pace(const struct page *page, const struct step_change *step, int number)
{
    const struct device_pace *pace = &step->pace;
    char text[160], factor[QUANTITY_SIZE];
    bool other_blocks = fabs(log(pace->blocks)) >= log(1 + STEP_CHANGE_LEAST);

    quantity_factor(factor, pace->factor);
    snprintf(text, sizeof text, "the median of %d parts takes %s as long%s", pace->parts, factor,
             step->per_sample ? ""
             : other_blocks   ? ", by kernels of another size"
                              : ", by other kernels");
    page_item(page, number, "all computation", text, INK_BOLD,
              change_cell((double)pace->change_ns).text);
}

/* Why nothing is named. */
static void print_nothing(const struct page *page, const struct trace_change *change)
{
    const struct step_change *step = &change->step;
    const struct untraced *untraced = change->untraced;

    if (!step->has_noise)
        page_paragraph(page, INK_DOUBTFUL,
                       "Fewer than %d steps show no noise: nothing can be said to stand out.",
                       STEP_BLOCKS_LEAST);
    else if (!change->confirmed)
        page_paragraph(
            page, INK_DOUBTFUL,
            "Untraced, a step took %s in new, and %s in base: within their noise, or not as "
            "in the traces. So the change may be of these steps alone, and nothing is named.",
            quantity_time(untraced[SIDE_NEW].step_ns).text,
            quantity_time(untraced[SIDE_BASE].step_ns).text);
    else if (!step->differs)
        page_paragraph(page, INK_PLAIN,
                       "The step changed by less than %.0f%%, so nothing is named.",
                       100 * STEP_LEAST);
    else
        page_paragraph(page, INK_PLAIN,
                       "No part stands out: each changed by less than its own noise from step to "
                       "step, or by less than %.0f%% of a step.",
                       100 * STEP_CHANGE_LEAST);
}

static void print_why(const struct page *page, const struct trace_change *change)
{
    const struct step_change *step = &change->step;
    const struct finding *cause = trace_change_cause(change);
    bool pace = step->pace.stands_out, longer = step->change_ns > 0;
    int number = 0;

    page_heading(page, "Why");
    for (int64_t i = 0; i < step->count; i++) {
        const struct part_change *part = &step->parts[i];
        char name[PART_TEXT], text[3 * NAME_SIZE];
        if (pace && llabs(step->pace.change_ns) >= llabs(part->change_ns)) {
            print_pace(page, step, ++number);
            pace = false;
        }
        if (!part->stands_out)
            continue;
        part_change_name(name, part);
        describe_change(text, sizeof text, step, part);
        page_item(page, ++number, name, text, INK_BOLD, change_cell((double)part->change_ns).text);
    }
    if (number == 0 && cause != NULL) {
        char text[400];
        snprintf(text, sizeof text, "%s (a finding that is %s; no part stands out)", cause->title,
                 longer ? "new" : "gone");
        page_item(page, 1, cause->id, text, INK_BOLD,
                  change_cell((longer ? 1 : -1) * cause->lost_ns_per_step).text);
    } else if (number == 0) {
        print_nothing(page, change);
    }
}

/* --- Parts --- */

static const struct column part_columns[] = {
    { "base", 8, 0 },           { "new", 8, 0 },         { "change", 9, 0 }, { "relative", 8, 2 },
    { "95% interval", -22, 3 }, { "part", PAGE_CUT, 0 },
};

static void add_row(struct page_rows *rows, const char *name, const int64_t ns[SIDES],
                    const char *interval, bool stands_out)
{
    const enum ink inks[ARRAY_SIZE(part_columns)] = {
        [2] = stands_out ? INK_BOLD : INK_PLAIN, [5] = stands_out ? INK_BOLD : INK_PLAIN
    };

    PAGE_ROW(rows, inks, quantity_time((double)ns[SIDE_BASE]).text,
             quantity_time((double)ns[SIDE_NEW]).text,
             change_cell((double)(ns[SIDE_NEW] - ns[SIDE_BASE])).text,
             relative_cell(ns[SIDE_BASE], ns[SIDE_NEW]).text, interval, name);
}

/* A part with the interval of its change, if the noise of steps is known. */
static void add_part(struct page_rows *rows, const struct part_change *part)
{
    struct cell interval = { "-" };
    char name[PART_TEXT];

    if (isfinite(part->low_ns))
        interval =
            cell("%s to %s", change_cell(part->low_ns).text, change_cell(part->high_ns).text);
    part_change_name(name, part);
    add_row(rows, name, part->ns, interval.text, part->stands_out);
}

static void print_parts(const struct page *page, const struct step_change *step)
{
    struct page_rows *rows = page_rows_open(part_columns, ARRAY_SIZE(part_columns));
    double longer_ns = fmax((double)step->step_ns[SIDE_BASE], (double)step->step_ns[SIDE_NEW]);
    int64_t rest[SIDES] = { 0 }, left = 0;
    char name[48];

    page_heading(page, "Parts: they sum to the step");
    for (int64_t i = 0; i < step->count; i++) {
        const struct part_change *part = &step->parts[i];
        if (part->stands_out ||
            (i < ROWS_MOST && fabs((double)part->change_ns) >= ROW_LEAST * longer_ns)) {
            add_part(rows, part);
            continue;
        }
        for (int side = 0; side < SIDES; side++) rest[side] += part->ns[side];
        left++;
    }
    snprintf(name, sizeof name, "%s%lld part%s", page_rows_count(rows) > 0 ? "the other " : "",
             (long long)left, left == 1 ? "" : "s");
    if (left > 0)
        add_row(rows, name, rest, "-", false);
    add_row(rows, step->per_sample ? "a sample" : "the step", step->step_ns, "-", false);
    page_rows_print(page, rows);
}

/* --- Phases --- */

static const struct column phase_columns[] = {
    { "base", 8, 0 },     { "new", 8, 0 },          { "change", 9, 0 },
    { "relative", 8, 0 }, { "phase", PAGE_CUT, 0 },
};

/* A host that computes itself has the time of a phase on the host. */
static double phase_ns(const struct summary *summary, int phase)
{
    const struct phase_mean *mean = &summary->phases.means[phase];

    return summary->timeline.host_alone ? mean->host_ns : mean->device_ns;
}

static void print_phases(const struct page *page, const struct trace_change *change)
{
    const struct summary *base = &change->sides[SIDE_BASE].summaries[change->at],
                         *new = &change->sides[SIDE_NEW].summaries[change->at];
    struct page_rows *rows = page_rows_open(phase_columns, ARRAY_SIZE(phase_columns));

    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        int64_t ns[SIDES] = { llround(phase_ns(base, phase)), llround(phase_ns(new, phase)) };
        if (ns[SIDE_BASE] != 0 || ns[SIDE_NEW] != 0)
            PAGE_ROW(rows, NULL, quantity_time((double)ns[SIDE_BASE]).text,
                     quantity_time((double)ns[SIDE_NEW]).text,
                     change_cell((double)(ns[SIDE_NEW] - ns[SIDE_BASE])).text,
                     relative_cell(ns[SIDE_BASE], ns[SIDE_NEW]).text,
                     phase_name((enum phase)phase));
    }
    if (!page_rows_any(rows)) {
        page_rows_close(rows);
        return;
    }
    page_heading(page, base->timeline.host_alone ? "Phases: time on the host per step"
                                                 : "Phases: work of the device per step");
    page_rows_print(page, rows);
}

/* --- The rest --- */

static void print_findings(const struct page *page, const struct trace_change *change)
{
    static const char *const words[SIDES] = { "gone", "new" };
    bool headed = false;

    /* New findings come before those that are gone. */
    for (int side = SIDES - 1; side >= 0; side--)
        for (int64_t i = 0; i < change->sides[side].findings[change->at].count; i++) {
            const struct finding *finding = trace_change_only(change, side, i);
            char name[96];
            if (finding == NULL)
                continue;
            if (!headed)
                page_heading(page, "Findings");
            headed = true;
            snprintf(name, sizeof name, "%s, %s", words[side], finding->id);
            page_note(page, name, finding->evidence);
        }
}

/* Settings are one sentence already, on the side of base (trace_change.h). */
static void print_differences(const struct page *page, const struct trace_change *change)
{
    if (change->difference_count == 0)
        return;
    page_heading(page, "What differs");
    for (int i = 0; i < change->difference_count; i++) {
        const struct trace_difference *row = &change->differences[i];
        char text[2048];
        if (row->side[SIDE_NEW] == NULL && row->side[SIDE_BASE] != NULL &&
            strcmp(row->name, "settings") == 0)
            snprintf(text, sizeof text, "%s", row->side[SIDE_BASE]);
        else
            snprintf(text, sizeof text, "%s and %s",
                     row->side[SIDE_BASE] != NULL ? row->side[SIDE_BASE] : "not stated",
                     row->side[SIDE_NEW] != NULL ? row->side[SIDE_NEW] : "not stated");
        page_note(page, row->name, text);
    }
}

void trace_change_page(const struct page *page, const struct trace_change *change)
{
    page_title(page, change->sides[SIDE_NEW].paths[change->at]);
    page_paragraph(page, INK_DIM, "against %s", change->sides[SIDE_BASE].paths[change->at]);
    print_step(page, change);
    print_why(page, change);
    print_parts(page, &change->step);
    print_phases(page, change);
    print_findings(page, change);
    print_differences(page, change);
}

/* --- JSON --- */

static cJSON *sides_json(struct json *json, const int64_t values[SIDES])
{
    cJSON *array = json_array(json, NULL, NULL);

    for (int side = 0; side < SIDES; side++) json_integer(json, array, NULL, values[side]);
    return array;
}

static void part_json(struct json *json, cJSON *array, const struct part_change *part)
{
    cJSON *kernels = json_array(json, NULL, NULL);

    for (int side = 0; side < SIDES; side++) json_text(json, kernels, NULL, part->kernels[side]);
    JSON_ROW(json, array, KEY("kind", part_kind_name(part->kind)), KEY("name", part->name),
             KEY("ns", sides_json(json, part->ns)), KEY("change_ns", part->change_ns),
             KEY("interval_ns", json_pair(json, part->low_ns, part->high_ns)),
             KEY("probability", part->probability), KEY("stands_out", part->stands_out),
             KEY("count", json_pair(json, part->count[SIDE_BASE], part->count[SIDE_NEW])),
             KEY("kernels", kernels));
}

static cJSON *pace_json(struct json *json, const struct device_pace *pace)
{
    if (pace->parts == 0)
        return NULL;
    return JSON_OBJECT(json, KEY("parts", pace->parts), KEY("factor", pace->factor),
                       KEY("spread", pace->spread), KEY("other_work", pace->other_work),
                       KEY("blocks", pace->blocks), KEY("change_ns", pace->change_ns),
                       KEY("stands_out", pace->stands_out));
}

static cJSON *phases_json(struct json *json, const struct trace_change *change)
{
    cJSON *object = json_object(json, NULL, NULL);

    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        double base = phase_ns(&change->sides[SIDE_BASE].summaries[change->at], phase),
               new = phase_ns(&change->sides[SIDE_NEW].summaries[change->at], phase);
        if (base > 0 || new > 0)
            JSON_ADD(json, object, KEY(phase_name((enum phase)phase), json_pair(json, base, new)));
    }
    return object;
}

static cJSON *change_findings_json(struct json *json, const struct trace_change *change, int side)
{
    cJSON *array = json_array(json, NULL, NULL);

    for (int64_t i = 0; i < change->sides[side].findings[change->at].count; i++) {
        const struct finding *finding = trace_change_only(change, side, i);
        if (finding != NULL)
            json_text(json, array, NULL, finding->id);
    }
    return array;
}

cJSON *trace_changes_json(struct json *json, cJSON **array)
{
    enum { SCHEMA = 1 };
    cJSON *root = json_object(json, NULL, NULL);

    json_integer(json, root, "schema", SCHEMA);
    *array = json_array(json, root, "explanations");
    return root;
}

void trace_change_json(struct json *json, cJSON *array, const struct trace_change *change)
{
    const struct step_change *step = &change->step;
    const struct untraced *untraced = change->untraced;
    cJSON *parts = json_array(json, NULL, NULL), *differences = json_array(json, NULL, NULL);
    char because[512], doubts[800];

    trace_change_words(because, sizeof because, change);
    trace_change_doubts(doubts, sizeof doubts, change);
    for (int64_t i = 0; i < step->count; i++) part_json(json, parts, &step->parts[i]);
    for (const struct trace_difference *row = change->differences;
         row < change->differences + change->difference_count; row++)
        JSON_ROW(json, differences, KEY("name", row->name), KEY("base", row->side[SIDE_BASE]),
                 KEY("new", row->side[SIDE_NEW]));
    JSON_ROW(
        json, array, KEY("base", change->sides[SIDE_BASE].paths[change->at]),
        KEY("new", change->sides[SIDE_NEW].paths[change->at]),
        KEY("per", step->per_sample ? "sample" : "step"),
        KEY("steps", sides_json(json, step->steps)),
        KEY("samples_per_step", json_pair(json, step->samples[SIDE_BASE], step->samples[SIDE_NEW])),
        KEY("step_ns", sides_json(json, step->step_ns)), KEY("change_ns", step->change_ns),
        KEY("because", because), KEY("differs", step->differs),
        KEY("untraced_ns",
            json_pair(json, untraced[SIDE_BASE].step_ns, untraced[SIDE_NEW].step_ns)),
        KEY("doubts", doubts), KEY("pace", pace_json(json, &step->pace)), KEY("parts", parts),
        KEY("phases_ns", phases_json(json, change)),
        KEY("findings_gone", change_findings_json(json, change, SIDE_BASE)),
        KEY("findings_new", change_findings_json(json, change, SIDE_NEW)),
        KEY("differences", differences));
}
