/* One loop over the bytes, with a state for each place in the file.
 *
 * A broken event must not swallow the events after it. Three rules find the end of a broken event,
 * and none of them cuts an event that is valid JSON: a string ends at the end of its line; a
 * closing bracket also closes whatever was opened inside; and a "{" inside an object that does not
 * follow a colon cannot be a value, so it begins the next event. */
#include "harness/desk/read/kineto/event_splitter.h"

#include "harness/base/rows.h"
#include "harness/desk/read/kineto/json_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bytes that matter within a string, and those that matter between the strings of an event. All
 * others are skipped in a tight loop. */
static const unsigned char ends_string[256] = { ['"'] = 1, ['\\'] = 1, ['\n'] = 1 };
static const unsigned char is_structure[256] = {
    ['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1, [':'] = 1, [','] = 1,
};

void splitter_init(struct splitter *splitter, struct splitter_sink sink)
{
    memset(splitter, 0, sizeof *splitter);
    splitter->sink = sink;
}

void splitter_release(struct splitter *splitter)
{
    free(splitter->held);
    splitter->held = NULL;
    splitter->held_room = 0;
}

/* --- Capturing --- */

static void capture_begin(struct splitter *splitter, size_t at)
{
    splitter->capturing = true;
    splitter->start = at;
    splitter->captured_at = splitter->offset + (int64_t)at;
    splitter->held_length = 0;
    splitter->depth = 0;
    splitter->nesting = 0;
    splitter->last = ':';
    splitter->too_deep = splitter->too_long = false;
}

/* An event may go on in the next piece, whose bytes take the place of these: copies what was
 * captured so far. */
static enum status capture_hold(struct splitter *splitter, const char *bytes, size_t end)
{
    size_t more = end - splitter->start, length = splitter->held_length + more;
    size_t most =
        splitter->place == SPLITTER_EVENT ? SPLITTER_EVENT_BYTES : SPLITTER_METADATA_BYTES;

    if (splitter->too_long || length > most) {
        splitter->too_long = true;
        return STATUS_OK;
    }
    TRY(rows_grow(&splitter->held, length + SPLITTER_PADDING, &splitter->held_room));
    memcpy(splitter->held + splitter->held_length, bytes + splitter->start, more);
    splitter->held_length = length;

    return STATUS_OK;
}

/* Hands on what was captured up to `end`: in place if it is all in this piece, else the copy. */
static enum status capture_end(struct splitter *splitter, const char *bytes, size_t end)
{
    enum status status = STATUS_OK;
    const char *text = bytes + splitter->start, *reason = NULL;
    size_t length = end - splitter->start;
    size_t most =
        splitter->place == SPLITTER_EVENT ? SPLITTER_EVENT_BYTES : SPLITTER_METADATA_BYTES;

    if (splitter->held_length > 0 || splitter->too_long) {
        TRY_OUT(capture_hold(splitter, bytes, end));
        if (!splitter->too_long)
            memset(splitter->held + splitter->held_length, 0, SPLITTER_PADDING);
        text = splitter->held;
        length = splitter->held_length;
    }
    if (splitter->too_long || length > most)
        reason = "it is longer than 16 MiB";
    else if (splitter->too_deep)
        reason = "its brackets are nested more than 64 deep";
    splitter->capturing = false;
    if (splitter->place == SPLITTER_EVENT)
        TRY_OUT(splitter->sink.event(splitter->sink.context, reason == NULL ? text : NULL, length,
                                     splitter->captured_at, reason));
    else if (reason == NULL)
        TRY_OUT(splitter->sink.metadata(splitter->sink.context, splitter->key, text, length));

out:
    splitter->capturing = false;
    return status;
}

/* --- Nesting --- */

/* Bit i of `nesting` tells whether the bracket at depth i is a "{". */
static bool inside_object(const struct splitter *splitter)
{
    int level = splitter->depth - 1;

    return level >= 0 && level < SPLITTER_DEPTH && (splitter->nesting >> level & 1) != 0;
}

static void nest(struct splitter *splitter, char bracket)
{
    if (splitter->depth < SPLITTER_DEPTH) {
        uint64_t bit = UINT64_C(1) << splitter->depth;
        splitter->nesting = bracket == '{' ? splitter->nesting | bit : splitter->nesting & ~bit;
    } else {
        splitter->too_deep = true;
    }
    if (splitter->depth < INT32_MAX)
        splitter->depth++;
}

/* Closes everything up to and with the innermost open bracket of that kind. If there is none,
 * nothing is closed. */
static void unnest(struct splitter *splitter, char bracket)
{
    if (splitter->depth > SPLITTER_DEPTH) {
        splitter->depth--;
        return;
    }
    for (int level = splitter->depth; level-- > 0;) {
        bool object = (splitter->nesting >> level & 1) != 0;
        if (object == (bracket == '}')) {
            splitter->depth = level;
            return;
        }
    }
}

/* --- Places --- */

static enum status before(struct splitter *splitter, char byte, size_t at)
{
    int64_t offset = splitter->offset + (int64_t)at;
    static const char mark[] = "\xef\xbb\xbf"; /* UTF-8's byte order mark */
    char shown[8];

    if (json_is_blank(byte) || (offset < 3 && byte == mark[offset]))
        return STATUS_OK;
    if (byte != '{' && byte != '[') {
        snprintf(shown, sizeof shown, byte > ' ' && byte < 0x7f ? "\"%c\"" : "0x%02x",
                 (unsigned char)byte);
        FAIL(STATUS_BAD_INPUT,
             "this is not a trace: byte %lld is %s, but the JSON of a trace begins with { or [",
             (long long)offset, shown);
    }
    splitter->object_form = byte == '{';
    splitter->events_seen = byte == '[';
    splitter->place = byte == '{' ? SPLITTER_OBJECT : SPLITTER_EVENTS;

    return STATUS_OK;
}

static void object(struct splitter *splitter, char byte)
{
    if (byte == '"') {
        splitter->in_string = true;
        splitter->key_length = 0;
    } else if (byte == ':') {
        splitter->key[splitter->key_length] = '\0';
        splitter->place = SPLITTER_VALUE;
    } else if (byte == '}') {
        splitter->place = SPLITTER_AFTER;
    }
}

static void value(struct splitter *splitter, char byte, size_t at)
{
    if (byte == '[' && strcmp(splitter->key, "traceEvents") == 0) {
        splitter->place = SPLITTER_EVENTS;
        splitter->events_seen = true;
        return;
    }
    capture_begin(splitter, at);
    splitter->place = SPLITTER_METADATA;
}

static enum status metadata(struct splitter *splitter, const char *bytes, size_t at)
{
    char byte = bytes[at];

    if (byte == '"') {
        splitter->in_string = true;
    } else if (byte == '{' || byte == '[') {
        nest(splitter, byte);
    } else if (splitter->depth > 0) {
        if (byte == '}' || byte == ']')
            unnest(splitter, byte);
    } else if (byte == ',' || byte == '}') {
        TRY(capture_end(splitter, bytes, at));
        splitter->place = byte == ',' ? SPLITTER_OBJECT : SPLITTER_AFTER;
    }

    return STATUS_OK;
}

static void events(struct splitter *splitter, char byte, size_t at)
{
    if (byte == '{') {
        capture_begin(splitter, at);
        splitter->place = SPLITTER_EVENT;
        nest(splitter, byte);
        splitter->last = byte;
    } else if (byte == ']') {
        splitter->place = splitter->object_form ? SPLITTER_OBJECT : SPLITTER_AFTER;
    } else if (byte == '"') {
        splitter->in_string = true;
        splitter->strays++;
    } else if (byte != ',' && splitter->strays++ == 0) {
        splitter->stray_at = splitter->offset + (int64_t)at;
    }
}

static enum status event(struct splitter *splitter, const char *bytes, size_t at)
{
    char byte = bytes[at];

    if (byte == '"') {
        splitter->in_string = true;
    } else if (byte == '{' && inside_object(splitter) && splitter->last != ':') {
        /* The event was never closed: what was captured of it is no JSON, and here is the next. */
        TRY(capture_end(splitter, bytes, at));
        capture_begin(splitter, at);
        nest(splitter, byte);
    } else if (byte == '{' || byte == '[') {
        nest(splitter, byte);
    } else if (byte == '}' || byte == ']') {
        unnest(splitter, byte);
        if (splitter->depth == 0) {
            TRY(capture_end(splitter, bytes, at + 1));
            splitter->place = SPLITTER_EVENTS;
        }
    }
    splitter->last = byte;

    return STATUS_OK;
}

static enum status step(struct splitter *splitter, const char *bytes, size_t at)
{
    char byte = bytes[at];

    switch (splitter->place) {
    case SPLITTER_METADATA:
        return metadata(splitter, bytes, at);
    case SPLITTER_EVENT:
        return event(splitter, bytes, at);
    case SPLITTER_BEFORE:
        return before(splitter, byte, at);
    case SPLITTER_OBJECT:
        object(splitter, byte);
        break;
    case SPLITTER_EVENTS:
        if (!json_is_blank(byte))
            events(splitter, byte, at);
        break;
    case SPLITTER_VALUE:
    case SPLITTER_AFTER:
        break;
    }
    return STATUS_OK;
}

/* --- Strings --- */

/* Returns the place behind the end of a string, or the end of the piece if the string goes on in
 * the next. A key of the outermost object is copied on the way. */
static size_t skip_string(struct splitter *splitter, const char *bytes, size_t at, size_t count)
{
    size_t from = at;

    while (at < count && splitter->in_string) {
        if (splitter->escaped) {
            splitter->escaped = false;
            at++;
            continue;
        }
        while (at < count && !ends_string[(unsigned char)bytes[at]]) at++;
        if (at == count)
            break;
        if (bytes[at] == '\\')
            splitter->escaped = true;
        else
            splitter->in_string = false;
        at++;
    }
    if (splitter->place == SPLITTER_OBJECT) {
        size_t length = at - from - (splitter->in_string ? 0 : 1);
        size_t room = sizeof splitter->key - 1 - splitter->key_length;
        length = length < room ? length : room;
        memcpy(splitter->key + splitter->key_length, bytes + from, length);
        splitter->key_length += length;
    }
    return at;
}

/* --- Pieces --- */

/* Offers the event at *at to the sink, which mostly takes it at once. */
static enum status whole_event(struct splitter *splitter, const char *bytes, size_t count,
                               size_t *at, bool *taken)
{
    const char *end;

    TRY(splitter->sink.whole_event(splitter->sink.context, bytes + *at, count - *at,
                                   splitter->offset + (int64_t)*at, &end));
    *taken = end != NULL;
    if (*taken)
        *at = (size_t)(end - bytes);

    return STATUS_OK;
}

enum status splitter_feed_until(struct splitter *splitter, const char *bytes, size_t count,
                                size_t stop, size_t *reached)
{
    size_t at = 0;

    splitter->start = 0;
    while (at < count) {
        bool taken = false;
        if (splitter->in_string) {
            at = skip_string(splitter, bytes, at, count);
            splitter->last = '"';
            continue;
        }
        if (splitter->capturing)
            while (at < count && !is_structure[(unsigned char)bytes[at]]) at++;
        if (at == count)
            break;
        if (splitter->place == SPLITTER_EVENTS && bytes[at] == '{') {
            if (at >= stop)
                break;
            if (splitter->sink.whole_event != NULL)
                TRY(whole_event(splitter, bytes, count, &at, &taken));
        }
        if (taken)
            continue;
        if (splitter->place == SPLITTER_VALUE && !json_is_blank(bytes[at])) {
            value(splitter, bytes[at], at);
            if (splitter->capturing)
                continue; /* the byte begins the value */
        } else {
            TRY(step(splitter, bytes, at));
        }
        at++;
    }
    if (splitter->capturing)
        TRY(capture_hold(splitter, bytes, at));
    splitter->offset += (int64_t)at;
    *reached = at;

    return STATUS_OK;
}

enum status splitter_feed(struct splitter *splitter, const char *bytes, size_t count)
{
    size_t reached;

    return splitter_feed_until(splitter, bytes, count, count, &reached);
}

/* --- Two halves of a text --- */

/* The byte before `at` that is no blank; '\0': there is none. */
static char byte_before(const char *bytes, size_t *at)
{
    while (*at > 0 && json_is_blank(bytes[*at - 1])) --*at;
    return *at > 0 ? bytes[--*at] : '\0';
}

static bool seems_to_begin(const char *bytes, size_t at, size_t count)
{
    size_t before = at, behind = at + 1;

    while (behind < count && json_is_blank(bytes[behind])) behind++;
    return behind < count && bytes[behind] == '"' && byte_before(bytes, &before) == ',' &&
           byte_before(bytes, &before) == '}';
}

size_t splitter_guess(const char *bytes, size_t from, size_t count)
{
    for (size_t at = from; at < count; at++) {
        const char *brace = memchr(bytes + at, '{', count - at);
        if (brace == NULL)
            break;
        at = (size_t)(brace - bytes);
        if (seems_to_begin(bytes, at, count))
            return at;
    }
    return count;
}

void splitter_init_at(struct splitter *splitter, const struct splitter *before, int64_t offset)
{
    char *held = splitter->held;
    int64_t held_room = splitter->held_room;
    struct splitter_sink sink = splitter->sink;

    splitter_init(splitter, sink);
    splitter->held = held;
    splitter->held_room = held_room;
    splitter->object_form = before->object_form;
    splitter->events_seen = true;
    splitter->place = SPLITTER_EVENTS;
    splitter->offset = offset;
}

void splitter_join(struct splitter *splitter, struct splitter *ahead)
{
    struct splitter before = *splitter;

    *splitter = *ahead;
    splitter->sink = before.sink;
    splitter->strays += before.strays;
    if (before.strays > 0)
        splitter->stray_at = before.stray_at;
    ahead->held = before.held;
    ahead->held_room = before.held_room;
}

bool splitter_is_among_events(const struct splitter *splitter)
{
    return splitter->place == SPLITTER_EVENTS || splitter->place == SPLITTER_EVENT;
}
