/* A machine with a stack, marks on it, and a memo, as Python's Lib/pickle.py describes the
 * operations. */
#include "harness/desk/snapshot/pickle.h"

#include "harness/base/rows.h"
#include "harness/desk/read/input/read_ahead.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NO_VALUE = 0 }; /* the value of None, and of memo's holes */

#define BYTES_MOST (INT64_C(8) << 30) /* values are numbered with 32 bits */

/* A snapshot that is compressed inflates to ten times its size. Values take memory, so much more is
 * made up to take it. */
enum { INFLATES_MOST = 100, BYTES_LEAST = 1 << 20 };

struct unpickler {
    struct pickle *pickle;
    struct read_ahead *input;
    int64_t window_count;                  /* that were asked for */
    const unsigned char *at, *end, *begin; /* in a window of the file */
    int64_t before;                        /* bytes of the file before the window */
    int64_t bytes_most;                    /* that are read of it */
    uint32_t *stack, *memo;
    int64_t depth, stack_room, memo_count, memo_room;
    int64_t *marks; /* depths */
    int64_t mark_count, mark_room;
};

static int64_t offset_of(const struct unpickler *machine)
{
    return machine->before + (machine->at - machine->begin);
}

static enum status damaged(const struct unpickler *machine, const char *reason)
{
    FAIL(STATUS_BAD_INPUT, "the pickle is damaged at byte %lld: %s", (long long)offset_of(machine),
         reason);
}

/* --- The file --- */

/* The next window; *is_end: there is none. */
static enum status refill(struct unpickler *machine, bool *is_end)
{
    const char *bytes;
    size_t count;

    machine->before += machine->end - machine->begin;
    if (machine->before > BYTES_MOST)
        FAIL(STATUS_BAD_INPUT, "it is larger than 8 GiB");
    if (machine->before > machine->bytes_most)
        FAIL(STATUS_BAD_INPUT,
             "it is compressed, and inflates to more than %d times its size, as no snapshot does",
             INFLATES_MOST);
    machine->begin = machine->at = machine->end = NULL;
    TRY(read_ahead_window(machine->input, machine->window_count++, &bytes, &count));
    *is_end = count == 0;
    if (count > 0) {
        machine->begin = machine->at = (const unsigned char *)bytes;
        machine->end = machine->begin + count;
    }
    return STATUS_OK;
}

/* Takes `count` bytes, of which up to `most` are copied; `reason`: the sentence if the file ends
 * before. */
static enum status take_bytes(struct unpickler *machine, uint64_t count, char *copy, size_t most,
                              const char *reason)
{
    while (count > 0) {
        size_t left = (size_t)(machine->end - machine->at), kept;
        bool is_end = false;
        if (left == 0) {
            TRY(refill(machine, &is_end));
            if (is_end)
                return damaged(machine, reason);
            continue;
        }
        left = count < left ? (size_t)count : left;
        kept = left < most ? left : most;
        memcpy(copy, machine->at, kept);
        copy += kept;
        most -= kept;
        machine->at += left;
        count -= left;
    }
    return STATUS_OK;
}

static uint64_t little_endian(const unsigned char *at, size_t count)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* Takes a number of `count` bytes, 8 at most. */
static enum status take(struct unpickler *machine, size_t count, uint64_t *number)
{
    unsigned char bytes[8] = { 0 };

    if ((size_t)(machine->end - machine->at) >= count) {
        *number = little_endian(machine->at, count);
        machine->at += count;
        return STATUS_OK;
    }
    TRY(take_bytes(machine, count, (char *)bytes, sizeof bytes, "it ends within an operation"));
    *number = little_endian(bytes, sizeof bytes);

    return STATUS_OK;
}

/* --- The stack --- */

static enum status push(struct unpickler *machine, uint32_t value)
{
    TRY(rows_grow(&machine->stack, machine->depth + 1, &machine->stack_room));
    machine->stack[machine->depth++] = value;

    return STATUS_OK;
}

static enum status push_new(struct unpickler *machine, enum pickle_type type, uint64_t content)
{
    uint32_t value = 0;

    TRY(pickle_add(machine->pickle, type, content, &value));
    return push(machine, value);
}

static enum status push_integer(struct unpickler *machine, int64_t integer)
{
    uint32_t value = 0;

    TRY(pickle_add_integer(machine->pickle, integer, &value));
    return push(machine, value);
}

static enum status push_text(struct unpickler *machine, uint64_t length)
{
    const char *bytes = (const char *)machine->at;
    char copy[PICKLE_TEXT_BYTES];
    size_t kept = length < sizeof copy ? (size_t)length : sizeof copy;
    uint32_t number = 0;

    if (length <= (uint64_t)(machine->end - machine->at)) {
        machine->at += length;
    } else {
        TRY(take_bytes(machine, length, copy, sizeof copy, "a text is longer than the file"));
        bytes = copy;
    }
    TRY(intern_add(machine->pickle->texts, kept > 0 ? bytes : "", kept, &number));
    return push_new(machine, PICKLE_TEXT, number);
}

/* The lowest place of the stack that an operation may touch. */
static int64_t floor_of(const struct unpickler *machine)
{
    return machine->mark_count > 0 ? machine->marks[machine->mark_count - 1] : 0;
}

/* Puts the top `count` values into what is below them, which has that type. */
static enum status put(struct unpickler *machine, int64_t count, enum pickle_type type)
{
    struct pickle *pickle = machine->pickle;
    int64_t to = machine->depth - count - 1;
    uint32_t *values;

    if (count < 0 || to < floor_of(machine) || pickle_type_of(pickle, machine->stack[to]) != type)
        return damaged(machine, "nothing takes these values");
    values = machine->stack + to + 1;
    if (type == PICKLE_DICT)
        TRY(pickle_set_members(pickle, values[-1], values, count));
    else
        TRY(pickle_append(pickle, values[-1], values, count));
    machine->depth = to + 1;

    return STATUS_OK;
}

static enum status put_from_mark(struct unpickler *machine, enum pickle_type type)
{
    int64_t count;

    if (machine->mark_count == 0)
        return damaged(machine, "there is no mark");
    count = machine->depth - machine->marks[--machine->mark_count];
    if (type == PICKLE_DICT && count % 2 != 0)
        return damaged(machine, "a key has no value");
    return put(machine, count, type);
}

static enum status make_tuple(struct unpickler *machine, int64_t count)
{
    uint32_t tuple = 0;

    if (count < 0 || machine->depth - count < floor_of(machine))
        return damaged(machine, "a tuple has too few values");
    TRY(pickle_add(machine->pickle, PICKLE_LIST, 0, &tuple));
    TRY(pickle_append(machine->pickle, tuple, machine->stack + machine->depth - count, count));
    machine->depth -= count;
    return push(machine, tuple);
}

static enum status make_tuple_from_mark(struct unpickler *machine)
{
    int64_t from;

    if (machine->mark_count == 0)
        return damaged(machine, "there is no mark");
    from = machine->marks[--machine->mark_count];
    return make_tuple(machine, machine->depth - from);
}

/* --- The memo --- */

/* Python counts the memo up, one for each operation: a higher number is made up to take memory. */
static enum status memoize(struct unpickler *machine, uint64_t number)
{
    if (machine->depth == 0 || number > (uint64_t)offset_of(machine))
        return damaged(machine, "a number of its memo cannot be");
    TRY(rows_grow(&machine->memo, (int64_t)number + 1, &machine->memo_room));
    while (machine->memo_count <= (int64_t)number) machine->memo[machine->memo_count++] = NO_VALUE;
    machine->memo[number] = machine->stack[machine->depth - 1];

    return STATUS_OK;
}

static enum status recall(struct unpickler *machine, uint64_t number)
{
    if (number >= (uint64_t)machine->memo_count)
        return damaged(machine, "its memo has no such number");
    return push(machine, machine->memo[number]);
}

/* --- Operations --- */

static enum status take_long(struct unpickler *machine, uint64_t length)
{
    unsigned char bytes[8] = { 0 };
    size_t used = length < sizeof bytes ? (size_t)length : sizeof bytes;
    uint64_t value;

    TRY(take_bytes(machine, length, (char *)bytes, sizeof bytes,
                   "a number is longer than the file"));
    value = little_endian(bytes, used);
    if (used > 0 && used < sizeof bytes && (bytes[used - 1] & 0x80) != 0)
        value |= UINT64_MAX << 8 * used;
    return push_integer(machine, (int64_t)value);
}

/* As a whole number: a snapshot has no other that matters. */
static enum status take_real(struct unpickler *machine)
{
    const double most = 1e18;
    uint64_t bits = 0;
    double real;

    TRY(take(machine, 8, &bits));
    bits = __builtin_bswap64(bits);
    memcpy(&real, &bits, sizeof bits);
    return push_integer(machine, real > -most && real < most ? (int64_t)real : 0);
}

/* The names of operations that do more than hold data, for the sentence. */
static const char *name_of(unsigned char operation)
{
    static const struct {
        char operation;
        const char *name;
    } names[] = {
        { 'c', "GLOBAL" },    { '\x93', "STACK_GLOBAL" }, { 'R', "REDUCE" },  { 'b', "BUILD" },
        { '\x81', "NEWOBJ" }, { '\x92', "NEWOBJ_EX" },    { 'i', "INST" },    { 'o', "OBJ" },
        { '\x82', "EXT1" },   { '\x83', "EXT2" },         { '\x84', "EXT4" }, { 'P', "PERSID" },
        { 'Q', "BINPERSID" }
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if ((unsigned char)names[i].operation == operation)
            return names[i].name;
    return NULL;
}

static enum status refuse(const struct unpickler *machine, unsigned char operation)
{
    const char *name = name_of(operation);
    long long at = (long long)offset_of(machine) - 1;

    if (name != NULL)
        FAIL(STATUS_BAD_INPUT,
             "byte %lld of the pickle is the operation %s, which runs code: it is no snapshot of "
             "PyTorch's memory, and may be harmful",
             at, name);
    FAIL(STATUS_BAD_INPUT,
         "byte %lld of the pickle is operation 0x%02x, which no snapshot of PyTorch's memory has",
         at, operation);
}

/* Operations with a number behind them, by the bytes of that. */
static enum status take_numbered(struct unpickler *machine, unsigned char operation, size_t bytes)
{
    uint64_t number = 0;

    TRY(take(machine, bytes, &number));
    switch (operation) {
    case 'K': /* BININT1 */
    case 'M': /* BININT2 */
        return push_integer(machine, (int64_t)number);
    case 'J': /* BININT */
        return push_integer(machine, (int32_t)(uint32_t)number);
    case 0x8a: /* LONG1 */
    case 0x8b: /* LONG4 */
        return take_long(machine, number);
    case 0x8c: /* SHORT_BINUNICODE */
    case 'X':  /* BINUNICODE */
    case 0x8d: /* BINUNICODE8 */
        return push_text(machine, number);
    case 'h': /* BINGET */
    case 'j': /* LONG_BINGET */
        return recall(machine, number);
    case 'q': /* BINPUT */
    case 'r': /* LONG_BINPUT */
        return memoize(machine, number);
    default: /* PROTO, FRAME */
        return STATUS_OK;
    }
}

/* The bytes of the number behind an operation. */
static const uint8_t number_bytes[256] = {
    ['K'] = 1,  ['M'] = 2, ['J'] = 4, [0x8a] = 1, [0x8b] = 4, [0x8c] = 1, ['X'] = 4,
    [0x8d] = 8, ['h'] = 1, ['j'] = 4, ['q'] = 1,  ['r'] = 4,  [0x80] = 1, [0x95] = 8,
};

static enum status take_operation(struct unpickler *machine, unsigned char operation)
{
    size_t bytes = number_bytes[operation];

    if (bytes > 0)
        return take_numbered(machine, operation, bytes);
    switch (operation) {
    case '}': /* EMPTY_DICT */
        return push_new(machine, PICKLE_DICT, 0);
    case ']': /* EMPTY_LIST */
    case ')': /* EMPTY_TUPLE */
        return push_new(machine, PICKLE_LIST, 0);
    case '(': /* MARK */
        TRY(rows_grow(&machine->marks, machine->mark_count + 1, &machine->mark_room));
        machine->marks[machine->mark_count++] = machine->depth;
        return STATUS_OK;
    case 'u': /* SETITEMS */
        return put_from_mark(machine, PICKLE_DICT);
    case 's': /* SETITEM */
        return put(machine, 2, PICKLE_DICT);
    case 'e': /* APPENDS */
        return put_from_mark(machine, PICKLE_LIST);
    case 'a': /* APPEND */
        return put(machine, 1, PICKLE_LIST);
    case 't': /* TUPLE */
        return make_tuple_from_mark(machine);
    case 0x85: /* TUPLE1 to TUPLE3 */
    case 0x86:
    case 0x87:
        return make_tuple(machine, operation - 0x84);
    case 0x94: /* MEMOIZE */
        return memoize(machine, (uint64_t)machine->memo_count);
    case 'G': /* BINFLOAT */
        return take_real(machine);
    case 'N':
        return push(machine, NO_VALUE);
    case 0x88: /* NEWTRUE */
    case 0x89: /* NEWFALSE */
        return push_integer(machine, operation == 0x88);
    case '0': /* POP */
        if (machine->depth <= floor_of(machine))
            return damaged(machine, "there is nothing to take away");
        machine->depth--;
        return STATUS_OK;
    default:
        return refuse(machine, operation);
    }
}

static enum status run_machine(struct unpickler *machine)
{
    for (;;) {
        unsigned char operation;
        bool is_end = false;
        if (machine->at == machine->end) {
            TRY(refill(machine, &is_end));
            if (is_end)
                return damaged(machine, "it has no end: the file is cut");
        }
        operation = *machine->at++;
        if (operation == '.') { /* STOP */
            if (machine->depth != 1)
                return damaged(machine, "it ends with other than one value");
            machine->pickle->root = machine->stack[0];
            /* On to the end of the file, for its size and for damage that only shows there. */
            while (!is_end) TRY(refill(machine, &is_end));
            machine->pickle->bytes = machine->before;
            return STATUS_OK;
        }
        TRY(take_operation(machine, operation));
    }
}

enum status pickle_read(struct pickle *pickle, const char *path, const char *const *words,
                        int word_count, int members)
{
    enum status status = STATUS_OK;
    struct unpickler machine = { .pickle = pickle };
    struct stat about;

    machine.bytes_most =
        BYTES_LEAST + (stat(path, &about) == 0 ? INFLATES_MOST * about.st_size : 0);
    TRY_OUT(pickle_begin(pickle, words, word_count, members));
    TRY_OUT(rows_grow(&machine.stack, 1, &machine.stack_room)); /* operations point into it */
    TRY_OUT(read_ahead_open(&machine.input, path));
    TRY_OUT(run_machine(&machine));

out:
    read_ahead_close(machine.input);
    free(machine.stack);
    free(machine.memo);
    free(machine.marks);
    return status;
}
