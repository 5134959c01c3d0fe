/* Status codes and the last error: the ground floor of everything.
 *
 * A function that can fail returns `enum status`. The place that notices a failure calls FAIL()
 * with a sentence for the user: what failed, with which value, what to do about it. Callers pass
 * the code up with TRY(), which jumps to the function's one `out:` label; status_context() may add
 * what was being done. Only main prints and exits.
 *
 * The last error belongs to the thread that met it. A worker thread hands its error over by value:
 * *status_last() there, status_raise() here. */
#pragma once

/* name, the program's exit code when it ends a command, text */
#define STATUSES(X)                                                                                \
    X(OK, 0, "success")                                                                            \
    X(BAD_USAGE, 2, "bad usage")                                                                   \
    X(BAD_INPUT, 2, "bad input")                                                                   \
    X(REFUSED, 2, "impossible combination")                                                        \
    X(IO, 2, "input or output failed")                                                             \
    X(NO_DEVICE, 3, "no such device")                                                              \
    X(NO_LIBRARY, 3, "a needed library is missing")                                                \
    X(UNSUPPORTED, 3, "the device cannot do this")                                                 \
    X(OUT_OF_MEMORY, 3, "out of host memory")                                                      \
    X(DEVICE_OUT_OF_MEMORY, 3, "out of device memory")                                             \
    X(DEVICE_ERROR, 3, "the device reported an error")                                             \
    X(CAPTURE, 3, "not allowed while a graph is captured")                                         \
    X(NOT_READY, 3, "not finished yet")                                                            \
    X(CHILD, 3, "a child process failed")                                                          \
    X(TIMEOUT, 3, "took too long")                                                                 \
    X(INTERRUPTED, 3, "interrupted")                                                               \
    X(INTERNAL, 3, "internal error")

enum status {
#define STATUS_CODE(name, exit_code, text) STATUS_##name,
    STATUSES(STATUS_CODE)
#undef STATUS_CODE
        STATUS_COUNT
};

/* How a gate ends, as an exit code: docs/results.md has the table. No status ends with FAILED,
 * since a command that could not measure knows nothing bad of what it measures. */
enum gate_end { GATE_PASSED = 0, GATE_FAILED = 1, GATE_UNTOLD = 3 };

struct status_error {
    enum status status;
    int line;
    char file[64];        /* where it was noticed */
    char expression[160]; /* the innermost call that passed it up; "" when there was none */
    char text[512];       /* the sentence for the user */
    char context[256];    /* what was being done, outermost first; "" if unknown */
};

/* Records a failure of this thread and returns `status`. `format` makes the sentence for the
 * user. */
enum status status_fail(enum status status, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Notes the expression that passed the failure up, the innermost one only. */
void status_expression(const char *expression);

/* Puts "what was being done: " before the last error's context. */
void status_context(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* This thread's last error; all zero before the first. Valid until the thread's next failure. */
const struct status_error *status_last(void);

/* Makes `error` this thread's last error and returns its status. */
enum status status_raise(const struct status_error *error);

const char *status_name(enum status status); /* "OUT_OF_MEMORY" */
const char *status_text(enum status status); /* "out of host memory" */
int status_exit_code(enum status status);

/* In a plugin, which has its own copy of this module: passes every failure on to the program's. The
 * two functions are the program's status_raise and status_last. */
struct status_bridge {
    enum status (*raise)(const struct status_error *error);
    const struct status_error *(*last)(void);
};
void status_forward(const struct status_bridge *bridge);

/* In a plugin that another plugin has failed: takes over the failure, which only the program has,
 * and returns its code. */
enum status status_fetch(void);

/* TRY and FAIL return the failure at once, from a function that returns enum status. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        enum status status_of_call = (call);                                                       \
        if (status_of_call != STATUS_OK) {                                                         \
            status_expression(#call);                                                              \
            return status_of_call;                                                                 \
        }                                                                                          \
    } while (0)

#define FAIL(code, ...) return status_fail(code, __FILE__, __LINE__, __VA_ARGS__)

/* The same for a function that has to release something: both need a local `enum status status` and
 * a label `out`. */
#define TRY_OUT(call)                                                                              \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != STATUS_OK) {                                                                 \
            status_expression(#call);                                                              \
            goto out;                                                                              \
        }                                                                                          \
    } while (0)

#define FAIL_OUT(code, ...)                                                                        \
    do {                                                                                           \
        status = status_fail(code, __FILE__, __LINE__, __VA_ARGS__);                               \
        goto out;                                                                                  \
    } while (0)

#define ARRAY_SIZE(array) (sizeof(array) / sizeof(array)[0])
