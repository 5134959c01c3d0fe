/* Compressing a text: as a member of a gzip file, or in zlib's format, which browsers inflate as
 * "deflate". */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>

enum deflate_form { DEFLATE_GZIP, DEFLATE_ZLIB };

/* *bytes is malloc'd. BAD_INPUT: the text is larger than 4 GB. OUT_OF_MEMORY. */
enum status deflate_text(char **bytes, size_t *count, const char *text, size_t length,
                         enum deflate_form form);
