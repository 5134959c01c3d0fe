/* Files of other tools: those that are read as benchmark files, and those that are told by what
 * they are.
 *
 * Read: hyperfine's JSON (--export-json; https://github.com/sharkdp/hyperfine) and
 * pytest-benchmark's (--benchmark-json; https://pytest-benchmark.readthedocs.io). A row is a
 * command, or a test by its full name. */
#pragma once

#include "harness/base/status.h"

#include <cjson/cJSON.h>
#include <stddef.h>

/* Says what a file is by its first bytes, if no JSON, and what to do with it: "compressed by zstd:
 * unpack it with zstd -d"; NULL: it may be JSON. */
const char *other_tools_by_bytes(const char *bytes, size_t size);

/* Says what JSON without results is, and what to do with it; NULL: not known. */
const char *other_tools_by_members(const cJSON *root);

/* *root in the form of Google Benchmark's files, if it is one of the tools that are read: then it
 * takes the place of the former, which is released. OUT_OF_MEMORY leaves it. */
enum status other_tools_convert(cJSON **root);
