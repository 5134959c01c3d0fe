/* The things that a site has pages of: the files and folders below those that are named, each
 * recognised by what it holds.
 *
 * A result of `run` or `try` is a folder with a result.json, a recording one with a record.json;
 * what is in the folders below these is theirs. Traces with snapshots, files of doctor, files of
 * benchmarks and digests of one folder have one page each. A history is a page of its own. Links
 * are not followed, since a site is published and they may lead to anything; neither they nor FIFOs
 * and the like are opened. */
#pragma once

#include "harness/base/status.h"
#include "harness/text/json.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum site_kind {
    SITE_RESULT,
    SITE_TRACES,
    SITE_HISTORY,
    SITE_FLEET,
    SITE_JOB,
    SITE_BENCHMARKS,
    SITE_KINDS
};
const char *site_kind_name(enum site_kind kind); /* "result" ... */

/* A page to make. */
struct site_item {
    enum site_kind kind;
    char *name;         /* the folder or file, from the folder that was named on */
    const char **paths; /* [count], each malloc'd */
    int count;
    int64_t room;
};

/* A file or folder that has no page, and why. */
struct site_left_out {
    char *name;
    char reason[256];
    bool is_damaged; /* it should have one */
};

struct site_files {
    struct site_item *items;
    int count;
    int64_t room;
    struct site_left_out *left_out;
    int left_out_count;
    int64_t left_out_room;
};

/* Looks through `folders`, [count] folders or files, but for the folder `site` itself. BAD_INPUT: a
 * folder cannot be read, or is none; OUT_OF_MEMORY. Release in every case. */
enum status site_files_find(struct site_files *files, const char *const *folders, int count,
                            const char *site);
void site_files_release(struct site_files *files); /* all zero is allowed */

/* A folder of pages that can be published: one of each result, recording, history, fleet, job and
 * file of benchmarks that is in some folders, and an index of them. docs/site.md describes it. */

/* Writes the pages of all that is in `folders`, [count], to the folder `site`, which is made. It is
 * to be empty, or one that this function wrote: then its pages are replaced, and those are removed
 * of which nothing is left. Files beside them stay. Files without a page are named on standard
 * error. BAD_USAGE: `site` has other files; BAD_INPUT: a page could not be made or is not whole,
 * and all others are there; IO, OUT_OF_MEMORY. */
enum status report_site(const char *site, const char *const *folders, int count);

/* The document that the page of an item shows: viewer/README.md has its members. */

/* *document is for cJSON_Delete(). Files that cannot be read are named on standard error, and
 * *troubles counts them. Errors are those of the command that reads the item. */
enum status site_document(cJSON **document, struct json *json, int *troubles,
                          const struct site_item *item);

/* The facts that the index of a site tells of a page: when and where it was measured, and the one
 * sentence that matters, out of the document that the page shows. */
struct site_facts {
    char date[40], machine[200], commit[64]; /* "": the document does not say it */
    char verdict[80], sentence[400];
    const char *tone; /* of the verdict: "good", "bad", "doubtful" or "plain" */
};

/* `document` is that of the page: viewer/README.md has its members. */
void site_facts_take(struct site_facts *facts, enum site_kind kind, const cJSON *document);
