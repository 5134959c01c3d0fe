/* Errors of the CUDA runtime: the status of each, and the advice. */
#pragma once

#include "harness/base/status.h"

#include <driver_types.h>
#include <stdbool.h>

enum status errors_status(cudaError_t error);

/* Half a sentence for the user; "" if there is no advice. */
const char *errors_advice(cudaError_t error);

/* The process's context is lost: every later call returns this error. */
bool errors_is_sticky(cudaError_t error);

/* From now on messages say that a sticky error was injected. */
void errors_note_injected(void);

/* OK, or a failure that names the call ("cudaMalloc", cut from the expression `call`), the error,
 * what CUDA says about it and what to do. */
enum status errors_check(cudaError_t error, const char *call, const char *file, int line);

/* TRY() and TRY_OUT() for calls of the runtime. */
#define CUDA(call)                                                                                 \
    do {                                                                                           \
        enum status status_of_call = errors_check((call), #call, __FILE__, __LINE__);              \
        if (status_of_call != STATUS_OK) {                                                         \
            status_expression(#call);                                                              \
            return status_of_call;                                                                 \
        }                                                                                          \
    } while (0)

#define CUDA_OUT(call)                                                                             \
    do {                                                                                           \
        status = errors_check((call), #call, __FILE__, __LINE__);                                  \
        if (status != STATUS_OK) {                                                                 \
            status_expression(#call);                                                              \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)
