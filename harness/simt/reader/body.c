/* Reads the statements of a kernel. Most instructions are a row of a table with a form, which says
 * what operands they have (code/opcodes.h); others have a function of their own (FORMS). Anything
 * else is refused with its line: no instruction is executed as something that it is not. */
#include "harness/simt/reader/statement.h"

#include "harness/base/rows.h"

#include <stdio.h>
#include <string.h>

/* Without the modifiers of a name: "max.f32" of "max.ftz.f32"; whether it had the part. */
static bool without(char *name, const char *part)
{
    char *at = strstr(name, part);

    if (at != NULL)
        memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
    return at != NULL;
}

/* Numbers that are flushed to zero, or held to [0, 1], go through a helper where the instruction
 * has no row of its own that does so. */
enum status reader_plain(struct reader *reader, const struct statement *statement)
{
    struct instruction row = statement_row(reader, statement);
    const struct opcode *opcode = opcode_find(statement->name);
    char name[OPCODE_SIZE];
    bool first = true, flushes = false, saturates = false;
    int32_t result, other, opposite = -1;
    const char *form;

    snprintf(name, sizeof name, "%s", statement->name);
    if (opcode == NULL && strstr(name, ".f32") != NULL) {
        flushes = without(name, ".ftz");
        saturates = without(name, ".sat");
        opcode = opcode_find(name);
    }
    if (opcode == NULL)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.run = opcode->run;
    form = opcode->form;
    for (int i = 0; *form != ':'; form++, i++) {
        TRY(reader_destination(reader, statement, *form, &row.d[i]));
        if (row.d[i] < 0 && (i > 0 || form[1] != ':'))
            READER_FAIL(reader, "%s wants a register", statement->name);
        if (row.d[i] < 0)
            TRY(reader_temporary(reader, *form == 'd' ? 64 : *form == 'p' ? 1 : 32, &row.d[i]));
        first = false;
    }
    form++;
    if (reader_accept(reader, "|"))
        TRY(reader_destination(reader, statement, 'p', &opposite));
    for (int i = 0; *form != '\0'; form++, i++) {
        if (!first)
            TRY(reader_want(reader, ","));
        first = false;
        TRY(reader_source(reader, statement, *form, &row.s[i]));
        if (flushes && *form == 'w') {
            other = row.s[i];
            TRY(reader_temporary(reader, 32, &row.s[i]));
            TRY(reader_helper(reader, statement, "flush.f32", row.s[i], other));
        }
    }
    result = row.d[0];
    if ((flushes || saturates) && opcode->form[0] == 'w')
        TRY(reader_temporary(reader, 32, &row.d[0]));
    TRY(reader_emit(reader, &row));
    if (opposite >= 0)
        TRY(reader_helper(reader, statement, "not.pred", opposite, row.d[0]));
    other = row.d[0];
    if (saturates)
        TRY(reader_helper(reader, statement, "cvt.sat.f32.f32", result, other));
    else if (other != result)
        TRY(reader_helper(reader, statement, "flush.f32", result, other));
    return STATUS_OK;
}

/* The place of the label is filled in at the end of the kernel or function. */
enum status reader_jump(struct reader *reader, const struct statement *statement,
                        struct ptx_word label)
{
    struct instruction row = statement_row(reader, statement);

    row.kind = BRANCH;
    TRY(rows_grow(&reader->jumps, reader->jump_count + 1, &reader->jump_room));
    reader->jumps[reader->jump_count++] = (struct label){ label, (int32_t)reader->kernel->count };
    return reader_emit(reader, &row);
}

enum status form_control(struct reader *reader, const struct statement *statement,
                         enum instruction_kind kind)
{
    struct instruction row = statement_row(reader, statement);

    row.kind = (uint8_t)kind;
    return reader_emit(reader, &row);
}

/* In a function, whose code is where it is called, `ret` is a jump to its end. */
static enum status form_end(struct reader *reader, struct statement *statement)
{
    if (reader->depth > 0 && strncmp(statement->name, "ret", 3) == 0)
        return reader_jump(reader, statement, (struct ptx_word){ "", 0, 0 });
    return form_control(reader, statement, END);
}

static enum status form_branch(struct reader *reader, struct statement *statement)
{
    if (statement->count > 1 && strcmp(statement->parts[1], "uni") != 0)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    return reader_jump(reader, statement, reader_take(reader));
}

static enum status form_trap(struct reader *reader, struct statement *statement)
{
    return form_control(reader, statement, TRAP);
}

/* Instructions about the order and caching of memory, and about waiting. They change nothing
 * here, since warps run one after the other and have no caches. A policy is a number that is
 * never used. */
static enum status form_nothing(struct reader *reader, struct statement *statement)
{
    struct instruction row = statement_row(reader, statement);

    if (strcmp(statement->parts[0], "createpolicy") == 0) {
        TRY(reader_destination(reader, statement, 'd', &row.d[0]));
        TRY(reader_constant(reader, 0, 64, &row.s[0]));
    }
    while (reader_peek(reader).length > 0 && !word_is(reader_peek(reader), ";"))
        reader_take(reader);
    row.run = row.d[0] >= 0                                   ? opcode_find("mov.b64")->run
              : strstr(" membar fence ", statement->parts[0]) ? lanes_fence
                                                              : lanes_nothing;
    return reader_emit(reader, &row);
}

/* A mov of a pair is known by its braces, which may come with either operand. */
static enum status form_move(struct reader *reader, struct statement *statement)
{
    bool braces = false;

    for (int64_t i = reader->at; !braces && i < reader->count && !word_is(reader->words[i], ";");
         i++)
        braces = word_is(reader->words[i], "{");
    return braces ? form_braces(reader, statement, !word_is(reader_peek(reader), "{"))
                  : reader_plain(reader, statement);
}

/* Numbers of 16 bits are compared as floats. */
static enum status compare_halves(struct reader *reader, struct statement *statement,
                                  const char *type)
{
    struct instruction row = statement_row(reader, statement);
    char name[OPCODE_SIZE];
    int32_t half;

    snprintf(name, sizeof name, "setp.%s.f32", statement->parts[1]);
    if (statement->count != 3 || opcode_find(name) == NULL)
        READER_FAIL(reader, "unknown instruction %s", statement->name);
    row.run = opcode_find(name)->run;
    TRY(reader_destination(reader, statement, 'p', &row.d[0]));
    for (int i = 0; i < 2; i++) {
        TRY(reader_want(reader, ","));
        TRY(reader_source(reader, statement, 'h', &half));
        TRY(reader_temporary(reader, 32, &row.s[i]));
        snprintf(name, sizeof name, "cvt.f32.%s", type);
        TRY(reader_helper(reader, statement, name, row.s[i], half));
    }
    return reader_emit(reader, &row);
}

static enum status form_setp(struct reader *reader, struct statement *statement)
{
    const char *type = statement->parts[statement->count - 1];

    static const char *const joints[] = { "and", "or", "xor" };
    int joint = statement_which(statement, joints, (int)ARRAY_SIZE(joints));

    if (strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0)
        return compare_halves(reader, statement, type);
    return joint >= 0 ? form_compare_and(reader, statement, joints[joint])
                      : reader_plain(reader, statement);
}

/* The first part of the name, and who reads the rest. All others are rows of the tables. */
static const struct {
    const char *first;
    statement_form *read;
} forms[] = {
#define SIMT_FORM(first, read) { first, read },
    SIMT_FORMS(SIMT_FORM)
#undef SIMT_FORM
};

bool reader_knows(const char *instruction)
{
    for (size_t f = 0; f < ARRAY_SIZE(forms); f++)
        if (strcmp(instruction, forms[f].first) == 0)
            return true;
    return opcode_begins(instruction);
}

/* "@!%p1 add.s32 %r1, %r2, %r3;" */
static enum status instruction(struct reader *reader)
{
    struct statement statement = { .predicate = -1, .text = reader_peek(reader).text };
    struct ptx_word word;

    if (reader_accept(reader, "@")) {
        statement.negated = reader_accept(reader, "!");
        word = reader_take(reader);
        statement.predicate = reader_find_register(reader, word);
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
    for (size_t f = 0; f < ARRAY_SIZE(forms); f++)
        if (strcmp(statement.parts[0], forms[f].first) == 0) {
            TRY(forms[f].read(reader, &statement));
            return reader_want(reader, ";");
        }
    TRY(reader_plain(reader, &statement));
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
        for (uint64_t i = 0; i < count; i++) TRY(reader_temporary(reader, bits, &number));
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
    if (reader_accept(reader, ".pragma") || reader_accept(reader, ".callprototype"))
        return reader_skip(reader);
    if (reader_accept(reader, ".param"))
        return reader_call_parameter(reader);
    if (word_is(reader_peek(reader), ".shared") || word_is(reader_peek(reader), ".local"))
        return reader_variable(reader);
    if (is_label(reader))
        return label(reader);
    return instruction(reader);
}

/* After the last statement, since a branch may lead to a label that comes later. Labels and jumps
 * of a function are its own. */
static enum status resolve_jumps(struct reader *reader, int64_t first_label, int64_t first_jump)
{
    for (int64_t j = first_jump; j < reader->jump_count; j++) {
        struct ptx_word name = reader->jumps[j].name;
        int32_t target = name.length == 0 ? (int32_t)reader->kernel->count : -1;
        for (int64_t l = first_label; l < reader->label_count; l++)
            if (reader->labels[l].name.length == name.length &&
                memcmp(reader->labels[l].name.text, name.text, (size_t)name.length) == 0)
                target = reader->labels[l].at;
        if (target < 0)
            READER_FAIL(reader, "no label %.*s", name.length, name.text);
        reader->kernel->code[reader->jumps[j].at].target = target;
    }
    reader->label_count = first_label;
    reader->jump_count = first_jump;
    return STATUS_OK;
}

/* Registers that braces declare end with them, as do the parameters of a call; labels and other
 * variables are the kernel's. */
enum status reader_body(struct reader *reader)
{
    struct {
        int64_t declared;
        int call_bytes;
    } scopes[16];
    int64_t first_label = reader->label_count, first_jump = reader->jump_count;
    int depth = 0;

    do {
        if (reader_accept(reader, "{")) {
            if (depth == (int)ARRAY_SIZE(scopes))
                READER_FAIL(reader, "too many braces");
            scopes[depth].declared = reader->declared_count;
            scopes[depth++].call_bytes = reader->call_bytes;
        } else if (reader_accept(reader, "}")) {
            reader->declared_count = scopes[--depth].declared;
            reader->call_bytes = scopes[depth].call_bytes;
        } else if (reader_peek(reader).length == 0) {
            READER_FAIL(reader, "the kernel does not end");
        } else {
            TRY(statement(reader));
        }
    } while (depth > 0);
    return resolve_jumps(reader, first_label, first_jump);
}
