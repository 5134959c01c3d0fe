#include "harness/cli/kernel/kernel_output.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/text/json.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static double ratio(uint64_t a, uint64_t b)
{
    return b > 0 ? (double)a / (double)b : 0;
}

static void put_accesses(struct json *json, cJSON *to, const char *name, const char *unit,
                         const struct simt_accesses *of)
{
    cJSON *row;

    if (of->requests == 0)
        return;
    row = json_object(json, to, NULL);
    json_text(json, row, "name", name);
    json_text(json, row, "unit", unit);
    json_unsigned(json, row, "requests", of->requests);
    json_unsigned(json, row, "lanes", of->lanes);
    json_unsigned(json, row, "bytes", of->bytes);
    json_unsigned(json, row, "touched", of->touched);
    json_unsigned(json, row, "wanted", of->wanted);
    json_unsigned(json, row, "shifted", of->shifted);
    json_unsigned(json, row, "holes", of->holes);
    json_unsigned(json, row, "fresh", of->fresh);
    json_unsigned(json, row, "conflicts", of->conflicts);
}

static void put_counts(struct json *json, cJSON *to, const struct simt_counts *counts)
{
    cJSON *accesses;

    json_unsigned(json, to, "instructions", counts->instructions);
    json_unsigned(json, to, "lanes", counts->lanes);
    json_unsigned(json, to, "alone", counts->alone);
    json_unsigned(json, to, "branches", counts->branches);
    json_unsigned(json, to, "diverged", counts->diverged);
    json_unsigned(json, to, "barriers", counts->barriers);
    json_unsigned(json, to, "passed", counts->passed);
    json_unsigned(json, to, "needed", counts->needed);
    json_unsigned(json, to, "waits", counts->waits);
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

static void put_residency(struct json *json, cJSON *root, const struct kernel_output *output)
{
    const struct residency *residency = &output->facts.residency;
    cJSON *to = json_object(json, root, "residency");

    json_integer(json, to, "architecture", output->facts.architecture->number);
    json_integer(json, to, "registers", output->facts.registers);
    json_bool(json, to, "from_ptxas", output->is_from_ptxas);
    json_integer(json, to, "spilled_bytes", output->facts.spilled_bytes);
    json_integer(json, to, "shared_bytes",
                 output->facts.outcome->shape.shared_bytes +
                     (int64_t)output->facts.run->shared_bytes);
    json_integer(json, to, "local_bytes", output->facts.outcome->shape.local_bytes);
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
static int array_of(const struct kernel_outcome *outcome, uint64_t address, uint64_t *offset)
{
    for (int i = 0; i < outcome->array_count; i++) {
        uint64_t first = (uint64_t)(uintptr_t)outcome->arrays[i].elements;
        if (first != 0 && address >= first && address < first + outcome->arrays[i].bytes) {
            *offset = address - first;
            return i + 1;
        }
    }
    *offset = address;
    return 0;
}

static void put_sample(struct json *json, cJSON *to, const struct kernel_outcome *outcome,
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
            int own = array_of(outcome, sample->address[l], &offset);
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
    json_number(json, row, "touched_mean", ratio(sample->counts.touched, sample->counts.requests));
    json_number(json, row, "wanted_mean", ratio(sample->counts.wanted, sample->counts.requests));
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
    put_residency(json, root, output);
    to = json_array(json, root, "lines");
    for (int i = 0; i < outcome->line_count; i++) {
        cJSON *row = json_object(json, to, NULL);
        json_text(json, row, "file", outcome->lines[i].file);
        json_integer(json, row, "line", outcome->lines[i].line);
        put_counts(json, row, &outcome->lines[i].counts);
    }
    to = json_array(json, root, "samples");
    for (int i = 0; i < outcome->sample_count; i++)
        put_sample(json, to, outcome, &outcome->samples[i]);
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
