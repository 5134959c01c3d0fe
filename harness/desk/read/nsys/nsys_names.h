/* The names of an export: its table of strings, and what other profilers call the same. */
#pragma once

#include "harness/desk/read/nsys/nsys_database.h"
#include "harness/desk/trace/trace_rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nsys_use { NSYS_PLAIN, NSYS_CALL, NSYS_KERNEL, NSYS_USES };

struct nsys_string {
    int64_t id;
    uint32_t names[NSYS_USES]; /* numbers of the trace's names; 0: not asked for yet, or "" */
};

/* All zeros at first. */
struct nsys_names {
    struct nsys_string *strings; /* by id */
    int64_t count, room;
};

/* Reads the table of strings. */
enum status nsys_names_read(struct nsys_names *names, struct database *database,
                            struct trace_rows *rows);
void nsys_names_release(struct nsys_names *names);

/* The name of a string by its id, as it is used: calls without the version that nsys
 * appends, kernels spelt as by CUPTI. "": there is none. */
enum status nsys_name(struct nsys_names *names, struct trace_rows *rows, sqlite3_value *id,
                      enum nsys_use use, uint32_t *name);

/* "cudaLaunchKernel_v7000_ptsz" is cudaLaunchKernel: the length without the endings. */
size_t nsys_call_length(const char *name, size_t length);

/* Writes a kernel's name with (int)4 as 4, (bool)0 as false, (unsigned long)3 as 3ul, <unnamed> as
 * (anonymous namespace), [lambda(float) (instance 1)] as {lambda(float)#1}. Needs room for
 * NAME_BYTES. Returns the length. */
size_t nsys_kernel_name(char *text, const char *name, size_t length);

/* "Memcpy HtoD (Pinned -> Device)"; NULL: it is no copy that a call made. The numbers are nsys'. */
const char *nsys_copy_name(char text[80], int64_t kind, int64_t from, int64_t to);

/* --- The meaning of an NVTX range's text --- */

enum { NSYS_DIMS_MOST = 1000 };

struct nsys_range_name {
    const char *text; /* part of what was given, or a constant: ranges that load data are "data" */
    size_t length;
    bool is_operator; /* of PyTorch */
    bool is_backward;
    int64_t sequence; /* -1: none */
    char dims[NSYS_DIMS_MOST + 4];
    size_t dims_length; /* 0: none */
};

void nsys_range_name(struct nsys_range_name *name, const char *text, size_t length);

/* Whether ranges of that name may be steps: "iteration_12", "train_step 3", "Iteration 3 - eval",
 * "step". *number is the first behind that word; -1: it has none. */
bool nsys_range_is_step(const struct nsys_range_name *name, int64_t *number);

/* The same for names that differ in their digits only. */
uint64_t nsys_range_kind(const struct nsys_range_name *name);
