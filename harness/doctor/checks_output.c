#include "harness/doctor/checks_output.h"

#include "harness/text/json.h"

#include <stdlib.h>
#include <string.h>

enum { CHECKS_SCHEMA = 1 };

static const struct column columns[] = {
    { "", -4 },
    { "check", -19 },
    { "value", -29 },
    { "expected", PAGE_WRAP },
    { "what to do", PAGE_BELOW },
};

static const enum ink status_inks[CHECK_STATUSES] = {
    [CHECK_OK] = INK_GOOD,
    [CHECK_LOW] = INK_DOUBTFUL,
    [CHECK_FAIL] = INK_BAD,
    [CHECK_NONE] = INK_DIM,
};

static void print_counts(char *text, size_t size, const struct checks *checks)
{
    size_t length = (size_t)snprintf(text, size, "%d checks: ", checks->count);
    const char *separator = "";

    for (int i = 0; i < CHECK_STATUSES; i++) {
        if (checks->counts[i] == 0 || length >= size)
            continue;
        length += (size_t)snprintf(text + length, size - length, "%s%d %s", separator,
                                   checks->counts[i], check_status_name((enum check_status)i));
        separator = ", ";
    }
}

/* The reason why several rows in turn are not applicable is said once. */
static bool is_said(const struct check *row, const struct check *before)
{
    return before != NULL && row->status == CHECK_NONE && strcmp(row->advice, before->advice) == 0;
}

void checks_page(const struct page *page, const struct checks *checks)
{
    char counts[96];

    for (int i = 0; i < checks->count; i++) {
        const struct check *row = &checks->rows[i], *before = i > 0 ? row - 1 : NULL;
        const char *const cells[] = { check_status_name(row->status), row->name, row->value,
                                      row->expected, is_said(row, before) ? "" : row->advice };
        const enum ink inks[] = { status_inks[row->status], INK_PLAIN, INK_PLAIN, INK_DIM,
                                  INK_PLAIN };
        if (before == NULL || strcmp(before->group, row->group) != 0) {
            page_heading(page, row->group);
            if (page->markdown || before == NULL)
                page_table(page, columns, ARRAY_SIZE(columns));
        }
        page_row_inked(page, columns, ARRAY_SIZE(columns), cells, inks);
    }
    print_counts(counts, sizeof counts, checks);
    page_summary(page, "%s", counts);
}

enum status checks_json(const struct checks *checks, char **text)
{
    struct json json = { false };
    cJSON *root = json_object(&json, NULL, NULL), *rows;
    enum status status;

    json_integer(&json, root, "schema", CHECKS_SCHEMA);
    rows = json_array(&json, root, "checks");
    for (int i = 0; i < checks->count; i++) {
        const struct check *row = &checks->rows[i];
        cJSON *object = json_object(&json, rows, NULL);
        json_text(&json, object, "name", row->name);
        json_text(&json, object, "status", check_status_name(row->status));
        json_text(&json, object, "value", row->value);
        json_text(&json, object, "expected", row->expected);
        json_text(&json, object, "advice", row->advice);
    }
    status = json_print(&json, root, text);
    cJSON_Delete(root);
    return status;
}
