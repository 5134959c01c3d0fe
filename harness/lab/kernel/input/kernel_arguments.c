/* Arguments of a kernel as a user writes them: "f32[1024]:random,i32:1024". The list is read type
 * by type, from left to right; every number, whatever its type, is a double until it is stored.
 * Filling depends on the argument alone, so two runs of one call have the same data. */
#include "harness/lab/kernel/input/kernel_arguments.h"

#include "harness/base/random.h"
#include "harness/base/rows.h"
#include "harness/lab/kernel/input/npy.h"
#include "kernels/dialect/half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
#define KERNEL_TYPE_ROW(name, text, bytes) { text, bytes },
    KERNEL_TYPES(KERNEL_TYPE_ROW)
#undef KERNEL_TYPE_ROW
};

static const char *const patterns[KERNEL_VALUE] = { "unwritten", "zero", "iota", "random",
                                                    "small" };

const char *kernel_type_name(enum kernel_type type)
{
    return types[type].name;
}

size_t kernel_type_bytes(enum kernel_type type)
{
    return types[type].bytes;
}

uint64_t kernel_argument_bytes(const struct kernel_argument *argument)
{
    return (uint64_t)argument->count * types[argument->type].bytes;
}

size_t kernel_argument_own(const struct kernel_argument *argument)
{
    return argument->count > 0 ? sizeof(uint64_t) : types[argument->type].bytes;
}

/* --- Reading --- */

/* KERNEL_TYPE_COUNT: there is no type of that name. */
static enum kernel_type find_type(const char *text, size_t length)
{
    int t = 0;

    while (t < KERNEL_TYPE_COUNT &&
           (strlen(types[t].name) != length || strncmp(types[t].name, text, length) != 0))
        t++;
    return (enum kernel_type)t;
}

/* A number with its k or M, or a product of such. Whether one is there; *end is after it. */
static bool parse_number(const char *text, const char **end, double *value)
{
    *value = 1;
    for (;;) {
        char *after;
        double factor = strtod(text, &after);
        if (after == text || !isfinite(factor))
            return false;
        factor *= *after == 'k' ? 1024 : *after == 'M' ? 1048576 : 1;
        after += *after == 'k' || *after == 'M';
        *value *= factor;
        *end = after;
        if (*after != '*')
            return true;
        text = after + 1;
    }
}

/* After the ":"; a number is a pattern too. */
static bool parse_pattern(struct kernel_argument *argument, const char **at)
{
    double number;

    for (int p = 0; p < KERNEL_VALUE; p++) {
        size_t length = strlen(patterns[p]);
        if (strncmp(*at, patterns[p], length) != 0)
            continue;
        argument->pattern = (enum kernel_pattern)p;
        *at += length;
        if (p == KERNEL_RANDOM && **at == '<') {
            if (!parse_number(*at + 1, at, &number) || !(number >= 1 && number <= UINT32_MAX))
                return false;
            argument->below = (uint32_t)number;
        }
        if (p == KERNEL_RANDOM && **at == '@') {
            if (!parse_number(*at + 1, at, &number) || !(number >= 0 && number <= UINT32_MAX))
                return false;
            argument->seed = (uint64_t)number;
        }
        return true;
    }
    argument->pattern = KERNEL_VALUE;
    return parse_number(*at, at, &argument->value);
}

/* "1024", or "64x48x2" with the extents of a texture, up to the "]". */
static bool parse_extents(struct kernel_argument *argument, const char **at)
{
    double count = argument->channels, extent;

    for (int i = 0; i < 3; i++) argument->size[i] = 1;
    for (int i = 0; i < 3; i++) {
        if (!parse_number(*at + 1, at, &extent) || !(extent >= 1) || extent != floor(extent))
            return false;
        count *= extent;
        argument->size[i] = extent <= INT32_MAX ? (int)extent : INT32_MAX;
        if (**at != 'x')
            break;
    }
    argument->count = count <= 1e12 ? (int64_t)count : 0;
    return argument->count > 0 && *(*at)++ == ']';
}

/* "/linear/wrap" */
static bool parse_sampling(struct kernel_argument *argument, const char **at)
{
    const struct {
        const char *word;
        bool *member;
    } words[] = { { "/linear", &argument->linear },
                  { "/normalized", &argument->normalized },
                  { "/wrap", &argument->wraps } };

    while (**at == '/') {
        size_t w = 0;
        while (w < ARRAY_SIZE(words) && strncmp(*at, words[w].word, strlen(words[w].word)) != 0)
            w++;
        if (w == ARRAY_SIZE(words))
            return false;
        *words[w].member = true;
        *at += strlen(words[w].word);
    }
    return true;
}

/* A type, [elements] of an array, and ":" with a pattern. *at is after it. */
static enum status parse_argument(struct kernel_argument *argument, const char **at)
{
    const char *from = *at;
    size_t length = strcspn(from, ",}"), name;

    argument->channels = 1;
    if (length > 4 && strncmp(from + length - 4, ".npy", 4) == 0) {
        *at += length;
        return npy_read(argument, from, length);
    }
    name = strcspn(from, "[:,}");
    if (name > 2 && from[name - 2] == 'x' && (from[name - 1] == '2' || from[name - 1] == '4')) {
        argument->channels = from[name - 1] - '0';
        name -= 2;
    }
    *at = from + strcspn(from, "[:,}");
    argument->type = find_type(from, name);
    if (argument->type == KERNEL_TYPE_COUNT)
        FAIL(STATUS_BAD_USAGE, "argument '%.*s' has no type that is known: f32, i32, u32, i64, ...",
             (int)length, from);
    if (**at == '[') {
        if (!parse_extents(argument, at))
            FAIL(STATUS_BAD_USAGE, "argument '%.*s' has no number of elements in []", (int)length,
                 from);
    }
    if (**at == ':') {
        ++*at;
        if (!parse_pattern(argument, at))
            FAIL(STATUS_BAD_USAGE,
                 "argument '%.*s' is filled with something unknown; zero, iota, random, small, "
                 "unwritten or a number is known",
                 (int)length, from);
    } else if (argument->count == 0) {
        FAIL(STATUS_BAD_USAGE, "argument '%.*s' has no value; write i32:1024, or f32[1024]:zero",
             (int)length, from);
    }
    if (!parse_sampling(argument, at) || (**at != ',' && **at != '\0' && **at != '}') ||
        (argument->count == 0 && argument->pattern != KERNEL_VALUE))
        FAIL(STATUS_BAD_USAGE, "argument '%.*s' is unknown", (int)length, from);
    return STATUS_OK;
}

enum status kernel_arguments_parse(struct kernel_argument *arguments, int *count, const char *text)
{
    bool open = false;

    *count = 0;
    while (*text != '\0') {
        bool begins = !open && *text == '{';
        if (*count == KERNEL_ARGUMENTS_MOST)
            FAIL(STATUS_BAD_USAGE, "more than %d arguments", KERNEL_ARGUMENTS_MOST);
        arguments[*count] = (struct kernel_argument){ .seed = (uint64_t)*count, .joins = open };
        text += begins;
        open |= begins;
        ++*count;
        TRY(parse_argument(&arguments[*count - 1], &text));
        if (*text == '}') {
            if (!open)
                FAIL(STATUS_BAD_USAGE, "--args has a '}' with no '{' before it");
            open = false;
            text++;
        }
        if (*text != ',' && *text != '\0')
            FAIL(STATUS_BAD_USAGE, "--args: '%s' should begin with a ','", text);
        text += *text == ',';
    }
    if (open)
        FAIL(STATUS_BAD_USAGE, "--args has a '{' with no '}' after it");
    return STATUS_OK;
}

void kernel_arguments_release(struct kernel_argument *arguments, int count)
{
    for (int i = 0; i < count; i++) {
        free(arguments[i].data);
        arguments[i].data = NULL;
    }
}

/* --- Numbers --- */

/* To the nearest, ties to even. */
static uint16_t bfloat_of(double value)
{
    float x = (float)value;
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static bool is_real(enum kernel_type type)
{
    return type == KERNEL_F32 || type == KERNEL_F64 || type == KERNEL_F16 || type == KERNEL_BF16;
}

/* Integers wrap, as in C. Beyond 9e18, which no 64 bits hold with a sign, a number is stored as 0:
 * the conversion would be undefined. */
static void store(enum kernel_type type, void *to, double value)
{
    uint64_t whole = 0;
    float single = (float)value;
    uint16_t half;

    if (type == KERNEL_F32) {
        memcpy(to, &single, sizeof single);
    } else if (type == KERNEL_F64) {
        memcpy(to, &value, sizeof value);
    } else if (is_real(type)) {
        half = type == KERNEL_F16 ? half_narrow((float)value) : bfloat_of(value);
        memcpy(to, &half, sizeof half);
    } else {
        if (value > -9e18 && value < 9e18)
            whole = (uint64_t)(int64_t)value;
        memcpy(to, &whole, types[type].bytes);
    }
}

/* bf16 is the upper half of a float. */
static double real_of(enum kernel_type type, const void *from)
{
    uint32_t bits = 0;
    float single;
    double value;
    uint16_t half;

    if (type == KERNEL_F64) {
        memcpy(&value, from, sizeof value);
        return value;
    }
    if (type == KERNEL_F16) {
        memcpy(&half, from, sizeof half);
        return (double)half_widen(half);
    }
    memcpy(type == KERNEL_F32 ? (char *)&bits : (char *)&bits + 2, from, types[type].bytes);
    memcpy(&single, &bits, sizeof single);
    return (double)single;
}

double kernel_element(enum kernel_type type, const void *elements, int64_t index)
{
    size_t bytes = types[type].bytes;
    const void *from = (const char *)elements + (size_t)index * bytes;
    uint64_t whole = 0;
    bool is_signed =
        type == KERNEL_I8 || type == KERNEL_I16 || type == KERNEL_I32 || type == KERNEL_I64;

    if (is_real(type))
        return real_of(type, from);
    memcpy(&whole, from, bytes);
    if (!is_signed)
        return (double)whole;
    whole <<= 64 - 8 * bytes;
    return (double)((int64_t)whole >> (64 - 8 * bytes));
}

/* Bytes and shorts are drawn from all that they can hold of at least 0. */
static double drawn(struct random *random, const struct kernel_argument *argument)
{
    static const uint32_t most[KERNEL_TYPE_COUNT] = {
        [KERNEL_I8] = 128, [KERNEL_U8] = 256, [KERNEL_I16] = 32768, [KERNEL_U16] = 65536
    };
    uint32_t below = most[argument->type] != 0 ? most[argument->type] : UINT32_C(1) << 31;

    if (is_real(argument->type))
        return (double)random_uniform(random);
    return random_below(random, argument->below != 0 ? argument->below : below);
}

/* SMALL: whole numbers of 1 to 16, whose sums are exact; rows may be filled in part, the rest is 0.
 */
static double element_of(const struct kernel_argument *argument, int64_t i, struct random *random)
{
    int64_t row = argument->row > 0 ? argument->row : argument->count;
    int64_t filled = argument->filled > 0 ? argument->filled : row;

    switch (argument->pattern) {
    case KERNEL_IOTA:
        return (double)i;
    case KERNEL_RANDOM:
        return drawn(random, argument);
    case KERNEL_SMALL:
        return i % row < filled ? (double)(1 + (i / row * filled + i % row) * 7 % 16) : 0;
    default:
        return argument->value;
    }
}

/* Unwritten memory is all ones, NaN in every floating-point type: used by mistake, it shows. */
void kernel_argument_fill(const struct kernel_argument *argument, void *elements)
{
    struct random random = random_seed(argument->seed, 0);
    size_t bytes = types[argument->type].bytes;

    if (argument->pattern == KERNEL_FILE) {
        memcpy(elements, argument->data, (size_t)kernel_argument_bytes(argument));
        return;
    }
    if (argument->pattern == KERNEL_UNWRITTEN || argument->pattern == KERNEL_ZERO) {
        memset(elements, argument->pattern == KERNEL_ZERO ? 0 : 0xff,
               (size_t)kernel_argument_bytes(argument));
        return;
    }
    for (int64_t i = 0; i < argument->count; i++)
        store(argument->type, (char *)elements + (size_t)i * bytes,
              element_of(argument, i, &random));
}

void kernel_scalar(const struct kernel_argument *argument, void *bytes)
{
    memset(bytes, 0, 8);
    store(argument->type, bytes, argument->value);
}
