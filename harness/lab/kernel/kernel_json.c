/* Kernels and lessons in JSON: what `kernel` found, the list of lessons, and their results in a
 * result file. Counts come from the machine's lists (SIMT_ACCESS_COUNTS and the like), so a new one
 * has its key at once. Lack of memory is kept in `json` and told at the end, where text is made. */
#include "harness/lab/kernel/kernel_output.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/text/benchmark_rows.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_accesses(struct json *json, cJSON *to, const char *name, const char *unit,
                         const struct simt_accesses *of)
{
    cJSON *row;

    if (of->requests == 0)
        return;
    row = json_object(json, to, NULL);
    json_text(json, row, "name", name);
    json_text(json, row, "unit", unit);
#define PUT(count) json_unsigned(json, row, #count, of->count);
    SIMT_ACCESS_COUNTS(PUT)
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

static void put_dimensions(struct json *json, cJSON *to, const char *name, const unsigned *of)
{
    cJSON *array = json_array(json, to, name);

    for (int i = 0; i < 3; i++) json_unsigned(json, array, NULL, of[i]);
}

static void put_wrong(struct json *json, cJSON *root, const struct simt_finding *finding)
{
    cJSON *wrong;

    if (finding->kind == SIMT_NONE) {
        json_text(json, root, "wrong", NULL);
        return;
    }
    wrong = json_object(json, root, "wrong");
    json_text(json, wrong, "kind", simt_finding_text(finding->kind));
    json_text(json, wrong, "place", finding->place);
    json_text(json, wrong, "instruction", finding->instruction);
    json_text(json, wrong, "detail", finding->detail);
}

static void put_residency(struct json *json, cJSON *root, const struct kernel_facts *facts)
{
    const struct residency *residency = &facts->residency;
    const struct simt_shape *shape = &facts->outcome->shape;
    cJSON *to = json_object(json, root, "residency");

    json_integer(json, to, "architecture", facts->architecture->number);
    json_integer(json, to, "registers", facts->needs.registers);
    json_bool(json, to, "from_ptxas", facts->is_from_ptxas);
    json_integer(json, to, "spilled_bytes", facts->needs.spilled_bytes);
    json_integer(json, to, "shared_bytes", shape->shared_bytes + (int64_t)facts->run->shared_bytes);
    json_integer(json, to, "local_bytes", shape->local_bytes);
    json_integer(json, to, "warps", residency->warps);
    json_integer(json, to, "most_warps", residency->most_warps);
    json_integer(json, to, "blocks", residency->blocks);
    json_text(json, to, "limit",
              residency->warps > 0 ? residency_limit_text(residency->limit) : NULL);
    json_integer(json, to, "wave", residency->wave);
    json_integer(json, to, "waves", residency->waves);
    json_integer(json, to, "last", residency->last);
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
    cJSON *row = json_object(json, to, NULL);

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
    json_text(json, row, "file", sample->file);
    json_integer(json, row, "line", sample->line);
    json_text(json, row, "instruction", sample->instruction);
    json_text(json, row, "access", kinds[sample->access]);
    json_text(json, row, "space", sample->shared ? "shared" : "global");
    json_integer(json, row, "argument", argument);
    json_integer(json, row, "bytes", sample->bytes);
    json_unsigned(json, row, "mask", sample->mask);
    json_numbers(json, row, "offsets", offsets, argument > 0 || sample->shared ? lanes : 0, 15);
    json_integer(json, row, "touched", sample->touched);
    json_integer(json, row, "wanted", sample->wanted);
    json_number(json, row, "touched_mean",
                simt_ratio(sample->counts.touched, sample->counts.requests));
    json_number(json, row, "wanted_mean",
                simt_ratio(sample->counts.wanted, sample->counts.requests));
    json_unsigned(json, row, "requests", sample->counts.requests);
}

static enum status put_array(struct json *json, cJSON *to, const struct kernel_output *output,
                             int number)
{
    const struct kernel_argument *argument = &output->facts.run->arguments[number];
    const struct kernel_array *array = &output->facts.outcome->arrays[number];
    int64_t count = argument->count < output->elements ? argument->count : output->elements;
    double *values;
    cJSON *row;

    if (argument->count == 0)
        return STATUS_OK;
    TRY(rows_make(&values, count));
    for (int64_t i = 0; i < count; i++)
        values[i] = kernel_element(argument->type, array->elements, i);
    row = json_object(json, to, NULL);
    json_integer(json, row, "argument", number + 1);
    json_text(json, row, "type", kernel_type_name(argument->type));
    json_integer(json, row, "elements", argument->count);
    json_unsigned(json, row, "read_bytes", array->footprint.read);
    json_unsigned(json, row, "written_bytes", array->footprint.written);
    json_unsigned(json, row, "atomic_words", array->footprint.atomic_words);
    json_unsigned(json, row, "atomic_most", array->footprint.atomic_most);
    json_numbers(json, row, "values", values, count, 9);
    free(values);
    return STATUS_OK;
}

static void put_findings(struct json *json, cJSON *root, const struct kernel_output *output)
{
    cJSON *findings = json_array(json, root, "findings");

    for (int i = 0; i < output->finding_count; i++) {
        const struct kernel_finding *finding = &output->findings[i];
        cJSON *row = json_object(json, findings, NULL);
        json_text(json, row, "id", finding->rule->id);
        json_text(json, row, "title", finding->rule->title);
        json_text(json, row, "text", finding->text);
        json_text(json, row, "advice", finding->rule->advice);
        json_text(json, row, "file", finding->file);
        json_integer(json, row, "line", finding->line);
        json_number(json, row, "share", finding->share);
    }
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
    cJSON *to;

    json_integer(json, root, "schema", 1);
    json_text(json, root, "file", output->file);
    json_text(json, root, "kernel", outcome->kernel_name);
    json_text(json, root, "source", output->source_path);
    TRY(put_code(json, root, output));
    put_dimensions(json, root, "grid", output->facts.run->blocks);
    put_dimensions(json, root, "block", output->facts.run->threads);
    put_wrong(json, root, &outcome->finding);
    put_findings(json, root, output);
    to = json_object(json, root, "counts");
    json_unsigned(json, to, "warps", outcome->counts.warps);
    put_counts(json, to, &outcome->counts);
    put_residency(json, root, &output->facts);
    to = json_array(json, root, "lines");
    for (int i = 0; i < outcome->line_count; i++) {
        cJSON *row = json_object(json, to, NULL);
        json_text(json, row, "file", outcome->lines[i].file);
        json_integer(json, row, "line", outcome->lines[i].line);
        put_counts(json, row, &outcome->lines[i].counts);
    }
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

static void put_lines(struct json *json, cJSON *to, const char *name,
                      const struct lesson_lines *lines)
{
    cJSON *object = json_object(json, to, name);

    json_text(json, object, "before", lines->before);
    json_text(json, object, "after", lines->after);
    json_text(json, object, "instead", lines->instead);
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
    cJSON *object = json_object(json, array, NULL);
    const struct kernel_count_row *count = &kernel_counts[prediction->count];

    json_text(json, object, "count", count->name);
    json_text(json, object, "unit", count->unit);
    json_text(json, object, "meaning", count->meaning);
    json_text(json, object, "metric", count->metric);
    json_integer(json, object, "arch", architectures[arch].number);
    json_number(json, object, "before", prediction->before[arch]);
    json_number(json, object, "after", prediction->after[arch]);
    json_number(json, object, "between", between ? prediction->between[arch] : NAN);
    json_number(json, object, "within", prediction->within);
}

void lesson_json(struct json *json, cJSON *array, const struct kernel_lesson *lesson,
                 const char *group)
{
    cJSON *object = json_object(json, array, NULL), *foretold;

    json_text(json, object, "name", lesson->name);
    json_text(json, object, "group", group);
    json_text(json, object, "title", lesson->title);
    json_text(json, object, "symptom", lesson->symptom);
    json_text(json, object, "cause", lesson->cause);
    json_text(json, object, "fix", lesson->fix);
    json_text(json, object, "look", lesson->look);
    json_text(json, object, "cost", lesson->cost);
    json_text(json, object, "section", lesson->section);
    json_text(json, object, "rule", lesson->rule);
    put_lines(json, object, "cuda", &lesson->cuda);
    put_lines(json, object, "triton", &lesson->triton);
    put_lines(json, object, "pytorch", &lesson->pytorch);
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
    cJSON *object = json_object(json, array, NULL);
    bool holds = true;

    json_text(json, object, "count", kernel_counts[prediction->count].name);
    json_text(json, object, "unit", kernel_counts[prediction->count].unit);
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
    json_number(json, object, "within", prediction->within);
    json_bool(json, object, "holds", holds);
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
    cJSON *object = json_object(json, kernels, NULL), *counts;

    json_text(json, object, "name", lesson->name);
    json_text(json, object, "title", lesson->title);
    json_text(json, object, "verdict", lesson_verdict_name(result->verdict));
    json_text(json, object, "reason", result->reason);
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
