/* An instruction while it is read, and what the files that read instructions share. */
#pragma once

#include "harness/simt/code/opcodes.h"
#include "harness/simt/reader/ptx_reader.h"

enum { OPCODE_SIZE = 96, PARTS = 16 };

/* The parts of its name, and the predicate that its helpers share. */
struct statement {
    char name[OPCODE_SIZE], copy[OPCODE_SIZE];
    const char *parts[PARTS]; /* in the copy, of which only the first `count` are */
    int count;
    int32_t predicate;
    bool negated;
    const char *text;
};

/* Instructions that are taken apart: the first part of the name, and who reads the rest. */
#define SIMT_FORMS(X)                                                                              \
    X("ld", form_load)                                                                             \
    X("ldu", form_load)                                                                            \
    X("st", form_store)                                                                            \
    X("atom", form_atomic)                                                                         \
    X("red", form_atomic)                                                                          \
    X("mov", form_move)                                                                            \
    X("setp", form_setp)                                                                           \
    X("cvt", form_convert)                                                                         \
    X("shfl", form_shuffle)                                                                        \
    X("vote", form_vote)                                                                           \
    X("redux", form_reduce)                                                                        \
    X("match", form_match)                                                                         \
    X("activemask", form_active_mask)                                                              \
    X("bar", form_barrier)                                                                         \
    X("barrier", form_barrier)                                                                     \
    X("bra", form_branch)                                                                          \
    X("call", form_call)                                                                           \
    X("ret", form_end)                                                                             \
    X("exit", form_end)                                                                            \
    X("trap", form_trap)                                                                           \
    X("membar", form_nothing)                                                                      \
    X("fence", form_nothing)                                                                       \
    X("nanosleep", form_nothing)                                                                   \
    X("griddepcontrol", form_nothing)                                                              \
    X("prefetch", form_nothing)                                                                    \
    X("prefetchu", form_nothing)                                                                   \
    X("discard", form_nothing)                                                                     \
    X("applypriority", form_nothing)                                                               \
    X("createpolicy", form_nothing)                                                                \
    X("setmaxnreg", form_nothing)                                                                  \
    X("cp", form_copy)                                                                             \
    X("ldmatrix", form_rows)                                                                       \
    X("stmatrix", form_rows)                                                                       \
    X("mma", form_product)                                                                         \
    X("wmma", form_tiles)                                                                          \
    X("tex", form_texture)                                                                         \
    X("tld4", form_texture)                                                                        \
    X("suld", form_texture)                                                                        \
    X("sust", form_texture)

typedef enum status statement_form(struct reader *reader, struct statement *statement);
statement_form form_load, form_store, form_atomic, form_shuffle, form_vote, form_reduce, form_match,
    form_barrier, form_active_mask, form_convert, form_call, form_copy, form_rows, form_product,
    form_tiles, form_texture;

/* --- Names --- */

/* Whether a part follows the first, as "global" in "ld.global.u32". */
bool statement_has(const struct statement *statement, const char *part);

/* One of several parts of the name; -1: none is there. */
int statement_which(const struct statement *statement, const char *const *names, int count);

/* Every part of the name must be known: those of `own`, each between blanks, or one that says how
 * an access is cached and ordered. */
enum status statement_parts(struct reader *reader, const struct statement *statement,
                            const char *own);

/* --- Rows of code --- */

/* A row with the predicate and the place of the statement, and no operands yet. */
struct instruction statement_row(const struct reader *reader, const struct statement *statement);
enum status reader_emit(struct reader *reader, const struct instruction *row);

/* A helper with one source: what the named instruction makes of a register. */
enum status reader_helper(struct reader *reader, const struct statement *statement,
                          const char *name, int32_t d, int32_t s);

/* A row of the tables; "setp.lt.and.s32 p, a, b, q"; "mov.b32 %r1, {%rs1, %rs2}" and the other way
 * round; what is not plain; a branch to a label, which is "" for the end of a function. */
enum status reader_plain(struct reader *reader, const struct statement *statement);
enum status form_compare_and(struct reader *reader, struct statement *statement,
                             const char *operation);
enum status form_braces(struct reader *reader, const struct statement *statement, bool pack);
enum status form_control(struct reader *reader, const struct statement *statement,
                         enum instruction_kind kind);
enum status reader_jump(struct reader *reader, const struct statement *statement,
                        struct ptx_word label);

/* --- Operands --- */

/* A register that the text has not; one that has a number in all lanes. */
enum status reader_temporary(struct reader *reader, int bits, int32_t *number);
enum status reader_constant(struct reader *reader, uint64_t value, int bits, int32_t *number);

/* The register with this name, the innermost scope first; -1: none. */
int32_t reader_find_register(const struct reader *reader, struct ptx_word word);

/* Operands of a form's letter (code/opcodes.h): a register, a constant or an address; a register
 * to write to, of which "_" is none. */
enum status reader_source(struct reader *reader, const struct statement *statement, char form,
                          int32_t *number);
enum status reader_destination(struct reader *reader, const struct statement *statement, char form,
                               int32_t *number);

/* "[%rd1+16]" or "[name+8]". */
enum status reader_memory(struct reader *reader, struct instruction *row);

/* The register of an element that is loaded or stored, which may be wider than the element. */
enum status reader_element(struct reader *reader, const struct statement *statement, int width,
                           bool store, int32_t *number);

/* Type, vector and space of an access; its elements, in braces if there are several. */
enum status reader_access(struct reader *reader, const struct statement *statement,
                          struct instruction *row);
enum status reader_elements(struct reader *reader, const struct statement *statement,
                            const struct instruction *row, bool store, int32_t *numbers);

/* "{%r1, %r2}": up to `most` registers, a single one without braces. */
enum status reader_list(struct reader *reader, const struct statement *statement, char form,
                        bool store, int32_t *numbers, int most, int *count);
