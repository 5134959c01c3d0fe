/* Reads the declarations of a module: files, variables, and kernels with their parameters. The text
 * may be anybody's, so all that could grow without end has a limit, which is said with the line. */
#include "harness/simt/reader/ptx_reader.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum status reader_fail(struct reader *reader, const char *file, int line, const char *format, ...)
{
    char text[384] = "";
    va_list arguments;

    va_start(arguments, format);
    text_append_list(text, sizeof text, format, arguments);
    va_end(arguments);
    if (reader->kernel != NULL && reader->line >= 0 && reader->line < reader->module->line_count) {
        const struct source_line *row = &reader->module->lines[reader->line];
        int own = row->at_line > 0 ? row->at_file : row->file;
        if (own >= 0 && own < reader->module->file_count && reader->module->files[own] != NULL)
            text_append(text, sizeof text, " (%s:%d)", reader->module->files[own],
                        row->at_line > 0 ? row->at_line : row->line);
    }
    return status_fail(STATUS_BAD_INPUT, file, line, "%s:%d: %s", reader->module->name,
                       reader_line(reader), text);
}

int reader_line(const struct reader *reader)
{
    int64_t at = reader->at > 0 ? reader->at - 1 : 0;

    return at < reader->count ? reader->words[at].line : 0;
}

struct ptx_word reader_peek(const struct reader *reader)
{
    return reader->at < reader->count ? reader->words[reader->at] : (struct ptx_word){ "", 0, 0 };
}

struct ptx_word reader_take(struct reader *reader)
{
    struct ptx_word word = reader_peek(reader);

    reader->at += reader->at < reader->count;
    return word;
}

bool reader_accept(struct reader *reader, const char *text)
{
    bool is = word_is(reader_peek(reader), text);

    reader->at += is;
    return is;
}

enum status reader_want(struct reader *reader, const char *text)
{
    struct ptx_word word = reader_take(reader);

    if (!word_is(word, text))
        READER_FAIL(reader, "'%s' should follow, not '%.*s'", text, word.length, word.text);
    return STATUS_OK;
}

enum status reader_number(struct reader *reader, uint64_t *value)
{
    struct ptx_word word = reader_take(reader);

    if (!word_number(word, value))
        READER_FAIL(reader, "'%.*s' is no number", word.length, word.text);
    return STATUS_OK;
}

int reader_type_bits(struct ptx_word type)
{
    static const struct {
        const char *name;
        int bits;
    } types[] = { { ".pred", 1 },  { ".b8", 8 },     { ".u8", 8 },      { ".s8", 8 },
                  { ".b16", 16 },  { ".u16", 16 },   { ".s16", 16 },    { ".f16", 16 },
                  { ".bf16", 16 }, { ".b32", 32 },   { ".u32", 32 },    { ".s32", 32 },
                  { ".f32", 32 },  { ".f16x2", 32 }, { ".bf16x2", 32 }, { ".b64", 64 },
                  { ".u64", 64 },  { ".s64", 64 },   { ".f64", 64 } };

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (word_is(type, types[i].name))
            return types[i].bits;
    return 0;
}

enum status reader_name(struct reader *reader, struct ptx_word name, enum simt_space space,
                        uint64_t value)
{
    if (reader->symbol_count == SIMT_MOST_NAMES)
        READER_FAIL(reader, "more than %d names", SIMT_MOST_NAMES);
    TRY(rows_grow(&reader->symbols, reader->symbol_count + 1, &reader->symbol_room));
    reader->symbols[reader->symbol_count++] =
        (struct symbol){ .name = name, .space = space, .value = value };
    return STATUS_OK;
}

/* From the end, where the kernel's names are: they hide those of the module. */
struct symbol *reader_symbol(const struct reader *reader, struct ptx_word name)
{
    for (int64_t i = reader->symbol_count - 1; i >= 0; i--) {
        struct ptx_word own = reader->symbols[i].name;
        if (own.length == name.length && memcmp(own.text, name.text, (size_t)own.length) == 0)
            return &reader->symbols[i];
    }
    return NULL;
}

/* Empty brackets make 0 bytes, for dynamic memory. The product is bounded at each dimension, so it
 * cannot overflow. */
enum status reader_declarator(struct reader *reader, uint64_t *align, int *element, uint64_t *bytes,
                              struct ptx_word *name)
{
    uint64_t count = 1, dimension;
    struct ptx_word type;

    *align = 0;
    while (reader_accept(reader, ".align")) TRY(reader_number(reader, align));
    type = reader_take(reader);
    *element = reader_type_bits(type) / 8;
    if (*element == 0)
        READER_FAIL(reader, "unknown type %.*s", type.length, type.text);
    for (;;) { /* of a pointer's parameter: .ptr .global .align 16 */
        if (reader_accept(reader, ".align"))
            TRY(reader_number(reader, &dimension));
        else if (!reader_accept(reader, ".ptr") && !reader_accept(reader, ".global"))
            break;
    }
    *name = reader_take(reader);
    while (reader_accept(reader, "[")) {
        dimension = 0;
        if (!word_is(reader_peek(reader), "]"))
            TRY(reader_number(reader, &dimension));
        TRY(reader_want(reader, "]"));
        if (dimension > SIMT_MOST_TABLE || (count *= dimension) > SIMT_MOST_TABLE)
            READER_FAIL(reader, "more than %d elements", SIMT_MOST_TABLE);
    }
    *bytes = (uint64_t)*element * count;
    if (*align == 0)
        *align = (uint64_t)*element;
    if (*align > 4096)
        READER_FAIL(reader, "an alignment of more than 4096 bytes");
    if (*bytes > SIMT_MOST_TABLE)
        READER_FAIL(reader, "more than %d bytes", SIMT_MOST_TABLE);
    return STATUS_OK;
}

/* The next multiple. */
static int aligned(int at, uint64_t align)
{
    return (int)(((uint64_t)at + align - 1) / align * align);
}

/* Room for a variable of the kernel; *value is its address. */
static enum status give_room(struct reader *reader, bool shared, uint64_t align, uint64_t bytes,
                             uint64_t *value)
{
    int *used = shared ? &reader->kernel->shared_bytes : &reader->kernel->local_bytes;

    *used = aligned(*used, align);
    if (bytes + (uint64_t)*used > (shared ? SIMT_MOST_SHARED : SIMT_MOST_LOCAL))
        READER_FAIL(reader, "more than %d bytes of %s memory",
                    shared ? SIMT_MOST_SHARED : SIMT_MOST_LOCAL, shared ? "shared" : "local");
    *value = (uint64_t)*used;
    *used += (int)bytes;
    return STATUS_OK;
}

enum status reader_variable(struct reader *reader)
{
    bool shared = word_is(reader_take(reader), ".shared");
    uint64_t align, bytes, value = 0;
    struct ptx_word name;
    int element;

    TRY(reader_declarator(reader, &align, &element, &bytes, &name));
    TRY(reader_want(reader, ";"));
    TRY(give_room(reader, shared, align, bytes, &value));
    return reader_name(reader, name, shared ? SPACE_SHARED : SPACE_LOCAL, value);
}

/* ".shared .align 4 .b8 tile[4096];" or ".extern .shared .align 16 .b8 dynamic[];" */
static enum status shared_variable(struct reader *reader, bool external)
{
    struct symbol symbol = { .space = SPACE_SHARED, .is_of_module = true };
    int element;

    TRY(reader_declarator(reader, &symbol.align, &element, &symbol.bytes, &symbol.name));
    TRY(reader_want(reader, ";"));
    TRY(reader_name(reader, symbol.name, SPACE_SHARED, 0));
    symbol.is_dynamic = external && symbol.bytes == 0;
    reader->symbols[reader->symbol_count - 1] = symbol;
    return STATUS_OK;
}

enum status reader_address(struct reader *reader, struct symbol *symbol, uint64_t *value)
{
    if (symbol->is_dynamic && symbol->align > reader->dynamic_align)
        reader->dynamic_align = symbol->align;
    if (symbol->is_of_module && !symbol->is_dynamic && symbol->kernel != reader->kernel) {
        TRY(give_room(reader, true, symbol->align, symbol->bytes, &symbol->value));
        symbol->kernel = reader->kernel;
    }
    *value = symbol->value;
    return STATUS_OK;
}

/* All other shared memory of the kernel is known now. */
static void place_dynamic(struct reader *reader)
{
    struct simt_kernel *kernel = reader->kernel;

    if (reader->dynamic_align == 0)
        return;
    kernel->shared_bytes = aligned(kernel->shared_bytes, reader->dynamic_align);
    for (int64_t i = 0; i < kernel->register_count; i++)
        if (kernel->registers[i].kind == REGISTER_DYNAMIC) {
            kernel->registers[i].kind = REGISTER_CONSTANT;
            kernel->registers[i].value = (uint64_t)kernel->shared_bytes;
        }
}

/* A number, or the address of a variable of the module before: "name" or "generic(name)". */
static enum status initial_value(struct reader *reader, uint64_t *value)
{
    bool generic = reader_accept(reader, "generic") && reader_accept(reader, "(");
    const struct symbol *symbol = reader_symbol(reader, reader_peek(reader));

    if (symbol == NULL || symbol->space != SPACE_GLOBAL)
        return reader_number(reader, value);
    reader_take(reader);
    *value = symbol->value;
    return generic ? reader_want(reader, ")") : STATUS_OK;
}

/* A variable in global or constant memory. */
static enum status global_variable(struct reader *reader)
{
    struct module_variable *variable;
    uint64_t align, bytes, value, all;
    int element;
    struct ptx_word name;

    if (reader_accept(reader, ".attribute")) /* (.managed) */
        for (int i = 0; i < 3; i++) reader_take(reader);
    TRY(reader_declarator(reader, &align, &element, &bytes, &name));
    all = bytes;
    for (variable = reader->module->variables; variable != NULL; variable = variable->next)
        all += variable->bytes;
    if (all > SIMT_MOST_TABLE)
        READER_FAIL(reader, "variables of more than %d bytes", SIMT_MOST_TABLE);
    TRY(rows_make(&variable, 1));
    variable->next = reader->module->variables;
    reader->module->variables = variable;
    variable->bytes = bytes;
    if (posix_memalign(&variable->memory, 256, bytes + 256) != 0) {
        variable->memory = NULL;
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for a variable of %llu bytes",
             (unsigned long long)bytes);
    }
    memset(variable->memory, 0, bytes + 256);
    if (reader_accept(reader, "=")) {
        bool list = reader_accept(reader, "{");
        uint64_t at = 0;
        do {
            TRY(initial_value(reader, &value));
            if (at + (uint64_t)element > bytes)
                READER_FAIL(reader, "more values than %.*s has room for", name.length, name.text);
            memcpy((char *)variable->memory + at, &value, (size_t)element);
            at += (uint64_t)element;
        } while (list && reader_accept(reader, ","));
        if (list)
            TRY(reader_want(reader, "}"));
    }
    TRY(reader_want(reader, ";"));
    return reader_name(reader, name, SPACE_GLOBAL, (uint64_t)(uintptr_t)variable->memory);
}

/* The kind of argument that a parameter takes, for messages, from its declaration's first word on.
 * nvcc marks pointers with .ptr; some other compilers do not. */
static void name_type(const struct reader *reader, int64_t at, uint64_t bytes, bool single,
                      char text[16])
{
    struct ptx_word word = reader->words[at];

    if (word_is(word, ".align"))
        word = reader->words[at + 2];
    if (!single)
        snprintf(text, 16, "{%u bytes}", (unsigned)bytes);
    else if (word_is(reader->words[at + 1], ".ptr"))
        strcpy(text, "array");
    else
        snprintf(text, 16, "%.*s%s", word.length - 1, word.text + 1,
                 bytes == 8 && word.text[1] != 'f' ? " or array" : "");
}

/* "(.param .u64 a, .param .align 8 .b8 s[24])" */
static enum status parameters(struct reader *reader)
{
    struct simt_kernel *kernel = reader->kernel;

    while (!reader_accept(reader, ")")) {
        uint64_t align, bytes;
        int element;
        int64_t type;
        struct ptx_word name;

        TRY(reader_want(reader, ".param"));
        type = reader->at;
        TRY(reader_declarator(reader, &align, &element, &bytes, &name));
        if (kernel->parameters == SIMT_PARAMETERS)
            READER_FAIL(reader, "more than %d parameters", SIMT_PARAMETERS);
        kernel->parameter_bytes = aligned(kernel->parameter_bytes, align);
        if (bytes + (uint64_t)kernel->parameter_bytes > SIMT_MOST_PARAMETERS)
            READER_FAIL(reader, "more than %d bytes of parameters", SIMT_MOST_PARAMETERS);
        TRY(reader_name(reader, name, SPACE_PARAM, (uint64_t)kernel->parameter_bytes));
        name_type(reader, type, bytes, (int)bytes == element,
                  kernel->parameter_type[kernel->parameters]);
        kernel->parameter_offset[kernel->parameters] = kernel->parameter_bytes;
        kernel->parameter_size[kernel->parameters++] = (int)bytes;
        kernel->parameter_bytes += (int)bytes;
        reader_accept(reader, ",");
    }
    return STATUS_OK;
}

/* Limits that a launch must keep to, or may gain by. */
static enum status tuning(struct reader *reader)
{
    uint64_t value, threads = 1;

    while (!word_is(reader_peek(reader), "{")) {
        bool most = reader_accept(reader, ".maxntid") || reader_accept(reader, ".reqntid");
        if (!most && !reader_accept(reader, ".minnctapersm") && !reader_accept(reader, ".maxnreg"))
            READER_FAIL(reader, "unknown directive %.*s", reader_peek(reader).length,
                        reader_peek(reader).text);
        do {
            TRY(reader_number(reader, &value));
            threads *= most ? value : 1;
        } while (reader_accept(reader, ","));
        if (most)
            reader->kernel->most_threads = (int)threads;
    }
    return STATUS_OK;
}

/* To the end of a declaration: its ';', or the '}' of its body. */
enum status reader_skip(struct reader *reader)
{
    int depth = 0;

    for (;;) {
        struct ptx_word word = reader_take(reader);
        if (word.length == 0)
            READER_FAIL(reader, "the declaration does not end");
        depth += word_is(word, "{") || word_is(word, "(");
        depth -= word_is(word, "}") || word_is(word, ")");
        if (depth <= 0 && (word_is(word, "}") || word_is(word, ";")))
            return STATUS_OK;
    }
}

/* A kernel, from the parenthesis of its parameters on. */
static enum status kernel_read(struct reader *reader, struct simt_kernel *kernel)
{
    int64_t outside = reader->symbol_count;

    reader->kernel = kernel;
    reader->line = -1;
    reader->dynamic_align = 0;
    reader->declared_count = reader->label_count = reader->jump_count = 0;
    reader->call_bytes = 0;
    if (reader_accept(reader, "("))
        TRY(parameters(reader));
    TRY(tuning(reader));
    TRY(reader_body(reader));
    place_dynamic(reader);
    reader->symbol_count = outside;
    TRY(flow_find(kernel));
    TRY(loads_find(kernel));
    TRY(places_give(kernel));
    return STATUS_OK;
}

static enum status entry(struct reader *reader)
{
    struct ptx_word name = reader_take(reader);
    struct simt_kernel *kernel;

    TRY(rows_make(&kernel, 1));
    kernel->next = reader->module->kernels;
    kernel->module = reader->module;
    reader->module->kernels = kernel;
    TRY(text_make(&kernel->name, "%.*s", name.length, name.text));
    TRY(rows_grow(&reader->bodies, reader->body_count + 1, &reader->body_room));
    reader->bodies[reader->body_count++] = reader->at;
    return reader_skip(reader);
}

/* ".file 1 \"/path/sum.cu\"": lines name it by the number. Folders are left out. */
static enum status file(struct reader *reader)
{
    struct module *module = reader->module;
    struct ptx_word path;
    uint64_t number;
    const char *slash;

    TRY(reader_number(reader, &number));
    path = reader_take(reader);
    while (reader_accept(reader, ",")) reader_take(reader);
    /* Names are in an array by number, and the text chooses the numbers: hence the limit. */
    if (number > 4096 || path.length < 2)
        READER_FAIL(reader, "file %llu has no name", (unsigned long long)number);
    while (module->file_count <= (int64_t)number) {
        TRY(rows_grow(&module->files, module->file_count + 1, &module->file_room));
        module->files[module->file_count++] = NULL;
    }
    slash = memrchr(path.text, '/', (size_t)path.length);
    slash = slash != NULL ? slash + 1 : path.text + 1;
    free(module->files[number]);
    module->files[number] = NULL;
    return text_make(&module->files[number], "%.*s", (int)(path.text + path.length - 1 - slash),
                     slash);
}

/* ".section .debug_str { ... }": debuggers' data. */
static enum status section(struct reader *reader)
{
    reader_take(reader);
    TRY(reader_want(reader, "{"));
    while (!reader_accept(reader, "}"))
        if (reader_take(reader).length == 0)
            READER_FAIL(reader, "the section does not end");
    return STATUS_OK;
}

static bool is_texture(struct ptx_word type)
{
    return word_is(type, ".texref") || word_is(type, ".samplerref") || word_is(type, ".surfref");
}

/* A texture is passed over, and if only one kernel is read, every variable that the machine does
 * not know, such as a table of functions: its name is unknown then. */
static enum status known_variable(struct reader *reader)
{
    enum status status;

    if (is_texture(reader_peek(reader)))
        return reader_skip(reader);
    status = global_variable(reader);
    return status == STATUS_BAD_INPUT && reader->picks ? reader_skip(reader) : status;
}

/* Textures and what is defined elsewhere are passed over: an instruction that uses them is unknown.
 * So is every declaration that is not known, if one kernel is asked for: others may use it. */
static enum status declaration(struct reader *reader)
{
    struct ptx_word word = reader_take(reader);

    if (word_is(word, ".version") || word_is(word, ".target") || word_is(word, ".address_size")) {
        reader_take(reader);
        while (reader_accept(reader, ",")) reader_take(reader);
        return STATUS_OK;
    }
    if (word_is(word, ".file"))
        return file(reader);
    if (word_is(word, ".section"))
        return section(reader);
    if (word_is(word, ".visible") || word_is(word, ".weak") || word_is(word, ".common") ||
        word_is(word, ";"))
        return STATUS_OK;
    if (word_is(word, ".extern") && reader_accept(reader, ".func"))
        return reader_function(reader);
    if (word_is(word, ".extern") && !reader_accept(reader, ".shared"))
        return reader_skip(reader);
    if (word_is(word, ".extern") || word_is(word, ".shared"))
        return shared_variable(reader, word_is(word, ".extern"));
    if (word_is(word, ".global") || word_is(word, ".const"))
        return known_variable(reader);
    if (word_is(word, ".entry"))
        return entry(reader);
    if (word_is(word, ".func"))
        return reader_function(reader);
    if (reader->picks || word_is(word, ".pragma") || word_is(word, ".alias"))
        return reader_skip(reader);
    READER_FAIL(reader, "unknown declaration %.*s", word.length, word.text);
}

/* The last name of a C++ name before its templates and parameters: "scan" of
 * "_ZN3cub4scanIfEEvPfi"; *length 0: there is none. */
static const char *source_name(const char *mangled, size_t *length)
{
    const char *at = strncmp(mangled, "_Z", 2) == 0 ? mangled + 2 : "", *name = mangled;
    bool nested = *at == 'N';

    *length = 0;
    at += strspn(at, "NKrV");
    while (*at >= '1' && *at <= '9' && (*length == 0 || nested)) {
        char *end;
        unsigned long own = strtoul(at, &end, 10);
        if (own > strlen(end))
            break;
        name = end;
        *length = own;
        at = end + own;
    }
    return name;
}

struct simt_kernel *kernel_of_name(struct simt_kernel *kernels, const char *name)
{
    struct simt_kernel *found = NULL;
    int count = 0;

    for (struct simt_kernel *kernel = kernels; kernel != NULL; kernel = kernel->next) {
        size_t length;
        const char *own = source_name(kernel->name, &length);
        if (strcmp(kernel->name, name) == 0)
            return kernel;
        if (length == strlen(name) && memcmp(own, name, length) == 0) {
            found = kernel;
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

static void kernel_free(struct simt_kernel *kernel)
{
    free(kernel->name);
    free(kernel->code);
    free(kernel->registers);
    free(kernel->file);
    free(kernel->steps);
    free(kernel->accesses);
    free(kernel->barrier_counts);
    free(kernel);
}

void module_free(struct module *module)
{
    if (module == NULL)
        return;
    for (struct simt_kernel *kernel = module->kernels, *next; kernel != NULL; kernel = next) {
        next = kernel->next;
        kernel_free(kernel);
    }
    for (struct module_variable *variable = module->variables, *next; variable != NULL;
         variable = next) {
        next = variable->next;
        free(variable->memory);
        free(variable);
    }
    for (int64_t i = 0; i < module->file_count; i++) free(module->files[i]);
    free(module->files);
    free(module->lines);
    free(module->name);
    free(module->text);
    free(module);
}

enum status module_read(struct module **made, const char *text, size_t bytes, const char *name,
                        bool picks, const char *wanted)
{
    enum status status = STATUS_OK;
    struct reader reader = { .picks = picks };
    struct simt_kernel *only;
    int64_t number;

    *made = NULL;
    TRY_OUT(rows_make(&reader.module, 1));
    TRY_OUT(text_make(&reader.module->name, "%s", name));
    TRY_OUT(rows_make(&reader.module->text, bytes + 1));
    memcpy(reader.module->text, text, bytes);
    TRY_OUT(words_of(&reader.words, &reader.count, reader.module->text, bytes));
    while (reader.at < reader.count) TRY_OUT(declaration(&reader));
    /* Only now is it known whether the module has a single kernel. Bodies of kernels that are not
     * asked for are never read, so they may use unknown instructions. The list of kernels has the
     * last one first. */
    number = reader.body_count;
    only = wanted != NULL ? kernel_of_name(reader.module->kernels, wanted) : NULL;
    if (wanted == NULL && reader.body_count == 1)
        only = reader.module->kernels;
    for (struct simt_kernel *kernel = reader.module->kernels; kernel != NULL;
         kernel = kernel->next) {
        reader.at = reader.bodies[--number];
        if (!picks || kernel == only)
            TRY_OUT(kernel_read(&reader, kernel));
    }
    *made = reader.module;

out:
    if (*made == NULL)
        module_free(reader.module);
    free(reader.words);
    free(reader.declared);
    free(reader.symbols);
    free(reader.labels);
    free(reader.jumps);
    free(reader.functions);
    free(reader.bodies);
    return status;
}
