/* The log of a training run: a line per loss that was read, each forced to disk (fsync), so that it
 * is there even if the machine fails, or posted to a service (log_server_open()) that answers once
 * it has it. The loop does that itself, or hands the line to a thread, which writes or posts all
 * that are waiting at once.
 *
 * The queue is bounded: where disk or service is too slow, the loop waits for it. Where the disk is
 * full, the log ends and the training goes on. */
#pragma once

#include "harness/base/status.h"
#include "harness/engine/settings/config.h"

#include <stddef.h>
#include <stdint.h>

enum { LOG_LINES = 64 }; /* that may wait for the thread */

struct line_log;

/* A scratch file; `mode` is not LOGGING_NONE. UNSUPPORTED where the loop is to force lines to a
 * disk and the file is in memory, or where there is no loopback to post them on. */
enum status line_log_open(struct line_log **log, enum logging_mode mode);

/* Ends the thread when all lines are written. NULL is allowed. */
void line_log_close(struct line_log *log);

/* `step` counts from 1, as all that people read does. Nothing once the log has ended. */
void line_log_add(struct line_log *log, int64_t step, float loss);

/* Waits until all lines are on the disk, or answered. Returns why the log has ended, and again on
 * every later call. */
enum status line_log_wait(struct line_log *log);

/* A service that keeps the lines of a log, as an experiment tracker does: a socket on the loopback,
 * and a thread that writes what it is sent to a file and answers. It answers as late as a service
 * in another place would. */

/* From a message to its answer: a round trip within a region and a short request take so long. */
enum { LOG_SERVER_ANSWERS_AFTER_US = 3000 };
enum { LOG_MESSAGE_BYTES = 4096 }; /* the longest message */

struct log_server;

/* `file` stays the caller's. UNSUPPORTED where nothing connects on the loopback. */
enum status log_server_open(struct log_server **server, int file);

/* Sends lines, each with its end, and waits for the answer. Returns 0, or why they were not kept,
 * as an errno. */
int log_server_send(struct log_server *server, const char *lines, size_t bytes);

void log_server_close(struct log_server *server); /* NULL is allowed */
