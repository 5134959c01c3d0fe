/* Each byte of an event is looked at once, numbers are handed out as they are written, and strings
 * where they are, unless they have escapes. Every value is visited, even if nobody needs it, so
 * that invalid JSON is noticed. For this reason no library parses: simdjson has to be told where
 * the text ends, so the text was walked twice before it began, and it took three times as long as
 * this. */
#include "harness/desk/read/kineto/event_parser.h"

#include "harness/base/status.h"
#include "harness/desk/read/kineto/device_numbers.h"
#include "harness/desk/read/kineto/json_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_LENGTHS = 32, EVENT_DEPTH = 1, ARGUMENT_DEPTH = 2 /* open brackets */ };

struct event_parser {
    /* Strings with escapes are unescaped into here; `most` is what all of a text may need. */
    char *copy;
    size_t copy_room, copy_length, most;
    bool lacks_memory;                /* for it, once at least */
    uint64_t of_length[NAME_LENGTHS]; /* a bit per row of `arguments` whose name is that long */
};

static const char not_json[] = "it is not valid JSON";

static void begin(struct event_parser *parser, size_t most)
{
    parser->copy_length = 0;
    parser->most = most;
}

/* --- Scalars --- */

/* Room for the escaped strings of a text is made when the first is met, so that none of them
 * moves. */
static char *room_to_unescape(struct event_parser *parser)
{
    if (parser->copy_length == 0 && parser->most > parser->copy_room) {
        free(parser->copy);
        parser->copy = malloc(parser->most);
        parser->copy_room = parser->copy != NULL ? parser->most : 0;
        parser->lacks_memory = parser->lacks_memory || parser->copy == NULL;
    }
    return parser->copy != NULL ? parser->copy + parser->copy_length : NULL;
}

static const char *string(struct event_parser *parser, const char *at, struct event_text *text)
{
    bool escaped;
    const char *from = at + 1;
    char *copy;

    at = json_scan_string(from, &escaped);
    if (at == NULL)
        return NULL;
    *text = (struct event_text){ from, (size_t)(at - 1 - from) };
    if (!escaped)
        return at;
    copy = room_to_unescape(parser);
    if (copy == NULL)
        return NULL;
    *text = (struct event_text){ copy, json_scan_unescape(from, copy) };
    parser->copy_length += text->length;
    return at;
}

/* Passes a value at `depth` brackets. *is_scalar: it is a string, number or word, and *text has it,
 * without a string's quotes; null has none. */
static const char *scalar(struct event_parser *parser, const char *at, int depth,
                          struct event_text *text, bool *is_scalar)
{
    const char *end;

    *is_scalar = true;
    if (*at == '"')
        return string(parser, at, text);
    if ((*at >= '0' && *at <= '9') || *at == '-')
        end = json_scan_number(at);
    else
        end = json_scan_word(at);
    if (end == NULL) {
        *is_scalar = false;
        return json_scan_value(at, depth);
    }
    *text =
        *at == 'n' ? (struct event_text){ NULL, 0 } : (struct event_text){ at, (size_t)(end - at) };
    return end;
}

/* From a key's quote to its value. */
static const char *key_of(const char *at, struct event_text *key)
{
    bool escaped;
    const char *from = at + 1;

    at = *at == '"' ? json_scan_string(from, &escaped) : NULL;
    if (at == NULL)
        return NULL;
    *key = (struct event_text){ from, (size_t)(at - 1 - from) };
    at = json_scan_blanks(at);
    return *at == ':' ? json_scan_blanks(at + 1) : NULL;
}

/* The same. Most events have the same keys in the same order, so the processor guesses which comes,
 * and goes on before it has looked for its end. */
static inline const char *usual_key_of(const char *at, struct event_text *key)
{
#define USUAL(word)                                                                                \
    if (memcmp(at + 1, word "\":", sizeof word + 1) == 0) {                                        \
        *key = (struct event_text){ at + 1, sizeof word - 1 };                                     \
        return json_scan_blanks(at + sizeof word + 2);                                             \
    }
    if (*at == '"') {
        USUAL("ph")
        USUAL("cat")
        USUAL("name")
        USUAL("pid")
        USUAL("tid")
        USUAL("ts")
        USUAL("dur")
        USUAL("args")
    }
#undef USUAL
    return key_of(at, key);
}

/* Behind a value: at the next one's key, or, with *more false, behind the closing bracket. */
static const char *next_of(const char *at, char bracket, bool *more)
{
    at = json_scan_blanks(at);
    *more = *at == ',';
    if (*more)
        return json_scan_blanks(at + 1);
    return *at == bracket ? at + 1 : NULL;
}

/* Behind an opening bracket: at the first value's key, or, with *more false, behind the closing
 * one. */
static const char *first_of(const char *at, char bracket, bool *more)
{
    at = json_scan_blanks(at + 1);
    *more = *at != bracket;
    return *more ? at : at + 1;
}

/* Decimal, or hexadecimal as ROCm writes streams ("0x0"). Numbers beyond 63 bits wrap, since they
 * are identities. */
static bool whole_number(struct event_text text, int64_t *number)
{
    if (text.length > 2 && text.bytes[0] == '0' && (text.bytes[1] | 0x20) == 'x') {
        static const char digits[] = "0123456789abcdef";
        uint64_t value = 0;
        for (size_t i = 2; i < text.length; i++) {
            const char *found = strchr(digits, text.bytes[i] | 0x20);
            if (text.bytes[i] == '\0' || found == NULL)
                return false;
            value = value << 4 | (uint64_t)(found - digits);
        }
        *number = (int64_t)value;
        return true;
    }
    return decimal_integer(text.bytes, text.length, number);
}

/* Bytes that end a number. */
static bool ends_number(char byte)
{
    return byte == ',' || byte == '}' || byte == ']' || byte == ' ' || byte == '\n' ||
           byte == '\r' || byte == '\t';
}

/* Takes digits, at most `most` of them; 0 begins no longer number. *digits: how many there are. */
static const char *take_digits(const char *at, int most, uint64_t *value, int *digits)
{
    const char *from = at;

    for (; *at >= '0' && *at <= '9' && at - from <= most; at++)
        *value = *value * 10 + (uint64_t)(*at - '0');
    *digits = (int)(at - from);
    return at;
}

/* Most numbers are short whole ones, which need not be scanned before they are read. NULL: it is
 * another value. */
static const char *short_number(const char *at, int64_t *number)
{
    enum { MOST = 18 }; /* fit in 63 bits */
    uint64_t value = 0;
    int digits;
    const char *end = take_digits(at, MOST, &value, &digits);

    if (digits == 0 || digits > MOST || (*at == '0' && digits > 1) || !ends_number(*end))
        return NULL;
    *number = (int64_t)value;
    return end;
}

/* Likewise "11.636364": both sides of the division are exact, so that it rounds as strtod() does.
 * NULL: another value. */
static const char *short_fraction(const char *at, double *number)
{
    static const double tens[] = { 1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
    enum { MOST = 15 }; /* fit in a double's 53 bits */
    uint64_t value = 0;
    int whole, digits = 0;
    const char *end = take_digits(at, MOST, &value, &whole);

    if (whole == 0 || whole > MOST || (*at == '0' && whole > 1))
        return NULL;
    if (*end == '.') {
        end = take_digits(end + 1, MOST - whole, &value, &digits);
        if (digits == 0 || whole + digits > MOST)
            return NULL;
    }
    if (!ends_number(*end))
        return NULL;
    *number = (double)value / tens[digits];
    return end;
}

/* A finite number; false leaves *number as it was. */
static bool fraction(struct event_text text, double *number)
{
    char copy[64];
    char *end;
    double value;

    if (text.length == 0 || text.length >= sizeof copy)
        return false;
    memcpy(copy, text.bytes, text.length);
    copy[text.length] = '\0';
    value = strtod(copy, &end);
    if (*end != '\0' || !isfinite(value))
        return false;
    *number = value;
    return true;
}

/* --- Arguments --- */

/* Takes an argument's value at `at` into the member of the fields that is at `place`. */
typedef const char *take_argument(struct event_parser *parser, const char *at,
                                  struct event_fields *fields, size_t place);

static const char *take_number(struct event_parser *parser, const char *at,
                               struct event_fields *fields, size_t which)
{
    struct event_text text = { NULL, 0 };
    const char *end = short_number(at, &fields->numbers[which]);
    bool is_scalar;

    if (end != NULL) {
        fields->present |= UINT32_C(1) << which;
        return end;
    }
    at = scalar(parser, at, ARGUMENT_DEPTH, &text, &is_scalar);
    if (at != NULL && is_scalar && whole_number(text, &fields->numbers[which]))
        fields->present |= UINT32_C(1) << which;
    return at;
}

static const char *take_text(struct event_parser *parser, const char *at,
                             struct event_fields *fields, size_t place)
{
    struct event_text text = { NULL, 0 };
    bool is_scalar;

    at = scalar(parser, at, ARGUMENT_DEPTH, &text, &is_scalar);
    if (at != NULL && is_scalar)
        memcpy((char *)fields + place, &text, sizeof text);
    return at;
}

static const char *take_fraction(struct event_parser *parser, const char *at,
                                 struct event_fields *fields, size_t place)
{
    struct event_text text = { NULL, 0 };
    bool is_known = true, is_scalar;
    double number;
    const char *end = short_fraction(at, &number);

    if (end == NULL) {
        end = scalar(parser, at, ARGUMENT_DEPTH, &text, &is_scalar);
        is_known = end != NULL && is_scalar && fraction(text, &number);
    }
    if (is_known)
        memcpy((char *)fields + place, &(float){ (float)number }, sizeof(float));
    return end;
}

/* Three whole numbers. Any other value is passed over. */
static const char *take_extent(struct event_parser *parser, const char *at,
                               struct event_fields *fields, size_t place)
{
    struct event_extent extent = { .known = false };
    int count = 0;
    bool more;

    if (*at != '[')
        return json_scan_value(at, ARGUMENT_DEPTH);
    for (at = first_of(at, ']', &more); more; at = next_of(at, ']', &more)) {
        struct event_text text = { NULL, 0 };
        bool is_scalar;
        int64_t number;
        at = scalar(parser, at, ARGUMENT_DEPTH + 1, &text, &is_scalar);
        if (at == NULL)
            return NULL;
        if (count < 3 && is_scalar && whole_number(text, &number) && number >= 0 &&
            number <= UINT32_MAX)
            extent.size[count++] = (uint32_t)number;
    }
    extent.known = count == 3;
    memcpy((char *)fields + place, &extent, sizeof extent);
    return at;
}

/* The text of a list. Any other value is passed over. */
static const char *take_texts(struct event_parser *parser, const char *at,
                              struct event_fields *fields, size_t place)
{
    const char *end = json_scan_value(at, ARGUMENT_DEPTH);

    (void)parser;
    if (end != NULL && *at == '[')
        memcpy((char *)fields + place, &(struct event_text){ at, (size_t)(end - at) },
               sizeof(struct event_text));
    return end;
}

/* The same if no strings are in it. */
static const char *take_list(struct event_parser *parser, const char *at,
                             struct event_fields *fields, size_t place)
{
    const char *end = json_scan_value(at, ARGUMENT_DEPTH);

    return end != NULL && memchr(at, '"', (size_t)(end - at)) == NULL
               ? take_texts(parser, at, fields, place)
               : end;
}

#define MEMBER(name) offsetof(struct event_fields, name)

static const struct {
    const char *name;
    take_argument *take;
    size_t place;
} arguments[] = {
#define NUMBER_ROW(id, name) { name, take_number, EVENT_##id },
    EVENT_NUMBERS(NUMBER_ROW)
#undef NUMBER_ROW
        { "grid", take_extent, MEMBER(grid) },
    { "block", take_extent, MEMBER(block) },
    { "name", take_text, MEMBER(named) },
    { "Input Dims", take_list, MEMBER(dims) },
    { "Input type", take_texts, MEMBER(types) },
    { "Category", take_text, MEMBER(memory_category) },
    { "CallFrom", take_text, MEMBER(call_from) },
    { "Call stack", take_text, MEMBER(call_stack) },
    { "Collective name", take_text, MEMBER(collective) },
    { "dtype", take_text, MEMBER(data_type) },
    { "Process Group Name", take_text, MEMBER(group_name) },
    { "Process Group Description", take_text, MEMBER(group_about) },
    { "Process Group Ranks", take_text, MEMBER(group_ranks) },
    { "blocks per SM", take_fraction, MEMBER(blocks_per_sm) },
    { "warps per SM", take_fraction, MEMBER(warps_per_sm) },
    { "est. achieved occupancy %", take_fraction, MEMBER(occupancy_percent) },
};

static const char *argument(struct event_parser *parser, struct event_text key, const char *at,
                            struct event_fields *fields)
{
    uint64_t rows = key.length < NAME_LENGTHS ? parser->of_length[key.length] : 0;

    for (; rows != 0; rows &= rows - 1) {
        size_t row = (size_t)__builtin_ctzll(rows);
        if (arguments[row].name[0] == key.bytes[0] &&
            memcmp(arguments[row].name, key.bytes, key.length) == 0)
            return arguments[row].take(parser, at, fields, arguments[row].place);
    }
    return json_scan_value(at, ARGUMENT_DEPTH);
}

static const char *take_arguments(struct event_parser *parser, const char *at,
                                  struct event_fields *fields)
{
    struct event_text key;
    bool more;

    if (*at != '{')
        return json_scan_value(at, EVENT_DEPTH);
    for (at = first_of(at, '}', &more); more; at = next_of(at, '}', &more)) {
        at = key_of(at, &key);
        if (at != NULL)
            at = argument(parser, key, at, fields);
        if (at == NULL)
            return NULL;
    }
    return at;
}

/* --- Events --- */

/* Takes a member of an event itself, whose text is `text`. Returns why the event is none; NULL: it
 * may be. */
static const char *store_text(struct event_fields *fields, struct event_text key,
                              struct event_text text)
{
    switch (key.length) {
    case 2:
        if (memcmp(key.bytes, "ph", 2) == 0) {
            fields->phase = text.length == 1 ? text.bytes[0] : '?';
        } else if (memcmp(key.bytes, "ts", 2) == 0) {
            fields->has_start = decimal_us_to_ns(text.bytes, text.length, &fields->start_ns);
            return fields->has_start ? NULL : "its ts is not a time";
        }
        break;
    case 3:
        if (memcmp(key.bytes, "cat", 3) == 0) {
            fields->category = text;
        } else if (memcmp(key.bytes, "pid", 3) == 0) {
            fields->pid = text;
        } else if (memcmp(key.bytes, "tid", 3) == 0) {
            fields->tid = text;
        } else if (memcmp(key.bytes, "dur", 3) == 0) {
            fields->has_duration = decimal_us_to_ns(text.bytes, text.length, &fields->duration_ns);
            return fields->has_duration ? NULL : "its dur is not a time";
        }
        break;
    case 4:
        if (memcmp(key.bytes, "name", 4) == 0)
            fields->name = text;
        break;
    default:
        break;
    }
    return NULL;
}

const char *event_parse(struct event_parser *parser, const char *bytes, size_t most,
                        struct event_fields *fields, const char **end)
{
    const char *at = bytes, *reason;
    struct event_text key, text;
    bool more, is_scalar;

    memset(fields, 0, offsetof(struct event_fields, numbers));
    fields->blocks_per_sm = fields->warps_per_sm = fields->occupancy_percent = NAN;
    begin(parser, most);
    for (at = first_of(at, '}', &more); more; at = next_of(at, '}', &more)) {
        at = usual_key_of(at, &key);
        if (at == NULL)
            return not_json;
        if (*at == '{' && key.length == 4 && memcmp(key.bytes, "args", 4) == 0) {
            at = take_arguments(parser, at, fields);
        } else {
            at = scalar(parser, at, EVENT_DEPTH, &text, &is_scalar);
            reason = at != NULL && is_scalar ? store_text(fields, key, text) : NULL;
            if (reason != NULL)
                return reason;
        }
        if (at == NULL)
            return not_json;
    }
    *end = at;
    return at != NULL ? NULL : not_json;
}

struct event_parser *event_parser_open(void)
{
    struct event_parser *parser = calloc(1, sizeof *parser);

    for (size_t i = 0; parser != NULL && i < ARRAY_SIZE(arguments); i++)
        parser->of_length[strlen(arguments[i].name)] |= UINT64_C(1) << i;
    return parser;
}

bool event_parser_lacks_memory(const struct event_parser *parser)
{
    return parser->lacks_memory;
}

void event_parser_close(struct event_parser *parser)
{
    if (parser != NULL)
        free(parser->copy);
    free(parser);
}

/* --- Metadata --- */

static void put_number(void *member, size_t size, int64_t number)
{
    if (size == sizeof number)
        memcpy(member, &number, sizeof number);
    else if (number >= 0 && number <= INT32_MAX)
        memcpy(member, &(int){ (int)number }, sizeof(int));
}

static bool text_is_word(struct event_text text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.bytes, word, text.length) == 0;
}

static void put_text(char *member, size_t size, struct event_text text)
{
    size_t length = text.length < size ? text.length : size - 1;

    if (length > 0)
        memcpy(member, text.bytes, length);
    member[length] = '\0';
}

static void take_device(struct event_device *device, struct event_text key, struct event_text text)
{
    static const struct {
        const char *name;
        size_t place, size;
    } numbers[] = {
#define DEVICE_NUMBER(name, member, value)                                                         \
    { name, offsetof(struct event_device, member), sizeof device->member },
        DEVICE_NUMBERS(DEVICE_NUMBER) DEVICE_NUMBER("id", id, 0)
#undef DEVICE_NUMBER
    };
    int64_t number;

    if (text_is_word(key, "name"))
        put_text(device->name, sizeof device->name, text);
    else if (text_is_word(key, "isa"))
        put_text(device->isa, sizeof device->isa, text);
    else if (whole_number(text, &number))
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
            if (text_is_word(key, numbers[i].name))
                put_number((char *)device + numbers[i].place, numbers[i].size, number);
}

static const char *parse_device(struct event_parser *parser, const char *at,
                                struct event_device *device)
{
    struct event_text key, text;
    bool more, is_scalar;

    *device = (struct event_device){ .shares_host_cores = -1,
                                     .bf16_matrix_units = -1,
                                     .fp16_matrix_units = -1,
                                     .tf32 = -1,
                                     .fused_attention = -1 };
    for (at = first_of(at, '}', &more); more; at = next_of(at, '}', &more)) {
        at = key_of(at, &key);
        if (at != NULL)
            at = scalar(parser, at, ARGUMENT_DEPTH, &text, &is_scalar);
        if (at == NULL)
            return NULL;
        if (is_scalar)
            take_device(device, key, text);
    }
    return at;
}

int event_parse_devices(struct event_parser *parser, const char *bytes, size_t length,
                        struct event_device *devices, int most)
{
    const char *at = bytes;
    int count = 0;
    bool more;

    begin(parser, length);
    if (*at != '[')
        return 0;
    for (at = first_of(at, ']', &more); more && *at == '{' && count < most;
         at = next_of(at, ']', &more)) {
        at = parse_device(parser, at, &devices[count++]);
        if (at == NULL)
            break;
    }
    return count;
}

/* The text of a member of the object `at`, if it is a scalar. */
static bool member_text(struct event_parser *parser, const char *at, size_t length,
                        const char *name, struct event_text *text)
{
    struct event_text key;
    bool more, is_scalar;

    begin(parser, length);
    if (*at != '{')
        return false;
    for (at = first_of(at, '}', &more); more; at = next_of(at, '}', &more)) {
        at = key_of(at, &key);
        if (at != NULL)
            at = scalar(parser, at, EVENT_DEPTH, text, &is_scalar);
        if (at == NULL)
            return false;
        if (text_is_word(key, name))
            return is_scalar;
    }
    return false;
}

bool event_parse_member(struct event_parser *parser, const char *bytes, size_t length,
                        const char *key, int64_t *value)
{
    struct event_text text;

    return member_text(parser, bytes, length, key, &text) && whole_number(text, value);
}

bool event_parse_fraction(struct event_parser *parser, const char *bytes, size_t length,
                          const char *key, double *value)
{
    struct event_text text;

    return member_text(parser, bytes, length, key, &text) && fraction(text, value);
}
