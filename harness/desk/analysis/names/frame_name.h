/* Takes apart the name of a Python call: "train.py(12): log_loss", "nn.Module: Linear_0",
 * "<built-in method item of Tensor object>"; and a call stack of several such, split by ";". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts of a name; they live as long as it. */
struct frame_name {
    const char *file; /* NULL: built in, or a module's name */
    size_t file_length;
    int64_t line; /* the first of the function; where it ran when recording began, or for stacks:
                     the current one */
    const char *function;
    size_t function_length;
};

struct frame_name frame_name_of(const char *text, size_t length);

/* Who may change the line. */
enum frame_owner {
    OWNER_PYTHON,  /* nobody: Python's standard library, PyTorch, and the libraries that training
                      calls for its arithmetic or its progress. A cost is told by their caller */
    OWNER_LIBRARY, /* an installed package, which trains or prepares data for the user */
    OWNER_USER
};

/* The key of the metadata in which a recording lists the first folders or files of the user's own
 * modules: ["train", "models"]. */
#define FRAME_OWN_KEY "chokepointOwn"

/* PyTorch cuts the folders of sys.path from the names, so the first folder, or the file's name, has
 * to tell; `own` is the list of FRAME_OWN_KEY, or NULL: then well-known libraries are known. */
enum frame_owner frame_name_owner(const struct frame_name *name, const char *own);

/* The innermost call of a stack that is the user's, else a library's; its owner. OWNER_PYTHON:
 * there is none. */
enum frame_owner frame_name_of_stack(const char *text, const char *own, struct frame_name *name);

/* True for a comprehension or a generator expression: Python calls it, but it is part of a line. */
bool frame_name_is_part(const struct frame_name *name);

/* The key of the metadata in which a recording lists the iterators of Python that give the loop its
 * batches: ["train.py: batches"]. */
#define FRAME_ITERATORS_KEY "chokepointIterators"

/* Whether a call is of an iterator on that list. */
bool frame_name_is_iterator(const struct frame_name *name, const char *iterators);

/* The line of "train.py:34"; 0: it is not a line of that file. */
int64_t frame_line_of(const char *from, const struct frame_name *name);

/* "train.py:34"; "cell 3, line 34" of a notebook. */
void frame_name_line(char *text, size_t size, const char *file, int64_t line);

/* The call as one would write it: ".item()", "linear()", "print()"; "": nothing to write. */
void frame_name_call(char *text, size_t size, const char *name);
