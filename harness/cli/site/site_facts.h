/* The facts that the index of a site tells of a page: when and where it was measured, and the one
 * sentence that matters, out of the document that the page shows. */
#pragma once

#include "harness/cli/site/site_files.h"

#include <cjson/cJSON.h>

struct site_facts {
    char date[40], machine[200], commit[64]; /* "": the document does not say it */
    char verdict[80], sentence[400];
    const char *tone; /* of the verdict: "good", "bad", "doubtful" or "plain" */
};

/* `document` is that of the page: viewer/README.md has its members. */
void site_facts_take(struct site_facts *facts, enum site_kind kind, const cJSON *document);
