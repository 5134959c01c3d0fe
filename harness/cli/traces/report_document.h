/* The document that `report` shows: results and traces, as viewer/README.md has its members. */
#pragma once

#include "harness/base/status.h"
#include "harness/text/json.h"

/* Additions of a program with a lab to a result; without one there are neither lessons nor lines
 * of kernels. Each *text is JSON, malloc'd. */
struct report_lab {
    enum status (*list)(char **text); /* as `list --format=json` */
    /* As `kernel NAME --arch=N --format=json`, for a kernel of a lesson. */
    enum status (*kernel)(char **text, const char *name, int arch);
};

/* Names the last error on standard error, and in the list of a document's troubles. */
void report_trouble(struct json *json, cJSON *troubles);

/* Before other threads start. `lab` stays in use. */
void report_lab_use(const struct report_lab *lab);

/* *document is for cJSON_Delete(). Files that cannot be read are named on standard error and in the
 * document, and *troubles counts them. BAD_INPUT, IO: the arguments are not what one page shows, or
 * nothing can be read.
 * OUT_OF_MEMORY. */
enum status report_document(cJSON **document, struct json *json, int *troubles,
                            const char *const *arguments, int count);
