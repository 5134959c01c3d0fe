/* A built-in method's name has the address of its object, which is another one for each tensor. Without it
 * the same methods have the same name, and the table of names stays small. */
#include "harness/desk/read/frame_table.h"

#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/base/words/intern.h"
#include "harness/desk/read/reader.h"

#include <stdlib.h>
#include <string.h>

static bool text_begins(const char *bytes, const char *end, const char *word)
{
    size_t length = strlen(word);

    return (size_t)(end - bytes) >= length && memcmp(bytes, word, length) == 0;
}

static bool is_hexadecimal(char digit)
{
    return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
}

/* Copies the name without " at 0x7f12..."; returns the copy's length. */
static size_t without_addresses(char copy[NAME_BYTES], struct event_text name)
{
    const char *at = name.bytes, *end = name.bytes + name.length;
    size_t length = 0;

    while (at < end && length < NAME_BYTES)
        if (*at == ' ' && text_begins(at, end, " at 0x"))
            for (at += strlen(" at 0x"); at < end && is_hexadecimal(*at);) at++;
        else
            copy[length++] = *at++;
    return length;
}

static enum status add_name(struct intern *names, struct event_text name, uint32_t *number)
{
    char copy[NAME_BYTES];

    if (name.length == 0 ||
        name.bytes[0] != '<') /* "<built-in method item of Tensor object at 0x...>" */
        return intern_add(names, name.bytes, name.length, number);
    return intern_add(names, copy, without_addresses(copy, name), number);
}

bool frame_is_call(const struct event_fields *fields)
{
    static const char category[] = "python_function";

    return fields->phase == 'X' && fields->category.length == strlen(category) &&
           memcmp(fields->category.bytes, category, fields->category.length) == 0;
}

enum status frame_table_add(struct frame_table *table, struct intern *names,
                            const struct event_fields *fields, uint32_t track)
{
    enum status status = STATUS_OK;
    bool is_call = frame_is_call(fields);
    struct event_frame *row;

    if (!is_call && (fields->call_stack.length == 0 || table->has_calls))
        goto out;
    TRY(rows_grow(&table->rows, table->count + 1, &table->room));
    row = &table->rows[table->count];
    *row = (struct event_frame){ .start_ns = fields->start_ns,
                                 .end_ns = fields->start_ns + fields->duration_ns,
                                 .track = track,
                                 .is_stack = !is_call };
    TRY(add_name(names, is_call ? fields->name : fields->call_stack, &row->name));
    TRY(intern_add(names, fields->call_from.bytes, fields->call_from.length, &row->from));
    table->has_calls = table->has_calls || is_call;
    table->count++;

out:
    return status;
}

static int by_place(const void *left, const void *right)
{
    const struct event_frame *a = left, *b = right;

    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

/* PyTorch writes one thread after the other, and then there is nothing to do. */
static bool is_sorted(const struct frame_table *table, bool *seen)
{
    for (int64_t i = 0; i < table->count; i++) {
        const struct event_frame *row = &table->rows[i];
        bool same = i > 0 && row->track == row[-1].track;
        if (same ? by_place(row - 1, row) > 0 : seen[row->track])
            return false;
        seen[row->track] = true;
    }
    return true;
}

enum status frame_table_settle(struct frame_table *table, int64_t track_count)
{
    enum status status = STATUS_OK;
    bool *seen;
    int64_t kept = 0;

    TRY(rows_make(&seen, track_count));
    for (int64_t i = 0; i < table->count; i++)
        if (!table->rows[i].is_stack || !table->has_calls)
            table->rows[kept++] = table->rows[i];
    table->count = kept;
    if (!is_sorted(table, seen))
        sort_items(table->rows, table->count, sizeof *table->rows, by_place);

out:
    free(seen);
    return status;
}
