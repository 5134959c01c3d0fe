/* The log of a training run: a line per loss that was read, each forced to disk (fsync), so that it is there
 * even if the machine fails. The loop does that itself, or hands the line to a thread, which forces all
 * that are waiting to disk at once.
 *
 * The queue is bounded: where the disk is too slow, the loop waits for it. Where the disk is full, the log
 * ends and the training goes on. */
#ifndef SCENARIOS_TRAINING_STEP_PARTS_LINE_LOG_H
#define SCENARIOS_TRAINING_STEP_PARTS_LINE_LOG_H

#include "harness/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { LOG_LINES = 64 }; /* that may wait for the thread */

struct line_log;

/* A scratch file; `queued`: with a thread. UNSUPPORTED where the loop is to force lines to a disk and the
 * file is in memory. */
enum status line_log_open(struct line_log **log, bool queued);

/* Ends the thread when all lines are written. NULL is allowed. */
void line_log_close(struct line_log *log);

/* `step` counts from 1, as all that people read does. Nothing once the log has ended. */
void line_log_add(struct line_log *log, int64_t step, float loss);

/* Waits until all lines are on the disk. Returns why the log has ended, and again on every later call. */
enum status line_log_wait(struct line_log *log);

#endif
