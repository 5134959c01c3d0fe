/* Takes from a file of doctor or bench what machines of a kind can be compared by. Texts become
 * numbers of one table, since thousands of machines state the same ones.
 *
 * A file may lack anything: what it does not state is not compared. */
#include "harness/fleet/fleet.h"

#include "harness/base/rows.h"
#include "harness/base/words/intern.h"
#include "harness/base/words/text.h"
#include "harness/checks/checks.h"
#include "harness/desk/compare/file/benchmark_file.h"
#include "harness/desk/compare/file/lenient_json.h"
#include "harness/text/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Facts of the context that machines of a kind should share. Facts that name the kind are not among
 * them. */
static const char *const shared_facts[] = {
    "kernel",
    "library_version",
    "library_build_type",
    "commit",
    "cpu_scaling_enabled",
    "memory_bytes",
    "cpu_quota",
    "gemm_library",
    "device_isa",
    "device_memory_bytes",
    "device_clock_max_mhz",
    "device_memory_clock_max_mhz",
    "device_power_limit_w",
    "device_ecc",
    "device_mig",
    "device_pcie_generation_max",
    "device_pcie_width_max",
    "device_numa_node",
};

/* Rows that say whether the figures were taken while others used the machine. */
static const char *const disturbances[] = { "cpu_steal", "other_programs" };

bool figure_is_time(const char *unit)
{
    return strcmp(unit, "ns") == 0 || strcmp(unit, "x") == 0;
}

bool figure_is_speed(const char *unit)
{
    return figure_is_time(unit) || strcmp(unit, "B/s") == 0 || strcmp(unit, "FLOP/s") == 0 ||
           strcmp(unit, "Hz") == 0;
}

bool figure_is_measured(double value)
{
    return value > 0 && isfinite(value);
}

struct quantity_text figure_text(double value, const char *unit)
{
    struct quantity_text text;

    if (strcmp(unit, "x") != 0)
        return figure_is_time(unit) ? quantity_time(value) : quantity_of(value, unit);
    snprintf(text.text, sizeof text.text, "%.3fx", value);
    return text;
}

void node_kind(char *text, size_t size, const char *device_name, const char *cpu_model)
{
    snprintf(text, size, "%.240s; %.240s", device_name, cpu_model);
}

static enum status name_of(uint32_t *number, struct intern *names, const char *text)
{
    return intern_add(names, text, strlen(text), number);
}

static enum status add_fact(struct node_facts *facts, struct intern *names, const char *name,
                            const char *value)
{
    struct node_fact *fact = &facts->items[facts->count];

    TRY(name_of(&fact->name, names, name));
    TRY(name_of(&fact->value, names, value));
    facts->count++;

    return STATUS_OK;
}

static enum status add_figure(struct node *node, struct intern *names, const char *name,
                              const char *unit, double value, double noise)
{
    struct node_figure *figure = &node->figures[node->figure_count];

    TRY(name_of(&figure->name, names, name));
    TRY(name_of(&figure->unit, names, unit));
    figure->value = value;
    /* A share; anything else is no noise that a doctor states. */
    figure->noise = noise > 0 && noise < 1 ? noise : 0;
    node->figure_count++;

    return STATUS_OK;
}

/* A row with a speed is a figure; one without a unit is a setting, by its text. Other rows, such as
 * temperatures, are not compared. */
static enum status take_row(struct node *node, struct intern *names, const cJSON *row)
{
    struct check check = { .name = "" };
    const char *name = check.name;

    members_read_leniently(row, NULL, check_members, &check);
    if (figure_is_speed(check.unit))
        TRY(add_figure(node, names, name, check.unit, check.number, check.noise));
    else if (check.unit[0] == '\0')
        TRY(add_fact(&node->facts[NODE_SETTINGS], names, name, check.value));
    if (check_is_bad(&check))
        TRY(add_fact(&node->facts[NODE_STATUSES], names, name, check_status_name(check.status)));
    for (size_t i = 0; i < ARRAY_SIZE(disturbances); i++)
        if (check_is_bad(&check) && strcmp(name, disturbances[i]) == 0)
            node->disturbed = true;

    return STATUS_OK;
}

/* A way between two GPUs as figures of its own. One that failed has no numbers. */
static enum status take_way(struct node *node, struct intern *names, const cJSON *way)
{
    static const struct {
        const char *member, *unit;
    } speeds[] = { { "bytes_per_second", "B/s" }, { "copy_ns", "ns" } };
    char name[64];

    snprintf(name, sizeof name, "gpu %.0f to %.0f", json_number_of(way, "from"),
             json_number_of(way, "to"));
    for (size_t i = 0; i < ARRAY_SIZE(speeds); i++)
        TRY(add_figure(node, names, name, speeds[i].unit, json_number_of(way, speeds[i].member),
                       NAN));

    return STATUS_OK;
}

/* Without a host name the file's name stands for the machine. */
static enum status take_context(struct node *node, struct intern *names, const cJSON *context)
{
    const char *host = json_text_of(context, "host_name"),
               *device = json_text_of(context, "device_index"), *slash = strrchr(node->path, '/');
    char kind[512];

    node->device = device[0] != '\0' ? (int)strtol(device, NULL, 10) : -1;
    snprintf(node->host, sizeof node->host, "%.90s",
             host[0] != '\0' ? host
             : slash != NULL ? slash + 1
                             : node->path);
    snprintf(node->label, sizeof node->label, "%s%s%.8s", node->host,
             node->device > 0 ? " GPU " : "", node->device > 0 ? device : "");
    node_kind(kind, sizeof kind, json_text_of(context, "device_name"),
              json_text_of(context, "cpu_model"));
    TRY(name_of(&node->kind, names, kind));
    TRY(name_of(&node->date, names, json_text_of(context, "date")));
    for (size_t i = 0; i < ARRAY_SIZE(shared_facts); i++) {
        const char *value = json_text_of(context, shared_facts[i]);
        if (value[0] != '\0')
            TRY(add_fact(&node->facts[NODE_SETTINGS], names, shared_facts[i], value));
    }

    return STATUS_OK;
}

/* An empty node with room for `rows` rows of each kind. */
static enum status node_open(struct node *node, const char *path, int rows)
{
    size_t room = (size_t)rows + ARRAY_SIZE(shared_facts);

    *node = (struct node){ .path = NULL };
    TRY(text_make(&node->path, "%s", path));
    TRY(rows_make(&node->figures, room));
    for (int i = 0; i < NODE_FACT_KINDS; i++) TRY(rows_make(&node->facts[i].items, room));

    return STATUS_OK;
}

static enum status read_doctor(struct node *node, struct intern *names, const char *path,
                               const cJSON *root)
{
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(root, "checks"), *row;
    const cJSON *ways = cJSON_GetObjectItemCaseSensitive(root, "between");

    if (!cJSON_IsArray(rows) || cJSON_GetArraySize(rows) == 0)
        FAIL(STATUS_BAD_INPUT, "%s has no checks: give files of chokepoint doctor --format=json",
             path);
    TRY(node_open(node, path, cJSON_GetArraySize(rows) + 2 * cJSON_GetArraySize(ways)));
    TRY(name_of(&node->fit, names, json_text_of(root, "fit")));
    TRY(take_context(node, names, cJSON_GetObjectItemCaseSensitive(root, "context")));
    cJSON_ArrayForEach(row, rows) TRY(take_row(node, names, row));
    cJSON_ArrayForEach(row, ways) TRY(take_way(node, names, row));

    return STATUS_OK;
}

enum status node_read(struct node *node, struct intern *names, const char *path)
{
    enum status status;
    cJSON *root = NULL;

    memset(node, 0, sizeof *node);
    status = lenient_json_read(&root, path);
    if (status == STATUS_BAD_INPUT)
        FAIL_OUT(status, "%s is not JSON: give files of chokepoint doctor --format=json", path);
    TRY_OUT(status);
    status = read_doctor(node, names, path, root);

out:
    cJSON_Delete(root);
    return status;
}

enum status node_read_text(struct node *node, struct intern *names, const char *path,
                           const char *text)
{
    cJSON *root;
    enum status status = json_parse(&root, text, NULL, false);

    if (status == STATUS_OK)
        status = read_doctor(node, names, path, root);
    cJSON_Delete(root);
    return status;
}

/* A row of bench, by the metric's name in the file. Times are in us there. */
static const struct bench_figure {
    const char *metric, *unit;
    double factor;
} bench_figures[] = {
    { BENCHMARK_TIME, "ns", 1000 },
    { "bytes_per_second", "B/s", 1 },
    { "flops_per_second", "FLOP/s", 1 },
};

enum status node_read_bench(struct node *node, struct intern *names, const char *path)
{
    enum status status = STATUS_OK;
    struct benchmark_file file = { .path = NULL };

    memset(node, 0, sizeof *node);
    /* The file is read once for each metric, as its reader takes one at a time. */
    for (size_t i = 0; i < ARRAY_SIZE(bench_figures); i++) {
        benchmark_file_release(&file);
        TRY_OUT(benchmark_file_read(&file, path, bench_figures[i].metric));
        if (i == 0) {
            TRY_OUT(node_open(node, path, file.count * (int)ARRAY_SIZE(bench_figures)));
            TRY_OUT(take_context(node, names, file.context));
        }
        for (int j = 0; j < file.count; j++)
            if (isfinite(file.rows[j].median) && file.rows[j].median > 0)
                TRY_OUT(add_figure(node, names, file.rows[j].name, bench_figures[i].unit,
                                   bench_figures[i].factor * file.rows[j].median, 0));
    }

out:
    benchmark_file_release(&file);
    return status;
}

void node_release(struct node *node)
{
    free(node->path);
    free(node->figures);
    for (int i = 0; i < NODE_FACT_KINDS; i++) free(node->facts[i].items);
    memset(node, 0, sizeof *node);
}
