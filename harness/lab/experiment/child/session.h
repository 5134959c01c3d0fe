/* One scenario in a child process: the part that the timing child and the tracing child share.
 *
 * Both open the device, settle the settings of both variants, choose what brings host and device
 * work into balance, and report to the parent in records. */
#pragma once

#include "harness/lab/experiment/records.h"

struct session {
    const struct scenario *scenario;
    const struct protocol *protocol;
    int descriptor; /* of the records; negative: none are written */
    struct training_config configs[VARIANT_COUNT];
    struct balance_result balance;
    struct record record; /* the one that is being filled: too large for the stack of many frames */
};

/* Starts a session of zeros. SIGPIPE is ignored from then on, so that a parent that died is an
 * error of write(). */
void session_start(struct session *session, const struct scenario *scenario,
                   const struct protocol *protocol, int descriptor);

/* Opens the protocol's device; `sink` is all zeros where nothing is recorded. */
enum status session_open_device(const struct protocol *protocol, struct activity_sink sink,
                                struct device **device);

/* Fills in `configs`: the scenario's knobs with the protocol's seed and data, resolved; in A/A both
 * are the settings before. Then makes the size of the JPEG files the same in both: the protocol's,
 * or, where that is 0, what balance_choose finds. REFUSED or UNSUPPORTED where the device cannot
 * show the scenario. INTERNAL when the variants do not take the same samples per step: a window has
 * the same steps in both, so only then does it hold the same samples. */
enum status session_settle(struct session *session, struct device *device);

/* Whether host and device work are in balance. If not, the parent gets a "skipped" record. */
enum status session_check_balance(struct session *session, bool *holds);

/* Tells the parent that this child gets on: after each part of the work that has no record. */
enum status session_progress(struct session *session);

/* Writes session->record, which the caller has filled in; or fills it in with a text first. */
enum status session_send(struct session *session);
enum status session_send_text(struct session *session, enum record_type type, const char *text);

/* The last thing in a child, given how its work ended. REFUSED and UNSUPPORTED are no failure of
 * the scenario, for the device cannot show it: a "skipped" record is sent and OK comes back. Any
 * other failure is sent as an "error" record and comes back. */
enum status session_end(struct session *session, enum status status);
