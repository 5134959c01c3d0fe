/* The names of the pages stand in index.json before the first page is written, and those of the
 * site before this one with them: so a site that was cut short is replaced by the next. Nothing is
 * written but these names, each as a file that takes its name at the end (atomic_file.h), and
 * nothing is removed but pages that index.json names and nothing is left of. */
#include "harness/cli/site/site.h"

#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/text.h"
#include "harness/base/words/utf8.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/traces/html_page.h"
#include "harness/text/json.h"
#include "harness/text/result_traces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCHEMA = 1, PAGE_NAME = 128 };

#define INDEX "index.json"

struct site {
    const char *folder;
    struct site_files files;
    cJSON *before;            /* index.json as it was; NULL: there was none */
    char (*pages)[PAGE_NAME]; /* [files.count], file names; "": it could not be made */
    struct site_facts *facts; /* [files.count] */
    int failed;               /* pages that are not there, or not whole */
};

/* --- The folder --- */

static enum status path_in(char path[PATH_MAX], const struct site *site, const char *name)
{
    if (snprintf(path, PATH_MAX, "%s/%s", site->folder, name) >= PATH_MAX)
        FAIL(STATUS_BAD_INPUT, "the path %.100s... is too long", site->folder);
    return STATUS_OK;
}

/* Whether a name is one that a page may have: it stands in a file that somebody else may have
 * written. */
static bool is_page_name(const char *name)
{
    return name[0] != '.' && strchr(name, '/') == NULL && ends_in(name, ".html") &&
           strcasecmp(name, "index.html") != 0;
}

static const cJSON *pages_before(const struct site *site)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(site->before, "site"),
                                            "pages");
}

static bool was_page(const struct site *site, const char *name)
{
    const cJSON *page;

    cJSON_ArrayForEach(page, pages_before(site))
    {
        if (is_page_name(name) && strcmp(json_text_of(page, "page"), name) == 0)
            return true;
    }
    return false;
}

/* The site that is in the folder. Files whose names begin with a dot are no part of one. */
static enum status read_site(struct site *site)
{
    enum status status = STATUS_OK;
    char path[PATH_MAX];
    DIR *folder = opendir(site->folder);
    const struct dirent *entry;
    bool is_empty = true;

    if (folder == NULL && errno == ENOENT)
        return STATUS_OK;
    if (folder == NULL)
        FAIL(STATUS_BAD_USAGE, "--site=%s cannot be read: %s", site->folder, strerror(errno));
    while ((entry = readdir(folder)) != NULL) is_empty = is_empty && entry->d_name[0] == '.';
    closedir(folder);
    TRY_OUT(path_in(path, site, INDEX));
    if (!is_empty &&
        (!result_json_read(&site->before, AT_FDCWD, path) || !cJSON_IsArray(pages_before(site))))
        FAIL_OUT(STATUS_BAD_USAGE,
                 "--site=%s has files, and no " INDEX " of a site: give an empty folder",
                 site->folder);

out:
    return status;
}

/* --- Names of pages --- */

static bool is_taken(const struct site *site, int count, const char *name)
{
    char path[PATH_MAX];
    struct stat about;

    if (strcasecmp(name, "index.html") == 0)
        return true;
    for (int i = 0; i < count; i++)
        if (strcasecmp(site->pages[i], name) == 0)
            return true;
    return !was_page(site, name) && path_in(path, site, name) == STATUS_OK &&
           lstat(path, &about) == 0;
}

/* Names page number `at`: the item's name in letters that every address and file system takes. */
static void name_page(struct site *site, int at)
{
    const char *name = site->files.items[at].name;
    char plain[96];
    size_t length = 0;

    for (; *name != '\0' && length < sizeof plain - 1; name++) {
        bool is_plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                        (*name >= '0' && *name <= '9') || *name == '_' || *name == '.';
        if (is_plain && (length > 0 || *name != '.'))
            plain[length++] = *name;
        else if (length > 0 && plain[length - 1] != '-')
            plain[length++] = '-';
    }
    plain[length] = '\0';
    snprintf(site->pages[at], PAGE_NAME, "%s.html", length > 0 ? plain : "page");
    for (int number = 2; is_taken(site, at, site->pages[at]); number++)
        snprintf(site->pages[at], PAGE_NAME, "%s-%d.html", length > 0 ? plain : "page", number);
}

/* --- The index --- */

static void add_page(struct json *json, cJSON *pages, const struct site *site, int at)
{
    const struct site_item *item = &site->files.items[at];
    const struct site_facts *facts = &site->facts[at];

    JSON_ROW(json, pages, KEY("page", site->pages[at]), KEY("kind", site_kind_name(item->kind)),
             KEY("name", item->name), KEY("date", facts->date), KEY("machine", facts->machine),
             KEY("commit", facts->commit), KEY("verdict", facts->verdict), KEY("tone", facts->tone),
             KEY("sentence", facts->sentence));
}

/* `is_done`: as it stays; else with the pages of the site before this one. */
static cJSON *index_json(struct json *json, const struct site *site, bool is_done)
{
    cJSON *root = json_object(json, NULL, NULL), *own, *array;
    const cJSON *before = is_done ? NULL : pages_before(site), *page;

    JSON_ADD(json, root, KEY("schema", SCHEMA), KEY("command", "report"),
             KEY("about", site->folder));
    own = json_object(json, root, "site");
    array = json_array(json, own, "pages");
    for (int i = 0; i < site->files.count; i++) add_page(json, array, site, i);
    cJSON_ArrayForEach(page, before)
    {
        JSON_ROW(json, array, KEY("page", json_text_of(page, "page")));
    }
    array = json_array(json, own, "left_out");
    for (int i = 0; i < site->files.left_out_count; i++)
        JSON_ROW(json, array, KEY("name", site->files.left_out[i].name),
                 KEY("reason", site->files.left_out[i].reason));
    return root;
}

/* With index.html if `is_done`. */
static enum status write_index(const struct site *site, bool is_done)
{
    enum status status = STATUS_OK;
    struct json json = { false };
    cJSON *root = index_json(&json, site, is_done);
    char path[PATH_MAX], *text = NULL;

    TRY_OUT(json_print(&json, root, &text));
    TRY_OUT(path_in(path, site, INDEX));
    TRY_OUT(atomic_file_write(path, text, strlen(text)));
    TRY_OUT(path_in(path, site, "index.html"));
    if (is_done)
        TRY_OUT(html_page_write(path, &json, root));

out:
    cJSON_Delete(root);
    free(text);
    return status;
}

/* --- Pages --- */

/* The item could not be read: its name on the index leads nowhere. */
static void fail_page(struct site *site, int at)
{
    struct site_facts *facts = &site->facts[at];

    *facts = (struct site_facts){ .tone = "bad", .verdict = "could not be made" };
    text_append(facts->sentence, sizeof facts->sentence, "%s", status_last()->text);
    status_context("%s: %s", command_report.name, site->files.items[at].name);
    command_print_error();
    site->pages[at][0] = '\0';
    site->failed++;
}

/* Facts are taken from the document as others read it: parts of it are text as yet. */
static enum status take_facts(struct site_facts *facts, enum site_kind kind,
                              const struct json *json, const cJSON *document)
{
    enum status status = STATUS_OK;
    cJSON *whole = NULL;
    char *text = NULL;

    TRY_OUT(json_print(json, document, &text));
    TRY_OUT(json_parse(&whole, text, NULL, true));
    site_facts_take(facts, kind, whole);

out:
    cJSON_Delete(whole);
    free(text);
    return status;
}

/* Whatever is wrong with one item, the others have their pages; but if one cannot be written, none
 * can. */
static enum status make_page(struct site *site, int at)
{
    enum status status = STATUS_OK;
    const struct site_item *item = &site->files.items[at];
    struct json json = { false };
    cJSON *document = NULL;
    char path[PATH_MAX];
    int troubles;

    status = site_document(&document, &json, &troubles, item);
    if (status != STATUS_OK && status != STATUS_OUT_OF_MEMORY) {
        fail_page(site, at);
        status = STATUS_OK;
        goto out;
    }
    TRY_OUT(status);
    TRY_OUT(take_facts(&site->facts[at], item->kind, &json, document));
    site->failed += troubles > 0;
    TRY_OUT(path_in(path, site, site->pages[at]));
    json_bool(&json, document, "of_site", true);
    TRY_OUT(html_page_write(path, &json, document));

out:
    cJSON_Delete(document);
    return status;
}

/* Pages that the site had before, and of which nothing is left. */
static void remove_old(const struct site *site)
{
    const cJSON *page;

    cJSON_ArrayForEach(page, pages_before(site))
    {
        const char *name = json_text_of(page, "page");
        char path[PATH_MAX];
        struct stat about;
        bool is_kept = !is_page_name(name);
        for (int i = 0; i < site->files.count; i++)
            is_kept = is_kept || strcmp(site->pages[i], name) == 0;
        if (!is_kept && path_in(path, site, name) == STATUS_OK && lstat(path, &about) == 0 &&
            S_ISREG(about.st_mode))
            unlink(path);
    }
}

static void count_left_out(struct site *site)
{
    for (int i = 0; i < site->files.left_out_count; i++) {
        const struct site_left_out *one = &site->files.left_out[i];
        if (!one->is_damaged)
            continue;
        status_fail(STATUS_BAD_INPUT, __FILE__, __LINE__, "%s: %s", one->name, one->reason);
        status_context("%s", command_report.name);
        command_print_error();
        site->failed++;
    }
}

enum status report_site(const char *folder, const char *const *folders, int count)
{
    enum status status = STATUS_OK;
    struct site site = { .folder = folder };
    int made = 0;

    TRY_OUT(read_site(&site));
    TRY_OUT(site_files_find(&site.files, folders, count, folder));
    TRY_OUT(rows_make(&site.pages, site.files.count));
    TRY_OUT(rows_make(&site.facts, site.files.count));
    TRY_OUT(atomic_file_create_folder(folder));
    for (int i = 0; i < site.files.count; i++) {
        site.facts[i].tone = "plain";
        name_page(&site, i);
    }
    TRY_OUT(write_index(&site, false));
    for (int i = 0; i < site.files.count; i++) {
        TRY_OUT(make_page(&site, i));
        made += site.pages[i][0] != '\0';
    }
    count_left_out(&site);
    TRY_OUT(write_index(&site, true));
    remove_old(&site);
    utf8_print(stdout, "site in %s: %d page%s", folder, made, made == 1 ? "" : "s");
    if (site.failed > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%d page%s could not be made, or not whole", site.failed,
                 site.failed == 1 ? "" : "s");

out:
    cJSON_Delete(site.before);
    free(site.pages);
    free(site.facts);
    site_files_release(&site.files);
    return status;
}
