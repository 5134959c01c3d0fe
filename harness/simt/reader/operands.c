/* The operands of an instruction: registers, constants and addresses, and the rows of code that
 * they become. */
#include "harness/simt/reader/statement.h"

#include "harness/base/rows.h"

#include <stdio.h>
#include <string.h>

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
enum status reader_temporary(struct reader *reader, int bits, int32_t *number)
{
    return reader_register(
        reader, (struct simt_register){ .bytes = bits == 64 ? 8 : 4, .bits = (uint8_t)bits },
        number);
}

/* A number in the code is a register with it in all lanes; each number has one. */
enum status reader_constant(struct reader *reader, uint64_t value, int bits, int32_t *number)
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

/* Registers whose value is read anew each time the instruction runs: their bits, and whether they
 * have the low or high half of a 64-bit count, or all of it. */
static const struct {
    const char *name;
    int bits, mode;
} clocks[] = {
    { "%clock", 32, CLOCK_LOW },          { "%clock_hi", 32, CLOCK_HIGH },
    { "%clock64", 64, CLOCK_WHOLE },      { "%globaltimer", 64, CLOCK_WHOLE },
    { "%globaltimer_lo", 32, CLOCK_LOW }, { "%globaltimer_hi", 32, CLOCK_HIGH },
    { "%gridid", 64, CLOCK_NONE },
};

static enum status clock_of(struct reader *reader, const struct statement *statement,
                            struct ptx_word word, int32_t *number)
{
    for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
        struct instruction row = statement_row(reader, statement);
        if (!word_is(word, clocks[i].name))
            continue;
        TRY(reader_temporary(reader, clocks[i].bits, number));
        row.run = lanes_clock;
        row.helper = true;
        row.mode = (uint8_t)clocks[i].mode;
        row.d[0] = *number;
        return reader_emit(reader, &row);
    }
    return STATUS_OK;
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
int32_t reader_find_register(const struct reader *reader, struct ptx_word word)
{
    for (int64_t i = reader->declared_count - 1; i >= reader->first_declared; i--) {
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
struct instruction statement_row(const struct reader *reader, const struct statement *statement)
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

enum status reader_emit(struct reader *reader, const struct instruction *row)
{
    struct simt_kernel *kernel = reader->kernel;

    if (kernel->count == SIMT_MOST_INSTRUCTIONS)
        READER_FAIL(reader, "more than %d instructions", SIMT_MOST_INSTRUCTIONS);
    TRY(rows_grow(&kernel->code, kernel->count + 1, &kernel->room));
    kernel->code[kernel->count++] = *row;
    return STATUS_OK;
}

/* Adds a helper with one source: what the named instruction makes of a register. */
enum status reader_helper(struct reader *reader, const struct statement *statement,
                          const char *name, int32_t d, int32_t s)
{
    struct instruction row = statement_row(reader, statement);

    row.run = opcode_find(name)->run;
    row.helper = true;
    row.d[0] = d;
    row.s[0] = s;
    return reader_emit(reader, &row);
}

/* The letters of forms (code/opcodes.h); b is a byte. */
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
enum status reader_source(struct reader *reader, const struct statement *statement, char form,
                          int32_t *number)
{
    bool negated = form == 'p' && reader_accept(reader, "!"),
         converts = strncmp(statement->name, "cvt.", 4) == 0;
    struct ptx_word word = reader_take(reader);
    struct symbol *symbol;
    uint64_t value, offset = 0;
    int32_t other;

    *number = reader_find_register(reader, word);
    if (*number < 0)
        TRY(special(reader, word, number));
    if (*number < 0)
        TRY(clock_of(reader, statement, word, number));
    if (*number < 0 && word_is(word, "WARP_SZ"))
        return reader_constant(reader, SIMT_LANES, bits_of_form(form), number);
    if (*number < 0 && word_number(word, &value))
        return reader_constant(reader, value, bits_of_form(form) < 32 ? 32 : bits_of_form(form),
                               number);
    if (*number < 0 && (symbol = reader_symbol(reader, word)) != NULL) {
        TRY(reader_address(reader, symbol, &value));
        if (symbol->is_dynamic)
            return dynamic_memory(reader, bits_of_form(form), number);
        if (reader_accept(reader, "+"))
            TRY(reader_number(reader, &offset));
        return reader_constant(reader, value + offset, bits_of_form(form), number);
    }
    if (*number < 0)
        READER_FAIL(reader, "unknown operand '%.*s' of %s", word.length, word.text,
                    statement->name);
    if (!fits(reader->kernel->registers[*number].bits, form, converts))
        READER_FAIL(reader, "%s does not take %.*s, a register of %d bits", statement->name,
                    word.length, word.text, reader->kernel->registers[*number].bits);
    if (reader->kernel->registers[*number].bits == 64 && form != 'd') {
        TRY(reader_temporary(reader, 32, &other));
        TRY(reader_helper(reader, statement, "cvt.u32.u64", other, *number));
        *number = other;
    }
    if (negated) {
        TRY(reader_temporary(reader, 1, &other));
        TRY(reader_helper(reader, statement, "not.pred", other, *number));
        *number = other;
    }
    return STATUS_OK;
}

/* A register to write to; "_" is none. A register of 64 bits takes only results of 64 bits here;
 * loads, which may fill a wider register, use element(). */
enum status reader_destination(struct reader *reader, const struct statement *statement, char form,
                               int32_t *number)
{
    struct ptx_word word = reader_take(reader);
    bool converts = strncmp(statement->name, "cvt.", 4) == 0 && form != 'd';

    *number = -1;
    if (word_is(word, "_"))
        return STATUS_OK;
    *number = reader_find_register(reader, word);
    if (*number < 0)
        READER_FAIL(reader, "unknown register '%.*s'", word.length, word.text);
    if (!fits(reader->kernel->registers[*number].bits, form, converts) ||
        (form != 'd' && reader->kernel->registers[*number].bits == 64))
        READER_FAIL(reader, "%s does not write to %.*s, a register of %d bits", statement->name,
                    word.length, word.text, reader->kernel->registers[*number].bits);
    return STATUS_OK;
}

/* Whether a part follows the first, as in "global" of "ld.global.u32". */
bool statement_has(const struct statement *statement, const char *part)
{
    for (int i = 1; i < statement->count; i++)
        if (strcmp(statement->parts[i], part) == 0)
            return true;
    return false;
}

/* One of several parts of the name; -1: none is there. */
int statement_which(const struct statement *statement, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (names[i] != NULL && statement_has(statement, names[i]))
            return i;
    return -1;
}

/* Every part of the name must be known: `own` are those that the caller understands. The common
 * ones say how an access is cached and ordered, which changes nothing here: warps run one after the
 * other, and have no caches. */
enum status statement_parts(struct reader *reader, const struct statement *statement,
                            const char *own)
{
    static const char common[] =
        " global shared local param nc volatile relaxed acquire release acq_rel weak gpu cta "
        "sys cluster ca cg cs lu cv wb wt mmio ";

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

/* "[%rd1+16]" or "[name+8]". */
enum status reader_memory(struct reader *reader, struct instruction *row)
{
    struct ptx_word word;
    struct symbol *symbol;
    uint64_t value = 0, offset = 0;

    TRY(reader_want(reader, "["));
    word = reader_take(reader);
    row->s[SIMT_BASE] = reader_find_register(reader, word);
    symbol = row->s[SIMT_BASE] < 0 ? reader_symbol(reader, word) : NULL;
    if (symbol != NULL)
        TRY(reader_address(reader, symbol, &value));
    row->offset = (int64_t)value;
    if (row->space == SPACE_PARAM &&
        (symbol != NULL ? symbol->space == SPACE_CALL : reader->depth > 0))
        row->space = SPACE_CALL;
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
enum status reader_element(struct reader *reader, const struct statement *statement, int width,
                           bool store, int32_t *number)
{
    struct ptx_word word = reader_take(reader);
    uint64_t value;
    int bits;

    *number = -1;
    if (!store && word_is(word, "_"))
        return STATUS_OK;
    if (store && word_number(word, &value))
        return reader_constant(reader, value, width == 8 ? 64 : 32, number);
    *number = reader_find_register(reader, word);
    if (*number < 0)
        READER_FAIL(reader, "unknown register '%.*s'", word.length, word.text);
    bits = reader->kernel->registers[*number].bits;
    if (bits == 1 || bits < 8 * width)
        READER_FAIL(reader, "%s wants more than the %d bits of %.*s", statement->name, bits,
                    word.length, word.text);
    return STATUS_OK;
}

enum status reader_list(struct reader *reader, const struct statement *statement, char form,
                        bool store, int32_t *numbers, int most, int *count)
{
    bool braces = reader_accept(reader, "{");

    *count = 0;
    do {
        if (*count == most)
            READER_FAIL(reader, "%s with more than %d registers", statement->name, most);
        TRY(store ? reader_source(reader, statement, form, &numbers[*count])
                  : reader_destination(reader, statement, form, &numbers[*count]));
        ++*count;
    } while (braces && reader_accept(reader, ","));
    return braces ? reader_want(reader, "}") : STATUS_OK;
}
