/* The document that the page of an item shows: viewer/README.md has its members. */
#pragma once

#include "harness/cli/site/site_files.h"
#include "harness/text/json.h"

/* *document is for cJSON_Delete(). Files that cannot be read are named on standard error, and
 * *troubles counts them. Errors are those of the command that reads the item. */
enum status site_document(cJSON **document, struct json *json, int *troubles,
                          const struct site_item *item);
