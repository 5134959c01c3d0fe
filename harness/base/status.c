/* The last error is a variable of the thread. A plugin has a copy of this file, whose errors are
 * passed on to the program's. */
#include "harness/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct status_error last;
static const struct status_bridge *_Atomic bridge_to_program;

static const struct {
    const char *name, *text;
    int exit_code;
} statuses[STATUS_COUNT] = {
#define STATUS_ROW(name, exit_code, text) { #name, text, exit_code },
    STATUSES(STATUS_ROW)
#undef STATUS_ROW
};

static void forward(void)
{
    if (bridge_to_program != NULL)
        bridge_to_program->raise(&last);
}

/* The end of a path says where it is; its beginning says whose machine built it. */
static const char *path_tail(const char *file)
{
    size_t length = strlen(file), most = sizeof last.file - 1;

    return length > most ? file + length - most : file;
}

enum status status_fail(enum status status, const char *file, int line, const char *format, ...)
{
    va_list arguments;

    memset(&last, 0, sizeof last);
    last.status = status;
    last.line = line;
    snprintf(last.file, sizeof last.file, "%s", path_tail(file));
    va_start(arguments, format);
    vsnprintf(last.text, sizeof last.text, format, arguments);
    va_end(arguments);
    forward();
    return status;
}

void status_expression(const char *expression)
{
    if (last.status == STATUS_OK || last.expression[0] != '\0')
        return;
    snprintf(last.expression, sizeof last.expression, "%s", expression);
    forward();
}

void status_context(const char *format, ...)
{
    char context[sizeof last.context];
    size_t length;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
    length = strlen(context);
    if (last.context[0] != '\0')
        snprintf(context + length, sizeof context - length, ": %s", last.context);
    memcpy(last.context, context, sizeof context);
    forward();
}

const struct status_error *status_last(void)
{
    return &last;
}

enum status status_raise(const struct status_error *error)
{
    last = *error;
    forward();
    return last.status;
}

const char *status_name(enum status status)
{
    return (unsigned)status < STATUS_COUNT ? statuses[status].name : "unknown";
}

const char *status_text(enum status status)
{
    return (unsigned)status < STATUS_COUNT ? statuses[status].text : "unknown status";
}

int status_exit_code(enum status status)
{
    return (unsigned)status < STATUS_COUNT ? statuses[status].exit_code : GATE_UNTOLD;
}

enum status status_fetch(void)
{
    if (bridge_to_program != NULL)
        last = *bridge_to_program->last();
    return last.status;
}

void status_forward(const struct status_bridge *bridge)
{
    bridge_to_program = bridge;
}
