/* Reading JSON as Google Benchmark writes it: a counter that is not a number is printed as a bare
 * NaN or Infinity, which JSON does not have. Such a word is read as an empty array: no number. */
#pragma once

#include "harness/base/status.h"

#include <cjson/cJSON.h>

/* The document in the file `path`, for cJSON_Delete(). IO when it cannot be read; BAD_INPUT, with
 * the line, when it is not JSON. */
enum status lenient_json_read(cJSON **root, const char *path);
