/* The child's side: balance first, then pairs of repetitions in shuffled order, a record each. */
#include "harness/base/random.h"
#include "harness/experiment/child/balance.h"
#include "harness/experiment/child/settings.h"
#include "harness/experiment/child/window.h"
#include "harness/experiment/records.h"
#include "harness/experiment/verdict.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_STREAM = 0x70616972 }; /* of random numbers: "pair" */

/* Everything of one scenario in this process. */
struct session {
    const struct scenario *scenario;
    const struct protocol *protocol;
    struct device *device;
    enum variant only; /* VARIANT_COUNT: both */
    int descriptor;
    struct training_config configs[VARIANT_COUNT];
    struct window_plan plan;
    bool apart; /* the device does not hold both runs of a pair: one comes after the other */
    struct scenario_result seen; /* what was measured so far, less the single steps */
    struct record record;        /* too large for the stack of many frames */
};

static bool is_run(const struct session *session, enum variant variant)
{
    return session->only == VARIANT_COUNT || session->only == variant;
}

/* --- Records --- */

static enum status send_scenario(struct session *session, const struct balance_result *balance)
{
    struct record *record = &session->record;
    enum status status = STATUS_OK;

    memset(record, 0, sizeof *record);
    record->type = RECORD_SCENARIO;
    record->device = *device_properties(session->device);
    record->balance = *balance;
    record->window_seconds = session->plan.seconds;
    for (int v = 0; v < VARIANT_COUNT; v++)
        TRY(knobs_print(&session->configs[v], record->settings[v], sizeof record->settings[v]));
    TRY(record_write(session->descriptor, record));

out:
    return status;
}

static enum status send_text(struct session *session, enum record_type type, const char *text)
{
    struct record *record = &session->record;

    memset(record, 0, sizeof *record);
    record->type = type;
    snprintf(record->text, sizeof record->text, "%s", text);
    return record_write(session->descriptor, record);
}

/* The sentence, and what was being done. */
static enum status send_error(struct session *session)
{
    const struct status_error *error = status_last();
    char text[sizeof session->record.text];

    if (error->context[0] != '\0')
        snprintf(text, sizeof text, "%s: %s", error->context, error->text);
    else
        snprintf(text, sizeof text, "%s", error->text);
    return send_text(session, RECORD_ERROR, text);
}

/* --- Measuring --- */

/* Sends a repetition, which moves into what was seen. */
static enum status send_repetition(struct session *session, enum variant variant, int index,
                                   struct repetition *repetition)
{
    struct record *record = &session->record;
    enum status status = STATUS_OK;

    memset(record, 0, sizeof *record);
    record->type = RECORD_REPETITION;
    record->variant = variant;
    record->index = index;
    record->repetition = *repetition;
    *repetition = (struct repetition){ 0 };
    TRY(record_write(session->descriptor, record));
    session->seen.repetitions[variant][index] = record->repetition;
    session->seen.repetitions[variant][index].step_ns = NULL;
    session->seen.repetitions[variant][index].step_count = 0;

out:
    record_release(record);
    return status;
}

/* The pair that does not count warms up files, pools and primitives, and tells the steps of a window. */
static enum status run_pilot_pair(struct session *session)
{
    struct training_config configs[VARIANT_COUNT];
    double step_ns[VARIANT_COUNT];
    int count = 0;
    enum status status = STATUS_OK;

    for (int v = 0; v < VARIANT_COUNT; v++)
        if (is_run(session, (enum variant)v))
            configs[count++] = session->configs[v];
    session->plan.period = training_period(configs, count);
    for (int i = 0; i < count; i++)
        TRY(window_pilot(session->device, &configs[i], &session->plan, &step_ns[i]));
    window_plan_steps(&session->plan, step_ns, count);

out:
    if (status != STATUS_OK)
        status_context("first pair");
    return status;
}

/* Which variant opens each of `pairs` pairs: each one half of them, in shuffled order, so that drift
 * within a pair falls on both alike. */
static void order_of_pairs(uint32_t *first, int pairs, struct random *random)
{
    for (int i = 0; i < pairs; i++) first[i] = (uint32_t)i % VARIANT_COUNT;
    random_shuffle(random, first, (uint32_t)pairs);
}

/* Both runs in turns, or, once the device turned out too small for that, one after the other. */
static enum status run_windows(struct session *session, struct window_run *runs, int count,
                               int *failed)
{
    enum status status = STATUS_OK;

    if (!session->apart) {
        status = window_pair(runs, count, session->device, &session->plan, failed);
        session->apart = status == STATUS_DEVICE_OUT_OF_MEMORY && count > 1;
        if (!session->apart)
            goto out;
        TRY(device_memory_trim(session->device));
    }
    for (int i = 0; i < count; i++) {
        status = window_pair(&runs[i], 1, session->device, &session->plan, failed);
        *failed = i;
        TRY(status);
    }

out:
    return status;
}

static enum status run_pair(struct session *session, bool after_first, int index)
{
    struct repetition repetitions[VARIANT_COUNT] = { 0 };
    struct window_run runs[VARIANT_COUNT] = { 0 };
    enum variant variants[VARIANT_COUNT];
    int count = 0, failed = -1;
    enum status status = STATUS_OK;

    for (int i = 0; i < VARIANT_COUNT; i++) {
        enum variant variant = (i == 0) == after_first ? VARIANT_AFTER : VARIANT_BEFORE;
        if (!is_run(session, variant))
            continue;
        runs[count].config = &session->configs[variant];
        runs[count].repetition = &repetitions[count];
        variants[count++] = variant;
    }
    TRY(run_windows(session, runs, count, &failed));
    for (int i = 0; i < count; i++)
        TRY(send_repetition(session, variants[i], index, &repetitions[i]));
    session->seen.pairs = index + 1;

out:
    for (int i = 0; i < count; i++) free(repetitions[i].step_ns);
    if (status != STATUS_OK && failed >= 0)
        status_context("%s, repetition %d", variant_name(variants[failed]), index + 1);
    else if (status != STATUS_OK)
        status_context("repetition %d", index + 1);
    return status;
}

/* Whether more pairs could tell more. */
static enum status is_undecided(struct session *session, bool *undecided)
{
    enum status status = STATUS_OK;

    *undecided = false;
    if (session->only != VARIANT_COUNT)
        goto out;
    TRY(verdict_give(&session->seen));
    *undecided = session->seen.verdict == VERDICT_UNDECIDED;

out:
    return status;
}

static enum status open_seen(struct session *session, size_t pairs)
{
    enum status status = STATUS_OK;

    session->seen.scenario = session->scenario;
    session->seen.protocol = *session->protocol;
    session->seen.device = *device_properties(session->device);
    for (int v = 0; v < VARIANT_COUNT; v++) {
        TRY(knobs_print(&session->configs[v], session->seen.settings[v],
                        sizeof session->seen.settings[v]));
        session->seen.repetitions[v] = calloc(pairs, sizeof(struct repetition));
        if (session->seen.repetitions[v] == NULL)
            FAIL(STATUS_OUT_OF_MEMORY, "no memory for %zu repetitions", pairs);
    }

out:
    return status;
}

/* All pairs that were asked for, then a few more at a time while the verdict is undecided. */
static enum status run_pairs(struct session *session)
{
    const struct protocol *protocol = session->protocol;
    int most = protocol->repetitions + protocol->extra, group = protocol->repetitions, done = 0;
    struct random random = random_seed(protocol->seed, ORDER_STREAM);
    bool undecided = true;
    uint32_t *first = malloc(((size_t)most + 1) * sizeof *first);
    enum status status = STATUS_OK;

    if (first == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the order of %d pairs", most);
    TRY(open_seen(session, (size_t)most + 1));
    while (undecided && done < most) {
        if (group > most - done)
            group = most - done;
        order_of_pairs(first, group, &random);
        for (int i = 0; i < group; i++, done++) TRY(run_pair(session, first[i] != 0, done));
        TRY(is_undecided(session, &undecided));
        group = EXTRA_PAIRS;
    }

out:
    free(first);
    return status;
}

/* Chooses what both variants read, from the settings before. False: the device cannot show it, and the
 * parent was told. */
static enum status settle_balance(struct session *session, bool *holds)
{
    const struct balance *balance = &session->scenario->balance;
    struct balance_result chosen;
    char text[512];
    enum status status = STATUS_OK;

    TRY(balance_choose(&chosen, session->device, balance, &session->configs[VARIANT_BEFORE]));
    session->configs[VARIANT_AFTER].data.jpeg_pixels =
        session->configs[VARIANT_BEFORE].data.jpeg_pixels;
    TRY(send_scenario(session, &chosen));
    *holds = balance_holds(balance, &chosen);
    if (!*holds) {
        balance_explain(balance, &chosen, text, sizeof text);
        TRY(send_text(session, RECORD_SKIPPED, text));
    }

out:
    return status;
}

static enum status open_device(struct session *session)
{
    const struct device_options options = { .memory_bytes = session->protocol->device_memory,
                                            .spin_ns = -1 };
    enum status status = STATUS_OK;

    TRY(device_open(&session->device, session->protocol->device, &options));
    session->plan.seconds = fmax(session->protocol->window_seconds,
                                 device_properties(session->device)->window_seconds_least);

out:
    return status;
}

static enum status run_session(struct session *session)
{
    bool holds = false;
    enum status status = STATUS_OK;

    TRY(open_device(session));
    TRY(settings_settle(session->configs, session->scenario, session->protocol,
                        device_properties(session->device)));
    TRY(settle_balance(session, &holds));
    if (!holds)
        goto out;
    TRY(run_pilot_pair(session));
    TRY(run_pairs(session));
    TRY(send_text(session, RECORD_END, ""));

out:
    return status;
}

enum status experiment_child(const struct scenario *scenario, const struct protocol *protocol,
                             enum variant only, int descriptor)
{
    struct session *session = calloc(1, sizeof *session);
    struct status_error error;
    enum status status = STATUS_OK;

    signal(SIGPIPE, SIG_IGN);
    if (session == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory to run %s", scenario->name);
    *session = (struct session){
        .scenario = scenario, .protocol = protocol, .only = only, .descriptor = descriptor
    };
    status = run_session(session);
    /* Settings that the device refuses are no failure of the scenario: it cannot be shown there. */
    if (status == STATUS_REFUSED || status == STATUS_UNSUPPORTED) {
        status = send_text(session, RECORD_SKIPPED, status_last()->text);
    } else if (status != STATUS_OK) {
        error = *status_last();
        send_error(session);
        status_raise(&error);
    }

out:
    if (session != NULL) {
        for (int v = 0; v < VARIANT_COUNT; v++) free(session->seen.repetitions[v]);
        device_close(session->device);
    }
    free(session);
    return status;
}
