/* Gaps and the timeline as JSON. Bars are stored as columns, one array per member of a row, with
 * names and categories by number: a timeline may have thousands of bars. */
#include "harness/desk/analysis/excerpt.h"
#include "harness/desk/diagnosis/finding_place.h"
#include "harness/desk/page/json/diagnosis_json.h"
#include "harness/desk/page/tables/diagnosis_tables.h"

#include <math.h>

enum { DIGITS = 15 }; /* of a double: nanoseconds stay whole */

/* --- Gaps --- */

static const char *work_name(const struct summary *summary, const struct work *work)
{
    return work != NULL ? trace_file_name(summary->trace, work->event->name) : NULL;
}

static void add_gap(struct json *json, cJSON *array, struct arena *arena,
                    const struct summary *summary, const struct idle_gap *gap)
{
    struct call_place place = finding_place_of_gap(arena, summary, gap);
    cJSON *object, *causes = json_object(json, NULL, NULL);
    int64_t step = steps_find(&summary->steps, gap->start_ns);
    const struct trace_event *call = gap->after != NULL ? gap->after->call : NULL;

    for (int cause = 0; cause < GAP_CAUSE_COUNT; cause++)
        if (gap_cause_ns(&gap->time, cause) > 0)
            json_integer(json, causes, gap_cause_name(cause), gap_cause_ns(&gap->time, cause));
    object =
        JSON_ROW(json, array, KEY("start_ns", gap->start_ns), KEY("duration_ns", gap->time.idle_ns),
                 KEY("step", step >= 0 ? (double)summary->steps.items[step].number : (double)NAN),
                 KEY("cause", gap_cause_name(gap_cause_longest(&gap->time))), KEY("causes", causes),
                 KEY("after_wait", (bool)(gap->time.drained_count > 0)),
                 KEY("before", work_name(summary, gap->before)),
                 KEY("after", work_name(summary, gap->after)),
                 KEY("call", call != NULL ? trace_file_name(summary->trace, call->name) : NULL));
    place_json(json, object, "where", &place);
}

void gaps_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary)
{
    cJSON *array = json_array(json, to, "gaps");
    struct longest_gaps gaps = longest_gaps_of(arena, summary);

    for (int i = 0; i < gaps.count; i++) add_gap(json, array, arena, summary, &gaps.items[i]);
}

/* --- Bars --- */

struct drawing {
    const struct summary *summary;
    struct excerpt excerpt;
    int *places;    /* of a name among those that are written, from 1; 0: not written yet */
    double *column; /* of a row's bars */
    cJSON *names;
    int name_count;
};

enum bar_column { START, DURATION, NAME, COUNT, COVERED };

static cJSON *column_json(struct json *json, struct drawing *drawing, const struct excerpt_row *row,
                          enum bar_column column)
{
    for (int64_t i = 0; i < row->bar_count; i++) {
        const struct excerpt_bar *bar = &drawing->excerpt.bars[row->first_bar + i];
        const double values[] = {
            [START] = (double)(bar->start_ns - drawing->excerpt.start_ns),
            [DURATION] = (double)(bar->end_ns - bar->start_ns),
            [NAME] = bar->name != 0 ? drawing->places[bar->name] - 1 : (double)NAN,
            [COUNT] = (double)bar->count,
            [COVERED] = (double)bar->covered_ns,
        };
        drawing->column[i] = values[column];
    }
    return json_series(json, drawing->column, row->bar_count, DIGITS);
}

/* The categories that the row has, in the order of their enum, and the place of each bar's among
 * them. */
static void add_categories(struct json *json, cJSON *object, struct drawing *drawing,
                           const struct excerpt_row *row)
{
    const struct excerpt_bar *bars = drawing->excerpt.bars + row->first_bar;
    cJSON *names = json_array(json, object, "categories");
    int places[GAP_CAUSE_COUNT], count = 0;

    for (int category = 0; category < GAP_CAUSE_COUNT; category++) {
        bool seen = false;
        for (int64_t i = 0; i < row->bar_count && !seen; i++) seen = bars[i].category == category;
        places[category] = seen ? count++ : -1;
        if (seen && row->kind != EXCERPT_STEP)
            json_text(json, names, NULL, excerpt_category_name(row->kind, category));
    }
    for (int64_t i = 0; i < row->bar_count; i++)
        drawing->column[i] = row->kind == EXCERPT_STEP ? (double)NAN : places[bars[i].category];
    JSON_ADD(json, object,
             KEY("category", json_series(json, drawing->column, row->bar_count, DIGITS)));
}

static void add_row(struct json *json, cJSON *array, struct drawing *drawing,
                    const struct excerpt_row *row)
{
    cJSON *object = JSON_ROW(json, array, KEY("kind", excerpt_kind_name(row->kind)),
                             KEY("process", row->process), KEY("thread", row->thread),
                             KEY("is_loop", row->is_loop), KEY("depth", row->depth));
    bool several = false;

    for (int64_t i = 0; i < row->bar_count; i++)
        several = several || drawing->excerpt.bars[row->first_bar + i].count > 1;
    add_categories(json, object, drawing, row);
    /* If each bar is one event, the last two columns would repeat what the others say. */
    JSON_ADD(json, object, KEY("start_ns", column_json(json, drawing, row, START)),
             KEY("duration_ns", column_json(json, drawing, row, DURATION)),
             KEY("name", column_json(json, drawing, row, NAME)),
             KEY("count", several ? column_json(json, drawing, row, COUNT) : NULL),
             KEY("covered_ns", several ? column_json(json, drawing, row, COVERED) : NULL));
}

void timeline_json(struct json *json, cJSON *to, struct arena *arena, const struct summary *summary,
                   int steps)
{
    struct drawing drawing = {
        .summary = summary,
        .excerpt = excerpt_of(arena, summary, steps),
        .places = ARENA_NEW(arena, int, trace_file_name_count(summary->trace)),
    };
    const struct excerpt *excerpt = &drawing.excerpt;
    cJSON *object = json_object(json, to, "timeline"), *array;

    drawing.column = ARENA_NEW(arena, double, excerpt->bar_count);
    JSON_ADD(json, object, KEY("start_ns", excerpt->start_ns), KEY("end_ns", excerpt->end_ns));
    array = json_array(json, object, "steps");
    for (int64_t i = 0; i < excerpt->step_count; i++)
        json_integer(json, array, NULL, summary->steps.items[excerpt->first_step + i].number);
    json_integer(json, object, "tracks_left_out", excerpt->tracks_left_out);
    drawing.names = json_array(json, object, "names");
    for (int64_t i = 0; i < excerpt->bar_count; i++) {
        uint32_t name = excerpt->bars[i].name;
        if (name == 0 || drawing.places[name] > 0) /* it has none, or is written already */
            continue;
        drawing.places[name] = ++drawing.name_count;
        json_text(json, drawing.names, NULL, trace_file_name(summary->trace, name));
    }
    array = json_array(json, object, "rows");
    for (int64_t i = 0; i < excerpt->row_count; i++)
        add_row(json, array, &drawing, &excerpt->rows[i]);
}
