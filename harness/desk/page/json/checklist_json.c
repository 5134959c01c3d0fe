#include "harness/desk/page/json/checklist_json.h"

#include "harness/desk/diagnosis/checklist.h"

void checklist_json(struct json *json, cJSON *to, const struct diagnosis *diagnosis, int which)
{
    struct checklist checklist = checklist_of_diagnosis(diagnosis, which);
    cJSON *array = json_array(json, to, "checklist");

    for (int i = 0; i < CHECKLIST_COUNT; i++) {
        const struct checklist_row *row = &checklist.rows[i];
        cJSON *object = json_object(json, array, NULL);
        json_text(json, object, "id", checklist_questions[i].id);
        json_text(json, object, "question", checklist_questions[i].text);
        json_text(json, object, "answer", answer_name(row->answer));
        json_text(json, object, "figures", row->figures);
        json_text(json, object, "finding", row->finding != NULL ? row->finding->id : NULL);
    }
}
