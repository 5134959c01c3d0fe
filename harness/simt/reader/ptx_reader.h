/* Shared by the files of the reader: ptx_reader.c reads a module, calls.c functions, body.c the
 * statements of both, forms.c, tile_forms.c and operands.c their instructions. */
#pragma once

#include "harness/base/status.h"
#include "harness/simt/code/code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PTX as words: names, numbers and strings whole, everything else a character at a time. */
struct ptx_word {
    const char *text; /* in the module's text, which outlives it */
    int length, line;
};

/* The words of `text`, for free(). OUT_OF_MEMORY. */
enum status words_of(struct ptx_word **words, int64_t *count, const char *text, size_t bytes);

bool word_is(struct ptx_word word, const char *text);

/* Copies, cut if it does not fit. */
void word_copy(struct ptx_word word, char *to, size_t size);

/* A number as PTX writes them: decimal, 0x, and 0f or 0d with the bits of a float or double.
 * Whether it is one. */
bool word_number(struct ptx_word word, uint64_t *value);

/* Registers that one declaration made: stem and number, or a name. */
struct declared {
    struct ptx_word stem;
    int32_t first, count; /* count: -1 for a single name */
};

/* A name, and the address in a space that it stands for. Shared memory that the module declares is
 * part of a kernel if that uses it, and has its address from then on; memory without a size begins
 * after all other, where the launch's dynamic memory is. */
struct symbol {
    struct ptx_word name;
    enum simt_space space;
    uint64_t value;
    bool is_of_module, is_dynamic;
    uint64_t bytes, align;            /* of a module's shared memory */
    const struct simt_kernel *kernel; /* whose shared memory it is in now */
};

/* A function, as words: its code is put in where it is called. */
struct function {
    struct ptx_word name;
    int64_t returns, parameters, body; /* the word after "(", or "{"; -1: it has none */
    bool is_open;                      /* being put in */
};

/* A label, or a branch to one. */
struct label {
    struct ptx_word name;
    int32_t at;
};

struct reader {
    struct ptx_word *words;
    int64_t count, at;
    struct module *module;

    struct simt_kernel *kernel; /* that is being read */
    struct declared *declared;
    int64_t declared_count, declared_room;
    int64_t first_declared; /* of the function that is being read */
    struct symbol *symbols; /* the module's first, then the kernel's */
    int64_t symbol_count, symbol_room;
    struct label *labels, *jumps;
    int64_t label_count, label_room, jump_count, jump_room;
    int32_t line;           /* of the module's lines */
    uint64_t dynamic_align; /* of the dynamic memory that the kernel uses; 0: it uses none */

    struct function *functions;
    int64_t function_count, function_room;
    int depth; /* of functions that are being put in */
    int64_t words_put_in;
    int call_bytes; /* of the parameters of calls, in the braces that are open */

    /* Kernels are read at the end, when all functions are known: their words, from that after the
     * name on. */
    int64_t *bodies;
    int64_t body_count, body_room;
    bool picks; /* only the kernel `wanted`, or the only one if that is NULL */
};

/* Says the place: "kernels.ptx:120: ". */
#define READER_FAIL(reader, ...) return reader_fail(reader, __FILE__, __LINE__, __VA_ARGS__)
enum status reader_fail(struct reader *reader, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

int reader_line(const struct reader *reader);             /* of the text */
struct ptx_word reader_peek(const struct reader *reader); /* empty at the end */
struct ptx_word reader_take(struct reader *reader);
bool reader_accept(struct reader *reader, const char *text);
enum status reader_want(struct reader *reader, const char *text);
enum status reader_number(struct reader *reader, uint64_t *value);

/* ".b32": its bits; 0 for a type that is none. */
int reader_type_bits(struct ptx_word type);

/* A variable in shared or local memory, from its space on. */
enum status reader_variable(struct reader *reader);

/* A variable or parameter, NULL if there is none; and its address in the kernel that is being read,
 * to which a module's shared memory belongs from then on. The address of dynamic memory is known
 * later. */
struct symbol *reader_symbol(const struct reader *reader, struct ptx_word name);
enum status reader_address(struct reader *reader, struct symbol *symbol, uint64_t *value);

/* A new register. */
enum status reader_register(struct reader *reader, struct simt_register row, int32_t *number);

/* ".align 4 .b8 name[144]": bytes of an element, of all, and the name. */
enum status reader_declarator(struct reader *reader, uint64_t *align, int *element, uint64_t *bytes,
                              struct ptx_word *name);
enum status reader_name(struct reader *reader, struct ptx_word name, enum simt_space space,
                        uint64_t value);

/* To the ';' or '}' of a declaration. */
enum status reader_skip(struct reader *reader);

/* calls.c: ".func" of a module, and ".param .b64 param0;" of a call, from the next word on. */
enum status reader_function(struct reader *reader);
enum status reader_call_parameter(struct reader *reader);

/* body.c: whether an instruction is known by the first part of its name; the statements from '{' to
 * its '}'. */
bool reader_knows(const char *instruction);
enum status reader_body(struct reader *reader);
