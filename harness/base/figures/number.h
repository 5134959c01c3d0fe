/* Numbers as users type them. Each is BAD_USAGE with the option's name, the text and the accepted
 * form. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum status number_integer(int64_t *number, const char *option, const char *text, int64_t least,
                           int64_t most);
enum status number_unsigned(uint64_t *number, const char *option, const char *text);

/* "512MiB", "512M", "1.5G", "2GB", "1073741824": above 0, in powers of 1024 whatever the unit is
 * called, rounded down to whole bytes. False where `text` is nothing of the kind. */
bool number_read_bytes(const char *text, int64_t *bytes);
enum status number_bytes(int64_t *bytes, const char *option, const char *text);

/* "0.2": above 0, at most `most`. */
enum status number_seconds(double *seconds, const char *option, const char *text, double most);

/* "90s", "10m", "1.5h": above 0, at most `most` seconds. */
enum status number_duration(double *seconds, const char *option, const char *text, double most);
