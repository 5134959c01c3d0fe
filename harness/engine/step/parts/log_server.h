/* A service that keeps the lines of a log, as an experiment tracker does: a socket on the loopback,
 * and a thread that writes what it is sent to a file and answers. It answers as late as a service
 * in another place would. */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>

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
