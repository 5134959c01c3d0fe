#include "harness/doctor/checks_output.h"

#include "harness/text/json.h"
#include "harness/text/wrap.h"

#include <stdlib.h>
#include <string.h>

enum { CHECKS_SCHEMA = 1, STATUS_WIDTH = 6, NAME_WIDTH = 22, VALUE_WIDTH = 32 };

static const char *colour_of(const struct console *console, enum check_status status)
{
    switch (status) {
    case CHECK_OK:
        return console->good;
    case CHECK_LOW:
        return console->doubtful;
    case CHECK_FAIL:
        return console->bad;
    case CHECK_NONE:
    case CHECK_STATUSES:
        break;
    }
    return console->dim;
}

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

/* What many rows in turn are not applicable for is said once. */
static bool is_said(const struct check *row, const struct check *before)
{
    return row->advice[0] == '\0' || (before != NULL && row->status == CHECK_NONE &&
                                      strcmp(row->advice, before->advice) == 0);
}

static void print_row(const struct console *console, const struct check *row,
                      const struct check *before)
{
    FILE *stream = console->stream;

    fprintf(stream, "%s%-*s%s%-*s%-*s", colour_of(console, row->status), STATUS_WIDTH,
            check_status_name(row->status), console->plain, NAME_WIDTH, row->name,
            row->expected[0] != '\0' ? VALUE_WIDTH : 0, row->value);
    if (row->expected[0] != '\0')
        fprintf(stream, "  %s%s%s", console->dim, row->expected, console->plain);
    fputc('\n', stream);
    if (is_said(row, before))
        return;
    fprintf(stream, "%*s", STATUS_WIDTH, "");
    wrap_print(stream, STATUS_WIDTH, STATUS_WIDTH, console->width, row->advice);
}

void checks_console(const struct console *console, const struct checks *checks)
{
    const char *group = NULL;
    char counts[96];

    for (int i = 0; i < checks->count; i++) {
        const struct check *row = &checks->rows[i];
        if (group == NULL || strcmp(group, row->group) != 0)
            fprintf(console->stream, "%s%s%-*s%-*s%s%s\n", group == NULL ? "" : "\n", console->bold,
                    STATUS_WIDTH + NAME_WIDTH, row->group, VALUE_WIDTH + 2, "", "expected",
                    console->plain);
        group = row->group;
        print_row(console, row, i > 0 ? row - 1 : NULL);
    }
    print_counts(counts, sizeof counts, checks);
    fprintf(console->stream, "\n%s%s%s\n", console->bold, counts, console->plain);
}

/* Inside a cell a bar or a line feed would end it. */
static void print_cell(FILE *stream, const char *text)
{
    fputc(' ', stream);
    for (; *text != '\0'; text++) {
        if (strchr("|\\<*`_", *text) != NULL)
            fputc('\\', stream);
        fputc(*text == '\n' ? ' ' : *text, stream);
    }
    fputs(" |", stream);
}

void checks_markdown(FILE *stream, const struct checks *checks)
{
    char counts[96];

    print_counts(counts, sizeof counts, checks);
    fprintf(stream,
            "**%s**\n\n| check | status | value | expected | what to do |\n|---|---|---|---|---|\n",
            counts);
    for (int i = 0; i < checks->count; i++) {
        const struct check *row = &checks->rows[i];
        bool loud = row->status == CHECK_LOW || row->status == CHECK_FAIL;
        fputc('|', stream);
        print_cell(stream, row->name);
        fprintf(stream, " %s%s%s |", loud ? "**" : "", check_status_name(row->status),
                loud ? "**" : "");
        print_cell(stream, row->value);
        print_cell(stream, row->expected);
        print_cell(stream, row->advice);
        fputc('\n', stream);
    }
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
