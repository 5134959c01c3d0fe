/* A machine that executes PTX, the assembly language of NVIDIA's GPUs ("Parallel Thread Execution
 * ISA"), on the host, warp by warp: what nvcc made of a kernel runs where there is no GPU. It has
 * no times; it counts instructions, lanes and sectors exactly, and it checks every access.
 *
 * Addresses of global memory are the host's, and memory is what simt_memory_add() was told of. A
 * launch executes the blocks of its grid one after the other, and the warps of a block until they
 * end or wait at a barrier. Lanes that a branch separates meet again at its immediate
 * post-dominator.
 *
 * A finding is something that is wrong in a kernel, with its instruction and source line;
 * SIMT_FINDINGS lists the kinds. The first one ends the launch.
 *
 * All functions may be called from several threads: one at a time is served. */
#pragma once

#include "harness/base/status.h"
#include "harness/simt/code/simt_types.h"

#include <stdio.h>

struct simt;
struct simt_kernel;

const char *simt_finding_text(enum simt_finding_kind kind);

enum status simt_open(struct simt **simt);
void simt_close(struct simt *simt);

/* Adds the kernels of a module of PTX; `name` is for messages. BAD_INPUT: the text has something
 * that the machine does not know, with its line; the machine is then as it was. */
enum status simt_read(struct simt *simt, const char *text, size_t bytes, const char *name);

/* The same for one kernel of the module, or for its only one if `kernel` is NULL. The others may
 * have anything in them; the machine knows their names, and cannot launch them. */
enum status simt_read_kernel(struct simt *simt, const char *text, size_t bytes, const char *name,
                             const char *kernel);

/* Whether the machine has instructions of this name, the first part of theirs: "add" of "add.s32".
 */
bool simt_knows(const char *instruction);

/* Where printf() of kernels goes, up to 1 MiB of a launch; nowhere unless it is said. */
void simt_print_to(struct simt *simt, FILE *output);

/* By its whole name, or as the source has it: "scan" of "_ZN3cub4scanIfEEvPfi", if only one is
 * called so. NULL: no module has it. */
struct simt_kernel *simt_find(struct simt *simt, const char *name);

/* The kernels of all modules: *count of them, of which at most `most` are put into kernels[]. */
void simt_kernels(struct simt *simt, struct simt_kernel **kernels, int most, int *count);
const char *simt_kernel_name(const struct simt_kernel *kernel);

/* --- Memory --- */

/* Memory that kernels may use; nothing is written yet. OUT_OF_MEMORY. */
enum status simt_memory_add(struct simt *simt, const void *address, size_t bytes);
void simt_memory_remove(struct simt *simt, const void *address);

/* The host, a copy or a library has written these bytes; nobody has, since the memory was given to
 * another. */
void simt_memory_written(struct simt *simt, const void *address, size_t bytes);
void simt_memory_forget(struct simt *simt, const void *address, size_t bytes);

/* A copy or a library reads or writes bytes, which are written then. Bytes that are not the
 * machine's are passed over. BAD_USAGE: the block ends before them, or nothing orders this after
 * work of another stream; finding->kind says which. */
struct simt_use {
    const char *name; /* of what uses them */
    const struct simt_order *order;
    const void *address;
    size_t bytes;
    bool store;
};
enum status simt_use(struct simt *simt, const struct simt_use *use, struct simt_finding *finding);

/* Bytes of a block that kernels must not touch, such as bands between tensors, or may touch again.
 * OUT_OF_MEMORY. */
enum status simt_memory_close(struct simt *simt, const void *address, size_t bytes);
void simt_memory_reopen(struct simt *simt, const void *address, size_t bytes);

/* Memory of struct simt_texture; `type` is a name, such as "u8". BAD_USAGE: there is no such type.
 */
enum status simt_texture_add(struct simt *simt, const struct simt_texture *texture,
                             const char *type);

/* --- Launches --- */

/* Runs a kernel with `count` arguments of sizes[] bytes each. BAD_USAGE: *finding says what is
 * wrong. */
enum status simt_launch(struct simt *simt, struct simt_kernel *kernel, const struct simt_grid *grid,
                        const void *const *arguments, const size_t *sizes, int count,
                        struct simt_finding *finding);

/* Findings of a kind in kernels whose name begins so are none: for what is read and thrown away on
 * purpose. `kernel` is copied. OUT_OF_MEMORY. */
enum status simt_allow(struct simt *simt, enum simt_finding_kind kind, const char *kernel);

/* --- Counts --- */

struct simt_counts simt_counts_of(struct simt *simt, const struct simt_kernel *kernel);
void simt_counts_clear(struct simt *simt);

/* How many instructions of each kind ran, by their names in the PTX. */
struct simt_mix simt_mix_of(struct simt *simt, const struct simt_kernel *kernel);

/* The counts by line, in the order of file and line; lines that nothing ran on are left out. free()
 * releases *lines. */
enum status simt_counts_lines(struct simt *simt, const struct simt_kernel *kernel,
                              struct simt_line **lines, int *count);

/* A sample for each instruction that accessed global or shared memory, in the order of the code.
 * free() releases them. */
enum status simt_counts_samples(struct simt *simt, const struct simt_kernel *kernel,
                                struct simt_sample **samples, int *count);

static inline double simt_ratio(uint64_t part, uint64_t whole) /* 0 of nothing */
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* All accesses to a space: of counts->global, shared or local. */
struct simt_accesses simt_accesses_sum(const struct simt_accesses *of);

/* The use of the block of memory that has the address; zero if there is none, or the last launch
 * did not touch it. */
struct simt_footprint simt_footprint_of(struct simt *simt, const void *address);

struct simt_shape simt_shape_of(const struct simt_kernel *kernel);

/* A row for each kernel that ran, and one for all. */
void simt_counts_print(struct simt *simt, FILE *to);
