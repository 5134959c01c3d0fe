/* The measurements of a corpus's item, with children whose steps are computed
 * (corpus_stand_in.c). */
#include "harness/lab/corpus/corpus_measure.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char program[4096], folder[64], children[96];

static const struct device_properties device = { .name = "modelled",
                                                 .kind = "cpu",
                                                 .host_cores = 2,
                                                 .shares_host_cores = true,
                                                 .memory_bytes = (int64_t)1 << 40 };

static struct corpus_item item(const char *one, const char *other)
{
    struct corpus_item item = { .name = "0042", .seed = 7 };
    const char *const names[] = { one, other };

    knobs_defaults(&item.config);
    for (int i = 0; i < CORPUS_CAUSES && names[i] != NULL; i++) {
        const struct scenario *cause = scenario_find(names[i]);
        assert_non_null(cause);
        assert_int_equal(knobs_apply(&item.config, cause->base), STATUS_OK);
        item.causes[item.cause_count++] = cause;
    }
    for (int i = 0; i < item.cause_count; i++)
        assert_int_equal(knob_set(&item.config, item.causes[i]->knob, item.causes[i]->before),
                         STATUS_OK);
    item.kind = (enum corpus_kind)item.cause_count;
    return item;
}

static enum status measure(struct corpus_measured *measured, const struct corpus_item *of,
                           const char *costs)
{
    struct corpus_order order = { .protocol = protocol_default(true), .program = program };

    order.protocol.traces = folder;
    assert_int_equal(truncate(children, 0), 0);
    setenv("STAND_IN_COSTS", costs, 1);
    return corpus_measure(measured, of, &order);
}

static int timing_children(void)
{
    struct stat about;

    assert_int_equal(stat(children, &about), 0);
    return (int)about.st_size;
}

static bool has_trace(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void forget_trace(void)
{
    char path[128];

    snprintf(path, sizeof path, "%s/0042.json.gz", folder);
    unlink(path);
}

static void assert_gain(const struct effect *effect, double factor)
{
    assert_float_equal(effect->factor, factor, 0.01);
    assert_true(effect->low <= effect->factor && effect->factor <= effect->high);
    assert_true(effect->coverage > 0.95);
}

static void one_fix_is_measured_and_the_step_before_it_traced(void **state)
{
    struct corpus_item of = item("item_sync", NULL);
    struct corpus_measured measured;
    (void)state;

    assert_int_equal(measure(&measured, &of, "loss_every=1:50"), STATUS_OK);
    assert_string_equal(measured.reason, "");
    assert_gain(&measured.alone[0].step_time, 1.5);
    assert_gain(&measured.alone[0].effect, 1.5);
    assert_int_equal(measured.alone[0].metric, METRIC_STEP_TIME);
    assert_true(measured.is_measurable[0]);
    assert_true(isnan(measured.together.factor) && isnan(measured.same.factor));
    assert_non_null(strstr(measured.settings, "loss_every=1 "));
    assert_int_equal(timing_children(), 1);
    assert_true(has_trace("0042.json.gz") && !has_trace("0042.before.json.gz"));
    forget_trace();
}

static void a_fix_that_gains_less_than_five_percent_is_not_measurable(void **state)
{
    static const struct {
        const char *costs;
        bool measurable;
    } cases[] = {
        { "loss_every=1:0", false },
        { "loss_every=1:4.5", false }, /* 4.5% to 5.02%: not the whole interval */
        { "loss_every=1:5.5", true },
        { "loss_every=20:50", false }, /* it makes the step slower */
    };
    struct corpus_item of = item("item_sync", NULL);
    struct corpus_measured measured;
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(measure(&measured, &of, cases[i].costs), STATUS_OK);
        if (measured.is_measurable[0] != cases[i].measurable)
            fail_msg("%s: %g (%g to %g)", cases[i].costs, measured.alone[0].effect.factor,
                     measured.alone[0].effect.low, measured.alone[0].effect.high);
        assert_true(has_trace("0042.json.gz")); /* it keeps its trace and its label */
        forget_trace();
    }
}

static void two_fixes_are_measured_alone_and_together(void **state)
{
    struct corpus_item of = item("unfused_optimizer", "allocation_churn");
    struct corpus_measured measured;
    (void)state;

    assert_int_equal(measure(&measured, &of, "optimizer=unfused:50 allocation=direct:100"),
                     STATUS_OK);
    assert_gain(&measured.alone[0].step_time, 250.0 / 200);
    assert_gain(&measured.alone[1].step_time, 250.0 / 150);
    assert_gain(&measured.together, 2.5);
    assert_true(measured.is_measurable[0] && measured.is_measurable[1]);
    assert_int_equal(timing_children(), 3);
    forget_trace();
}

/* The first fix gains nothing as long as the other bottleneck is there: no trace can show it. */
static void a_bottleneck_that_hides_behind_another_is_not_measurable(void **state)
{
    struct corpus_item of = item("unfused_optimizer", "allocation_churn");
    struct corpus_measured measured;
    (void)state;

    setenv("STAND_IN_HIDES", "1", 1);
    assert_int_equal(measure(&measured, &of, "optimizer=unfused:50 allocation=direct:100"),
                     STATUS_OK);
    assert_gain(&measured.alone[0].step_time, 1);
    assert_gain(&measured.alone[1].step_time, 200.0 / 150);
    assert_gain(&measured.together, 2);
    assert_false(measured.is_measurable[0]);
    assert_true(measured.is_measurable[1]);
    unsetenv("STAND_IN_HIDES");
    forget_trace();
}

static void memory_that_is_no_longer_lost_is_what_its_fix_is_for(void **state)
{
    struct corpus_item of = item("leak", NULL);
    struct corpus_measured measured;
    (void)state;

    assert_int_equal(measure(&measured, &of, ""), STATUS_OK);
    assert_int_equal(measured.alone[0].metric, METRIC_MEMORY_GROWTH);
    assert_float_equal(measured.alone[0].effect.before, 5000, 0);
    assert_float_equal(measured.alone[0].effect.after, 0, 0);
    assert_gain(&measured.alone[0].step_time, 1);
    assert_true(measured.is_measurable[0]);
    forget_trace();
}

static void a_healthy_item_is_compared_with_itself(void **state)
{
    struct corpus_item of = item(NULL, NULL);
    struct corpus_measured measured;
    (void)state;

    assert_int_equal(measure(&measured, &of, "loss_every=20:50"), STATUS_OK);
    assert_gain(&measured.same, 1);
    assert_true(isnan(measured.together.factor));
    assert_float_equal(measured.same.after, 150, 1e-9);
    assert_int_equal(timing_children(), 1);
    forget_trace();
}

static void a_child_that_fails_leaves_a_reason_and_no_trace(void **state)
{
    static const struct {
        const char *fails, *reason;
        int children;
    } cases[] = { { "1", "told to fail", 1 },
                  { "3", "told to fail", 3 },
                  { "trace", "told not to trace", 3 } };
    struct corpus_item of = item("unfused_optimizer", "allocation_churn");
    struct corpus_measured measured;
    (void)state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        setenv("STAND_IN_FAILS", cases[i].fails, 1);
        assert_int_equal(measure(&measured, &of, "optimizer=unfused:50"), STATUS_OK);
        assert_non_null(strstr(measured.reason, cases[i].reason));
        assert_int_equal(timing_children(), cases[i].children);
        assert_false(has_trace("0042.json.gz"));
    }
    unsetenv("STAND_IN_FAILS");
}

static volatile sig_atomic_t stop;

/* Once the tracing child has left half a file. */
static void *stop_after_half(void *unused)
{
    (void)unused;
    while (!has_trace("0042.before.json.gz.abcdef.chokepoint")) usleep(1000);
    stop = 1;
    return NULL;
}

static void an_interrupt_leaves_nothing_of_an_item_that_is_not_whole(void **state)
{
    struct corpus_item of = item("item_sync", NULL);
    struct corpus_order order = { .protocol = protocol_default(true),
                                  .program = program,
                                  .stop = &stop };
    struct corpus_measured measured;
    pthread_t thread;
    (void)state;

    order.protocol.traces = folder;
    setenv("STAND_IN_FAILS", "hang", 1);
    assert_int_equal(pthread_create(&thread, NULL, stop_after_half, NULL), 0);
    assert_int_equal(corpus_measure(&measured, &of, &order), STATUS_INTERRUPTED);
    pthread_join(thread, NULL);
    assert_false(has_trace("0042.before.json.gz.abcdef.chokepoint"));
    assert_false(has_trace("0042.json.gz"));
    unsetenv("STAND_IN_FAILS");
}

static void every_cause_that_is_drawn_has_a_promise(void **state)
{
    (void)state;

    for (int i = 0; scenarios[i] != NULL; i++) {
        struct expectation promise = corpus_promise(scenarios[i]);
        if (!corpus_is_drawn(scenarios[i], &device))
            continue;
        assert_int_not_equal(promise.metric, METRIC_NONE);
        assert_false(promise.is_cost);
        assert_int_equal(promise.direction, SHRINKS);
    }
}

static int find_stand_in(void **state)
{
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 32);
    FILE *file;
    (void)state;

    if (length < 0)
        return -1;
    program[length] = '\0';
    strcpy(strrchr(program, '/'), "/corpus_stand_in");
    strcpy(folder, "/tmp/chokepoint-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(children, sizeof children, "%s/children", folder);
    setenv("STAND_IN_COUNT", children, 1);
    file = fopen(children, "w");
    return file != NULL ? fclose(file) : -1;
}

static int forget_folder(void **state)
{
    (void)state;
    forget_trace();
    unlink(children);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_fix_is_measured_and_the_step_before_it_traced),
        cmocka_unit_test(a_fix_that_gains_less_than_five_percent_is_not_measurable),
        cmocka_unit_test(two_fixes_are_measured_alone_and_together),
        cmocka_unit_test(a_bottleneck_that_hides_behind_another_is_not_measurable),
        cmocka_unit_test(memory_that_is_no_longer_lost_is_what_its_fix_is_for),
        cmocka_unit_test(a_healthy_item_is_compared_with_itself),
        cmocka_unit_test(a_child_that_fails_leaves_a_reason_and_no_trace),
        cmocka_unit_test(an_interrupt_leaves_nothing_of_an_item_that_is_not_whole),
        cmocka_unit_test(every_cause_that_is_drawn_has_a_promise),
    };

    return cmocka_run_group_tests(tests, find_stand_in, forget_folder);
}
