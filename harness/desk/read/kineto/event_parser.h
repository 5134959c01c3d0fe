/* One event's JSON text, parsed. */
#pragma once

#include "harness/desk/trace/trace_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text that lives until the next call on the parser, and as long as the event's; not ended by a
 * zero. `bytes` NULL: absent. */
struct event_text {
    const char *bytes;
    size_t length;
};

/* Whole numbers of an event's "args", by the names that profilers write. Both spellings of a name
 * are one number. */
#define EVENT_NUMBERS(X)                                                                           \
    X(CORRELATION, "correlation")                                                                  \
    X(EXTERNAL, "External id")                                                                     \
    X(EXTERNAL_2021, "external id")                                                                \
    X(STREAM, "stream")                                                                            \
    X(DEVICE, "device")                                                                            \
    X(BYTES, "bytes")                                                                              \
    X(BYTES_MEMORY, "Bytes")                                                                       \
    X(REGISTERS, "registers per thread")                                                           \
    X(SHARED, "shared memory")                                                                     \
    X(GRAPH, "graph id")                                                                           \
    X(GRAPH_LAUNCH, "graph launch")                                                                \
    X(DEVICE_TYPE, "Device Type")                                                                  \
    X(DEVICE_ID, "Device Id")                                                                      \
    X(ADDRESS, "Addr")                                                                             \
    X(ALLOCATED, "Total Allocated")                                                                \
    X(RESERVED, "Total Reserved")                                                                  \
    X(CATEGORY_ALLOCATED, "Category Allocated")                                                    \
    X(SAMPLES, "samples")                                                                          \
    X(TOKENS, "tokens")                                                                            \
    X(PADDED_TOKENS, "padded tokens")                                                              \
    X(FLOPS, "flops")                                                                              \
    X(SEQUENCE, "Sequence number")                                                                 \
    X(FORWARD_THREAD, "Fwd thread id")                                                             \
    X(MESSAGE_IN, "In msg nelems")                                                                 \
    X(MESSAGE_OUT, "Out msg nelems")                                                               \
    X(GROUP_SIZE, "Group size")

enum event_number {
#define EVENT_NUMBER(id, name) EVENT_##id,
    EVENT_NUMBERS(EVENT_NUMBER)
#undef EVENT_NUMBER
        EVENT_NUMBER_COUNT
};

struct event_extent { /* of a grid or block */
    bool known;
    uint32_t size[3];
};

struct event_fields {
    char phase; /* of Chrome's format: 'X' complete, 'i' instant, 'M' metadata; 0: absent */
    struct event_text name, category;
    struct event_text pid, tid; /* without quotes where they are strings */
    bool has_start, has_duration;
    int64_t start_ns, duration_ns;
    uint32_t present; /* a bit per event_number */
    struct event_extent grid, block;
    float blocks_per_sm, warps_per_sm, occupancy_percent; /* NAN: absent */
    struct event_text memory_category;                    /* "Category" */
    struct event_text named;                 /* "name" of the arguments: of a process, say */
    struct event_text dims;                  /* "Input Dims", a list, as JSON without strings */
    struct event_text types;                 /* "Input type", a list of strings, as JSON */
    struct event_text call_from, call_stack; /* "CallFrom", "Call stack" */
    struct event_text collective, data_type; /* "Collective name", "dtype" */
    struct event_text group_name, group_about, group_ranks; /* "Process Group Name", and so on */
    int64_t numbers[EVENT_NUMBER_COUNT];                    /* of those that are present */
};

struct event_parser;

/* NULL: no memory. */
struct event_parser *event_parser_open(void);
void event_parser_close(struct event_parser *parser);

/* True if a text was taken for broken because there was no memory to unescape it. */
bool event_parser_lacks_memory(const struct event_parser *parser);

/* Parses the event that begins at `bytes`, which are at most `most` and end in '\0', with
 * JSON_SCAN_PADDING readable bytes from there on. If a key comes twice, its last value counts. Bare
 * NaN and Infinity are read as null. NULL: `fields` are set, and *end is behind the event's last
 * bracket. Otherwise the reason why this is not an event, a string constant. */
const char *event_parse(struct event_parser *parser, const char *bytes, size_t most,
                        struct event_fields *fields, const char **end);

/* Reads at most `most` devices of that array's JSON text; returns how many. Any other text has
 * none. The text ends as that of event_parse(), here and below. */
int event_parse_devices(struct event_parser *parser, const char *bytes, size_t length,
                        struct event_device *devices, int most);

/* A number that is a member of the object `bytes`: a whole one, or any finite one. False: there is
 * none, and *value is as it was. */
bool event_parse_member(struct event_parser *parser, const char *bytes, size_t length,
                        const char *key, int64_t *value);
bool event_parse_fraction(struct event_parser *parser, const char *bytes, size_t length,
                          const char *key, double *value);
