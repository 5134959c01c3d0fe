/* Reads the instructions of a kernel. Most are a row of a table with a form, which says what
 * operands they have (lanes/opcodes.h); some, such as accesses and shuffles, are taken apart here
 * by the parts of their names. An instruction that the machine does in two steps becomes two rows
 * of code, of which one is a helper that is not counted. Anything else is refused with its
 * line: no instruction is executed as something that it is not. */
#include "harness/simt/ptx_reader.h"

#include "harness/base/rows.h"
#include "harness/simt/lanes/opcodes.h"

#include <stdio.h>
#include <string.h>

enum { OPCODE_SIZE = 64, PARTS = 12 };

/* An instruction while it is read: the parts of its name, and the predicate that its helpers
 * share. */
struct statement {
    char name[OPCODE_SIZE], copy[OPCODE_SIZE];
    const char *parts[PARTS]; /* in the copy, of which only the first `count` are */
    int count;
    int32_t predicate;
    bool negated;
    const char *text;
};

enum status reader_register(struct reader *reader, struct simt_register row, int32_t *number)
{
    struct simt_kernel *kernel = reader->kernel;

    *number = -1;
    if (kernel->register_count == SIMT_MOST_REGISTERS)
        READER_FAIL(reader, "more than %d registers", SIMT_MOST_REGISTERS);
    TRY(rows_grow(&kernel->registers, kernel->register_count + 1, &kernel->register_room));
    row.place = -1;
    *number = (int32_t)kernel->register_count;
    kernel->registers[kernel->register_count++] = row;
    return STATUS_OK;
}

/* A register that the text has not: for a value between the two rows of an instruction. */
static enum status temporary(struct reader *reader, int bits, int32_t *number)
{
    return reader_register(
        reader, (struct simt_register){ .bytes = bits == 64 ? 8 : 4, .bits = (uint8_t)bits },
        number);
}

/* A number in the code is a register with it in all lanes; each number has one. */
static enum status constant(struct reader *reader, uint64_t value, int bits, int32_t *number)
{
    uint8_t bytes = bits == 64 ? 8 : 4;

    value = bytes == 4 ? (uint32_t)value : value;
    for (int64_t i = 0; i < reader->kernel->register_count; i++) {
        const struct simt_register *row = &reader->kernel->registers[i];
        if (row->kind == REGISTER_CONSTANT && row->value == value && row->bytes == bytes) {
            *number = (int32_t)i;
            return STATUS_OK;
        }
    }
    return reader_register(
        reader,
        (struct simt_register){
            .bytes = bytes, .bits = (uint8_t)bits, .kind = REGISTER_CONSTANT, .value = value },
        number);
}

/* A register with the address of dynamic shared memory. */
static enum status dynamic_memory(struct reader *reader, int bits, int32_t *number)
{
    return reader_register(reader,
                           (struct simt_register){ .bytes = bits == 64 ? 8 : 4,
                                                   .bits = (uint8_t)bits,
                                                   .kind = REGISTER_DYNAMIC },
                           number);
}

static const char *const specials[] = {
#define SIMT_SPECIAL_NAME(name, text, value) text,
    SIMT_SPECIALS(SIMT_SPECIAL_NAME)
#undef SIMT_SPECIAL_NAME
};

/* Whether the word is a special register. */
static enum status special(struct reader *reader, struct ptx_word word, int32_t *number)
{
    *number = -1;
    for (size_t s = 0; s < ARRAY_SIZE(specials); s++) {
        if (!word_is(word, specials[s]))
            continue;
        for (int64_t i = 0; i < reader->kernel->register_count; i++)
            if (reader->kernel->registers[i].kind == REGISTER_SPECIAL &&
                reader->kernel->registers[i].special == s)
                *number = (int32_t)i;
        if (*number < 0)
            TRY(reader_register(
                reader,
                (struct simt_register){
                    .bytes = 4, .bits = 32, .kind = REGISTER_SPECIAL, .special = (uint8_t)s },
                number));
    }
    return STATUS_OK;
}

/* The register with this name, the innermost scope first; -1: none. "%r<280>" declares %r0 to %r279
 * in one entry: what follows the stem must be a number below the count. */
static int32_t find_register(const struct reader *reader, struct ptx_word word)
{
    for (int64_t i = reader->declared_count - 1; i >= 0; i--) {
        const struct declared *row = &reader->declared[i];
        struct ptx_word rest = { word.text + row->stem.length, word.length - row->stem.length, 0 };
        uint64_t number;
        if (rest.length < 0 || memcmp(word.text, row->stem.text, (size_t)row->stem.length) != 0)
            continue;
        if (row->count < 0 && rest.length == 0)
            return row->first;
        if (row->count >= 0 && rest.length > 0 && rest.text[0] != '-' &&
            word_number(rest, &number) && number < (uint64_t)row->count)
            return row->first + (int32_t)number;
    }
    return -1;
}

/* A row with the predicate and the place of the statement, and no operands yet. */
static struct instruction blank(const struct reader *reader, const struct statement *statement)
{
    struct instruction row = { .predicate = statement->predicate,
                               .negated = statement->negated,
                               .target = -1,
                               .meet = -1,
                               .slot = -1,
                               .line = reader->line,
                               .text_line = reader_line(reader),
                               .text = statement->text };

    for (int i = 0; i < SIMT_DESTINATIONS; i++) row.d[i] = -1;
    for (int i = 0; i < SIMT_SOURCES; i++) row.s[i] = -1;
    return row;
}

static enum status emit(struct reader *reader, const struct instruction *row)
{
    struct simt_kernel *kernel = reader->kernel;

    if (kernel->count == SIMT_MOST_INSTRUCTIONS)
        READER_FAIL(reader, "more than %d instructions", SIMT_MOST_INSTRUCTIONS);
    TRY(rows_grow(&kernel->code, kernel->count + 1, &kernel->room));
    kernel->code[kernel->count++] = *row;
    return STATUS_OK;
}

/* Adds a helper with one source: what the named instruction makes of a register. */
static enum status emit_helper(struct reader *reader, const struct statement *statement,
                               const char *name, int32_t d, int32_t s)
{
    struct instruction row = blank(reader, statement);

    row.run = opcode_find(name)->run;
    row.helper = true;
    row.d[0] = d;
    row.s[0] = s;
    return emit(reader, &row);
}

/* The letters of forms (lanes/opcodes.h); b is a byte. */
static int bits_of_form(char form)
{
    return form == 'p' ? 1 : form == 'h' ? 16 : form == 'w' ? 32 : form == 'd' ? 64 : 8;
}

/* Whether a register of these bits may stand for an operand. Conversions take the lower part of a
 * wider one. */
static bool fits(int bits, char form, bool converts)
{
    int wanted = bits_of_form(form);

    return bits == wanted || (converts && bits > wanted && wanted > 1);
}

/* A source: a register, a constant or an address. */
static enum status source(struct reader *reader, const struct statement *statement, char form,
                          int32_t *number)
{
    bool negated = form == 'p' && reader_accept(reader, "!"),
         converts = strncmp(statement->name, "cvt.", 4) == 0;
    struct ptx_word word = reader_take(reader);
    struct symbol *symbol;
    uint64_t value, offset = 0;
    int32_t other;

    *number = find_register(reader, word);
    if (*number < 0)
        TRY(special(reader, word, number));
    if (*number < 0 && word_is(word, "WARP_SZ"))
        return constant(reader, SIMT_LANES, bits_of_form(form), number);
    if (*number < 0 && word_number(word, &value))
        return constant(reader, value, bits_of_form(form) < 32 ? 32 : bits_of_form(form), number);
    if (*number < 0 && (symbol = reader_symbol(reader, word)) != NULL) {
        TRY(reader_address(reader, symbol, &value));
        if (symbol->is_dynamic)
            return dynamic_memory(reader, bits_of_form(form), number);
        if (reader_accept(reader, "+"))
            TRY(reader_number(reader, &offset));
        return constant(reader, value + offset, bits_of_form(form), number);
    }
    if (*number < 0)
        READER_FAIL(reader, "unknown operand '%.*s' of %s", word.length, word.text,
                    statement->name);
    if (!fits(reader->kernel->registers[*number].bits, form, converts))
        READER_FAIL(reader, "%s does not take %.*s, a register of %d bits", statement->name,
                    word.length, word.text, reader->kernel->registers[*number].bits);
    if (reader->kernel->registers[*number].bits == 64 && form != 'd') {
        TRY(temporary(reader, 32, &other));
        TRY(emit_helper(reader, statement, "cvt.u32.u64", other, *number));
        *number = other;
    }
    if (negated) {
        TRY(temporary(reader, 1, &other));
        TRY(emit_helper(reader, statement, "not.pred", other, *number));
        *number = other;
    }
    return STATUS_OK;
}

/* A register to write to; "_" is none. A register of 64 bits takes only results of 64 bits here;
 * loads, which may fill a wider register, use element(). */
static enum status destination(struct reader *reader, const struct statement *statement, char form,
                               int32_t *number)
{
    struct ptx_word word = reader_take(reader);
    bool converts = strncmp(statement->name, "cvt.", 4) == 0 && form != 'd';

    *number = -1;
    if (word_is(word, "_"))
        return STATUS_OK;
    *number = find_register(reader, word);
    if (*number < 0)
        READER_FAIL(reader, "unknown register '%.*s'", word.length, word.text);
    if (!fits(reader->kernel->registers[*number].bits, form, converts) ||
        (form != 'd' && reader->kernel->registers[*number].bits == 64))
        READER_FAIL(reader, "%s does not write to %.*s, a register of %d bits", statement->name,
                    word.length, word.text, reader->kernel->registers[*number].bits);
    return STATUS_OK;
}

/* Operands as the form of an opcode has them. */
static enum status plain(struct reader *reader, const struct statement *statement,
                         const struct opcode *opcode)
{
    struct instruction row = blank(reader, statement);
    const char *form = opcode->form;
    bool first = true;

    row.run = opcode->run;
    for (int i = 0; *form != ':'; form++, i++) {
        TRY(destination(reader, statement, *form, &row.d[i]));
        if (row.d[i] < 0)
            READER_FAIL(reader, "%s wants a register", statement->name);
        first = false;
    }
    form++;
    for (int i = 0; *form != '\0'; form++, i++) {
        if (!first)
            TRY(reader_want(reader, ","));
        first = false;
        TRY(source(reader, statement, *form, &row.s[i]));
    }
    return emit(reader, &row);
}

/* Whether a part follows the first, as in "global" of "ld.global.u32". */
static bool has(const struct statement *statement, const char *part)
{
    for (int i = 1; i < statement->count; i++)
        if (strcmp(statement->parts[i], part) == 0)
            return true;
    return false;
}

/* One of several parts of the name; -1: none is there. */
static int which(const struct statement *statement, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (names[i] != NULL && has(statement, names[i]))
            return i;
    return -1;
}

/* Every part of the name must be known: `own` are those that the caller understands. The common
 * ones say how an access is cached and ordered, which changes nothing here: warps run one after the
 * other, and have no caches. */
static enum status check_parts(struct reader *reader, const struct statement *statement,
                               const char *own)
{
    static const char common[] =
        " global shared local param nc volatile relaxed acquire release weak gpu cta "
        "sys cluster ca cg cs lu cv wb wt ";

    for (int i = 1; i < statement->count; i++) {
        char part[OPCODE_SIZE] = " ";
        strncat(part, statement->parts[i], sizeof part - 3);
        strcat(part, " ");
        if (strstr(common, part) == NULL && strstr(own, part) == NULL &&
            strncmp(part, " L1::", 5) != 0 && strncmp(part, " L2::", 5) != 0)
            READER_FAIL(reader, "unknown instruction %s", statement->name);
    }
    return STATUS_OK;
}

/* The type of an access, the last part of its name. */
static enum status access_type(struct reader *reader, const struct statement *statement,
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
    row->vector = has(statement, "v4") ? 4 : has(statement, "v2") ? 2 : 1;
    row->space = has(statement, "global")   ? SPACE_GLOBAL
                 : has(statement, "shared") ? SPACE_SHARED
                 : has(statement, "local")  ? SPACE_LOCAL
                 : has(statement, "param")  ? SPACE_PARAM
                 : has(statement, "const")  ? SPACE_CONST
                                            : SPACE_GENERIC;
    row->slot = reader->kernel->slots++;
    return STATUS_OK;
}

/* "[%rd1+16]" or "[name+8]". */
static enum status address(struct reader *reader, struct instruction *row)
{
    struct ptx_word word;
    struct symbol *symbol;
    uint64_t value = 0, offset = 0;

    TRY(reader_want(reader, "["));
    word = reader_take(reader);
    row->s[SIMT_BASE] = find_register(reader, word);
    symbol = row->s[SIMT_BASE] < 0 ? reader_symbol(reader, word) : NULL;
    if (symbol != NULL)
        TRY(reader_address(reader, symbol, &value));
    row->offset = (int64_t)value;
    if (symbol != NULL && symbol->is_dynamic)
        TRY(dynamic_memory(reader, 64, &row->s[SIMT_BASE]));
    else if (symbol != NULL)
        row->s[SIMT_BASE] = -1;
    else if (row->s[SIMT_BASE] < 0)
        READER_FAIL(reader, "unknown address '%.*s'", word.length, word.text);
    else if (reader->kernel->registers[row->s[SIMT_BASE]].bits < 32)
        READER_FAIL(reader, "%.*s has too few bits for an address", word.length, word.text);
    else
        row->address_words = reader->kernel->registers[row->s[SIMT_BASE]].bits == 32;
    if (reader_accept(reader, "+"))
        TRY(reader_number(reader, &offset));
    else if (!word_is(reader_peek(reader), "]"))
        TRY(reader_number(reader, &offset));
    row->offset += (int64_t)offset;
    return reader_want(reader, "]");
}

/* The register of an element that is loaded or stored: of 64 bits for 8 bytes, else of 16 or 32. It
 * may be wider than the element ("Operand Size Exceeding Instruction-Type Size"), not narrower. */
static enum status element(struct reader *reader, const struct statement *statement, int width,
                           bool store, int32_t *number)
{
    struct ptx_word word = reader_take(reader);
    uint64_t value;
    int bits;

    *number = -1;
    if (!store && word_is(word, "_"))
        return STATUS_OK;
    if (store && word_number(word, &value))
        return constant(reader, value, width == 8 ? 64 : 32, number);
    *number = find_register(reader, word);
    if (*number < 0)
        READER_FAIL(reader, "unknown register '%.*s'", word.length, word.text);
    bits = reader->kernel->registers[*number].bits;
    if (bits == 1 || bits < 8 * width)
        READER_FAIL(reader, "%s wants more than the %d bits of %.*s", statement->name, bits,
                    word.length, word.text);
    return STATUS_OK;
}

static enum status elements(struct reader *reader, const struct statement *statement,
                            const struct instruction *row, bool store, int32_t *numbers)
{
    if (row->vector == 1)
        return element(reader, statement, row->width, store, numbers);
    TRY(reader_want(reader, "{"));
    for (int i = 0; i < row->vector; i++) {
        if (i > 0)
            TRY(reader_want(reader, ","));
        TRY(element(reader, statement, row->width, store, &numbers[i]));
    }
    return reader_want(reader, "}");
}

static bool is_long(const struct reader *reader, int32_t number)
{
    return number >= 0 && reader->kernel->registers[number].bytes == 8;
}

/* "ld.global.v2.u32 {%r1, %r2}, [%rd1+8]". A value that is loaded into a register of 64 bits goes
 * through a word, so that lanes_load() has two kinds of registers to write, not four. */
static enum status load(struct reader *reader, const struct statement *statement)
{
    struct instruction row = blank(reader, statement);
    int32_t wide[SIMT_DESTINATIONS] = { -1, -1, -1, -1 };

    TRY(check_parts(reader, statement,
                    " const v2 v4 b8 u8 s8 b16 u16 s16 f16 bf16 b32 u32 s32 f32 b64 u64 s64 f64 "));
    TRY(access_type(reader, statement, &row));
    TRY(elements(reader, statement, &row, false, row.d));
    TRY(reader_want(reader, ","));
    TRY(address(reader, &row));
    /* An element that nobody wants ("_") is loaded all the same, so that the access is checked and
     * counted whole. */
    for (int i = 0; i < row.vector; i++) {
        if (row.d[i] < 0 || (row.width < 8 && is_long(reader, row.d[i]))) {
            wide[i] = row.d[i];
            TRY(temporary(reader, row.width == 8 ? 64 : 32, &row.d[i]));
        }
    }
    row.run = row.space == SPACE_PARAM && row.s[SIMT_BASE] < 0 ? lanes_parameter : lanes_load;
    row.read_only = has(statement, "nc");
    if (row.run == lanes_parameter &&
        (row.offset < 0 || row.offset > SIMT_MOST_PARAMETERS ||
         row.offset + row.width * row.vector > reader->kernel->parameter_bytes))
        READER_FAIL(reader, "%s reads beyond the parameters", statement->name);
    TRY(emit(reader, &row));
    for (int i = 0; i < row.vector; i++)
        if (wide[i] >= 0)
            TRY(emit_helper(reader, statement, row.is_signed ? "cvt.s64.s32" : "cvt.u64.u32",
                            wide[i], row.d[i]));
    return STATUS_OK;
}

/* "st.shared.u16 [%r1], %rs1": the same the other way round. */
static enum status store(struct reader *reader, const struct statement *statement)
{
    struct instruction row = blank(reader, statement);
    int32_t narrow;

    TRY(check_parts(reader, statement,
                    " v2 v4 b8 u8 s8 b16 u16 s16 f16 bf16 b32 u32 s32 f32 b64 u64 s64 f64 "));
    TRY(access_type(reader, statement, &row));
    TRY(address(reader, &row));
    TRY(reader_want(reader, ","));
    TRY(elements(reader, statement, &row, true, row.s));
    for (int i = 0; i < row.vector; i++)
        if (row.width < 8 && is_long(reader, row.s[i])) {
            TRY(temporary(reader, 32, &narrow));
            TRY(emit_helper(reader, statement, "cvt.u32.u64", narrow, row.s[i]));
            row.s[i] = narrow;
        }
    row.run = lanes_store;
    return emit(reader, &row);
}

/* "atom.global.add.u32 %r1, [%rd1], 1", or "red" without the value from before. */
static enum status atomic(struct reader *reader, const struct statement *statement)
{
    static const char *const modes[ATOMIC_MODES] = { "add", "min",  "max", "and", "or",
                                                     "xor", "exch", "cas", "inc", "dec" };
    struct instruction row = blank(reader, statement);
    bool returns = strcmp(statement->parts[0], "atom") == 0;
    int mode = which(statement, modes, ATOMIC_MODES);
    bool real;

    TRY(check_parts(
        reader, statement,
        " add min max and or xor exch cas inc dec b32 u32 s32 f32 b64 u64 s64 f64 acq_rel "));
    TRY(access_type(reader, statement, &row));
    real = has(statement, "f32") || has(statement, "f64");
    if (mode < 0 || (real && mode != ATOMIC_ADD))
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.mode = (uint8_t)(mode | (real ? ATOMIC_FLOAT : 0) | (row.is_signed ? ATOMIC_SIGNED : 0));
    if (returns) {
        TRY(element(reader, statement, row.width, false, &row.d[0]));
        TRY(reader_want(reader, ","));
    }
    TRY(address(reader, &row));
    for (int i = 0; i < (mode == ATOMIC_CAS ? 2 : 1); i++) {
        TRY(reader_want(reader, ","));
        TRY(element(reader, statement, row.width, true, &row.s[i]));
    }
    row.run = lanes_atomic;
    return emit(reader, &row);
}

/* "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1"; the predicate may be left out. */
static enum status shuffle(struct reader *reader, const struct statement *statement)
{
    static const char *const modes[] = { "bfly", "down", "up", "idx" };
    struct instruction row = blank(reader, statement);
    int mode = which(statement, modes, (int)ARRAY_SIZE(modes));

    TRY(check_parts(reader, statement, " sync bfly down up idx b32 "));
    if (mode < 0 || !has(statement, "sync"))
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.mode = (uint8_t)mode;
    TRY(destination(reader, statement, 'w', &row.d[0]));
    if (row.d[0] < 0)
        TRY(temporary(reader, 32, &row.d[0]));
    if (reader_accept(reader, "|"))
        TRY(destination(reader, statement, 'p', &row.d[1]));
    for (int i = 0; i < 4; i++) {
        TRY(reader_want(reader, ","));
        TRY(source(reader, statement, 'w', &row.s[i]));
    }
    row.run = lanes_shuffle;
    return emit(reader, &row);
}

/* "vote.sync.ballot.b32 %r1, %p1, -1" */
static enum status vote(struct reader *reader, const struct statement *statement)
{
    static const char *const modes[] = { "any", "all", "uni" };
    struct instruction row = blank(reader, statement);
    bool ballot = has(statement, "ballot");
    int mode = which(statement, modes, (int)ARRAY_SIZE(modes));

    TRY(check_parts(reader, statement, " sync any all uni ballot pred b32 "));
    if (!has(statement, "sync") || (mode < 0 && !ballot))
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.mode = (uint8_t)(ballot ? 0 : mode);
    row.run = ballot ? lanes_ballot : lanes_vote;
    TRY(destination(reader, statement, ballot ? 'w' : 'p', &row.d[0]));
    TRY(reader_want(reader, ","));
    TRY(source(reader, statement, 'p', &row.s[0]));
    TRY(reader_want(reader, ","));
    TRY(source(reader, statement, 'w', &row.s[1]));
    return emit(reader, &row);
}

/* "redux.sync.add.s32 d, a, members" */
static enum status reduce(struct reader *reader, const struct statement *statement)
{
    static const char *const modes[] = { "add", "min", "max", "and", "or", "xor" };
    struct instruction row = blank(reader, statement);
    int mode = which(statement, modes, (int)ARRAY_SIZE(modes));

    TRY(check_parts(reader, statement, " sync add min max and or xor b32 u32 s32 "));
    if (!has(statement, "sync") || mode < 0)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.mode = (uint8_t)(mode | (has(statement, "s32") ? REDUCE_SIGNED : 0));
    row.run = lanes_reduce;
    TRY(destination(reader, statement, 'w', &row.d[0]));
    for (int i = 0; i < 2; i++) {
        TRY(reader_want(reader, ","));
        TRY(source(reader, statement, 'w', &row.s[i]));
    }
    return emit(reader, &row);
}

/* "setp.lt.and.s32 p, a, b, q": a comparison and what another predicate says of it. */
static enum status compare_and(struct reader *reader, struct statement *statement,
                               const char *operation)
{
    struct instruction row = blank(reader, statement);
    const struct opcode *opcode;
    char name[OPCODE_SIZE], joint[OPCODE_SIZE];
    int32_t result;

    snprintf(name, sizeof name, "setp.%s.%s", statement->parts[1], statement->parts[3]);
    snprintf(joint, sizeof joint, "%s.pred", operation);
    opcode = opcode_find(name);
    if (opcode == NULL)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    TRY(destination(reader, statement, 'p', &result));
    row.run = opcode->run;
    row.helper = true;
    TRY(temporary(reader, 1, &row.d[0]));
    for (int i = 0; i < 2; i++) {
        TRY(reader_want(reader, ","));
        TRY(source(reader, statement, opcode->form[2], &row.s[i]));
    }
    TRY(emit(reader, &row));
    row.helper = false;
    row.s[0] = row.d[0];
    TRY(reader_want(reader, ","));
    TRY(source(reader, statement, 'p', &row.s[1]));
    row.run = opcode_find(joint)->run;
    row.d[0] = result;
    return emit(reader, &row);
}

/* "mov.b32 %r1, {%rs1, %rs2}" and the other way round. */
static enum status pair(struct reader *reader, const struct statement *statement, bool pack)
{
    struct instruction row = blank(reader, statement);
    bool wide = has(statement, "b64");
    char part = wide ? 'w' : 'h', whole = wide ? 'd' : 'w';

    if (!wide && !has(statement, "b32"))
        READER_FAIL(reader, "unknown instruction %s with braces", statement->name);
    if (pack) {
        TRY(destination(reader, statement, whole, &row.d[0]));
        TRY(reader_want(reader, ","));
    }
    TRY(reader_want(reader, "{"));
    for (int i = 0; i < 2; i++) {
        if (i > 0)
            TRY(reader_want(reader, ","));
        TRY(pack ? source(reader, statement, part, &row.s[i])
                 : destination(reader, statement, part, &row.d[i]));
    }
    TRY(reader_want(reader, "}"));
    if (!pack) {
        TRY(reader_want(reader, ","));
        TRY(source(reader, statement, whole, &row.s[0]));
    }
    row.run =
        pack ? (wide ? lanes_pack32 : lanes_pack16) : (wide ? lanes_unpack32 : lanes_unpack16);
    return emit(reader, &row);
}

/* The place of the label is filled in at the end of the kernel. */
static enum status branch(struct reader *reader, const struct statement *statement)
{
    struct instruction row = blank(reader, statement);

    row.kind = BRANCH;
    TRY(rows_grow(&reader->jumps, reader->jump_count + 1, &reader->jump_room));
    reader->jumps[reader->jump_count++] =
        (struct label){ reader_take(reader), (int32_t)reader->kernel->count };
    return emit(reader, &row);
}

static enum status control(struct reader *reader, const struct statement *statement,
                           enum instruction_kind kind)
{
    struct instruction row = blank(reader, statement);

    row.kind = (uint8_t)kind;
    return emit(reader, &row);
}

/* "bar.red.or.pred %p1, 0, %p2": a vote, a barrier, and what came of the vote. */
static enum status barrier_of_votes(struct reader *reader, const struct statement *statement)
{
    static const char *const modes[] = { "and", "or", "popc" };
    struct instruction vote = blank(reader, statement), result = vote;
    int mode = which(statement, modes, (int)ARRAY_SIZE(modes));

    TRY(check_parts(reader, statement, " red and or popc pred u32 aligned "));
    if (mode < 0 || has(statement, "pred") == (mode == BARRIER_COUNT))
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    TRY(destination(reader, statement, mode == BARRIER_COUNT ? 'w' : 'p', &result.d[0]));
    if (result.d[0] < 0)
        READER_FAIL(reader, "%s wants a register", statement->name);
    TRY(reader_want(reader, ","));
    if (!reader_accept(reader, "0"))
        READER_FAIL(reader, "%s of part of a block, which is unknown", statement->name);
    TRY(reader_want(reader, ","));
    TRY(source(reader, statement, 'p', &vote.s[0]));
    vote.run = lanes_barrier_vote;
    result.run = lanes_barrier_result;
    result.mode = (uint8_t)mode;
    vote.helper = result.helper = true;
    TRY(emit(reader, &vote));
    reader->kernel->barriers = true;
    TRY(control(reader, statement, BARRIER));
    return emit(reader, &result);
}

/* Barriers of a whole block only. */
static enum status barrier(struct reader *reader, const struct statement *statement)
{
    struct instruction row = blank(reader, statement);
    struct ptx_word number;

    if (has(statement, "warp")) {
        row.run = lanes_together;
        TRY(source(reader, statement, 'w', &row.s[0]));
        return emit(reader, &row);
    }
    if (has(statement, "red"))
        return barrier_of_votes(reader, statement);
    TRY(check_parts(reader, statement, " sync aligned "));
    number = reader_take(reader);
    if (!word_is(number, "0") || !word_is(reader_peek(reader), ";"))
        READER_FAIL(reader, "%s of part of a block, which is unknown", statement->name);
    reader->kernel->barriers = true;
    return control(reader, statement, BARRIER);
}

static enum status active_mask(struct reader *reader, const struct statement *statement)
{
    struct instruction row = blank(reader, statement);

    row.run = lanes_active;
    TRY(destination(reader, statement, 'w', &row.d[0]));
    return emit(reader, &row);
}

/* The instructions that are taken apart, or a row of the tables. */
static enum status operands(struct reader *reader, struct statement *statement)
{
    const char *first = statement->parts[0];
    const struct opcode *opcode;
    bool braces = false;

    if (strcmp(first, "ld") == 0)
        return load(reader, statement);
    if (strcmp(first, "st") == 0)
        return store(reader, statement);
    if (strcmp(first, "atom") == 0 || strcmp(first, "red") == 0)
        return atomic(reader, statement);
    if (strcmp(first, "shfl") == 0)
        return shuffle(reader, statement);
    if (strcmp(first, "vote") == 0)
        return vote(reader, statement);
    if (strcmp(first, "redux") == 0)
        return reduce(reader, statement);
    if (strcmp(statement->name, "bra") == 0 || strcmp(statement->name, "bra.uni") == 0)
        return branch(reader, statement);
    if (strcmp(statement->name, "ret") == 0 || strcmp(statement->name, "exit") == 0)
        return control(reader, statement, END);
    if (strcmp(statement->name, "trap") == 0)
        return control(reader, statement, TRAP);
    if (strcmp(first, "bar") == 0 || strcmp(first, "barrier") == 0)
        return barrier(reader, statement);
    if (strcmp(statement->name, "activemask.b32") == 0)
        return active_mask(reader, statement);
    /* A mov of a pair is known by its braces, which may come with either operand. */
    if (strcmp(first, "mov") == 0)
        for (int64_t i = reader->at;
             !braces && i < reader->count && !word_is(reader->words[i], ";"); i++)
            braces = word_is(reader->words[i], "{");
    if (braces)
        return pair(reader, statement, !word_is(reader_peek(reader), "{"));
    if (strcmp(first, "setp") == 0 && statement->count == 4 &&
        (has(statement, "and") || has(statement, "or") || has(statement, "xor")))
        return compare_and(reader, statement, statement->parts[2]);
    opcode = opcode_find(statement->name);
    if (opcode == NULL)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    return plain(reader, statement, opcode);
}

/* "@!%p1 add.s32 %r1, %r2, %r3;" */
static enum status instruction(struct reader *reader)
{
    struct statement statement = { .predicate = -1, .text = reader_peek(reader).text };
    struct ptx_word word;

    if (reader_accept(reader, "@")) {
        statement.negated = reader_accept(reader, "!");
        word = reader_take(reader);
        statement.predicate = find_register(reader, word);
        if (statement.predicate < 0 || reader->kernel->registers[statement.predicate].bits != 1)
            READER_FAIL(reader, "'%.*s' is no predicate", word.length, word.text);
    }
    word = reader_take(reader);
    if (word.length >= OPCODE_SIZE)
        READER_FAIL(reader, "unknown instruction %.*s", word.length, word.text);
    word_copy(word, statement.name, sizeof statement.name);
    word_copy(word, statement.copy, sizeof statement.copy);
    for (char *save, *part = strtok_r(statement.copy, ".", &save);
         part != NULL && statement.count < PARTS; part = strtok_r(NULL, ".", &save)) {
        if (strcmp(part, "shared::cta") == 0 || strcmp(part, "param::entry") == 0)
            *strstr(part, "::") = '\0'; /* what the short name means */
        statement.parts[statement.count++] = part;
    }
    if (statement.count == 0)
        READER_FAIL(reader, "unknown instruction %s", statement.name);
    TRY(operands(reader, &statement));
    return reader_want(reader, ";");
}

/* ".reg .b32 %r<280>, %other;" */
static enum status registers(struct reader *reader)
{
    int bits = reader_type_bits(reader_take(reader));

    if (bits != 1 && bits < 16)
        READER_FAIL(reader, "unknown type of registers");
    do {
        struct declared row = { .stem = reader_take(reader), .count = -1 };
        uint64_t count = 1;
        int32_t number;

        row.first = (int32_t)reader->kernel->register_count;
        if (reader_accept(reader, "<")) {
            TRY(reader_number(reader, &count));
            TRY(reader_want(reader, ">"));
            row.count = (int32_t)count;
        }
        for (uint64_t i = 0; i < count; i++) TRY(temporary(reader, bits, &number));
        if (reader->declared_count == SIMT_MOST_NAMES)
            READER_FAIL(reader, "more than %d declarations of registers", SIMT_MOST_NAMES);
        TRY(rows_grow(&reader->declared, reader->declared_count + 1, &reader->declared_room));
        reader->declared[reader->declared_count++] = row;
    } while (reader_accept(reader, ","));
    return reader_want(reader, ";");
}

/* ".loc 1 9 5, function_name NAME, inlined_at 1 6 270": of several in a row the last one counts. */
static enum status location(struct reader *reader)
{
    struct module *module = reader->module;
    struct source_line row = { 0 };
    uint64_t file, line, column;

    TRY(reader_number(reader, &file));
    TRY(reader_number(reader, &line));
    TRY(reader_number(reader, &column));
    row.file = (int)file;
    row.line = (int)line;
    while (reader_accept(reader, ",")) {
        if (reader_accept(reader, "inlined_at")) {
            TRY(reader_number(reader, &file));
            TRY(reader_number(reader, &line));
            TRY(reader_number(reader, &column));
            row.at_file = (int)file;
            row.at_line = (int)line;
        } else if (reader_accept(reader, "function_name")) {
            reader_take(reader);
            if (reader_accept(reader, "+"))
                TRY(reader_number(reader, &column));
        }
    }
    if (row.line == 0) /* code of no line belongs to what is around it */
        return STATUS_OK;
    TRY(rows_grow(&module->lines, module->line_count + 1, &module->line_room));
    reader->line = (int32_t)module->line_count;
    module->lines[module->line_count++] = row;
    return STATUS_OK;
}

static bool is_label(const struct reader *reader)
{
    return reader->at + 1 < reader->count && word_is(reader->words[reader->at + 1], ":");
}

static enum status label(struct reader *reader)
{
    struct ptx_word name = reader_take(reader);

    TRY(reader_want(reader, ":"));
    if (reader->label_count == SIMT_MOST_NAMES)
        READER_FAIL(reader, "more than %d labels", SIMT_MOST_NAMES);
    TRY(rows_grow(&reader->labels, reader->label_count + 1, &reader->label_room));
    reader->labels[reader->label_count++] = (struct label){ name, (int32_t)reader->kernel->count };
    return STATUS_OK;
}

/* A declaration, a label or an instruction. */
static enum status statement(struct reader *reader)
{
    if (reader_accept(reader, ".reg"))
        return registers(reader);
    if (reader_accept(reader, ".loc"))
        return location(reader);
    if (reader_accept(reader, ".pragma")) {
        reader_take(reader);
        return reader_want(reader, ";");
    }
    if (word_is(reader_peek(reader), ".shared") || word_is(reader_peek(reader), ".local"))
        return reader_variable(reader);
    if (is_label(reader))
        return label(reader);
    return instruction(reader);
}

/* After the last statement, since a branch may lead to a label that comes later. */
static enum status resolve_jumps(struct reader *reader)
{
    for (int64_t j = 0; j < reader->jump_count; j++) {
        struct ptx_word name = reader->jumps[j].name;
        int32_t target = -1;
        for (int64_t l = 0; l < reader->label_count; l++)
            if (reader->labels[l].name.length == name.length &&
                memcmp(reader->labels[l].name.text, name.text, (size_t)name.length) == 0)
                target = reader->labels[l].at;
        if (target < 0)
            READER_FAIL(reader, "no label %.*s", name.length, name.text);
        reader->kernel->code[reader->jumps[j].at].target = target;
    }
    return STATUS_OK;
}

/* Registers that braces declare end with them; labels and variables are the kernel's. */
enum status reader_body(struct reader *reader)
{
    int64_t scopes[16];
    int depth = 0;

    do {
        if (reader_accept(reader, "{")) {
            if (depth == (int)ARRAY_SIZE(scopes))
                READER_FAIL(reader, "too many braces");
            scopes[depth++] = reader->declared_count;
        } else if (reader_accept(reader, "}")) {
            reader->declared_count = scopes[--depth];
        } else if (reader_peek(reader).length == 0) {
            READER_FAIL(reader, "the kernel does not end");
        } else {
            TRY(statement(reader));
        }
    } while (depth > 0);
    return resolve_jumps(reader);
}
