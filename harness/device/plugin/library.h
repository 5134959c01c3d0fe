/* Libraries that a plugin loads when it needs them, so that it starts where they are missing. */
#pragma once

#include "harness/base/status.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct library_symbol {
    const char *name;
    void **address; /* of the variable that takes the symbol's address */
};

struct library {
    const char *title;   /* "cuBLAS" */
    const char *file;    /* with its major version: "libcublas.so.13" */
    const char *package; /* what to install: "libcublas of CUDA 13, part of the toolkit" */
    const char *oldest;  /* the oldest with all symbols: "cuBLAS of CUDA 13.0" */
    const char *note;    /* ends every message of this library; NULL: nothing */
    const struct library_symbol *symbols;
    size_t symbol_count;
    enum status (*check)(void); /* of the version, once all symbols are there; NULL: any will do */
    bool (*is_dated)(void);     /* it will do where no other place has a newer one; NULL: it does */

    pthread_mutex_t lock; /* PTHREAD_MUTEX_INITIALIZER */
    void *handle;
    bool usable;
};

/* The text of a macro that is a number. */
#define LIBRARY_TEXT(number)  LIBRARY_PASTE(number)
#define LIBRARY_PASTE(number) #number

/* Loads the library once for the process and fills the variables of all symbols. It looks, in this
 * order, for the copy that the process has, or what the linker finds; in CUDA_HOME and CUDA_PATH;
 * in the toolkit that this was built with; in pip's packages (nvidia/cu13/lib and the like) in the
 * virtual environment, in conda's, in the user's and in the system's. It also looks in a toolkit's
 * extras/CUPTI/lib64. The first copy decides, unless it is dated: then the next one that is not,
 * and the dated one where there is none.
 *
 * NO_LIBRARY: nowhere, with what the linker said of its own places, which is where users expect it
 * to look; or a symbol is missing. A later call tries again. The library stays open. */
enum status library_load(struct library *library);
