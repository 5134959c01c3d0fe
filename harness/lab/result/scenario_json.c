/* Every member comes from the scenario's row, except the devices that can show it. */
#include "harness/lab/result/scenario_json.h"

#include "harness/lab/kernel/kernel_output.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"

#include <math.h>

enum { SCENARIOS_SCHEMA = 1, MOST_CORES = 1024 };

/* A bound that is not set is null. */
static double bound(double value)
{
    return value > 0 ? value : NAN;
}

void expectation_json(struct json *json, cJSON *object, const struct expectation *expectation)
{
    JSON_ADD(json, object, KEY("metric", metric_name(expectation->metric)),
             KEY("unit", metric_unit(expectation->metric)),
             KEY("direction", expectation->direction == SHRINKS ? "shrinks" : "grows"),
             KEY("at_least", bound(expectation->at_least)),
             KEY("at_most", bound(expectation->at_most)),
             KEY("before_above", bound(expectation->before_above)),
             KEY("after_below", bound(expectation->after_below)),
             KEY("where", wheres[expectation->where].name), KEY("exact", expectation->exact),
             KEY("is_cost", expectation->is_cost));
}

static void add_findings(struct json *json, cJSON *to, const char *name,
                         const struct accepted_finding findings[SCENARIO_FINDINGS])
{
    cJSON *array = json_array(json, to, name);

    for (int i = 0; i < SCENARIO_FINDINGS && findings[i].id != NULL; i++)
        JSON_ROW(json, array, KEY("id", findings[i].id),
                 KEY("where", wheres[findings[i].where].name));
}

/* The condition itself is asked, about devices that have everything else. */
static void add_needs(struct json *json, cJSON *to, enum where needs)
{
    struct device_properties cpu = { .shares_host_cores = true,
                                     .host_cores = 1,
                                     .bf16_matrix_units = true,
                                     .fused_attention = true };
    const struct device_properties gpu = { .is_gpu = true,
                                           .is_large = true,
                                           .bf16_matrix_units = true,
                                           .tf32 = true,
                                           .fused_attention = true };
    cJSON *devices = json_array(json, to, "devices");

    /* A condition on cores holds from some number of cores on, which is found by counting up. Where
     * the CPU device never meets it, 1 is stated. */
    while (cpu.host_cores < MOST_CORES && !where_holds(needs, &cpu)) cpu.host_cores++;
    if (where_holds(needs, &cpu))
        json_text(json, devices, NULL, "cpu");
    else
        cpu.host_cores = 1;
    if (where_holds(needs, &gpu))
        json_text(json, devices, NULL, "cuda");
    json_integer(json, to, "least_cores", cpu.host_cores);
}

static void add_scenario(struct json *json, cJSON *array, const struct scenario *scenario,
                         bool is_core)
{
    cJSON *expectations;
    cJSON *object = JSON_ROW(
        json, array, KEY("name", scenario->name),
        KEY("group", scenario_groups[scenario->group].name), KEY("core", is_core),
        KEY("title", scenario->title), KEY("also", scenario->also),
        KEY("symptom", scenario->symptom), KEY("cause", scenario->cause), KEY("fix", scenario->fix),
        KEY("look", scenario->look), KEY("cost", scenario->cost),
        KEY("pytorch", JSON_OBJECT(json, KEY("before", scenario->pytorch.before),
                                   KEY("after", scenario->pytorch.after))),
        KEY("settings", scenario->base), KEY("knob", scenario->knob),
        KEY("before", scenario->before), KEY("after", scenario->after));

    add_needs(json, object, scenario->needs);
    expectations = json_array(json, object, "expectations");
    for (int i = 0; i < SCENARIO_EXPECTATIONS && !expectation_is_end(&scenario->expect[i]); i++)
        expectation_json(json, json_object(json, expectations, NULL), &scenario->expect[i]);
    add_findings(json, object, "findings", scenario->accept);
    add_findings(json, object, "findings_after", scenario->tolerated_after);
}

enum status scenarios_json(char **text)
{
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL), *array;
    enum status status;

    json_integer(&json, root, "schema", SCENARIOS_SCHEMA);
    array = json_array(&json, root, "scenarios");
    for (int i = 0; scenarios[i] != NULL; i++)
        add_scenario(&json, array, scenarios[i], i < scenarios_core);
    array = json_array(&json, root, "kernels");
    for (int i = 0; kernel_lessons[i] != NULL; i++)
        lesson_json(&json, array, kernel_lessons[i], scenario_groups[GROUP_GPU_KERNELS].name);
    status = json_print(&json, root, text);
    cJSON_Delete(root);
    return status;
}
