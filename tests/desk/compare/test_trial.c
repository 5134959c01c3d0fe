/* Trials of programs whose steps are made: how often a switch that changes nothing is called a
 * gain, how often a gain is found, and what a file may lack.
 *
 * Steps drift, correlate, come in waves, have two speeds or now and then take ten times as long;
 * windows are drawn as docs/try.md says. Each trial is written as the recorder writes it, and read
 * back. The counts depend on the seed, so each bound is one that a rate as promised exceeds once in
 * a million seeds. */
#include "harness/base/random.h"
#include "harness/base/words/text.h"
#include "harness/desk/compare/trial/trial.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/test_seed.h"
#include "tests/fixtures/trace_folder.h"

#include <math.h>

enum { ARMS_MOST = 4, STEPS_MOST = 8192 };

/* --- A program whose steps are made --- */

/* Shares of a step but for `wave_steps`, the period of workers that deliver together, and
 * `spike_every`. */
struct made_steps {
    const char *name;
    double noise, correlation; /* of the noise, from step to step */
    double drift;              /* from the first step to the last */
    double wave;               /* what all but one step of a period lack */
    int wave_steps;
    int spike_every; /* steps from one that takes ten times as long to the next, on average */
    double slower;   /* the second speed; lasts for 30 steps on average */
    double in_waves; /* a sine of one period in two windows and their switches */
};

static const struct made_steps programs[] = {
    { "quiet", .noise = 0.01 },
    { "noisy", .noise = 0.10 },
    { "correlated", .noise = 0.05, .correlation = 0.9 },
    { "nearly a random walk", .noise = 0.02, .correlation = 0.995 },
    { "drifts", .noise = 0.03, .drift = 1 },
    { "two workers", .noise = 0.03, .wave = 0.9, .wave_steps = 2 },
    { "eight workers", .noise = 0.03, .wave = 0.9, .wave_steps = 8 },
    { "spikes", .noise = 0.03, .spike_every = 40 },
    { "two speeds", .noise = 0.02, .slower = 0.5 },
    { "in waves", .noise = 0.02, .in_waves = 0.3 },
};

struct made_trial {
    const struct made_steps *program;
    int arms, pairs;
    double gain[ARMS_MOST]; /* of the step by the switch; the first is the control's: 1 */
    int settle;             /* steps that are dropped after a switch */
    double ns[STEPS_MOST];
    int steps;
    double state; /* of the correlated noise */
    bool is_slow;
    struct random random;
    FILE *file;
};

static double uniform(struct random *random)
{
    return (double)random_uniform(random);
}

static void take_steps(struct made_trial *trial, int count, double gain)
{
    const struct made_steps *made = trial->program;
    struct random *random = &trial->random;

    for (int i = 0; i < count; i++) {
        int step = trial->steps++;
        double share = 1 + made->drift * step / 3000;
        assert_true(step < STEPS_MOST);
        trial->state = made->correlation * trial->state +
                       made->noise * sqrt(1 - made->correlation * made->correlation) *
                           (double)random_normal(random);
        share += trial->state + made->in_waves * sin(step * 2 * 3.14159265 / 22);
        if (made->wave_steps > 0)
            share *= step % made->wave_steps == 0 ? 1 + made->wave * (made->wave_steps - 1)
                                                  : 1 - made->wave;
        if (made->slower > 0 && uniform(random) < 1.0 / 30)
            trial->is_slow = !trial->is_slow;
        share *= trial->is_slow ? 1 + made->slower : 1;
        if (made->spike_every > 0 && uniform(random) * made->spike_every < 1)
            share *= 10;
        trial->ns[step] = 1e7 * fmax(share, 0.01) / gain;
    }
}

static void take_window(struct made_trial *trial, int arm, int pair, bool switched)
{
    double gain = switched ? trial->gain[arm] : 1;
    int length = 4 + (int)random_below(&trial->random, 9), first;

    take_steps(trial, trial->settle, gain);
    first = trial->steps;
    take_steps(trial, length, gain);
    fprintf(trial->file,
            ", {\"arm\": %d, \"pair\": %d, \"switched\": %s, \"first\": %d, \"last\": %d}", arm,
            pair, switched ? "true" : "false", first, trial->steps - 1);
}

/* A round is a pair of each arm in random order. */
static void take_rounds(struct made_trial *trial)
{
    uint32_t order[ARMS_MOST];

    for (int pair = 0; pair < trial->pairs; pair++) {
        for (int i = 0; i < trial->arms; i++) order[i] = (uint32_t)i;
        random_shuffle(&trial->random, order, (uint32_t)trial->arms);
        for (int i = 0; i < trial->arms; i++) {
            bool switched_first = random_below(&trial->random, 2) == 1;
            take_window(trial, (int)order[i], pair, switched_first);
            take_window(trial, (int)order[i], pair, !switched_first);
        }
    }
}

static void write_trial(struct made_trial *trial, const char *path)
{
    trial->file = fopen(path, "w");
    assert_non_null(trial->file);
    fputs("{\"schema\": 1, \"ended\": \"pairs\", \"why\": \"\", \"arms\": [{\"cause\": "
          "\"control\", \"kind\": \"control\", \"uses\": 1}",
          trial->file);
    for (int i = 1; i < trial->arms; i++)
        fprintf(trial->file,
                ", {\"cause\": \"cause%d\", \"kind\": \"%s\", \"text\": \"a=%d\", \"advice\": "
                "\"\", \"place\": \"train.py:7\", \"uses\": 3}",
                i, i % 2 == 1 ? "without" : "fix", i);
    fputs("], \"windows\": [{\"arm\": -1}", trial->file);
    take_steps(trial, 10, 1);
    take_rounds(trial);
    fputs("], \"steps\": {\"wall_ns\": [", trial->file);
    for (int i = 0; i < trial->steps; i++)
        fprintf(trial->file, "%s%.0f", i > 0 ? ", " : "", trial->ns[i]);
    fputs("]}}\n", trial->file);
    assert_int_equal(fclose(trial->file), 0);
}

/* Writes, reads and judges a trial of `arms` with the control, of this seed. */
static void judged(struct trial *trial, const struct made_steps *program, int arms,
                   const double *gains, int pairs, uint64_t stream, const char *disturbed)
{
    struct made_trial *made = calloc(1, sizeof *made);
    const char *path = trace_folder_path("trial.json");

    assert_non_null(made);
    made->program = program;
    made->arms = arms;
    made->pairs = pairs;
    made->settle = 5;
    made->random = random_seed(test_seed(), stream);
    for (int i = 0; i < arms; i++) made->gain[i] = gains != NULL ? gains[i] : 1;
    write_trial(made, path);
    free(made);
    assert_ok(trial_read(trial, path));
    assert_int_equal(trial->count, arms);
    for (int i = 1; i < arms; i++) trial_judge(&trial->arms[i], &trial->arms[0], disturbed);
}

/* --- How often it is wrong --- */

/* The most events of `trials` that a rate leaves to one seed in a million. */
static int most_events(int trials, double rate)
{
    double chance = pow(1 - rate, trials), sum = chance;
    int most = 0;

    while (1 - sum > 1e-6) {
        chance *= (double)(trials - most) / (most + 1) * rate / (1 - rate);
        sum += chance;
        most++;
    }
    return most;
}

/* The most events that a rate leaves to one seed in a thousand to fall below: with so few, the rate
 * is less. */
static int fewest_events(int trials, double rate)
{
    double chance = pow(1 - rate, trials), sum = 0;
    int fewest = -1;

    while (sum + chance < 1e-3) {
        fewest++;
        sum += chance;
        chance *= (double)(trials - fewest) / (fewest + 1) * rate / (1 - rate);
    }
    return fewest;
}

TEST(a_switch_that_changes_nothing_is_no_gain)
{
    enum { TRIALS = 70, PROGRAMS = ARRAY_SIZE(programs), INNOCENT = ARMS_MOST - 1 };
    int count = TRIALS * INNOCENT, gains_in_all = 0;

    for (int p = 0; p < PROGRAMS; p++) {
        int verdicts[TRIAL_UNUSED + 1] = { 0 };
        for (int i = 0; i < TRIALS; i++) {
            struct trial trial;
            judged(&trial, &programs[p], ARMS_MOST, NULL, TRIAL_PAIRS, (uint64_t)(p * TRIALS + i),
                   NULL);
            for (int arm = 1; arm < ARMS_MOST; arm++) verdicts[trial.arms[arm].verdict]++;
            trial_release(&trial);
        }
        print_message("%-22s %d arms: %d gain, %d slower, %d no gain, %d undecided\n",
                      programs[p].name, count, verdicts[TRIAL_GAIN], verdicts[TRIAL_LOSS],
                      verdicts[TRIAL_NO_GAIN], verdicts[TRIAL_UNDECIDED]);
        assert_in_range(verdicts[TRIAL_GAIN], 0, most_events(count, 0.01));
        assert_in_range(verdicts[TRIAL_LOSS], 0, most_events(count, 0.01));
        gains_in_all += verdicts[TRIAL_GAIN];
        if (p == 0)
            assert_int_equal(verdicts[TRIAL_NO_GAIN], count);
    }
    /* 30,000 arms had 4: some 0.3 are expected here, and 7 would still show a rate below 1%. */
    assert_in_range(gains_in_all, 0, fewest_events(PROGRAMS * count, 0.01));
}

TEST(a_gain_of_a_fifth_is_found)
{
    enum { TRIALS = 300 };
    const struct made_steps program = { "windows of 3%", .noise = 0.03 * 2.7, .correlation = 0 };
    const double gains[] = { 1, 1.2 };
    int missed = 0, early = 0, far = 0;

    for (int i = 0; i < TRIALS; i++) {
        struct trial trial;
        const struct trial_arm *arm;
        judged(&trial, &program, 2, gains, TRIAL_PAIRS, (uint64_t)i, NULL);
        arm = &trial.arms[1];
        missed += arm->verdict != TRIAL_GAIN;
        early += arm->counted < TRIAL_PAIRS;
        far += arm->factor < 1.1 || arm->factor > 1.3;
        trial_release(&trial);
    }
    print_message("1.2x: %d of %d missed, %d off by half, %d decided before the last look\n",
                  missed, TRIALS, far, early);
    /* Few pairs decide when they happen to be far apart. */
    assert_in_range(far, 0, most_events(TRIALS, 0.01));
    assert_in_range(missed, 0, most_events(TRIALS, 0.05));
}

/* The interval of a factor that is there. */
TEST(the_interval_holds_the_gain)
{
    enum { TRIALS = 300 };
    const double gains[] = { 1, 2 };
    int outside = 0;

    for (int i = 0; i < TRIALS; i++) {
        struct trial trial;
        judged(&trial, &programs[2], 2, gains, TRIAL_PAIRS, (uint64_t)i, NULL);
        outside += trial.arms[1].interval.low > 2 || trial.arms[1].interval.high < 2;
        trial_release(&trial);
    }
    print_message("2x: %d of %d intervals without it\n", outside, TRIALS);
    assert_in_range(outside, 0, most_events(TRIALS, 0.05));
}

/* --- What a trial may lack --- */

TEST(beside_other_programs_nothing_is_ruled_out)
{
    const double gains[] = { 1, 1, 2 };
    struct trial trial;

    judged(&trial, &programs[0], 3, gains, TRIAL_PAIRS, 1, "other programs used 1.0 of 2 cores");
    assert_int_equal(trial.arms[1].verdict, TRIAL_UNDECIDED);
    assert_string_equal(trial.arms[1].reason,
                        "other programs used 1.0 of 2 cores, which can hide a gain");
    assert_int_equal(trial.arms[2].verdict, TRIAL_GAIN);
    trial_release(&trial);
}

TEST(nothing_is_claimed_beside_controls_that_differ)
{
    const double gains[] = { 1.2, 2, 1 };
    struct trial trial;

    judged(&trial, &programs[0], 3, gains, TRIAL_PAIRS, 1, NULL);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(trial.arms[i].verdict, TRIAL_UNDECIDED);
        assert_non_null(strstr(trial.arms[i].reason, "nothing was switched differ by 1.2"));
    }
    trial_release(&trial);
}

TEST(few_pairs_decide_nothing)
{
    const double gains[] = { 1, 3 };
    struct trial trial;

    for (int pairs = 0; pairs < TRIAL_FIRST_LOOK; pairs++) {
        judged(&trial, &programs[0], 2, gains, pairs, 1, NULL);
        assert_int_equal(trial.arms[1].verdict, TRIAL_UNDECIDED);
        assert_int_equal(trial.arms[1].counted, pairs);
        assert_true(isnan(trial.arms[1].factor) && isnan(trial.arms[1].interval.high));
        assert_true(pairs > 0 ? trial.arms[1].before_ns > 0 : isnan(trial.step_ns));
        trial_release(&trial);
    }
    judged(&trial, &programs[0], 2, gains, TRIAL_FIRST_LOOK, 1, NULL);
    assert_int_equal(trial.arms[1].verdict, TRIAL_GAIN);
    trial_release(&trial);
}

/* Twelve pairs show a gain that six do not; the next look that counts is at thirteen. */
TEST(only_a_planned_look_decides)
{
    struct trial_arm arm = { .is_apart = true };
    bool early = false;

    for (int pairs = 1; pairs <= TRIAL_FIRST_LOOK + TRIAL_LOOK; pairs++) {
        assert_ok(trial_arm_add(&arm, pairs == 1 ? 1e7 : 2e7, 1e7));
        trial_judge(&arm, NULL, NULL);
        assert_int_equal(trial_is_decided(&arm), pairs == TRIAL_FIRST_LOOK + TRIAL_LOOK);
        early = early || (arm.verdict == TRIAL_GAIN && pairs < TRIAL_FIRST_LOOK + TRIAL_LOOK);
    }
    assert_true(early);
    trial_arm_release(&arm);
}

static void read_text(struct trial *trial, const char *text, enum status expected)
{
    const char *path = trace_folder_path("made.json");
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(trial_read(trial, path), expected);
}

/* Windows are in the order of time, and a pair may lack one. Numbers may be anything. */
TEST(damaged_windows_are_left_out)
{
    struct trial trial;

    read_text(&trial,
              "{\"arms\": [{\"cause\": \"control\", \"uses\": 1}, {\"cause\": \"x\"}], "
              "\"windows\": [{\"arm\": 1, \"pair\": 0, \"switched\": true, \"first\": 0, \"last\": "
              "1}, {\"arm\": 1, \"pair\": 1, \"switched\": true, \"first\": 2, \"last\": 3}, "
              "{\"arm\": 1, \"pair\": 1, \"switched\": false, \"first\": 0, \"last\": 1}, "
              "{\"arm\": 2, \"pair\": 0}, {\"arm\": 1e300, \"pair\": -1}, {\"arm\": 0, \"pair\": "
              "0, \"first\": 3, \"last\": 2}, {\"arm\": 0, \"pair\": 9, \"first\": 0, \"last\": "
              "99}, 7, null], \"steps\": {\"wall_ns\": [10, 30, 5, 5, null], \"loss\": [1, 1, 3, "
              "null]}}",
              STATUS_OK);
    assert_int_equal(trial.arms[0].pairs, 0);
    assert_int_equal(trial.arms[1].pairs, 1);
    trial_judge(&trial.arms[1], &trial.arms[0], NULL);
    assert_true(fabs(trial.arms[1].before_ns / trial.arms[1].after_ns - 4) < 1e-9);
    assert_int_equal(trial.arms[1].verdict, TRIAL_UNUSED);
    assert_true(isnan(trial.arms[1].loss_ratio.low));
    assert_true(fabs(trial_mean_step(&trial, 2) - 5) < 1e-9);
    trial_release(&trial);
    read_text(&trial, "{\"arms\": 3}", STATUS_BAD_INPUT);
    trial_release(&trial);
    read_text(&trial, "[1, 2", STATUS_BAD_INPUT);
    trial_release(&trial);
    assert_int_equal(trial_read(&trial, trace_folder_path("nothing.json")), STATUS_IO);
    trial_release(&trial);
}

TESTS_WITH(trace_folder_open, trace_folder_remove)
