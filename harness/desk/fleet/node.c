#include "harness/desk/fleet/node.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/hash.h"
#include "harness/desk/compare/benchmark_file.h"
#include "harness/desk/compare/lenient_json.h"
#include "harness/text/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Names --- */

struct fleet_names {
    char **texts;
    int count;
    int *slots; /* 1 + a number; 0: free; open addressing */
    size_t slot_count;
};

struct fleet_names *fleet_names_open(void)
{
    return calloc(1, sizeof(struct fleet_names));
}

void fleet_names_close(struct fleet_names *names)
{
    if (names == NULL)
        return;
    for (int i = 0; i < names->count; i++) free(names->texts[i]);
    free(names->texts);
    free(names->slots);
    free(names);
}

/* The slot of a text, or the free one that it would get. */
static size_t find_slot(const struct fleet_names *names, const char *text)
{
    size_t at = hash_add(HASH_EMPTY, text, strlen(text)) & (names->slot_count - 1);

    while (names->slots[at] != 0 && strcmp(names->texts[names->slots[at] - 1], text) != 0)
        at = (at + 1) & (names->slot_count - 1);
    return at;
}

static bool grow(struct fleet_names *names)
{
    size_t count = names->slot_count == 0 ? 256 : 2 * names->slot_count;
    char **texts = reallocarray(names->texts, count / 2, sizeof *texts);
    int *slots = calloc(count, sizeof *slots);

    if (texts != NULL)
        names->texts = texts;
    if (texts == NULL || slots == NULL) {
        free(slots);
        return false;
    }
    free(names->slots);
    names->slots = slots;
    names->slot_count = count;
    for (int i = 0; i < names->count; i++) slots[find_slot(names, names->texts[i])] = i + 1;
    return true;
}

int fleet_names_add(struct fleet_names *names, const char *text)
{
    size_t at;
    char *copy;

    if (2 * (size_t)names->count >= names->slot_count && !grow(names))
        return -1;
    at = find_slot(names, text);
    if (names->slots[at] != 0)
        return names->slots[at] - 1;
    copy = strdup(text);
    if (copy == NULL)
        return -1;
    names->texts[names->count++] = copy;
    names->slots[at] = names->count;
    return names->count - 1;
}

const char *fleet_name(const struct fleet_names *names, int number)
{
    return names->texts[number];
}

static enum status name_of(int *number, struct fleet_names *names, const char *text)
{
    enum status status = STATUS_OK;

    *number = fleet_names_add(names, text);
    if (*number < 0)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for the names in these files");

out:
    return status;
}

/* --- A file --- */

/* Facts of the context that machines of a kind should share. What names the kind is not among them. */
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
    return strcmp(unit, "ns") == 0;
}

bool figure_is_speed(const char *unit)
{
    return figure_is_time(unit) || strcmp(unit, "B/s") == 0 || strcmp(unit, "FLOP/s") == 0 ||
           strcmp(unit, "Hz") == 0;
}

void figure_print(char *text, double value, const char *unit)
{
    if (figure_is_time(unit))
        quantity_print(text, value / 1000, "us");
    else
        quantity_print(text, value, unit);
}

void node_kind(char *text, size_t size, const char *device_name, const char *cpu_model)
{
    snprintf(text, size, "%.240s; %.240s", device_name, cpu_model);
}

static bool is_disturbance(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(disturbances); i++)
        if (strcmp(name, disturbances[i]) == 0)
            return true;
    return false;
}

static enum status add_setting(struct node *node, struct fleet_names *names, const char *name,
                               const char *value)
{
    enum status status = STATUS_OK;
    struct node_setting *setting = &node->settings[node->setting_count];

    TRY(name_of(&setting->name, names, name));
    TRY(name_of(&setting->value, names, value));
    node->setting_count++;

out:
    return status;
}

static enum status add_figure(struct node *node, struct fleet_names *names, const char *name,
                              const char *unit, double value)
{
    enum status status = STATUS_OK;
    struct node_figure *figure = &node->figures[node->figure_count];

    TRY(name_of(&figure->name, names, name));
    TRY(name_of(&figure->unit, names, unit));
    figure->value = value;
    node->figure_count++;

out:
    return status;
}

static enum status add_status(struct node *node, struct fleet_names *names, const char *name,
                              const char *value)
{
    enum status status = STATUS_OK;
    struct node_status *row = &node->statuses[node->status_count];

    TRY(name_of(&row->name, names, name));
    TRY(name_of(&row->value, names, value));
    node->status_count++;

out:
    return status;
}

static enum status take_row(struct node *node, struct fleet_names *names, const cJSON *row)
{
    enum status status = STATUS_OK;
    const char *name = json_text_of(row, "name"), *unit = json_text_of(row, "unit"),
               *judged = json_text_of(row, "status");
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(row, "number");
    bool is_bad = strcmp(judged, "low") == 0 || strcmp(judged, "fail") == 0;

    if (cJSON_IsNumber(number) && figure_is_speed(unit) && number->valuedouble > 0 &&
        isfinite(number->valuedouble))
        TRY(add_figure(node, names, name, unit, number->valuedouble));
    else if (unit[0] == '\0')
        TRY(add_setting(node, names, name, json_text_of(row, "value")));
    if (is_bad)
        TRY(add_status(node, names, name, judged));
    node->disturbed = node->disturbed || (is_bad && is_disturbance(name));

out:
    return status;
}

static enum status take_context(struct node *node, struct fleet_names *names, const cJSON *context)
{
    enum status status = STATUS_OK;
    const char *host = json_text_of(context, "host_name"),
               *device = json_text_of(context, "device_index"), *slash = strrchr(node->path, '/');
    char kind[512];

    snprintf(node->label, sizeof node->label, "%.90s%s%.8s",
             host[0] != '\0' ? host
             : slash != NULL ? slash + 1
                             : node->path,
             strtol(device, NULL, 10) > 0 ? " device " : "",
             strtol(device, NULL, 10) > 0 ? device : "");
    node_kind(kind, sizeof kind, json_text_of(context, "device_name"),
              json_text_of(context, "cpu_model"));
    TRY(name_of(&node->kind, names, kind));
    TRY(name_of(&node->date, names, json_text_of(context, "date")));
    for (size_t i = 0; i < ARRAY_SIZE(shared_facts); i++) {
        const char *value = json_text_of(context, shared_facts[i]);
        if (value[0] != '\0')
            TRY(add_setting(node, names, shared_facts[i], value));
    }

out:
    return status;
}

/* An empty node with room for `rows` rows of each kind. */
static enum status node_open(struct node *node, const char *path, int rows)
{
    enum status status = STATUS_OK;
    size_t room = (size_t)rows + ARRAY_SIZE(shared_facts);

    *node = (struct node){ .path = strdup(path),
                           .figures = calloc(room, sizeof *node->figures),
                           .settings = calloc(room, sizeof *node->settings),
                           .statuses = calloc(room, sizeof *node->statuses) };
    if (node->path == NULL || node->figures == NULL || node->settings == NULL ||
        node->statuses == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %.100s", path);

out:
    return status;
}

enum status node_read(struct node *node, struct fleet_names *names, const char *path)
{
    enum status status = STATUS_OK;
    cJSON *root = NULL;
    const cJSON *rows, *row;

    memset(node, 0, sizeof *node);
    TRY(lenient_json_read(&root, path));
    rows = cJSON_GetObjectItemCaseSensitive(root, "checks");
    if (!cJSON_IsArray(rows) || cJSON_GetArraySize(rows) == 0)
        FAIL(STATUS_BAD_INPUT, "%s has no checks: give files of chokepoint doctor --format=json",
             path);
    TRY(node_open(node, path, cJSON_GetArraySize(rows)));
    TRY(name_of(&node->fit, names, json_text_of(root, "fit")));
    TRY(take_context(node, names, cJSON_GetObjectItemCaseSensitive(root, "context")));
    cJSON_ArrayForEach(row, rows) TRY(take_row(node, names, row));

out:
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

static enum status take_bench_figures(struct node *node, struct fleet_names *names,
                                      const struct benchmark_file *file,
                                      const struct bench_figure *figure)
{
    enum status status = STATUS_OK;

    for (int i = 0; i < file->count; i++)
        if (isfinite(file->rows[i].median) && file->rows[i].median > 0)
            TRY(add_figure(node, names, file->rows[i].name, figure->unit,
                           figure->factor * file->rows[i].median));

out:
    return status;
}

enum status node_read_bench(struct node *node, struct fleet_names *names, const char *path)
{
    enum status status = STATUS_OK;
    struct benchmark_file file = { .path = NULL };

    memset(node, 0, sizeof *node);
    for (size_t i = 0; i < ARRAY_SIZE(bench_figures); i++) {
        benchmark_file_release(&file);
        TRY(benchmark_file_read(&file, path, bench_figures[i].metric));
        if (i == 0) {
            TRY(node_open(node, path, file.count * (int)ARRAY_SIZE(bench_figures)));
            TRY(take_context(node, names, file.context));
        }
        TRY(take_bench_figures(node, names, &file, &bench_figures[i]));
    }

out:
    benchmark_file_release(&file);
    return status;
}

void node_release(struct node *node)
{
    free(node->path);
    free(node->figures);
    free(node->settings);
    free(node->statuses);
    memset(node, 0, sizeof *node);
}
