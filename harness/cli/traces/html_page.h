/* A page of HTML that needs nothing else: the viewer with a document in it (viewer/README.md). */
#pragma once

#include "harness/base/embedded_file.h"
#include "harness/base/status.h"
#include "harness/cli/line/flags.h"
#include "harness/text/json.h"

extern const struct embedded_file viewer_files[]; /* the page without its document, alone */

/* Whether a page could be written to `path`, before the work. IO. */
enum status html_page_try(const char *path);

/* The same for a command's --out=FILE, if that is given. BAD_USAGE: a format is, too. */
enum status html_page_check(const struct flags *flags);

/* A document, to which the caller adds members; `about` is what the page's heading says it is
 * about. The caller frees it. */
cJSON *html_page_document(struct json *json, const char *command, const char *about);

/* Writes the page, whole or not at all, and says so on standard output. IO, OUT_OF_MEMORY. */
enum status html_page_write(const char *path, const struct json *json, const cJSON *document);
