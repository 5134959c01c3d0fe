#include "harness/experiment/child/session.h"

#include "harness/experiment/child/balance.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

void session_start(struct session *session, const struct scenario *scenario,
                   const struct protocol *protocol, int descriptor)
{
    signal(SIGPIPE, SIG_IGN);
    session->scenario = scenario;
    session->protocol = protocol;
    session->descriptor = descriptor;
}

enum status session_open_device(const struct session *session, struct activity_sink sink,
                                struct device **device)
{
    const struct device_options options = { .memory_bytes = session->protocol->device_memory,
                                            .spin_ns = -1,
                                            .sink = sink };

    return device_open(device, session->protocol->device, &options);
}

/* --- Settings --- */

static enum status settle_variant(struct session *session, enum variant variant,
                                  const struct device_properties *device)
{
    const struct protocol *protocol = session->protocol;
    struct training_config *config = &session->configs[variant];
    enum status status = STATUS_OK;

    TRY(scenario_config(session->scenario, protocol->aa ? VARIANT_BEFORE : variant, config));
    config->seed = protocol->seed;
    if (protocol->data != NULL && config->data.kind != DATA_SEQUENCES) {
        if (strlen(protocol->data) >= sizeof config->data.folder)
            FAIL(STATUS_BAD_INPUT, "the folder's name is longer than %zu characters: %.80s...",
                 sizeof config->data.folder - 1, protocol->data);
        snprintf(config->data.folder, sizeof config->data.folder, "%s", protocol->data);
    }
    TRY(knobs_resolve(config, device));

out:
    return status;
}

/* All micro-batches together. */
static int samples_per_step(const struct training_config *config)
{
    return config->model.batch;
}

enum status session_settle(struct session *session, struct device *device, int jpeg_pixels)
{
    struct training_config *before = &session->configs[VARIANT_BEFORE];
    struct training_config *after = &session->configs[VARIANT_AFTER];
    enum status status = STATUS_OK;

    for (int v = 0; v < VARIANT_COUNT; v++)
        TRY(settle_variant(session, (enum variant)v, device_properties(device)));
    if (samples_per_step(before) != samples_per_step(after))
        FAIL(STATUS_INTERNAL,
             "%s: a step takes %d samples before and %d after; both must take the same",
             session->scenario->name, samples_per_step(before), samples_per_step(after));
    if (jpeg_pixels > 0)
        before->data.jpeg_pixels = jpeg_pixels;
    else
        TRY(balance_choose(&session->balance, device, &session->scenario->balance, before));
    after->data.jpeg_pixels = before->data.jpeg_pixels;

out:
    return status;
}

/* A tracing child that is given the size measures no balance: the timing child found that it holds. */
enum status session_check_balance(struct session *session, bool *holds)
{
    const struct balance *balance = &session->scenario->balance;
    char text[512];

    *holds = !session->balance.measured || balance_holds(balance, &session->balance);
    if (*holds)
        return STATUS_OK;
    balance_explain(balance, &session->balance, text, sizeof text);
    return session_send_text(session, RECORD_SKIPPED, text);
}

/* --- Records --- */

enum status session_send(struct session *session)
{
    return record_write(session->descriptor, &session->record);
}

enum status session_send_text(struct session *session, enum record_type type, const char *text)
{
    struct record *record = &session->record;

    memset(record, 0, sizeof *record);
    record->type = type;
    snprintf(record->text, sizeof record->text, "%s", text);
    return session_send(session);
}

enum status session_end(struct session *session, enum status status)
{
    const struct status_error error = *status_last();
    char text[sizeof session->record.text];

    if (status == STATUS_REFUSED || status == STATUS_UNSUPPORTED)
        return session_send_text(session, RECORD_SKIPPED, error.text);
    if (status == STATUS_OK)
        return STATUS_OK;
    snprintf(text, sizeof text, "%s%s%s", error.context, error.context[0] != '\0' ? ": " : "",
             error.text);
    session_send_text(session, RECORD_ERROR, text);
    return status_raise(&error);
}
