/* Findings of a whole program, from the times that the recorder writes. */
#include "tests/fixtures/cmocka_prelude.h"

#include "harness/desk/diagnosis/program_times.h"
#include "harness/text/json.h"

#include <math.h>

/* 100 steps of 10 ms and more; `more` are members that come instead of these, which are all that
 * older recordings have. */
static int judge(struct finding findings[PROGRAM_FINDINGS], const char *more)
{
    static const char *const others[][2] = {
        { "wall_s", "10" },     { "before_s", "5" },         { "recording_s", "1" },
        { "after_s", "1" },     { "steps", "100" },          { "steps_s", "2" },
        { "usual_s", "0.01" },  { "long_steps", "0" },       { "long_s", "0" },
        { "longest_s", "0" },   { "long_collected_s", "0" }, { "compiling_steps", "0" },
        { "compiling_s", "0" }, { "core_wait_s", "0" },
    };
    struct program_times times;
    char text[2048] = "{";
    cJSON *json;
    int count;

    strcat(text, more);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        char name[32];
        snprintf(name, sizeof name, "\"%s\":", others[i][0]);
        if (strstr(more, name) == NULL)
            snprintf(text + strlen(text), sizeof text - strlen(text), ",%s%s", name, others[i][1]);
    }
    strcat(text, "}");
    assert_ok(json_parse(&json, text, NULL, true));
    assert_true(program_times_read(&times, json));
    times.busy_s = fmax(0, json_number_of(json, "busy_s"));
    count = program_times_judge(findings, &times);
    cJSON_Delete(json);
    return count;
}

TEST(what_is_rare_and_dear_is_a_finding_with_its_line)
{
    struct finding found[PROGRAM_FINDINGS];

    assert_int_equal(judge(found, "\"long_steps\":5,\"long_s\":1,\"lines\":[{\"kind\":\"long\","
                                  "\"s\":0.9,\"file\":\"train.py\",\"line\":7,\"function\":"
                                  "\"evaluate\",\"call\":\"\"}]"),
                     1);
    assert_string_equal(found[0].id, "rare_work");
    assert_int_equal(found[0].severity, SEVERITY_CRITICAL);
    assert_float_equal(found[0].lost_ns_per_step, 1e7, 1);
    assert_float_equal(found[0].mean_step_ns, 2e7, 1);
    assert_string_equal(found[0].where.function, "evaluate");
    assert_int_equal(found[0].where.line, 7);
    assert_float_equal(found[0].where.share, 0.9, 1e-9); /* of all, not of the lines */
    assert_int_equal(judge(found, "\"long_steps\":1,\"long_s\":1"), 0); /* one stall is no cause */
    assert_int_equal(judge(found, "\"long_steps\":5,\"long_s\":0.05"), 0);
    /* Cores that others took make some steps long and others not. */
    assert_int_equal(judge(found, "\"long_steps\":5,\"long_s\":1,\"core_wait_s\":0.3"), 1);
    assert_int_equal(found[0].confidence, CONFIDENCE_MEDIUM);
    assert_int_equal(judge(found, "\"long_steps\":5,\"long_s\":1,\"core_wait_s\":3"), 1);
    assert_int_equal(found[0].confidence, CONFIDENCE_LOW);
    /* They would do so at the lines of usual steps, and no other has most of it. */
    for (int i = 0; i < 3; i++) {
        static const char *const lines[] = {
            "{\"kind\":\"long\",\"s\":0.6,\"file\":\"train.py\",\"line\":7}",
            "{\"kind\":\"long\",\"s\":0.4,\"file\":\"train.py\",\"line\":7}",
            "{\"kind\":\"long\",\"s\":0.6,\"file\":\"train.py\",\"line\":9}"
        };
        char more[400];
        snprintf(more, sizeof more,
                 "\"long_steps\":5,\"long_s\":1,\"core_wait_s\":3,\"lines\":[{\"kind\":\"steps\","
                 "\"s\":0.5,\"file\":\"train.py\",\"line\":9},%s]",
                 lines[i]);
        assert_int_equal(judge(found, more), 1);
        assert_int_equal(found[0].confidence, i == 0 ? CONFIDENCE_MEDIUM : CONFIDENCE_LOW);
    }
    /* The device works for all of the time: the host is ahead, and waits for it now and then. */
    assert_int_equal(judge(found, "\"long_steps\":5,\"long_s\":1,\"busy_s\":0.0195"), 0);
    assert_int_equal(judge(found, "\"long_steps\":5,\"long_s\":1,\"steps\":10"), 0);
}

TEST(garbage_and_compilations_have_findings_of_their_own)
{
    struct finding found[PROGRAM_FINDINGS];

    assert_int_equal(judge(found, "\"long_steps\":5,\"long_s\":1,\"long_collected_s\":0.95"), 1);
    assert_string_equal(found[0].id, "garbage_collection");
    assert_float_equal(found[0].lost_ns_per_step, 9.5e6, 1);
    assert_int_equal(judge(found, "\"long_steps\":5,\"long_s\":1,\"compiling_steps\":5,"
                                  "\"compiling_s\":1.1,\"long_compiled_s\":1,"
                                  "\"long_compiles\":5"),
                     1);
    assert_string_equal(found[0].id, "recompilation");
    assert_int_equal(judge(found, "\"compiling_steps\":100,\"compiling_s\":2"), 1);
    assert_string_equal(found[0].id, "recompilation");
    assert_true(isnan(found[0].predicted_gain)); /* a step without is not known */
    assert_null(strstr(found[0].evidence, "others"));
    assert_int_equal(judge(found, "\"compiling_steps\":2,\"compiling_s\":1"), 0);
    /* Each has its own part of the long steps, and evaluation the rest. */
    assert_int_equal(judge(found, "\"long_steps\":15,\"long_s\":1.2,\"compiling_steps\":5,"
                                  "\"compiling_s\":0.55,\"long_compiled_s\":0.5,"
                                  "\"long_collected_s\":0.3,\"long_compiles\":5"),
                     3);
    assert_string_equal(found[0].id, "recompilation");
    assert_string_equal(found[1].id, "garbage_collection");
    assert_string_equal(found[2].id, "rare_work");
    assert_float_equal(found[2].lost_ns_per_step, 4e6, 1);
    /* Steps that compile before the usual step is known are none of the long ones. */
    assert_int_equal(judge(found, "\"long_steps\":2,\"long_s\":1,\"compiling_steps\":2,"
                                  "\"compiling_s\":3"),
                     1);
    assert_string_equal(found[0].id, "rare_work");
}

TEST(steps_that_grow_steadily_are_a_finding)
{
    struct finding found[PROGRAM_FINDINGS];

    assert_int_equal(judge(found, "\"steps_s\":5.5,\"pieces_s\":[9,0.01,0.02,0.03,0.04,0.05,0.06,"
                                  "0.07,0.08,0.09,0.1]"),
                     1);
    assert_string_equal(found[0].id, "growing_steps");
    assert_float_equal(found[0].lost_ns_per_step, 5.5e7 - 1.5e7, 1);
    assert_int_equal(judge(found, "\"steps_s\":5.5,\"pieces_s\":[9,0.05,0.02,0.1,0.04,0.03,0.09,"
                                  "0.07,0.08,0.06,0.05]"),
                     0);
    assert_int_equal(judge(found, "\"pieces_s\":[9,0.01,0.02,0.03,0.04]"), 0);
}

TEST(memory_of_the_host_that_grows_is_a_finding_with_its_slope)
{
    struct finding found[PROGRAM_FINDINGS];

    /* 1 MB per step after the warm-up, of which 900 more are there. */
    assert_int_equal(judge(found, "\"memory_steps\":[0,10,20,30,40,50,60,70,80,90,100,110],"
                                  "\"memory_bytes\":[1e6,5e7,9e7,1e8,1.1e8,1.2e8,1.3e8,1.4e8,"
                                  "1.5e8,1.6e8,1.7e8,1.8e8],\"available_bytes\":9e8"),
                     1);
    assert_string_equal(found[0].id, "host_memory_growth");
    assert_int_equal(found[0].severity, SEVERITY_MAJOR);
    assert_true(isnan(found[0].lost_ns_per_step));
    assert_non_null(strstr(found[0].evidence, "977 KiB more with each step"));
    assert_non_null(strstr(found[0].evidence, "last for 900 steps"));
    assert_int_equal(judge(found, "\"memory_steps\":[0,10,20,30,40,50,60,70,80,90,100,110],"
                                  "\"memory_bytes\":[1e6,5e7,9e7,1e8,1.1e8,1.2e8,1.3e8,1.4e8,"
                                  "1.5e8,1.6e8,1.7e8,1.8e8],\"available_bytes\":9e10"),
                     1);
    assert_int_equal(found[0].severity, SEVERITY_MINOR);
    /* It grows while it warms up; or up and down; or by less than a tenth; or few looks tell. */
    assert_int_equal(judge(found, "\"memory_steps\":[0,10,20,30,40,50,60,70,80,90,100,110],"
                                  "\"memory_bytes\":[1e6,5e7,9e7,1.5e8,1.5e8,1.5e8,1.5e8,1.5e8,"
                                  "1.5e8,1.5e8,1.5e8,1.5e8]"),
                     0);
    assert_int_equal(judge(found, "\"memory_steps\":[0,10,20,30,40,50,60,70,80,90,100,110],"
                                  "\"memory_bytes\":[1e6,5e7,9e7,1e8,1.3e8,1e8,1.3e8,1e8,1.3e8,"
                                  "1e8,1.3e8,1.35e8]"),
                     0);
    assert_int_equal(judge(found, "\"memory_steps\":[0,10,20,30,40,50,60,70,80,90,100,110],"
                                  "\"memory_bytes\":[1e6,5e7,9e7,1e8,1.01e8,1.02e8,1.03e8,"
                                  "1.04e8,1.05e8,1.06e8,1.07e8,1.08e8]"),
                     0);
    assert_int_equal(judge(found, "\"memory_steps\":[0,10,20,30],"
                                  "\"memory_bytes\":[1e6,1e8,2e8,3e8]"),
                     0);
}
