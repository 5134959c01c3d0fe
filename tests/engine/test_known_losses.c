/* A training's losses are those of any other machine: fp32 differs by the order of its sums, and by
 * no more. Those of the table are an x86-64 processor's with AVX2: of each core scenario whose
 * products are in fp32, before its fix; the fix has the same, or changes the precision. */
#include "scenarios/scenario.h"
#include "tests/fixtures/lab/training_fixture.h"

#include <math.h>

enum { STEPS = 8 };

static const double most = 1e-5; /* difference, relative to the loss */

static const struct {
    const char *scenario;
    float losses[STEPS];
} known[] = {
    { "loader_workers",
      { 3.27349854f, 3.43630481f, 2.84787822f, 2.58336926f, 2.61400604f, 2.36866546f, 2.08902788f,
        2.3965354f } },
    { "small_batch",
      { 2.27216959f, 2.27395034f, 2.36753607f, 2.24943519f, 2.12770534f, 2.12805605f, 2.01893783f,
        2.05927014f } },
    { "precision",
      { 2.81304455f, 1.90329456f, 2.45664048f, 3.04174376f, 2.63902426f, 3.95077848f, 3.2783761f,
        1.89123011f } },
    { "checkpointing",
      { 3.7578969f, 1.57348979f, 2.9486692f, 4.87663174f, 4.73681164f, 3.32425213f, 4.89398479f,
        2.15048122f } },
    { "launch_overhead",
      { 1.59358656f, 2.9304533f, 1.58797431f, 1.98169065f, 2.80479622f, 3.67449331f, 1.99519467f,
        3.30450869f } },
    { "item_sync",
      { 3.27349854f, 3.43630481f, 2.84787822f, 2.58336926f, 2.61400604f, 2.36866546f, 2.08902788f,
        2.3965354f } },
};

/* On the sizes of the CPU device, and in fp32 on every device. */
static void losses_of(struct device *device, const char *name, float *losses)
{
    struct device_properties sizes = *device_properties(device);
    struct training_config config;
    struct training *training;

    sizes.is_gpu = sizes.is_large = false;
    assert_ok(scenario_config(scenario_find(name), VARIANT_BEFORE, &config));
    assert_ok(knobs_apply(&config, "precision=fp32"));
    assert_ok(knobs_resolve(&config, &sizes));
    assert_ok(training_open(&training, device, &config));
    assert_ok(training_run(training, STEPS));
    assert_ok(training_losses(training, 0, STEPS, losses));
    training_close(training);
}

TEST(losses_are_known)
{
    int wrong = 0;

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        float losses[STEPS];
        double largest = 0;
        losses_of(*state, known[i].scenario, losses);
        print_message("    { \"%s\",\n      {", known[i].scenario);
        for (int step = 0; step < STEPS; step++) {
            double d = fabs((double)losses[step] - known[i].losses[step]) / known[i].losses[step];
            print_message("%s %.9gf", step > 0 ? "," : "", losses[step]);
            if (!(d <= largest))
                largest = d;
        }
        print_message(" } }, /* differs by %.2g */\n", largest);
        wrong += !(largest <= most);
    }
    assert_int_equal(wrong, 0);
}

TESTS_WITH(open_device, close_device)
