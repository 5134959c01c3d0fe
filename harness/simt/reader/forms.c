/* Instructions that are taken apart by the parts of their names, such as accesses and shuffles. One
 * that the machine does in two steps becomes two rows of code, of which one is a helper that is not
 * counted. */
#include "harness/simt/code/number_types.h"
#include "harness/simt/reader/statement.h"

#include <stdio.h>
#include <string.h>

/* The type of an access, the last part of its name. */
enum status reader_access(struct reader *reader, const struct statement *statement,
                          struct instruction *row)
{
    char dotted[OPCODE_SIZE] = ".";
    struct ptx_word word;

    strncat(dotted, statement->parts[statement->count - 1], sizeof dotted - 2);
    word = (struct ptx_word){ dotted, (int)strlen(dotted), 0 };
    if (reader_type_bits(word) < 8)
        READER_FAIL(reader, "unknown type in %s", statement->name);
    row->width = (uint8_t)(reader_type_bits(word) / 8);
    row->is_signed = dotted[1] == 's';
    row->vector = statement_has(statement, "v4") ? 4 : statement_has(statement, "v2") ? 2 : 1;
    row->space = statement_has(statement, "global")   ? SPACE_GLOBAL
                 : statement_has(statement, "shared") ? SPACE_SHARED
                 : statement_has(statement, "local")  ? SPACE_LOCAL
                 : statement_has(statement, "param")  ? SPACE_PARAM
                 : statement_has(statement, "const")  ? SPACE_CONST
                                                      : SPACE_GENERIC;
    row->slot = reader->kernel->slots++;
    return STATUS_OK;
}

enum status reader_elements(struct reader *reader, const struct statement *statement,
                            const struct instruction *row, bool store, int32_t *numbers)
{
    if (row->vector == 1 && !word_is(reader_peek(reader), "{"))
        return reader_element(reader, statement, row->width, store, numbers);
    TRY(reader_want(reader, "{"));
    for (int i = 0; i < row->vector; i++) {
        if (i > 0)
            TRY(reader_want(reader, ","));
        TRY(reader_element(reader, statement, row->width, store, &numbers[i]));
    }
    return reader_want(reader, "}");
}

static bool is_long(const struct reader *reader, int32_t number)
{
    return number >= 0 && reader->kernel->registers[number].bytes == 8;
}

/* "ld.global.v2.u32 {%r1, %r2}, [%rd1+8]". A value that is loaded into a register of 64 bits goes
 * through a word, so that lanes_load() has two kinds of registers to write, not four. */
enum status form_load(struct reader *reader, struct statement *statement)
{
    struct instruction row = statement_row(reader, statement);
    int32_t wide[SIMT_DESTINATIONS] = { -1, -1, -1, -1 };

    TRY(statement_parts(
        reader, statement,
        " const v2 v4 b8 u8 s8 b16 u16 s16 f16 bf16 b32 u32 s32 f32 b64 u64 s64 f64 "));
    TRY(reader_access(reader, statement, &row));
    TRY(reader_elements(reader, statement, &row, false, row.d));
    TRY(reader_want(reader, ","));
    TRY(reader_memory(reader, &row));
    /* An element that nobody wants ("_") is loaded all the same, so that the access is checked and
     * counted whole. */
    for (int i = 0; i < row.vector; i++) {
        if (row.d[i] < 0 || (row.width < 8 && is_long(reader, row.d[i]))) {
            wide[i] = row.d[i];
            TRY(reader_temporary(reader, row.width == 8 ? 64 : 32, &row.d[i]));
        }
    }
    row.run = row.space == SPACE_PARAM && row.s[SIMT_BASE] < 0 ? lanes_parameter : lanes_load;
    row.read_only = statement_has(statement, "nc");
    row.acquires = statement_has(statement, "volatile") || statement_has(statement, "acquire") ||
                   statement_has(statement, "relaxed");
    if (row.run == lanes_parameter &&
        (row.offset < 0 || row.offset > SIMT_MOST_PARAMETERS ||
         row.offset + row.width * row.vector > reader->kernel->parameter_bytes))
        READER_FAIL(reader, "%s reads beyond the parameters", statement->name);
    TRY(reader_emit(reader, &row));
    for (int i = 0; i < row.vector; i++)
        if (wide[i] >= 0)
            TRY(reader_helper(reader, statement, row.is_signed ? "cvt.s64.s32" : "cvt.u64.u32",
                              wide[i], row.d[i]));
    return STATUS_OK;
}

/* "st.shared.u16 [%r1], %rs1": the same the other way round. */
enum status form_store(struct reader *reader, struct statement *statement)
{
    struct instruction row = statement_row(reader, statement);
    int32_t narrow;

    TRY(statement_parts(reader, statement,
                        " v2 v4 b8 u8 s8 b16 u16 s16 f16 bf16 b32 u32 s32 f32 b64 u64 s64 f64 "));
    TRY(reader_access(reader, statement, &row));
    TRY(reader_memory(reader, &row));
    TRY(reader_want(reader, ","));
    TRY(reader_elements(reader, statement, &row, true, row.s));
    for (int i = 0; i < row.vector; i++)
        if (row.width < 8 && is_long(reader, row.s[i])) {
            TRY(reader_temporary(reader, 32, &narrow));
            TRY(reader_helper(reader, statement, "cvt.u32.u64", narrow, row.s[i]));
            row.s[i] = narrow;
        }
    row.run = lanes_store;
    row.stores = true;
    return reader_emit(reader, &row);
}

/* "atom.global.add.u32 %r1, [%rd1], 1", or "red" without the value from before. */
enum status form_atomic(struct reader *reader, struct statement *statement)
{
    static const char *const modes[ATOMIC_MODES] = { "add", "min",  "max", "and", "or",
                                                     "xor", "exch", "cas", "inc", "dec" };
    static const struct {
        const char *type;
        int flag;
    } reals[] = { { "f32", ATOMIC_FLOAT }, { "f64", ATOMIC_FLOAT }, { "f16", ATOMIC_F16 },
                  { "f16x2", ATOMIC_F16 }, { "bf16", ATOMIC_BF16 }, { "bf16x2", ATOMIC_BF16 } };
    struct instruction row = statement_row(reader, statement);
    bool returns = strcmp(statement->parts[0], "atom") == 0;
    int mode = statement_which(statement, modes, ATOMIC_MODES);
    int real = 0;

    TRY(statement_parts(
        reader, statement,
        " add min max and or xor exch cas inc dec noftz v2 v4 b16 b32 u32 s32 f32 b64 u64 s64 f64 "
        "f16 bf16 f16x2 bf16x2 "));
    TRY(reader_access(reader, statement, &row));
    for (size_t i = 0; i < ARRAY_SIZE(reals); i++)
        real |= statement_has(statement, reals[i].type) ? reals[i].flag : 0;
    if (mode < 0 || (real != 0 && mode != ATOMIC_ADD) ||
        (row.width == 2 && real == 0 && mode != ATOMIC_CAS))
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.mode = (uint8_t)(mode | real | (row.is_signed ? ATOMIC_SIGNED : 0));
    if (returns) {
        TRY(reader_elements(reader, statement, &row, false, row.d));
        TRY(reader_want(reader, ","));
    }
    TRY(reader_memory(reader, &row));
    TRY(reader_want(reader, ","));
    TRY(reader_elements(reader, statement, &row, true, row.s));
    if (mode == ATOMIC_CAS) {
        TRY(reader_want(reader, ","));
        TRY(reader_element(reader, statement, row.width, true, &row.s[1]));
    }
    if (reader_accept(reader, ",")) /* how the cache keeps it */
        reader_take(reader);
    row.run = lanes_atomic;
    row.acquires = row.d[0] >= 0;
    return reader_emit(reader, &row);
}

/* "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1"; the predicate may be left out. */
enum status form_shuffle(struct reader *reader, struct statement *statement)
{
    static const char *const modes[] = { "bfly", "down", "up", "idx" };
    struct instruction row = statement_row(reader, statement);
    int mode = statement_which(statement, modes, (int)ARRAY_SIZE(modes));

    TRY(statement_parts(reader, statement, " sync bfly down up idx b32 "));
    if (mode < 0 || !statement_has(statement, "sync"))
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.mode = (uint8_t)mode;
    TRY(reader_destination(reader, statement, 'w', &row.d[0]));
    if (row.d[0] < 0)
        TRY(reader_temporary(reader, 32, &row.d[0]));
    if (reader_accept(reader, "|"))
        TRY(reader_destination(reader, statement, 'p', &row.d[1]));
    for (int i = 0; i < 4; i++) {
        TRY(reader_want(reader, ","));
        TRY(reader_source(reader, statement, 'w', &row.s[i]));
    }
    row.run = lanes_shuffle;
    return reader_emit(reader, &row);
}

/* "vote.sync.ballot.b32 %r1, %p1, -1" */
enum status form_vote(struct reader *reader, struct statement *statement)
{
    static const char *const modes[] = { "any", "all", "uni" };
    struct instruction row = statement_row(reader, statement);
    bool ballot = statement_has(statement, "ballot");
    int mode = statement_which(statement, modes, (int)ARRAY_SIZE(modes));

    TRY(statement_parts(reader, statement, " sync any all uni ballot pred b32 "));
    if (!statement_has(statement, "sync") || (mode < 0 && !ballot))
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.mode = (uint8_t)(ballot ? 0 : mode);
    row.run = ballot ? lanes_ballot : lanes_vote;
    TRY(reader_destination(reader, statement, ballot ? 'w' : 'p', &row.d[0]));
    TRY(reader_want(reader, ","));
    TRY(reader_source(reader, statement, 'p', &row.s[0]));
    TRY(reader_want(reader, ","));
    TRY(reader_source(reader, statement, 'w', &row.s[1]));
    return reader_emit(reader, &row);
}

/* "redux.sync.add.s32 d, a, members" */
enum status form_reduce(struct reader *reader, struct statement *statement)
{
    static const char *const modes[] = { "add", "min", "max", "and", "or", "xor" };
    struct instruction row = statement_row(reader, statement);
    int mode = statement_which(statement, modes, (int)ARRAY_SIZE(modes));

    TRY(statement_parts(reader, statement, " sync add min max and or xor b32 u32 s32 "));
    if (!statement_has(statement, "sync") || mode < 0)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.mode = (uint8_t)(mode | (statement_has(statement, "s32") ? REDUCE_SIGNED : 0));
    row.run = lanes_reduce;
    TRY(reader_destination(reader, statement, 'w', &row.d[0]));
    for (int i = 0; i < 2; i++) {
        TRY(reader_want(reader, ","));
        TRY(reader_source(reader, statement, 'w', &row.s[i]));
    }
    return reader_emit(reader, &row);
}

/* "setp.lt.and.s32 p, a, b, q": a comparison and what another predicate says of it. */
enum status form_compare_and(struct reader *reader, struct statement *statement,
                             const char *operation)
{
    struct instruction row = statement_row(reader, statement);
    const struct opcode *opcode;
    char name[OPCODE_SIZE], joint[OPCODE_SIZE];
    int32_t result;

    snprintf(name, sizeof name, "setp.%s.%s", statement->parts[1],
             statement->parts[statement->count - 1]);
    snprintf(joint, sizeof joint, "%s.pred", operation);
    opcode = opcode_find(name);
    if (opcode == NULL)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    TRY(reader_destination(reader, statement, 'p', &result));
    row.run = opcode->run;
    row.helper = true;
    TRY(reader_temporary(reader, 1, &row.d[0]));
    for (int i = 0; i < 2; i++) {
        TRY(reader_want(reader, ","));
        TRY(reader_source(reader, statement, opcode->form[2], &row.s[i]));
    }
    TRY(reader_emit(reader, &row));
    row.helper = false;
    row.s[0] = row.d[0];
    TRY(reader_want(reader, ","));
    TRY(reader_source(reader, statement, 'p', &row.s[1]));
    row.run = opcode_find(joint)->run;
    row.d[0] = result;
    return reader_emit(reader, &row);
}

/* A long of four halves goes through two words, each of which is a pair. */
static enum status halves(struct reader *reader, const struct statement *statement, bool pack,
                          const int32_t *parts, int32_t whole)
{
    struct instruction row = statement_row(reader, statement), of_words = row;

    row.helper = true;
    row.run = pack ? lanes_pack16 : lanes_unpack16;
    of_words.run = pack ? lanes_pack32 : lanes_unpack32;
    for (int i = 0; i < 2; i++)
        TRY(reader_temporary(reader, 32, pack ? &of_words.s[i] : &of_words.d[i]));
    *(pack ? of_words.d : of_words.s) = whole;
    if (!pack)
        TRY(reader_emit(reader, &of_words));
    for (int i = 0; i < 2; i++) {
        memcpy(pack ? row.s : row.d, parts + 2 * i, 2 * sizeof *parts);
        *(pack ? row.d : row.s) = pack ? of_words.s[i] : of_words.d[i];
        TRY(reader_emit(reader, &row));
    }
    return pack ? reader_emit(reader, &of_words) : STATUS_OK;
}

/* "mov.b32 %r1, {%rs1, %rs2}" and the other way round. */
enum status form_braces(struct reader *reader, const struct statement *statement, bool pack)
{
    struct instruction row = statement_row(reader, statement);
    bool wide = statement_has(statement, "b64"), four = false;
    char part, whole = wide ? 'd' : 'w';
    int32_t parts[4], other;
    int count;

    if (!wide && !statement_has(statement, "b32"))
        READER_FAIL(reader, "unknown instruction %s with braces", statement->name);
    for (int64_t i = reader->at, commas = 0; i < reader->count && !word_is(reader->words[i], ";");
         i++) {
        commas += word_is(reader->words[i], ",");
        four = commas > 2;
    }
    part = wide && !four ? 'w' : 'h';
    if (pack) {
        TRY(reader_destination(reader, statement, whole, &other));
        TRY(reader_want(reader, ","));
    }
    TRY(reader_list(reader, statement, part, pack, parts, 4, &count));
    if (!pack) {
        TRY(reader_want(reader, ","));
        TRY(reader_source(reader, statement, whole, &other));
    }
    if (count != (four ? 4 : 2) || (four && !wide))
        READER_FAIL(reader, "unknown instruction %s with braces", statement->name);
    if (four)
        return halves(reader, statement, pack, parts, other);
    row.run =
        pack ? (wide ? lanes_pack32 : lanes_pack16) : (wide ? lanes_unpack32 : lanes_unpack16);
    *(pack ? row.d : row.s) = other;
    memcpy(pack ? row.s : row.d, parts, 2 * sizeof *parts);
    return reader_emit(reader, &row);
}

/* "bar.red.or.pred %p1, 0, %p2": a vote, a barrier, and what came of the vote. */
static enum status barrier_of_votes(struct reader *reader, const struct statement *statement)
{
    static const char *const modes[] = { "and", "or", "popc" };
    struct instruction vote = statement_row(reader, statement), result = vote;
    int mode = statement_which(statement, modes, (int)ARRAY_SIZE(modes));

    TRY(statement_parts(reader, statement, " red and or popc pred u32 aligned "));
    if (mode < 0 || statement_has(statement, "pred") == (mode == BARRIER_COUNT))
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    TRY(reader_destination(reader, statement, mode == BARRIER_COUNT ? 'w' : 'p', &result.d[0]));
    if (result.d[0] < 0)
        READER_FAIL(reader, "%s wants a register", statement->name);
    TRY(reader_want(reader, ","));
    if (!reader_accept(reader, "0"))
        READER_FAIL(reader, "%s of part of a block, which is unknown", statement->name);
    TRY(reader_want(reader, ","));
    TRY(reader_source(reader, statement, 'p', &vote.s[0]));
    vote.run = lanes_barrier_vote;
    result.run = lanes_barrier_result;
    result.mode = (uint8_t)mode;
    vote.helper = result.helper = true;
    TRY(reader_emit(reader, &vote));
    reader->kernel->barriers = true;
    TRY(form_control(reader, statement, BARRIER));
    return reader_emit(reader, &result);
}

/* Barriers of a whole block only. */
enum status form_barrier(struct reader *reader, struct statement *statement)
{
    struct instruction row = statement_row(reader, statement);
    struct ptx_word number;

    if (statement_has(statement, "warp")) {
        row.run = lanes_together;
        TRY(reader_source(reader, statement, 'w', &row.s[0]));
        return reader_emit(reader, &row);
    }
    if (statement_has(statement, "red"))
        return barrier_of_votes(reader, statement);
    TRY(statement_parts(reader, statement, " sync aligned "));
    number = reader_take(reader);
    if (!word_is(number, "0") || !word_is(reader_peek(reader), ";"))
        READER_FAIL(reader, "%s of part of a block, which is unknown", statement->name);
    reader->kernel->barriers = true;
    return form_control(reader, statement, BARRIER);
}

enum status form_active_mask(struct reader *reader, struct statement *statement)
{
    struct instruction row = statement_row(reader, statement);

    row.run = lanes_active;
    TRY(reader_destination(reader, statement, 'w', &row.d[0]));
    return reader_emit(reader, &row);
}

/* "match.any.sync.b32 %r1, %r2, -1" or "match.all.sync.b64 %r1|%p1, %rd1, -1" */
enum status form_match(struct reader *reader, struct statement *statement)
{
    struct instruction row = statement_row(reader, statement);
    bool all = statement_has(statement, "all");

    TRY(statement_parts(reader, statement, " any all sync b32 b64 "));
    row.width = statement_has(statement, "b64") ? 8 : 4;
    row.mode = all;
    row.run = lanes_match;
    TRY(reader_destination(reader, statement, 'w', &row.d[0]));
    if (reader_accept(reader, "|"))
        TRY(reader_destination(reader, statement, 'p', &row.d[1]));
    TRY(reader_want(reader, ","));
    TRY(reader_source(reader, statement, row.width == 8 ? 'd' : 'w', &row.s[0]));
    TRY(reader_want(reader, ","));
    TRY(reader_source(reader, statement, 'w', &row.s[1]));
    return reader_emit(reader, &row);
}

/* "cvt.rn.satfinite.e4m3x2.f32 d, a, b". "x2" are two numbers in a register; of two sources each
 * has one. */
enum status form_convert(struct reader *reader, struct statement *statement)
{
    static const char *const roundings[] = { "rn",  "rz",  "rm",  "rp", "rna",
                                             "rni", "rzi", "rmi", "rpi" };
    static const enum number_rounding modes[] = { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP,
                                                  ROUND_AWAY };
    static const struct {
        const char *part;
        int flag;
    } flags[] = { { "ftz", NUMBER_FLUSHED },
                  { "sat", NUMBER_HELD },
                  { "satfinite", NUMBER_FINITE },
                  { "relu", NUMBER_RELU } };
    struct instruction row = statement_row(reader, statement);
    int rounding = statement_which(statement, roundings, (int)ARRAY_SIZE(roundings)), types[2],
        own = 0;
    bool pairs[2];

    if (statement->count < 3 || opcode_find(statement->name) != NULL)
        return reader_plain(reader, statement);
    for (int i = 0; i < 2; i++) {
        char name[16];
        size_t length;
        snprintf(name, sizeof name, "%s", statement->parts[statement->count - 2 + i]);
        length = strlen(name);
        pairs[i] = length > 2 && strcmp(name + length - 2, "x2") == 0;
        name[length - (pairs[i] ? 2 : 0)] = '\0';
        types[i] = number_find(name);
    }
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        own |= statement_has(statement, flags[i].part) ? flags[i].flag : 0;
    /* All parts are known: the two types, a rounding, and the flags. */
    if (types[0] < 0 || types[1] < 0 ||
        statement->count != 3 + (rounding >= 0) + __builtin_popcount((unsigned)own) ||
        (pairs[1] && !pairs[0]) || (pairs[0] && number_types[types[0]].bits > 16) ||
        (pairs[1] && number_types[types[1]].bits > 16))
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    if (rounding > 4 || number_types[types[0]].exponent == 0)
        own |= NUMBER_WHOLE;
    if (number_types[types[0]].exponent == 0 && number_types[types[1]].exponent > 0)
        own |= NUMBER_HELD;
    row.mode = (uint8_t)(rounding < 0   ? ROUND_NEAREST
                         : rounding < 5 ? modes[rounding]
                                        : modes[rounding - 5]);
    row.offset = types[1] | types[0] << 8 | own << 16;
    row.vector = pairs[0] ? 2 : 1;
    row.run = lanes_convert;
    TRY(reader_destination(reader, statement,
                           pairs[0] ? number_types[types[0]].bits == 8 ? 'h' : 'w'
                                    : number_types[types[0]].form,
                           &row.d[0]));
    for (int i = 0; i < (pairs[0] && !pairs[1] ? 2 : 1); i++) {
        TRY(reader_want(reader, ","));
        TRY(reader_source(reader, statement,
                          pairs[1] ? number_types[types[1]].bits == 8 ? 'h' : 'w'
                                   : number_types[types[1]].form,
                          &row.s[i]));
    }
    return reader_emit(reader, &row);
}
