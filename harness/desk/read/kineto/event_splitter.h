/* Finds the events in the text of a trace, and the members beside them, without parsing either.
 *
 * A trace is an object with an array "traceEvents", or such an array alone. The splitter follows
 * strings and nesting only, so an event that is not valid JSON costs only itself: it is handed on
 * as it is, and its parser notices. Text comes in pieces of any size. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SPLITTER_PADDING = 64,           /* zeros behind a piece */
    SPLITTER_EVENT_BYTES = 16 << 20, /* longer ones are skipped: Kineto's are below 1 MiB */
    SPLITTER_METADATA_BYTES = 1 << 20,
    SPLITTER_DEPTH = 64, /* of brackets in one event */
    SPLITTER_KEY_BYTES = 128,
};

/* `bytes` live during the call. SPLITTER_PADDING zeros follow them, or the piece that they are in.
 * A status other than OK ends the splitting. */
struct splitter_sink {
    /* An event begins here, and `most` bytes of the piece are left. If it is valid JSON, nested at
     * most SPLITTER_DEPTH deep, and ends among them, it is taken and *end is behind it; else *end
     * is NULL, and it will come again, through event(). NULL: all come through event(). */
    enum status (*whole_event)(void *context, const char *bytes, size_t most, int64_t offset,
                               const char **end);
    /* An event, from "{" to "}", or to the next event where it is never closed; `bytes` NULL: it
     * was dropped, `reason` says why. */
    enum status (*event)(void *context, const char *bytes, size_t length, int64_t offset,
                         const char *reason);
    /* A member beside the events: its key as written, its value as JSON text. */
    enum status (*metadata)(void *context, const char *key, const char *bytes, size_t length);
    void *context;
};

enum splitter_place {
    SPLITTER_BEFORE, /* nothing but blanks so far */
    SPLITTER_OBJECT, /* between the members of the outermost object */
    SPLITTER_VALUE,  /* before the value of such a member */
    SPLITTER_METADATA,
    SPLITTER_EVENTS, /* between events */
    SPLITTER_EVENT,
    SPLITTER_AFTER, /* the end was seen */
};

struct splitter {
    struct splitter_sink sink;
    enum splitter_place place;
    bool object_form, events_seen;
    int64_t offset; /* of the piece being fed */
    /* Inside a string or after a backslash in one. */
    bool in_string, escaped;
    /* The brackets open in an event or value: `nesting` has a bit per level, 1 for an object. */
    int depth;
    uint64_t nesting;
    char last; /* the last of "{}[]:, and quotes */
    bool too_deep, too_long;
    /* The event or value being captured: from `start` in this piece, after what is held. */
    size_t start;
    bool capturing;
    int64_t captured_at;
    char *held;
    size_t held_length;
    int64_t held_room;
    char key[SPLITTER_KEY_BYTES];
    size_t key_length;
    int64_t strays; /* things in the place of an event */
    int64_t stray_at;
};

void splitter_init(struct splitter *splitter, struct splitter_sink sink);
void splitter_release(struct splitter *splitter);

/* SPLITTER_PADDING zeros must follow the piece. BAD_INPUT when the first byte that is no blank
 * begins neither an object nor an array; OUT_OF_MEMORY; what the sink returned. */
enum status splitter_feed(struct splitter *splitter, const char *bytes, size_t count);

/* The same up to the first event that begins at bytes[stop] or behind it. *reached: where that is,
 * or `count`. */
enum status splitter_feed_until(struct splitter *splitter, const char *bytes, size_t count,
                                size_t stop, size_t *reached);

/* Where, from `from` on, an event seems to begin: at a brace before a quote, behind a closed brace
 * and a comma. Within a string or an event there may be such a place too. `count`: nowhere. */
size_t splitter_guess(const char *bytes, size_t from, size_t count);

/* Makes a splitter that is between two events, at `offset`, of the text that `before` is among the
 * events of. */
void splitter_init_at(struct splitter *splitter, const struct splitter *before, int64_t offset);

/* Goes on where `ahead` is, which began where this splitter has come to. Release both. */
void splitter_join(struct splitter *splitter, struct splitter *ahead);

/* Whether it is among the events, or in one. */
bool splitter_is_among_events(const struct splitter *splitter);
