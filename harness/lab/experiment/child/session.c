/* The settings are settled before anything is measured, so that both children, and both variants,
 * train on the same images. */
#include "harness/lab/experiment/child/session.h"

#include "harness/lab/experiment/child/balance.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

void session_start(struct session *session, const struct scenario *scenario,
                   const struct protocol *protocol, int descriptor)
{
    /* If the parent is gone, writing to it fails; the signal would end this process at once. */
    signal(SIGPIPE, SIG_IGN);
    session->scenario = scenario;
    session->protocol = protocol;
    session->descriptor = descriptor;
}

enum status session_open_device(const struct protocol *protocol, struct activity_sink sink,
                                struct device **device)
{
    const struct device_options options = { .memory_bytes = protocol->device_memory,
                                            .spin_ns = -1,
                                            .sink = sink };

    return device_open(device, protocol->device, &options);
}

/* --- Settings --- */

enum status session_settle(struct session *session, struct device *device)
{
    struct training_config *before = &session->configs[VARIANT_BEFORE];
    struct training_config *after = &session->configs[VARIANT_AFTER];
    const struct balance *balance = &session->scenario->balance;
    struct training_config *measured = &session->configs[balances[balance->kind].measured];

    for (int v = 0; v < VARIANT_COUNT; v++)
        TRY(protocol_config(session->protocol, session->scenario, (enum variant)v,
                            device_properties(device), &session->configs[v]));
    if (before->model.batch != after->model.batch) /* of all micro-batches together */
        FAIL(STATUS_INTERNAL,
             "%s: a step takes %d samples before and %d after; both must take the same",
             session->scenario->name, before->model.batch, after->model.batch);
    session->balance.jpeg_pixels = session->protocol->jpeg_pixels;
    if (session->balance.jpeg_pixels > 0)
        measured->data.jpeg_pixels = session->balance.jpeg_pixels;
    else
        TRY(balance_choose(session, device, measured));
    before->data.jpeg_pixels = after->data.jpeg_pixels = measured->data.jpeg_pixels;

    return STATUS_OK;
}

/* A child that is given the size measures no balance: it does the work of an earlier one, whatever
 * the ratio is now. */
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

enum status session_progress(struct session *session)
{
    memset(&session->record, 0, sizeof session->record);
    session->record.type = RECORD_PROGRESS;
    return session_send(session);
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

    /* The device cannot show the scenario: it is skipped, and has not failed. */
    if (status == STATUS_REFUSED || status == STATUS_UNSUPPORTED)
        return session_send_text(session, RECORD_SKIPPED, error.text);
    if (status == STATUS_OK)
        return STATUS_OK;
    snprintf(text, sizeof text, "%s%s%s", error.context, error.context[0] != '\0' ? ": " : "",
             error.text);
    session_send_text(session, RECORD_ERROR, text);
    return status_raise(&error);
}
