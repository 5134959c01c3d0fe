/* Functions and their calls. The code of a function is put in where it is called, with registers of
 * its own, so that lanes part and meet in it as anywhere else; its parameters are those of the
 * call. So a function that calls itself is refused. A few functions are the system's, and are one
 * instruction each. */
#include "harness/simt/reader/statement.h"

#include "harness/base/rows.h"

#include <string.h>

/* Functions that call others twice, and so on, are short texts and much code: hence a limit of the
 * words that are put in. */
enum { CALL_PARAMETERS = 64, CALL_DEPTH = 32, CALL_WORDS = 1 << 22 };

/* Parameters of calls are bytes of each lane, beside its local memory. Those of braces that are
 * closed make room for others. */
enum status reader_call_parameter(struct reader *reader)
{
    struct simt_kernel *kernel = reader->kernel;
    uint64_t align, bytes;
    int element;
    struct ptx_word name;

    TRY(reader_declarator(reader, &align, &element, &bytes, &name));
    TRY(reader_want(reader, ";"));
    reader->call_bytes = (int)(((uint64_t)reader->call_bytes + align - 1) / align * align);
    if (bytes + (uint64_t)reader->call_bytes > SIMT_MOST_CALL)
        READER_FAIL(reader, "more than %d bytes of parameters in calls", SIMT_MOST_CALL);
    TRY(reader_name(reader, name, SPACE_CALL, (uint64_t)reader->call_bytes));
    reader->call_bytes += (int)bytes;
    if (reader->call_bytes >= kernel->call_bytes) /* some, even if all that there are have none */
        kernel->call_bytes = reader->call_bytes / 16 * 16 + 16;
    return STATUS_OK;
}

static struct function *find_function(const struct reader *reader, struct ptx_word name)
{
    for (int64_t i = 0; i < reader->function_count; i++)
        if (reader->functions[i].name.length == name.length &&
            memcmp(reader->functions[i].name.text, name.text, (size_t)name.length) == 0)
            return &reader->functions[i];
    return NULL;
}

/* To the word after the ")" that belongs to a "(" before. */
static void skip_parenthesis(struct reader *reader)
{
    for (int depth = 1; depth > 0 && reader_peek(reader).length > 0;) {
        struct ptx_word word = reader_take(reader);
        depth += word_is(word, "(");
        depth -= word_is(word, ")");
    }
}

/* ".func (.param .b32 func_retval0) name(.param .b64 name_param_0) { ... }"; a prototype has no
 * body, and may come before the function itself. */
enum status reader_function(struct reader *reader)
{
    struct function function = { .returns = -1, .parameters = -1, .body = -1 }, *known;

    if (reader_accept(reader, ".attribute") && reader_accept(reader, "("))
        skip_parenthesis(reader);
    if (reader_accept(reader, "(")) {
        function.returns = reader->at;
        skip_parenthesis(reader);
    }
    function.name = reader_take(reader);
    if (reader_accept(reader, "(")) {
        function.parameters = reader->at;
        skip_parenthesis(reader);
    }
    while (word_is(reader_peek(reader), ".noreturn") || word_is(reader_peek(reader), ".unique"))
        reader_take(reader);
    if (word_is(reader_peek(reader), "{"))
        function.body = reader->at;
    known = find_function(reader, function.name);
    if (known == NULL) {
        if (reader->function_count == SIMT_MOST_NAMES)
            READER_FAIL(reader, "more than %d functions", SIMT_MOST_NAMES);
        TRY(rows_grow(&reader->functions, reader->function_count + 1, &reader->function_room));
        reader->functions[reader->function_count++] = function;
    } else if (function.body >= 0) {
        *known = function;
    }
    return reader_skip(reader);
}

/* Names of a call between parentheses, which must be its parameters. */
static enum status call_names(struct reader *reader, uint64_t *values, int *count)
{
    *count = 0;
    do {
        struct ptx_word name = reader_take(reader);
        const struct symbol *symbol = reader_symbol(reader, name);
        if (word_is(name, ")"))
            return STATUS_OK;
        if (symbol == NULL || symbol->space != SPACE_CALL || *count == CALL_PARAMETERS)
            READER_FAIL(reader, "a call with '%.*s', which is no parameter of it", name.length,
                        name.text);
        values[(*count)++] = symbol->value;
    } while (reader_accept(reader, ","));
    return reader_want(reader, ")");
}

/* The names of a function's parameters from the word at `at` on, for what the call has there. */
static enum status bind(struct reader *reader, int64_t at, const uint64_t *values, int count,
                        struct ptx_word function)
{
    int bound = 0;

    if (at < 0 && count == 0)
        return STATUS_OK;
    reader->at = at >= 0 ? at : reader->at;
    while (at >= 0 && !reader_accept(reader, ")")) {
        uint64_t align, bytes;
        int element;
        struct ptx_word name;
        TRY(reader_want(reader, ".param"));
        TRY(reader_declarator(reader, &align, &element, &bytes, &name));
        if (bound < count)
            TRY(reader_name(reader, name, SPACE_CALL, values[bound]));
        bound++;
        reader_accept(reader, ",");
    }
    if (bound != count)
        READER_FAIL(reader, "%.*s has %d parameters, and a call of it %d", function.length,
                    function.text, bound, count);
    return STATUS_OK;
}

struct function_call {
    uint64_t results[CALL_PARAMETERS], values[CALL_PARAMETERS];
    int result_count, value_count;
};

static enum status put_in(struct reader *reader, struct function *function,
                          const struct function_call *call)
{
    int64_t after = reader->at, symbols = reader->symbol_count, declared = reader->declared_count;
    int32_t line = reader->line;
    int64_t hidden = reader->first_declared;

    if (function->is_open)
        READER_FAIL(reader, "%.*s calls itself, which is unknown", function->name.length,
                    function->name.text);
    if (reader->depth == CALL_DEPTH)
        READER_FAIL(reader, "calls are more than %d deep", CALL_DEPTH);
    function->is_open = true;
    reader->depth++;
    TRY(bind(reader, function->returns, call->results, call->result_count, function->name));
    TRY(bind(reader, function->parameters, call->values, call->value_count, function->name));
    reader->first_declared = declared;
    reader->at = function->body;
    TRY(reader_body(reader));
    reader->words_put_in += reader->at - function->body;
    if (reader->words_put_in > CALL_WORDS)
        READER_FAIL(reader, "calls put in more than %d words", CALL_WORDS);
    reader->at = after;
    reader->symbol_count = symbols;
    reader->declared_count = declared;
    reader->first_declared = hidden;
    reader->line = line;
    reader->depth--;
    function->is_open = false;
    return STATUS_OK;
}

/* Functions of the system: name, instruction, and how many parameters it has. */
static const struct {
    const char *name;
    simt_operation *run;
    int results, parameters;
} system_functions[] = {
    { "vprintf", lanes_print, 1, 2 },
    { "__assertfail", lanes_assert, 0, 5 },
    { "malloc", lanes_allocate, 1, 1 },
    { "free", lanes_release, 0, 1 },
};

/* The places of the parameters are in one number, 16 bits for each of the first three and the
 * result. */
static enum status system_call(struct reader *reader, const struct statement *statement,
                               struct ptx_word name, const struct function_call *call)
{
    struct instruction row = statement_row(reader, statement);

    for (size_t i = 0; i < ARRAY_SIZE(system_functions); i++) {
        if (!word_is(name, system_functions[i].name) ||
            call->value_count != system_functions[i].parameters ||
            call->result_count > system_functions[i].results)
            continue;
        row.run = system_functions[i].run;
        for (int p = 0; p < call->value_count && p < 3; p++)
            row.offset |= (int64_t)(call->values[p] << 16 * p);
        row.mode = (uint8_t)call->result_count;
        if (call->result_count > 0)
            row.offset |= (int64_t)(call->results[0] << 48);
        return reader_emit(reader, &row);
    }
    READER_FAIL(reader, "a call of %.*s, which the file does not have", name.length, name.text);
}

/* "call.uni (retval0), name, (param0, param1);" */
enum status form_call(struct reader *reader, struct statement *statement)
{
    struct function_call call = { .result_count = 0 };
    struct function *function;
    struct ptx_word name;
    int64_t over;

    if (reader_accept(reader, "(")) {
        TRY(call_names(reader, call.results, &call.result_count));
        TRY(reader_want(reader, ","));
    }
    name = reader_take(reader);
    if (name.text[0] == '%')
        READER_FAIL(reader, "a call through a pointer, which is unknown");
    if (reader_accept(reader, ",")) {
        TRY(reader_want(reader, "("));
        TRY(call_names(reader, call.values, &call.value_count));
    }
    function = find_function(reader, name);
    if (function == NULL || function->body < 0)
        return system_call(reader, statement, name, &call);
    /* Lanes without the predicate jump over the code. */
    if (statement->predicate < 0)
        return put_in(reader, function, &call);
    over = reader->kernel->count;
    statement->negated = !statement->negated;
    TRY(form_control(reader, statement, BRANCH));
    TRY(put_in(reader, function, &call));
    reader->kernel->code[over].target = (int32_t)reader->kernel->count;
    return STATUS_OK;
}
