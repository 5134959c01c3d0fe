#include "harness/desk/page/json/ranks_json.h"

#include "harness/desk/analysis/summary.h"
#include "harness/desk/page/diagnosis_ranks.h"
#include "harness/desk/page/json/checklist_json.h"
#include "harness/desk/page/json/diagnosis_json.h"

#include <math.h>

static void add_missing(struct json *json, cJSON *to, const struct diagnosis *diagnosis)
{
    cJSON *array = json_array(json, to, "missing_ranks");

    for (int64_t rank = 0; rank < diagnosis->traces[0]->world_size; rank++)
        if (diagnosis_rank(diagnosis, rank) < 0)
            json_integer(json, array, NULL, rank);
}

static void add_slow(struct json *json, cJSON *to, const struct diagnosis *diagnosis)
{
    const struct slow_rank *slow = &diagnosis->together->slow;
    char text[SLOW_RANK_TEXT];
    cJSON *object, *array;

    if (slow->which < 0) {
        json_text(json, to, "slow_rank", NULL);
        return;
    }
    object = json_object(json, to, "slow_rank");
    json_integer(json, object, "rank", diagnosis->traces[slow->which]->rank);
    array = json_array(json, object, "as_slow");
    for (int i = 0; i < diagnosis->run_count; i++)
        if (i != slow->which && rank_is_slow(slow, &diagnosis->together->figures[i]))
            json_integer(json, array, NULL, diagnosis->traces[i]->rank);
    json_number(json, object, "communication_ns", slow->least_ns);
    json_number(json, object, "others_communication_ns", slow->typical_ns);
    json_number(json, object, "lost_ns", slow->lost_ns);
    json_text(json, object, "part",
              slow->part < STEP_PART_COUNT ? step_part_name(slow->part) : NULL);
    json_number(json, object, "part_ns", slow->part < STEP_PART_COUNT ? slow->part_ns : NAN);
    json_number(json, object, "others_part_ns",
                slow->part < STEP_PART_COUNT ? slow->part_typical_ns : NAN);
    json_bool(json, object, "matters", slow_rank_matters(slow));
    slow_rank_text(text, sizeof text, diagnosis);
    json_text(json, object, "text", text);
}

static void add_rank(struct json *json, cJSON *array, const struct diagnosis *diagnosis, int which)
{
    const struct rank_figures *figures = &diagnosis->together->figures[which];
    const struct finding *finding = diagnosis_rank_finding(diagnosis, which);
    cJSON *object = json_object(json, array, NULL);

    json_integer(json, object, "rank", diagnosis->traces[which]->rank);
    json_text(json, object, "file", diagnosis->paths[which]);
    json_bool(json, object, "compared", figures->is_compared);
    json_number(json, object, "step_ns", figures->step_ns);
    json_number(json, object, "busy_share", figures->busy_share);
    json_number(json, object, "compute_ns", figures->compute_ns);
    json_number(json, object, "communication_ns", figures->communication_ns);
    json_number(json, object, "exposed_communication_ns", figures->exposed_ns);
    json_number(json, object, "data_loading_ns", figures->part_ns[STEP_DATA_LOADING]);
    json_number(json, object, "waits_ns", figures->waits_ns);
    json_text(json, object, "first_finding", finding != NULL ? finding->id : NULL);
}

static void add_finding(struct json *json, cJSON *array, const struct diagnosis *diagnosis,
                        int64_t number)
{
    const struct finding_spread *spread = &diagnosis->run.spreads[number];
    const struct finding *finding = &diagnosis->run.findings.items[number];
    cJSON *object = finding_json(json, array, finding), *ranks;

    json_integer(json, object, "rank", diagnosis->traces[spread->which]->rank);
    ranks = json_array(json, object, "ranks");
    for (int i = 0; i < diagnosis->run_count; i++)
        if (findings_find(&diagnosis->findings[i], finding->id) != NULL)
            json_integer(json, ranks, NULL, diagnosis->traces[i]->rank);
    json_number(json, object, "least_lost_ns_per_step", spread->least_ns);
    json_number(json, object, "most_lost_ns_per_step", spread->most_ns);
}

void ranks_json(struct json *json, cJSON *to, const struct diagnosis *diagnosis)
{
    cJSON *run, *array;

    if (diagnosis->run_count == 0) {
        json_text(json, to, "run", NULL);
        return;
    }
    run = json_object(json, to, "run");
    json_integer(json, run, "world_size", diagnosis->traces[0]->world_size);
    add_missing(json, run, diagnosis);
    json_number(json, run, "step_ns",
                diagnosis->together->slow.which >= 0 ? diagnosis->together->slow.step_ns : NAN);
    headline_json(json, run, &diagnosis->run.findings.headline);
    add_slow(json, run, diagnosis);
    array = json_array(json, run, "ranks");
    for (int i = diagnosis_next_rank(diagnosis, -1); i >= 0;
         i = diagnosis_next_rank(diagnosis, diagnosis->traces[i]->rank))
        add_rank(json, array, diagnosis, i);
    array = json_array(json, run, "findings");
    for (int64_t i = 0; i < diagnosis->run.findings.count; i++)
        add_finding(json, array, diagnosis, i);
    checklist_json(json, run, diagnosis, -1);
}
