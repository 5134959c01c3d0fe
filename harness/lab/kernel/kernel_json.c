/* Kernels and lessons in JSON: what `kernel` found, the list of lessons, and their results in a
 * result file. Counts come from the machine's lists (SIMT_ACCESS_COUNTS and the like), so a new one
 * has its key at once. Lack of memory is kept in `json` and told at the end, where text is made. */
#include "harness/lab/kernel/kernel_output.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/lab/kernel/kernel_bound.h"
#include "harness/text/benchmark_rows.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_accesses(struct json *json, cJSON *to, const char *name, const char *unit,
                         const struct simt_accesses *of)
{
#define PUT(count) , KEY(#count, of->count)
    if (of->requests > 0)
        JSON_ROW(json, to, KEY("name", name), KEY("unit", unit) SIMT_ACCESS_COUNTS(PUT));
#undef PUT
}

static void put_counts(struct json *json, cJSON *to, const struct simt_counts *counts)
{
    cJSON *accesses;

#define PUT(count) json_unsigned(json, to, #count, counts->count);
    SIMT_STEP_COUNTS(PUT)
#undef PUT
    accesses = json_array(json, to, "accesses");
#define PUT(name, space, access, unit)                                                             \
    put_accesses(json, accesses, name, unit, &counts->space[access]);
    KERNEL_ACCESSES(PUT)
#undef PUT
}

static cJSON *dimensions(struct json *json, const unsigned *of)
{
    return json_series(json, (const double[]){ of[0], of[1], of[2] }, 3, 15);
}

static cJSON *wrong_json(struct json *json, const struct simt_finding *finding)
{
    if (finding->kind == SIMT_NONE)
        return NULL;
    return JSON_OBJECT(json, KEY("kind", simt_finding_text(finding->kind)),
                       KEY("place", finding->place), KEY("instruction", finding->instruction),
                       KEY("detail", finding->detail));
}

static cJSON *residency_json(struct json *json, const struct kernel_facts *facts)
{
    const struct residency *residency = &facts->residency;
    const struct simt_shape *shape = &facts->outcome->shape;

    return JSON_OBJECT(
        json, KEY("architecture", facts->architecture->number),
        KEY("registers", facts->needs.registers), KEY("from_ptxas", facts->is_from_ptxas),
        KEY("spilled_bytes", facts->needs.spilled_bytes),
        KEY("shared_bytes", shape->shared_bytes + (int64_t)facts->run->shared_bytes),
        KEY("local_bytes", shape->local_bytes), KEY("warps", residency->warps),
        KEY("most_warps", residency->most_warps), KEY("blocks", residency->blocks),
        KEY("limit", residency->warps > 0 ? residency_limit_text(residency->limit) : NULL),
        KEY("wave", residency->wave), KEY("waves", residency->waves), KEY("last", residency->last));
}

static void put_mix(struct json *json, cJSON *to, const struct simt_mix *mix)
{
    cJSON *array = json_array(json, to, "mix");

#define PUT(id, name)                                                                              \
    if (mix->of[SIMT_##id] > 0)                                                                    \
        JSON_ROW(json, array, KEY("name", name), KEY("instructions", mix->of[SIMT_##id]));
    SIMT_WORKS(PUT)
#undef PUT
}

static cJSON *bound_json(struct json *json, const struct kernel_facts *facts)
{
    struct kernel_bound bound = kernel_bound_of(facts);
    cJSON *object =
              JSON_OBJECT(json, KEY("gpu", facts->architecture->gpu), KEY("ns", bound.ns[bound.by]),
                          KEY("by", bound.ns[bound.by] > 0 ? bound_rows[bound.by].name : NULL),
                          KEY("cold_ns", bound.cold_ns), KEY("flops", facts->outcome->mix.flops),
                          KEY("flops_per_byte", bound.flops_per_byte)),
          *parts = json_array(json, object, "parts");

    for (int part = 0; part < BOUND_PART_COUNT; part++)
        if (bound.amount[part] > 0)
            JSON_ROW(json, parts, KEY("name", bound_rows[part].name),
                     KEY("unit", bound_rows[part].unit), KEY("amount", bound.amount[part]),
                     KEY("ns", bound.ns[part]));
    return object;
}

/* The number of the array that an address is in, from 1 on, and its place there. 0: none. */
static int array_of(const struct kernel_facts *facts, uint64_t address, uint64_t *offset)
{
    const struct kernel_outcome *outcome = facts->outcome;

    for (int i = 0; i < outcome->array_count; i++) {
        uint64_t first = (uint64_t)(uintptr_t)outcome->arrays[i].elements;
        if (first != 0 && address >= first &&
            address < first + kernel_argument_bytes(&facts->run->arguments[i])) {
            *offset = address - first;
            return i + 1;
        }
    }
    *offset = address;
    return 0;
}

static void put_sample(struct json *json, cJSON *to, const struct kernel_facts *facts,
                       const struct simt_sample *sample)
{
    static const char *const kinds[SIMT_ACCESSES] = { "load", "store", "atomic" };
    double offsets[32];
    uint64_t offset = 0;
    int lanes = 0, argument = 0;

    for (int l = 0; l < 32; l++) {
        if (!(sample->mask >> l & 1))
            continue;
        offset = sample->address[l];
        if (!sample->shared) {
            int own = array_of(facts, sample->address[l], &offset);
            argument = lanes == 0 || own == argument ? own : 0;
        }
        offsets[lanes++] = (double)offset;
    }
    lanes = argument > 0 || sample->shared ? lanes : 0;
    JSON_ROW(json, to, KEY("file", sample->file), KEY("line", sample->line),
             KEY("instruction", sample->instruction), KEY("access", kinds[sample->access]),
             KEY("space", sample->shared ? "shared" : "global"), KEY("argument", argument),
             KEY("bytes", sample->bytes), KEY("mask", sample->mask),
             KEY("offsets", json_series(json, offsets, lanes, 15)), KEY("touched", sample->touched),
             KEY("wanted", sample->wanted),
             KEY("touched_mean", simt_ratio(sample->counts.touched, sample->counts.requests)),
             KEY("wanted_mean", simt_ratio(sample->counts.wanted, sample->counts.requests)),
             KEY("requests", sample->counts.requests));
}

/* A double holds no integers beyond 2^53. */
static void put_integers(struct json *json, cJSON *to, enum kernel_type type, const void *elements,
                         int64_t count)
{
    cJSON *array = json_array(json, to, "values");
    size_t bytes = kernel_type_bytes(type);
    bool is_signed = kernel_type_name(type)[0] == 'i';

    for (int64_t i = 0; i < count; i++) {
        uint64_t whole = 0;
        memcpy(&whole, (const char *)elements + (size_t)i * bytes, bytes);
        if (is_signed)
            json_integer(json, array, NULL,
                         (int64_t)(whole << (64 - 8 * bytes)) >> (64 - 8 * bytes));
        else
            json_unsigned(json, array, NULL, whole);
    }
}

static enum status put_array(struct json *json, cJSON *to, const struct kernel_output *output,
                             int number)
{
    const struct kernel_argument *argument = &output->facts.run->arguments[number];
    const struct kernel_array *array = &output->facts.outcome->arrays[number];
    int64_t count = argument->count < output->elements ? argument->count : output->elements;
    bool is_integer = argument->type != KERNEL_F32 && argument->type != KERNEL_F64 &&
                      argument->type != KERNEL_F16 && argument->type != KERNEL_BF16;
    double *values;
    cJSON *row;

    if (argument->count == 0)
        return STATUS_OK;
    TRY(rows_make(&values, count));
    for (int64_t i = 0; i < count; i++)
        values[i] = kernel_element(argument->type, array->elements, i);
    row = JSON_ROW(json, to, KEY("argument", number + 1),
                   KEY("type", kernel_type_name(argument->type)), KEY("elements", argument->count),
                   KEY("read_bytes", array->footprint.read),
                   KEY("written_bytes", array->footprint.written),
                   KEY("atomic_words", array->footprint.atomic_words),
                   KEY("atomic_most", array->footprint.atomic_most));
    if (is_integer)
        put_integers(json, row, argument->type, array->elements, count);
    else
        JSON_ADD(
            json, row,
            KEY("values", json_series(json, values, count, argument->type == KERNEL_F64 ? 17 : 9)));
    free(values);
    return STATUS_OK;
}

/* The first and the last line of a file that ran; last 0: none did. */
static void find_lines(int *first, int *last, const struct kernel_outcome *outcome,
                       const char *file)
{
    *first = INT_MAX;
    *last = 0;
    for (int i = 0; i < outcome->line_count; i++) {
        int line = outcome->lines[i].line;
        if (strcmp(outcome->lines[i].file, file) != 0)
            continue;
        *first = line < *first ? line : *first;
        *last = line > *last ? line : *last;
    }
}

/* The lines that ran, those in between, one before and one after. */
static enum status put_code(struct json *json, cJSON *root, const struct kernel_output *output)
{
    const char *path = output->source_path != NULL ? output->source_path : "";
    const char *slash = strrchr(path, '/'), *line = output->source;
    cJSON *code = json_array(json, root, "code");
    int first, last;

    find_lines(&first, &last, output->facts.outcome, slash != NULL ? slash + 1 : path);
    first = first > 1 ? first - 1 : 1;
    json_integer(json, root, "code_first", line != NULL && last > 0 ? first : 0);
    for (int n = 1; line != NULL && last > 0 && n <= last + 1 && *line != '\0'; n++) {
        size_t length = strcspn(line, "\n");
        char *text;
        if (n >= first) {
            TRY(text_make(&text, "%.*s", (int)length, line));
            json_text(json, code, NULL, text);
            free(text);
        }
        line += length + (line[length] == '\n');
    }
    return STATUS_OK;
}

static enum status put_all(struct json *json, cJSON *root, const struct kernel_output *output)
{
    const struct kernel_outcome *outcome = output->facts.outcome;
    const struct kernel_finding *findings = output->findings;
    cJSON *to;

    JSON_ADD(json, root, KEY("schema", 1), KEY("file", output->file),
             KEY("kernel", outcome->kernel_name), KEY("source", output->source_path));
    TRY(put_code(json, root, output));
    JSON_ADD(json, root, KEY("grid", dimensions(json, output->facts.run->blocks)),
             KEY("block", dimensions(json, output->facts.run->threads)),
             KEY("wrong", wrong_json(json, &outcome->finding)));
    to = json_array(json, root, "others");
    for (int i = 1; i < outcome->all.count; i++)
        cJSON_AddItemToArray(to, wrong_json(json, &outcome->all.rows[i]));
    to = json_array(json, root, "findings");
    for (int i = 0; i < output->finding_count; i++)
        JSON_ROW(json, to, KEY("id", findings[i].rule->id), KEY("title", findings[i].rule->title),
                 KEY("text", findings[i].text), KEY("advice", findings[i].rule->advice),
                 KEY("file", findings[i].file), KEY("line", findings[i].line),
                 KEY("share", findings[i].share));
    to = JSON_OBJECT(json, KEY("warps", outcome->counts.warps));
    put_counts(json, to, &outcome->counts);
    put_mix(json, to, &outcome->mix);
    JSON_ADD(
        json, root, KEY("counts", to), KEY("residency", residency_json(json, &output->facts)),
        KEY("bound", outcome->finding.kind == SIMT_NONE ? bound_json(json, &output->facts) : NULL));
    to = json_array(json, root, "lines");
    for (int i = 0; i < outcome->line_count; i++)
        put_counts(json,
                   JSON_ROW(json, to, KEY("file", outcome->lines[i].file),
                            KEY("line", outcome->lines[i].line)),
                   &outcome->lines[i].counts);
    to = json_array(json, root, "samples");
    for (int i = 0; i < outcome->sample_count; i++)
        put_sample(json, to, &output->facts, &outcome->samples[i]);
    to = json_array(json, root, "arrays");
    for (int i = 0; i < outcome->array_count; i++) TRY(put_array(json, to, output, i));
    return STATUS_OK;
}

enum status kernel_json(char **text, const struct kernel_output *output)
{
    enum status status = STATUS_OK;
    struct json json = { .out_of_memory = false };
    cJSON *root = json_object(&json, NULL, NULL);

    *text = NULL;
    TRY_OUT(put_all(&json, root, output));
    TRY_OUT(json_print(&json, root, text));

out:
    cJSON_Delete(root);
    return status;
}

/* --- Lessons --- */

static cJSON *lines_json(struct json *json, const struct lesson_lines *lines)
{
    return JSON_OBJECT(json, KEY("before", lines->before), KEY("after", lines->after),
                       KEY("instead", lines->instead));
}

/* The words for each variant, which say how it differs. */
static void put_words(struct json *json, cJSON *to, const struct kernel_lesson *lesson)
{
    for (int v = 0; v < LESSON_VARIANTS; v++)
        json_text(json, to, lesson_variant_name(v), lesson->launches[v].words);
}

static void put_prediction(struct json *json, cJSON *array, const struct prediction *prediction,
                           bool between, int arch)
{
    const struct kernel_count_row *count = &kernel_counts[prediction->count];

    JSON_ROW(json, array, KEY("count", count->name), KEY("unit", count->unit),
             KEY("meaning", count->meaning), KEY("metric", count->metric),
             KEY("arch", architectures[arch].number), KEY("before", prediction->before[arch]),
             KEY("after", prediction->after[arch]),
             KEY("between", between ? prediction->between[arch] : NAN),
             KEY("within", prediction->within));
}

void lesson_json(struct json *json, cJSON *array, const struct kernel_lesson *lesson,
                 const char *group)
{
    cJSON *object = JSON_ROW(
        json, array, KEY("name", lesson->name), KEY("group", group), KEY("title", lesson->title),
        KEY("also", lesson->also), KEY("symptom", lesson->symptom), KEY("cause", lesson->cause),
        KEY("fix", lesson->fix), KEY("look", lesson->look), KEY("cost", lesson->cost),
        KEY("section", lesson->section), KEY("rule", lesson->rule),
        KEY("cuda", lines_json(json, &lesson->cuda)),
        KEY("triton", lines_json(json, &lesson->triton)),
        KEY("pytorch", lines_json(json, &lesson->pytorch)));
    cJSON *foretold;

    put_words(json, object, lesson);
    foretold = json_array(json, object, "foretold");
    for (int i = 0; i < prediction_count(lesson); i++)
        for (int arch = 0; arch < ARCH_COUNT; arch++)
            put_prediction(json, foretold, &lesson->predicted[i], lesson_has_between(lesson), arch);
}

/* --- Their results --- */

static void put_predicted_count(struct json *json, cJSON *array, const struct lesson_result *result,
                                const struct prediction *prediction)
{
    cJSON *object = JSON_ROW(json, array, KEY("count", kernel_counts[prediction->count].name),
                             KEY("unit", kernel_counts[prediction->count].unit));
    bool holds = true;

    for (int v = 0; v < LESSON_VARIANTS; v++)
        json_number(json, object, lesson_variant_name(v), result->counts[v].of[prediction->count]);
    for (int v = 0; v < LESSON_VARIANTS; v++) {
        bool there = result->lesson->launches[v].words != NULL;
        double value = prediction_value(prediction, v, result->arch);
        char name[32];
        snprintf(name, sizeof name, "foretold_%s", lesson_variant_name(v));
        json_number(json, object, name, there ? value : NAN);
        if (there &&
            !prediction_holds(prediction, result->counts[v].of[prediction->count], v, result->arch))
            holds = false;
    }
    JSON_ADD(json, object, KEY("within", prediction->within), KEY("holds", holds));
}

/* Null for a variant that the lesson has not. */
static void put_all_counts(struct json *json, cJSON *to, const struct lesson_result *result,
                           int variant)
{
    cJSON *object;
    char name[32];

    snprintf(name, sizeof name, "counts_%s", lesson_variant_name(variant));
    if (result->lesson->launches[variant].words == NULL) {
        json_text(json, to, name, NULL);
        return;
    }
    object = json_object(json, to, name);
    for (int i = KERNEL_COUNT_FIRST; i < KERNEL_COUNT_COUNT; i++)
        json_known_number(json, object, kernel_counts[i].name, result->counts[variant].of[i]);
}

void lesson_result_json(struct json *json, cJSON *kernels, const struct lesson_result *result)
{
    const struct kernel_lesson *lesson = result->lesson;
    cJSON *object = JSON_ROW(json, kernels, KEY("name", lesson->name), KEY("title", lesson->title),
                             KEY("verdict", lesson_verdict_name(result->verdict)),
                             KEY("reason", result->reason));
    cJSON *counts;
    put_words(json, object, lesson);
    json_integer(json, object, "arch", architectures[result->arch].number);
    counts = json_array(json, object, "counts");
    for (int i = 0; i < prediction_count(lesson); i++)
        put_predicted_count(json, counts, result, &lesson->predicted[i]);
    for (int v = 0; v < LESSON_VARIANTS; v++) put_all_counts(json, object, result, v);
    for (int v = 0; v < LESSON_VARIANTS; v++) {
        char name[32];
        snprintf(name, sizeof name, "device_ns_%s", lesson_variant_name(v));
        json_number(json, object, name, result->device_ns[v]);
    }
    json_number(json, object, "seconds", result->seconds);
}

struct rows_of_variant {
    const struct lesson_result *result;
    int variant;
};

static const char *counter_name(int counter)
{
    return kernel_counts[KERNEL_COUNT_FIRST + counter].name;
}

static int64_t iterations_of(const void *rows, int repetition)
{
    (void)rows;
    (void)repetition;
    return 1;
}

static double value_of(const void *rows, int column, int repetition)
{
    const struct rows_of_variant *of = rows;

    if (column < 0)
        return of->result->host_us[of->variant][repetition];
    return of->result->counts[of->variant].of[KERNEL_COUNT_FIRST + column];
}

static bool label_of(const void *rows, int repetition, char *text, size_t size)
{
    (void)rows;
    (void)repetition;
    snprintf(text, size, "counted; the time is the host's, to execute the PTX");
    return true;
}

void lesson_rows_json(struct json *json, cJSON *benchmarks, const struct lesson_result *result,
                      int family)
{
    int steps[LESSON_VARIANTS], count = lesson_steps(result->lesson, steps);

    for (int step = 0; step < count && result->verdict != LESSON_FAILED; step++) {
        int v = steps[step];
        char name[96];
        const struct rows_of_variant of = { result, v };
        const struct benchmark_rows rows = {
            .name = name,
            .time_unit = "us",
            .family = family,
            .instance = step,
            .repetitions = LESSON_REPETITIONS,
            .counters = KERNEL_COUNT_COUNT - KERNEL_COUNT_FIRST,
            .result = &of,
            .counter = counter_name,
            .iterations = iterations_of,
            .value = value_of,
            .label = label_of,
        };

        snprintf(name, sizeof name, "%s/counts:%s", result->lesson->name, lesson_variant_name(v));
        benchmark_rows_add(json, benchmarks, &rows);
    }
}
