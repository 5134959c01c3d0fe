/* Members of a trace that the desk writes alone are those of the whole diagnosis. */
#include "harness/desk/chokepoint_desk.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <cjson/cJSON.h>

enum { TRACES = 2, STEPS = 2 };

static struct chokepoint_desk *open_desk(void)
{
    static const char *const files[TRACES] = { SEEDS "/step.json", SEEDS "/passes.json" };
    struct chokepoint_desk *desk;

    assert_int_equal(chokepoint_desk_open(&desk, files, TRACES, NULL, NULL), STATUS_OK);
    assert_int_equal(desk->diagnosis.count, TRACES);
    return desk;
}

static cJSON *parsed(char *text)
{
    cJSON *root = cJSON_Parse(text);

    assert_non_null(root);
    free(text);
    return root;
}

/* `alone`: what the desk wrote of trace number `which`. */
static void assert_member(struct chokepoint_desk *desk, int which,
                          const struct chokepoint_view *view, const char *name, const cJSON *alone)
{
    const cJSON *member;
    cJSON *all;
    char *text;

    assert_int_equal(chokepoint_desk_json(desk, view, &text), STATUS_OK);
    all = parsed(text);
    member = cJSON_GetArrayItem(cJSON_GetObjectItem(all, "traces"), which);
    member = cJSON_GetObjectItem(member, name);
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(member, "rows")) > 0);
    assert_true(cJSON_Compare(member, alone, true));
    cJSON_Delete(all);
}

TEST(a_timeline_alone_is_that_of_the_diagnosis)
{
    struct chokepoint_desk *desk = open_desk();
    const struct chokepoint_view view = { .timeline = STEPS };

    for (int which = 0; which < TRACES; which++) {
        cJSON *alone;
        char *text;
        assert_int_equal(chokepoint_desk_timeline(desk, which, STEPS, &text), STATUS_OK);
        alone = parsed(text);
        assert_member(desk, which, &view, "timeline", cJSON_GetObjectItem(alone, "timeline"));
        cJSON_Delete(alone);
    }
    chokepoint_desk_close(desk);
}

TEST(a_replay_alone_is_that_of_the_diagnosis)
{
    static const char causes[] = "host_sync,data_loading";
    struct chokepoint_desk *desk = open_desk();
    struct chokepoint_view view = { .timeline = 0 };

    assert_int_equal(what_if_choice_read(&view.what_if, causes), STATUS_OK);
    for (int which = 0; which < TRACES; which++) {
        cJSON *alone;
        char *text;
        assert_int_equal(chokepoint_desk_what_if(desk, which, causes, &text), STATUS_OK);
        alone = parsed(text);
        assert_member(desk, which, &view, "what_if", alone);
        cJSON_Delete(alone);
    }
    chokepoint_desk_close(desk);
}

TEST(a_trace_that_is_not_there_is_refused)
{
    static const int numbers[] = { -1, TRACES };
    struct chokepoint_desk *desk = open_desk();
    char *text;

    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
        assert_int_equal(chokepoint_desk_timeline(desk, numbers[i], STEPS, &text),
                         STATUS_BAD_USAGE);
        assert_null(text);
        assert_int_equal(chokepoint_desk_what_if(desk, numbers[i], "host_sync", &text),
                         STATUS_BAD_USAGE);
        assert_null(text);
    }
    chokepoint_desk_close(desk);
}
