/* A machine with a stack, marks on it, and a memo, as Python's Lib/pickle.py describes the operations. */
#include "harness/desk/snapshot/pickle.h"

#include "harness/base/rows.h"

#include <stdlib.h>
#include <string.h>

struct unpickler {
    struct pickle *pickle;
    const unsigned char *at, *end, *begin;
    uint32_t *stack, *memo;
    int64_t depth, stack_room, memo_count, memo_room;
    int64_t *marks; /* depths */
    int64_t mark_count, mark_room;
};

enum { MEMBERS_MOST = 64 }; /* that are looked through: a snapshot has fewer, everywhere */

enum { NO_VALUE = 0 }; /* the node of None, and of memo's holes */

#define NODES_MOST INT64_C(0xfffffff0)

static enum status damaged(const struct unpickler *machine, const char *reason)
{
    FAIL(STATUS_BAD_INPUT, "the pickle is damaged at byte %lld: %s",
         (long long)(machine->at - machine->begin), reason);
}

static uint64_t little_endian(const unsigned char *at, size_t count)
{
    uint64_t value = 0;

    for (size_t i = 0; i < count; i++) value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* Takes a number of `count` bytes. */
static enum status take(struct unpickler *machine, size_t count, uint64_t *number)
{
    if ((size_t)(machine->end - machine->at) < count)
        return damaged(machine, "it ends within an operation");
    *number = little_endian(machine->at, count);
    machine->at += count;

    return STATUS_OK;
}

/* --- The stack --- */

static enum status push(struct unpickler *machine, uint32_t node)
{
    TRY(rows_grow(&machine->stack, machine->depth + 1, &machine->stack_room));
    machine->stack[machine->depth++] = node;

    return STATUS_OK;
}

static enum status add_node(struct unpickler *machine, struct pickle_node node, uint32_t *number)
{
    struct pickle *pickle = machine->pickle;

    if (pickle->count == NODES_MOST)
        return damaged(machine, "it has too many values");
    TRY(rows_grow(&pickle->nodes, pickle->count + 1, &pickle->room));
    *number = (uint32_t)pickle->count;
    pickle->nodes[pickle->count++] = node;

    return STATUS_OK;
}

static enum status push_new(struct unpickler *machine, struct pickle_node node)
{
    uint32_t number = 0;

    TRY(add_node(machine, node, &number));
    return push(machine, number);
}

static enum status push_integer(struct unpickler *machine, int64_t value)
{
    return push_new(machine, (struct pickle_node){ .type = PICKLE_INTEGER, .integer = value });
}

static enum status push_text(struct unpickler *machine, uint64_t length)
{
    if (length > (uint64_t)(machine->end - machine->at) || length > UINT32_MAX)
        return damaged(machine, "a text is longer than the file");
    TRY(push_new(machine, (struct pickle_node){ .type = PICKLE_TEXT,
                                                .count = (uint32_t)length,
                                                .at = (uint64_t)(machine->at - machine->begin) }));
    machine->at += length;

    return STATUS_OK;
}

/* The lowest place of the stack that an operation may touch. */
static int64_t floor_of(const struct unpickler *machine)
{
    return machine->mark_count > 0 ? machine->marks[machine->mark_count - 1] : 0;
}

/* --- Items --- */

/* Appends values to a list or dictionary, whose room doubles. */
static enum status append(struct unpickler *machine, uint32_t to, const uint32_t *values,
                          int64_t count)
{
    struct pickle *pickle = machine->pickle;
    struct pickle_node *node = &pickle->nodes[to];
    int64_t need = node->count + count, room = node->count > 0 ? INT64_C(1) << node->room_bits : 0;
    uint8_t bits = node->room_bits;

    if (count == 0)
        return STATUS_OK;
    if (need > NODES_MOST / 2)
        return damaged(machine, "a list is too long");
    if (need > room) {
        int64_t first = pickle->item_count;
        bool last = room > 0 && (int64_t)node->at + room == pickle->item_count;
        for (bits = 0; INT64_C(1) << bits < need;) bits++;
        room = INT64_C(1) << bits;
        first = last ? (int64_t)node->at : first;
        TRY(rows_grow(&pickle->items, first + room, &pickle->item_room));
        if (!last && node->count > 0)
            memcpy(pickle->items + first, pickle->items + node->at,
                   node->count * sizeof *pickle->items);
        pickle->item_count = first + room;
        node->at = (uint64_t)first;
        node->room_bits = bits;
    }
    memcpy(pickle->items + node->at + node->count, values, (size_t)count * sizeof *values);
    node->count = (uint32_t)need;

    return STATUS_OK;
}

/* Puts the top `count` values into what is below them, which has that type. */
static enum status put(struct unpickler *machine, int64_t count, enum pickle_type type)
{
    int64_t to = machine->depth - count - 1;

    if (count < 0 || to < floor_of(machine) ||
        machine->pickle->nodes[machine->stack[to]].type != type)
        return damaged(machine, "nothing takes these values");
    TRY(append(machine, machine->stack[to], machine->stack + to + 1, count));
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
    TRY(add_node(machine, (struct pickle_node){ .type = PICKLE_LIST }, &tuple));
    TRY(append(machine, tuple, machine->stack + machine->depth - count, count));
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
    if (machine->depth == 0 || number > (uint64_t)(machine->at - machine->begin))
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
    uint64_t value = 0;

    if (length > (uint64_t)(machine->end - machine->at))
        return damaged(machine, "a number is longer than the file");
    if (length > 0) {
        size_t used = length < 8 ? (size_t)length : 8;
        value = little_endian(machine->at, used);
        if (used < 8 && (machine->at[used - 1] & 0x80) != 0)
            value |= UINT64_MAX << 8 * used;
    }
    machine->at += length;
    return push_integer(machine, (int64_t)value);
}

static enum status take_real(struct unpickler *machine)
{
    struct pickle_node node = { .type = PICKLE_REAL };
    uint64_t bits = 0;

    TRY(take(machine, 8, &bits));
    bits = __builtin_bswap64(bits);
    memcpy(&node.real, &bits, sizeof bits);
    return push_new(machine, node);
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
    long long at = (long long)(machine->at - 1 - machine->begin);

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
        return push_new(machine, (struct pickle_node){ .type = PICKLE_DICT });
    case ']': /* EMPTY_LIST */
    case ')': /* EMPTY_TUPLE */
        return push_new(machine, (struct pickle_node){ .type = PICKLE_LIST });
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

static enum status run(struct unpickler *machine)
{
    uint32_t none = 0;

    TRY(add_node(machine, (struct pickle_node){ .type = PICKLE_NONE }, &none));
    while (machine->at < machine->end) {
        unsigned char operation = *machine->at++;
        if (operation == '.') { /* STOP */
            if (machine->depth != 1)
                return damaged(machine, "it ends with other than one value");
            machine->pickle->root = machine->stack[0];
            return STATUS_OK;
        }
        TRY(take_operation(machine, operation));
    }
    return damaged(machine, "it has no end: the file is cut");
}

enum status pickle_read(struct pickle *pickle, const char *bytes, size_t size)
{
    const unsigned char *begin = (const unsigned char *)bytes;
    struct unpickler machine = {
        .pickle = pickle, .at = begin, .end = begin + size, .begin = begin
    };
    enum status status;

    *pickle = (struct pickle){ .bytes = bytes };
    status = run(&machine);
    free(machine.stack);
    free(machine.memo);
    free(machine.marks);
    return status;
}

void pickle_release(struct pickle *pickle)
{
    free(pickle->nodes);
    free(pickle->items);
    *pickle = (struct pickle){ .count = 0 };
}

/* --- Questions --- */

bool pickle_text_is(const struct pickle *pickle, uint32_t node, const char *text)
{
    const struct pickle_node *one = &pickle->nodes[node];

    return one->type == PICKLE_TEXT && one->count == strlen(text) &&
           memcmp(pickle->bytes + one->at, text, one->count) == 0;
}

int64_t pickle_member(const struct pickle *pickle, int64_t node, const char *name)
{
    const struct pickle_node *dict = node >= 0 ? &pickle->nodes[node] : NULL;

    if (dict == NULL || dict->type != PICKLE_DICT)
        return -1;
    for (uint32_t i = 0; i + 1 < dict->count && i < 2 * MEMBERS_MOST; i += 2)
        if (pickle_text_is(pickle, pickle->items[dict->at + i], name))
            return pickle->items[dict->at + i + 1];
    return -1;
}

int64_t pickle_length(const struct pickle *pickle, int64_t node)
{
    return node >= 0 && pickle->nodes[node].type == PICKLE_LIST ? pickle->nodes[node].count : 0;
}

uint32_t pickle_item(const struct pickle *pickle, int64_t node, int64_t number)
{
    return pickle->items[pickle->nodes[node].at + (uint64_t)number];
}

int64_t pickle_integer(const struct pickle *pickle, int64_t node, int64_t otherwise)
{
    const double most = 9e18;
    const struct pickle_node *one = node >= 0 ? &pickle->nodes[node] : NULL;

    if (one != NULL && one->type == PICKLE_REAL && one->real > -most && one->real < most)
        return (int64_t)one->real;
    return one != NULL && one->type == PICKLE_INTEGER ? one->integer : otherwise;
}
