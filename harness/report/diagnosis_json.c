#include "harness/report/diagnosis_json.h"

#include "harness/analysis/summary.h"
#include <math.h>

void findings_json(struct json *json, cJSON *to, const char *name, const struct findings *findings)
{
    cJSON *array = json_array(json, to, name);

    for (int64_t i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->items[i];
        cJSON *object = json_object(json, array, NULL);
        json_text(json, object, "id", finding->id);
        json_text(json, object, "severity", severity_name(finding->severity));
        json_number(json, object, "lost_ns_per_step", finding->lost_ns_per_step);
        json_number(json, object, "predicted_gain", finding->predicted_gain);
        json_bool(json, object, "predicted_gain_at_least", finding->gain_is_least);
        json_bool(json, object, "predicted_gain_at_most", finding->gain_is_most);
        json_text(json, object, "confidence", confidence_name(finding->confidence));
        json_text(json, object, "evidence", finding->evidence);
        json_text(json, object, "advice", finding->advice);
    }
}

static void add_usage(struct json *json, cJSON *object, const struct usage *usage)
{
    cJSON *idle;

    json_integer(json, object, "span_ns", usage->span_ns);
    json_integer(json, object, "busy_ns", usage->busy_ns);
    json_integer(json, object, "idle_ns", usage->idle_ns);
    json_integer(json, object, "compute_ns", usage->kind_ns[WORK_COMPUTATION]);
    json_integer(json, object, "communication_ns", usage->kind_ns[WORK_COMMUNICATION]);
    json_integer(json, object, "exposed_communication_ns", usage->communication_exposed_ns);
    json_integer(json, object, "exposed_copy_ns", usage->copy_exposed_ns);
    idle = json_object(json, object, "idle");
    for (int cause = 0; cause < IDLE_CAUSE_COUNT; cause++)
        json_integer(json, idle, idle_cause_name((enum idle_cause)cause),
                     usage->idle_cause_ns[cause]);
}

static void add_steps(struct json *json, cJSON *object, const struct steps *steps)
{
    cJSON *to = json_object(json, object, "steps");
    bool any = steps->count > 0;

    json_integer(json, to, "count", steps->count);
    json_number(json, to, "mean_ns", any ? steps->mean_ns : NAN);
    json_number(json, to, "min_ns", any ? (double)steps->min_ns : NAN);
    json_number(json, to, "max_ns", any ? (double)steps->max_ns : NAN);
}

static void add_launches(struct json *json, cJSON *object, const struct launches *launches)
{
    cJSON *to = json_object(json, object, "launches");
    double count = (double)launches->count; /* means of none are null */

    json_integer(json, to, "count", launches->count);
    json_number(json, to, "mean_host_ns", (double)launches->host_ns / count);
    json_number(json, to, "mean_delay_ns", (double)launches->delay_ns / count);
    json_integer(json, to, "max_delay_ns", launches->delay_max_ns);
    json_integer(json, to, "short_count", launches->short_count);
    json_integer(json, to, "queue_max", launches->queue_max);
}

static void add_kernels(struct json *json, cJSON *to, const struct summary *summary)
{
    static const char *const kinds[WORK_KIND_COUNT] = {
        [WORK_COMPUTATION] = "computation",
        [WORK_COPY] = "copy",
        [WORK_MEMSET] = "memset",
        [WORK_COMMUNICATION] = "communication",
    };
    cJSON *array = json_array(json, to, "kernels");
    double all_ns = 0;

    for (int64_t i = 0; i < summary->kernels.count; i++)
        all_ns += (double)summary->kernels.rows[i].total_ns;
    for (int64_t i = 0; i < summary->kernels.count; i++) {
        const struct kernel_row *row = &summary->kernels.rows[i];
        cJSON *object = json_object(json, array, NULL);
        bool moves = row->bytes_ns > 0;
        json_text(json, object, "name", trace_file_name(summary->trace, row->name));
        json_text(json, object, "kind", kinds[row->kind]);
        json_integer(json, object, "count", row->count);
        json_integer(json, object, "total_ns", row->total_ns);
        json_number(json, object, "mean_ns", (double)row->total_ns / (double)row->count);
        json_integer(json, object, "min_ns", row->min_ns);
        json_integer(json, object, "max_ns", row->max_ns);
        json_number(json, object, "share", (double)row->total_ns / all_ns);
        json_number(json, object, "blocks_per_sm", row->blocks_per_sm);
        json_number(json, object, "occupancy_percent", row->occupancy_percent);
        json_number(json, object, "bytes", moves ? (double)row->bytes : NAN);
        json_number(json, object, "gb_per_second",
                    moves ? (double)row->bytes / (double)row->bytes_ns : NAN);
        json_bool(json, object, "pageable", row->pageable);
    }
}

enum status diagnosis_json(const struct diagnosis *diagnosis, char **text)
{
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL), *array = json_array(&json, root, "traces");
    enum status status;

    for (int i = 0; i < diagnosis->count; i++) {
        const struct summary *summary = &diagnosis->summaries[i];
        cJSON *object = json_object(&json, array, NULL);
        json_text(&json, object, "file", diagnosis->paths[i]);
        json_bool(&json, object, "partial", diagnosis->traces[i]->partial);
        add_usage(&json, object, &summary->timeline.all);
        add_steps(&json, object, &summary->steps);
        add_launches(&json, object, &summary->launches);
        add_kernels(&json, object, summary);
        findings_json(&json, object, "findings", &diagnosis->findings[i]);
    }
    status = json_print(&json, root, text);
    cJSON_Delete(root);
    return status;
}
