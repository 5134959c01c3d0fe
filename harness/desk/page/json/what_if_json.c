#include "harness/desk/page/json/what_if_json.h"

#include "harness/desk/diagnosis/digest/diagnosis_members.h"
#include "harness/desk/diagnosis/rules/rules.h"

#include <math.h>

static void add_causes(struct json *json, cJSON *to, const struct what_if *what_if, unsigned set)
{
    cJSON *array = json_array(json, to, "causes");

    for (int i = 0; i < what_if->cause_count; i++)
        if (set >> i & 1)
            json_text(json, array, NULL, what_if->causes[i]->id);
}

static void add_what_if(struct json *json, cJSON *trace, const struct what_if *what_if)
{
    const struct what_if_row *recorded = &what_if->recorded;
    bool any = what_if->row_count > 0;
    cJSON *to = json_object(json, trace, "what_if"), *rows;

    json_text(json, to, "why", any ? NULL : what_if->why);
    add_causes(json, to, what_if, ~0U);
    json_number(json, to, "recorded_ns", any ? recorded->step_ns : NAN);
    json_number(json, to, "recorded_busy_ns", any ? recorded->busy_ns : NAN);
    rows = json_array(json, to, "rows");
    for (int i = 0; i < what_if->row_count; i++) {
        const struct what_if_row *row = &what_if->rows[i];
        cJSON *object = json_object(json, rows, NULL);
        add_causes(json, object, what_if, row->causes);
        json_number(json, object, "step_ns", row->step_ns);
        json_number(json, object, "busy_ns", row->busy_ns);
        json_number(json, object, "gain", recorded->step_ns / row->step_ns);
    }
}

void what_if_json(struct json *json, cJSON *trace, const struct diagnosis *diagnosis, int which)
{
    const struct next_fix *next = &diagnosis->findings[which].next;
    struct members members = { .json = json, .object = trace };
    bool is_known = next->first != NULL;
    struct what_if what_if;

    member_known_object(&members, "next", next_fix_members, next, &is_known);
    if (!diagnosis->what_if.asked) {
        json_text(json, trace, "what_if", NULL);
        return;
    }
    what_if =
        what_if_of(&diagnosis->findings[which], &diagnosis->facts[which], &diagnosis->what_if);
    add_what_if(json, trace, &what_if);
}
