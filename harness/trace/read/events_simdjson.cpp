// simdjson's on-demand parser is used because it hands out numbers as they are written. Every value of an
// event is visited, even if nobody needs it, so that invalid JSON is noticed. Strings are unescaped into the
// parser's own buffer, which the next event overwrites.
#define SIMDJSON_EXCEPTIONS 0
#include "harness/trace/read/events_simdjson.h"

#include "harness/base/json_words.h"
#include "harness/trace/read/decimal.h"
#include "harness/trace/record/device_numbers.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <simdjson.h>
#include <string_view>

using namespace simdjson;
using std::string_view;

struct event_parser {
    ondemand::parser parser;
    char *copy; // of an event, to be changed
    size_t copy_room;
};

namespace
{

const char *const not_json = "it is not valid JSON";

struct number_name {
    string_view name;
    event_number number;
};

constexpr number_name number_names[] = {
#define NUMBER_NAME(id, name) { name, EVENT_##id },
    EVENT_NUMBERS(NUMBER_NAME)
#undef NUMBER_NAME
};

// A number's or word's text: the token up to the blanks that follow it.
string_view token_of(ondemand::value &value)
{
    string_view token = value.raw_json_token();
    while (!token.empty() && std::strchr(" \t\r\n", token.back()) != nullptr)
        token.remove_suffix(1);
    return token;
}

// A scalar's text, without the quotes of a string. False: it is no valid scalar.
bool scalar_text(ondemand::value &value, string_view &text)
{
    ondemand::json_type type;
    if (value.type().get(type) != SUCCESS)
        return false;
    if (type == ondemand::json_type::string)
        return value.get_string().get(text) == SUCCESS;
    text = token_of(value);
    if (type == ondemand::json_type::number) {
        double ignored;
        return value.get_double().get(ignored) == SUCCESS;
    }
    if (type == ondemand::json_type::boolean) {
        bool ignored;
        return value.get_bool().get(ignored) == SUCCESS;
    }
    if (type == ondemand::json_type::null) {
        text = string_view();
        bool null;
        return value.is_null().get(null) == SUCCESS && null;
    }
    return false;
}

// Visits a value that nobody needs. The splitter has bounded its depth.
bool valid(ondemand::value value)
{
    ondemand::json_type type;
    if (value.type().get(type) != SUCCESS)
        return false;
    if (type == ondemand::json_type::array) {
        ondemand::array array;
        if (value.get_array().get(array) != SUCCESS)
            return false;
        for (auto element : array) {
            ondemand::value inner;
            if (element.get(inner) != SUCCESS || !valid(inner))
                return false;
        }
        return true;
    }
    if (type == ondemand::json_type::object) {
        ondemand::object object;
        if (value.get_object().get(object) != SUCCESS)
            return false;
        for (auto field : object) {
            ondemand::value inner;
            if (field.error() != SUCCESS || field.value().get(inner) != SUCCESS || !valid(inner))
                return false;
        }
        return true;
    }
    string_view ignored;
    return scalar_text(value, ignored);
}

bool is_compound(ondemand::value &value)
{
    ondemand::json_type type;
    return value.type().get(type) == SUCCESS &&
           (type == ondemand::json_type::array || type == ondemand::json_type::object);
}

// Decimal, or hexadecimal as ROCm writes streams ("0x0"). Numbers beyond 63 bits wrap, since they are identities.
bool whole_number(string_view text, int64_t &number)
{
    if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        uint64_t value = 0;
        for (char digit : text.substr(2)) {
            const char *digits = "0123456789abcdef";
            const char *found = std::strchr(digits, digit | 0x20);
            if (digit == '\0' || found == nullptr)
                return false;
            value = value << 4 | static_cast<uint64_t>(found - digits);
        }
        number = static_cast<int64_t>(value);
        return true;
    }
    return decimal_integer(text.data(), text.size(), &number);
}

// Three whole numbers. Any other valid JSON is passed over.
bool three(ondemand::value value, uint32_t numbers[3], bool &found)
{
    ondemand::array array;
    int count = 0;

    found = false;
    if (!is_compound(value) || value.get_array().get(array) != SUCCESS)
        return valid(value);
    for (auto element : array) {
        ondemand::value inner;
        string_view text;
        int64_t number;
        if (element.get(inner) != SUCCESS)
            return false;
        if (is_compound(inner)) {
            if (!valid(inner))
                return false;
            continue;
        }
        if (!scalar_text(inner, text))
            return false;
        if (count < 3 && whole_number(text, number) && number >= 0 && number <= UINT32_MAX)
            numbers[count++] = static_cast<uint32_t>(number);
    }
    found = count == 3;
    return true;
}

event_text as_text(string_view text)
{
    return event_text{ text.data(), text.size() };
}

// A finite number; false leaves `number` as it was.
bool fraction(string_view text, double &number)
{
    char copy[64];
    char *end;
    if (text.empty() || text.size() >= sizeof copy)
        return false;
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    double value = std::strtod(copy, &end);
    if (*end != '\0' || !std::isfinite(value))
        return false;
    number = value;
    return true;
}

void fraction(string_view text, float &number)
{
    double value;
    if (fraction(text, value))
        number = static_cast<float>(value);
}

bool parse_arguments(ondemand::value value, event_fields &fields)
{
    ondemand::object object;
    ondemand::json_type type;
    bool grid = false, block = false;

    if (value.type().get(type) != SUCCESS)
        return false;
    if (type != ondemand::json_type::object)
        return valid(value);
    if (value.get_object().get(object) != SUCCESS)
        return false;
    for (auto field : object) {
        ondemand::raw_json_string raw;
        ondemand::value inner;
        string_view text;
        if (field.error() != SUCCESS || field.key().get(raw) != SUCCESS ||
            field.value().get(inner) != SUCCESS)
            return false;
        if (raw.unsafe_is_equal("grid")) {
            if (!three(inner, fields.grid, grid))
                return false;
            continue;
        }
        if (raw.unsafe_is_equal("block")) {
            if (!three(inner, fields.block, block))
                return false;
            continue;
        }
        if (is_compound(inner)) {
            if (!valid(inner))
                return false;
            continue;
        }
        if (!scalar_text(inner, text))
            return false;
        if (raw.unsafe_is_equal("Category"))
            fields.memory_category = as_text(text);
        else if (raw.unsafe_is_equal("CallFrom"))
            fields.call_from = as_text(text);
        else if (raw.unsafe_is_equal("Call stack"))
            fields.call_stack = as_text(text);
        else if (raw.unsafe_is_equal("blocks per SM"))
            fraction(text, fields.blocks_per_sm);
        else if (raw.unsafe_is_equal("warps per SM"))
            fraction(text, fields.warps_per_sm);
        else if (raw.unsafe_is_equal("est. achieved occupancy %"))
            fraction(text, fields.occupancy_percent);
        for (const number_name &known : number_names) {
            int64_t number;
            if (raw.unsafe_is_equal(known.name) && whole_number(text, number)) {
                fields.numbers[known.number] = number;
                fields.present |= UINT32_C(1) << known.number;
            }
        }
    }
    fields.has_launch = grid && block;
    return true;
}

enum class key { phase, category, name, pid, tid, start, duration, other };

key key_of(ondemand::raw_json_string raw)
{
    static const struct {
        string_view name;
        key which;
    } keys[] = {
        { "ph", key::phase },     { "cat", key::category }, { "name", key::name },
        { "pid", key::pid },      { "tid", key::tid },      { "ts", key::start },
        { "dur", key::duration },
    };
    for (const auto &known : keys)
        if (raw.unsafe_is_equal(known.name))
            return known.which;
    return key::other;
}

const char *take(event_fields &fields, key which, string_view text)
{
    switch (which) {
    case key::phase:
        fields.phase = text.size() == 1 ? text[0] : '?';
        break;
    case key::category:
        fields.category = as_text(text);
        break;
    case key::name:
        fields.name = as_text(text);
        break;
    case key::pid:
        fields.pid = as_text(text);
        break;
    case key::tid:
        fields.tid = as_text(text);
        break;
    case key::start:
        fields.has_start = decimal_us_to_ns(text.data(), text.size(), &fields.start_ns);
        return fields.has_start ? nullptr : "its ts is not a time";
    case key::duration:
        fields.has_duration = decimal_us_to_ns(text.data(), text.size(), &fields.duration_ns);
        return fields.has_duration ? nullptr : "its dur is not a time";
    case key::other:
        break;
    }
    return nullptr;
}

const char *parse_event(ondemand::document &document, event_fields &fields)
{
    ondemand::object object;

    if (document.get_object().get(object) != SUCCESS)
        return not_json;
    for (auto field : object) {
        ondemand::raw_json_string raw;
        ondemand::value value;
        string_view text;
        if (field.error() != SUCCESS || field.key().get(raw) != SUCCESS ||
            field.value().get(value) != SUCCESS)
            return not_json;
        if (is_compound(value)) {
            bool arguments = raw.unsafe_is_equal("args");
            if (!(arguments ? parse_arguments(value, fields) : valid(value)))
                return not_json;
            continue;
        }
        key which = key_of(raw);
        if (!scalar_text(value, text))
            return not_json;
        if (const char *reason = take(fields, which, text))
            return reason;
    }
    const char *rest;
    return document.current_location().get(rest) == OUT_OF_BOUNDS ? nullptr : not_json;
}

// Copies an event without NaN and Infinity. Empty: the event has none, or there is no memory.
// SIMDJSON_PADDING bytes behind the copy are readable.
string_view without_no_numbers(struct event_parser *parser, string_view text)
{
    size_t room = text.size() + SIMDJSON_PADDING;

    if (room > parser->copy_room) {
        char *copy = static_cast<char *>(std::realloc(parser->copy, 2 * room));
        if (copy == nullptr)
            return string_view();
        parser->copy = copy;
        parser->copy_room = 2 * room;
    }
    std::memcpy(parser->copy, text.data(), text.size());
    std::memset(parser->copy + text.size(), 0, SIMDJSON_PADDING);
    return json_words_blank(parser->copy, text.size()) > 0 ? string_view(parser->copy, text.size())
                                                           : string_view();
}

const char *parse_text(struct event_parser *parser, string_view text, event_fields &fields)
{
    ondemand::document document;

    std::memset(&fields, 0, sizeof fields);
    fields.blocks_per_sm = fields.warps_per_sm = fields.occupancy_percent = NAN;
    padded_string_view padded(text.data(), text.size(), text.size() + SIMDJSON_PADDING);
    if (parser->parser.iterate(padded).get(document) != SUCCESS)
        return not_json;
    return parse_event(document, fields);
}

void put_number(int64_t &member, int64_t number)
{
    member = number;
}

void put_number(int &member, int64_t number)
{
    if (number >= 0 && number <= INT32_MAX)
        member = static_cast<int>(number);
}

void take_device(event_device &device, string_view name, int64_t number)
{
    if (name == "id")
        device.id = number;
    if (name == "maxThreadsPerMultiprocessor")
        put_number(device.threads_per_multiprocessor, number);
#define TAKE(json_name, member, value)                                                             \
    if (name == json_name)                                                                         \
        put_number(device.member, number);
    DEVICE_NUMBERS(TAKE)
#undef TAKE
}

void begin_device(event_device &device)
{
    std::memset(&device, 0, sizeof device);
    device.shares_host_cores = device.bf16_matrix_units = device.fp16_matrix_units = -1;
    device.tf32 = device.fused_attention = -1;
}

// The text of a member of the object in `copy`, if it is a scalar.
bool member_text(struct event_parser *parser, const padded_string &copy, const char *key,
                 ondemand::document &document, string_view &text)
{
    ondemand::object object;
    ondemand::value member;

    return parser->parser.iterate(copy).get(document) == SUCCESS &&
           document.get_object().get(object) == SUCCESS &&
           object.find_field_unordered(key).get(member) == SUCCESS && !is_compound(member) &&
           scalar_text(member, text);
}

} // namespace

struct event_parser *event_parser_open(void)
{
    return new (std::nothrow) event_parser();
}

void event_parser_close(struct event_parser *parser)
{
    if (parser != nullptr)
        std::free(parser->copy);
    delete parser;
}

const char *event_parse(struct event_parser *parser, const char *bytes, size_t length,
                        struct event_fields *fields)
{
    const char *reason = parse_text(parser, string_view(bytes, length), *fields);

    if (reason == not_json) {
        string_view text = without_no_numbers(parser, string_view(bytes, length));
        if (!text.empty())
            reason = parse_text(parser, text, *fields);
    }
    return reason;
}

int event_parse_devices(struct event_parser *parser, const char *bytes, size_t length,
                        struct event_device *devices, int most)
{
    padded_string copy(bytes, length);
    ondemand::document document;
    ondemand::array array;
    int count = 0;

    if (parser->parser.iterate(copy).get(document) != SUCCESS ||
        document.get_array().get(array) != SUCCESS)
        return 0;
    for (auto element : array) {
        ondemand::object object;
        if (count == most || element.get_object().get(object) != SUCCESS)
            break;
        event_device &device = devices[count++];
        begin_device(device);
        for (auto field : object) {
            string_view name, text;
            ondemand::value value;
            int64_t number;
            if (field.error() != SUCCESS || field.unescaped_key().get(name) != SUCCESS ||
                field.value().get(value) != SUCCESS)
                return count;
            if (is_compound(value)) {
                if (!valid(value))
                    return count;
                continue;
            }
            if (!scalar_text(value, text))
                return count;
            if (name == "name")
                text.copy(device.name, sizeof device.name - 1);
            else if (name == "isa")
                text.copy(device.isa, sizeof device.isa - 1);
            else if (whole_number(text, number))
                take_device(device, name, number);
        }
    }
    return count;
}

bool event_parse_member(struct event_parser *parser, const char *bytes, size_t length,
                        const char *key, int64_t *value)
{
    padded_string copy(bytes, length);
    ondemand::document document;
    string_view text;

    return member_text(parser, copy, key, document, text) && whole_number(text, *value);
}

bool event_parse_fraction(struct event_parser *parser, const char *bytes, size_t length,
                          const char *key, double *value)
{
    padded_string copy(bytes, length);
    ondemand::document document;
    string_view text;

    return member_text(parser, copy, key, document, text) && fraction(text, *value);
}
