/* The file is read once: its windows become pairs, by arm, and a pair is complete if it has one
 * window of either kind. Each look asks for the verdict of the pairs so far, in the order in which
 * they were measured. The first look that decides is the last: what was measured later does not
 * change it, so a trial that stops late says the same as one that stops at once. */
#include "harness/desk/compare/trial/trial.h"

#include "harness/base/rows.h"
#include "harness/text/result_traces.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LEAST = 1 + LEAST_EFFECT_PERCENT / 100.0;

const char *trial_verdict_name(enum trial_verdict verdict)
{
    static const char *const names[] = {
#define TRIAL_VERDICT_NAME(id, name) [id] = name,
        TRIAL_VERDICTS(TRIAL_VERDICT_NAME)
#undef TRIAL_VERDICT_NAME
    };

    return names[verdict];
}

/* Those in the rows of scripts/recorder/chokepoint_switches.py; test_try compares. */
bool trial_knows(const char *finding)
{
    static const char *const known[] = {
        "allocation_churn", "data_jitter",        "data_loading",       "device_bound",
        "epoch_gap",        "exposed_copy",       "fp32_matmul",        "exposed_communication",
        "fragmentation",    "garbage_collection", "host_computes",      "host_sync",
        "host_work",        "launch_bound",       "layout_conversions", "logging_gap",
        "lost_core",        "optimizer_overhead", "pageable_copy",      "oversubscribed_host",
        "rare_work",        "save_pause",         "small_copies",       "small_kernels",
        "small_messages",   "small_operators",    "unfused_ops",        "values_read",
    };

    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strcmp(known[i], finding) == 0)
            return true;
    return false;
}

/* --- The file --- */

/* The steps of the file, as arrays. */
struct trial_steps {
    double *wall_ns, *loss;
    int count;
};

/* A member of the file's steps; what it lacks is NaN. */
static enum status numbers_of(double **numbers, const cJSON *array, int count)
{
    const cJSON *item = cJSON_IsArray(array) ? array->child : NULL;

    TRY(rows_make(numbers, count));
    for (int i = 0; i < count; i++) {
        (*numbers)[i] = cJSON_IsNumber(item) ? item->valuedouble : NAN;
        item = item != NULL ? item->next : NULL;
    }
    return STATUS_OK;
}

static double mean_between(const double *values, int first, int last)
{
    return stats_mean(values + first, last - first + 1);
}

/* A number that counts something; -1: it is none, or beyond `most`. */
static int index_of(const cJSON *object, const char *name, int most)
{
    double value = json_number_of(object, name);

    return value >= 0 && value <= most ? (int)value : -1;
}

/* Puts a window into its pair. One that is damaged, or of which there are two, is left out. */
static void take_window(struct trial *trial, const cJSON *window, const struct trial_steps *steps,
                        int most_pairs)
{
    int number = index_of(window, "arm", trial->windowed - 1);
    int pair = index_of(window, "pair", most_pairs - 1);
    int last = index_of(window, "last", steps->count - 1);
    int first = index_of(window, "first", last);
    bool switched = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(window, "switched"));
    struct trial_arm *arm;

    if (number < 0 || pair < 0 || first < 0)
        return;
    arm = &trial->arms[number];
    (switched ? arm->after : arm->before)[pair] = mean_between(steps->wall_ns, first, last);
    arm->loss[switched][pair] = mean_between(steps->loss, first, last);
    if (pair >= arm->pairs)
        arm->pairs = pair + 1;
}

/* Leaves out pairs of which one window is missing. */
static void keep_whole_pairs(struct trial_arm *arm)
{
    int kept = 0;

    for (int i = 0; i < arm->pairs; i++) {
        if (!(arm->before[i] > 0 && arm->after[i] > 0))
            continue;
        arm->before[kept] = arm->before[i];
        arm->after[kept] = arm->after[i];
        for (int v = 0; v < 2; v++) arm->loss[v][kept] = arm->loss[v][i];
        kept++;
    }
    arm->pairs = kept;
}

static enum status read_arm(struct trial_arm *arm, const cJSON *entry, int most_pairs)
{
    arm->cause = json_text_of(entry, "cause");
    arm->name = json_text_of(entry, "name");
    arm->text = json_text_of(entry, "text");
    arm->advice = json_text_of(entry, "advice");
    arm->place = json_text_of(entry, "place");
    arm->factor = arm->before_ns = arm->after_ns = NAN;
    arm->interval = arm->loss_ratio = (struct confidence_interval){ NAN, NAN, 0 };
    arm->is_fix = strcmp(json_text_of(entry, "kind"), "without") != 0;
    arm->unused = !arm->is_apart && !(json_number_of(entry, "uses") > 0);
    TRY(rows_make(&arm->before, most_pairs));
    TRY(rows_make(&arm->after, most_pairs));
    for (int v = 0; v < 2; v++) TRY(rows_make(&arm->loss[v], most_pairs));
    return STATUS_OK;
}

enum status trial_measure_step(struct trial *trial)
{
    double *all = NULL;
    int count = 0;

    for (int i = 0; i < trial->count; i++) count += trial->arms[i].pairs;
    TRY(rows_make(&all, count));
    count = 0;
    for (int i = 0; i < trial->count; i++)
        for (int j = 0; j < trial->arms[i].pairs; j++) all[count++] = trial->arms[i].before[j];
    trial->step_ns = stats_median(all, count);
    trial->step = stats_median_interval(all, count);
    free(all);
    return STATUS_OK;
}

static enum status read_windows(struct trial *trial)
{
    enum status status = STATUS_OK;
    const cJSON *arms = cJSON_GetObjectItemCaseSensitive(trial->root, "arms"),
                *apart = cJSON_GetObjectItemCaseSensitive(trial->root, "apart"),
                *windows = cJSON_GetObjectItemCaseSensitive(trial->root, "windows"),
                *object = cJSON_GetObjectItemCaseSensitive(trial->root, "steps"),
                *wall = cJSON_GetObjectItemCaseSensitive(object, "wall_ns"), *entry;
    int most = cJSON_GetArraySize(windows);
    struct trial_steps steps = { .count = cJSON_GetArraySize(wall) };

    TRY_OUT(numbers_of(&steps.wall_ns, wall, steps.count));
    TRY_OUT(numbers_of(&steps.loss, cJSON_GetObjectItemCaseSensitive(object, "loss"), steps.count));
    TRY_OUT(rows_make(&trial->arms, cJSON_GetArraySize(arms) + cJSON_GetArraySize(apart)));
    cJSON_ArrayForEach(entry, arms) TRY_OUT(read_arm(&trial->arms[trial->count++], entry, most));
    trial->windowed = trial->count;
    cJSON_ArrayForEach(entry, windows) take_window(trial, entry, &steps, most);
    cJSON_ArrayForEach(entry, apart)
    {
        struct trial_arm *arm = &trial->arms[trial->count++];
        arm->is_apart = true;
        TRY_OUT(read_arm(arm, entry, 0));
        snprintf(arm->reason, sizeof arm->reason, "only runs of its own measure it");
    }
    for (int i = 0; i < trial->count; i++) keep_whole_pairs(&trial->arms[i]);
    TRY_OUT(trial_measure_step(trial));

out:
    free(steps.wall_ns);
    free(steps.loss);
    return status;
}

enum status trial_read(struct trial *trial, const char *path)
{
    *trial = (struct trial){ .step_ns = NAN };
    if (!result_json_read(&trial->root, AT_FDCWD, path))
        FAIL(STATUS_IO, "%s cannot be read: %s", path, strerror(errno));
    if (!cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(trial->root, "arms")))
        FAIL(STATUS_BAD_INPUT, "%s is no file of a trial", path);
    trial->ended = json_text_of(trial->root, "ended");
    trial->why = json_text_of(trial->root, "why");
    trial->device = json_text_of(trial->root, "device");
    return read_windows(trial);
}

void trial_arm_release(struct trial_arm *arm)
{
    free(arm->before);
    free(arm->after);
    for (int v = 0; v < 2; v++) free(arm->loss[v]);
}

void trial_release(struct trial *trial)
{
    for (int i = 0; i < trial->count; i++) trial_arm_release(&trial->arms[i]);
    free(trial->arms);
    cJSON_Delete(trial->root);
    *trial = (struct trial){ .root = NULL };
}

double trial_mean_step(const struct trial *trial, int first)
{
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(trial->root, "steps"), *step;
    double sum = 0;
    int count = 0, number = 0;

    cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(steps, "wall_ns"))
    {
        if (number++ < first || !cJSON_IsNumber(step))
            continue;
        sum += step->valuedouble;
        count++;
    }
    return count > 0 ? sum / count : NAN;
}

enum status trial_arm_add(struct trial_arm *arm, double before_ns, double after_ns)
{
    double **const rows[] = { &arm->before, &arm->after, &arm->loss[0], &arm->loss[1] };
    const double values[] = { before_ns, after_ns, NAN, NAN };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        int64_t room = arm->pairs;
        TRY(rows_grow(rows[i], arm->pairs + 1, &room));
        (*rows[i])[arm->pairs] = values[i];
    }
    arm->pairs++;
    return STATUS_OK;
}

/* --- The verdict --- */

/* By the first `pairs` pairs: before over after. NaN and no coverage if they are too few to
 * say anything, or memory is out. */
static struct confidence_interval interval_of(const double *before, const double *after, int pairs,
                                              double *median)
{
    struct confidence_interval interval = { NAN, NAN, 0 }, looked;
    double *factors = NULL;

    *median = NAN;
    if (rows_make(&factors, pairs) != STATUS_OK)
        return interval;
    stats_paired_factors(before, after, pairs, factors);
    looked = stats_looked_interval(factors, pairs, TRIAL_FIRST_LOOK, TRIAL_LOOK);
    if (stats_interval_is_enough(&looked)) {
        *median = stats_median(factors, pairs);
        interval = looked;
    }
    free(factors);
    return interval;
}

/* Everything that windows without a switch differ by; without a control nothing is known of it. */
static struct confidence_interval control_of(const struct trial_arm *control, int pairs)
{
    double median;

    if (control == NULL)
        return (struct confidence_interval){ 1, 1, 1 };
    return interval_of(control->before, control->after,
                       pairs < control->pairs ? pairs : control->pairs, &median);
}

static enum trial_verdict verdict_of(const struct confidence_interval *interval,
                                     const struct confidence_interval *control)
{
    enum change same = stats_change(control, LEAST);

    if (!stats_interval_is_enough(interval) || !stats_interval_is_enough(control) ||
        same == CHANGE_LARGER || same == CHANGE_SMALLER)
        return TRIAL_UNDECIDED;
    if (interval->low > fmax(LEAST, control->high))
        return TRIAL_GAIN;
    if (interval->high < fmin(1 / LEAST, control->low))
        return TRIAL_LOSS;
    return stats_change(interval, LEAST) == CHANGE_NONE ? TRIAL_NO_GAIN : TRIAL_UNDECIDED;
}

/* Fills in the reason of what is undecided. */
static void explain(struct trial_arm *arm, const struct confidence_interval *control)
{
    enum change same = stats_change(control, LEAST);
    size_t room = sizeof arm->reason;

    if (!stats_interval_is_enough(&arm->interval) || !stats_interval_is_enough(control))
        snprintf(arm->reason, room, "fewer than %d pairs have no 95%% interval", TRIAL_FIRST_LOOK);
    else if (same == CHANGE_LARGER || same == CHANGE_SMALLER)
        snprintf(arm->reason, room,
                 "windows in which nothing was switched differ by %.2fx (%.2f to %.2f)",
                 sqrt(control->low * control->high), control->low, control->high);
    else if (arm->interval.low > LEAST)
        snprintf(arm->reason, room,
                 "windows in which nothing was switched differ by up to %.2fx: a quieter machine "
                 "or more --rounds tell",
                 control->high);
    else
        snprintf(arm->reason, room, "too noisy to say: a quieter machine or more --rounds tell");
}

void trial_judge(struct trial_arm *arm, const struct trial_arm *control, const char *disturbed)
{
    struct confidence_interval same = { NAN, NAN, 0 };

    arm->is_judged = true;
    arm->reason[0] = '\0';
    arm->counted = arm->pairs < TRIAL_FIRST_LOOK ? arm->pairs : TRIAL_FIRST_LOOK;
    for (;;) {
        arm->interval = interval_of(arm->before, arm->after, arm->counted, &arm->factor);
        same = control_of(control, arm->counted);
        arm->verdict = verdict_of(&arm->interval, &same);
        if (arm->verdict != TRIAL_UNDECIDED || arm->counted == arm->pairs)
            break;
        arm->counted =
            arm->counted + TRIAL_LOOK < arm->pairs ? arm->counted + TRIAL_LOOK : arm->pairs;
    }
    arm->before_ns = stats_median(arm->before, arm->counted);
    arm->after_ns = stats_median(arm->after, arm->counted);
    arm->loss_ratio = interval_of(arm->loss[1], arm->loss[0], arm->counted, &arm->loss_factor);
    if (arm->verdict == TRIAL_UNDECIDED)
        explain(arm, &same);
    if (arm->unused) {
        arm->verdict = TRIAL_UNUSED;
    } else if (arm->verdict == TRIAL_NO_GAIN && disturbed != NULL) {
        arm->verdict = TRIAL_UNDECIDED;
        snprintf(arm->reason, sizeof arm->reason, "%s, which can hide a gain", disturbed);
    }
}

bool trial_is_decided(const struct trial_arm *arm)
{
    return arm->counted >= TRIAL_FIRST_LOOK && arm->verdict != TRIAL_UNDECIDED &&
           (arm->counted - TRIAL_FIRST_LOOK) % TRIAL_LOOK == 0;
}
