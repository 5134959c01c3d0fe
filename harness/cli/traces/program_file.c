/* Scripts are looked up beside the program, and Python then takes the place of this process. A page
 * is made of what the same program prints as JSON, so Python gets its path, and the options of the
 * run but for those of the page itself. */
#include "harness/cli/traces/program_file.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOLDERS = 2 };

/* As seen from the program: where it was built, and installed. */
static const char *const folders[FOLDERS] = { "scripts", "../share/chokepoint" };

enum status program_path(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

    if (length <= 0)
        FAIL(STATUS_IO, "/proc/self/exe cannot be read: %s", strerror(errno));
    path[length] = '\0';
    return STATUS_OK;
}

enum status program_file_find(char path[PATH_MAX], const char *name)
{
    char program[PATH_MAX];
    int folder;

    TRY(program_path(program));
    folder = (int)(strrchr(program, '/') - program);
    for (int i = 0; i < FOLDERS; i++)
        if (snprintf(path, PATH_MAX, "%.*s/%s/%s", folder, program, folders[i], name) < PATH_MAX &&
            access(path, R_OK) == 0)
            return STATUS_OK;
    FAIL(STATUS_NO_LIBRARY,
         "%s is not in %.*s/scripts nor in %.*s/../share/chokepoint: build or install the "
         "program again",
         name, folder, program, folder, program);
}

/* --- The page of a command --- */

/* Options that the program does not get again: those of the page, and --verbose, which it inherits
 * (CHOKEPOINT_VERBOSE). */
static const char *const of_page[] = { "out", "beside", "format", "verbose" };

enum status web_page(const char *command, const struct flags *flags, const char *beside)
{
    enum status status = STATUS_OK;
    char program[PATH_MAX], script[PATH_MAX], **arguments = NULL;
    const char *python = getenv("CHOKEPOINT_PYTHON");
    int count = 0;

    if (flags->format != FORMAT_CONSOLE)
        FAIL(STATUS_BAD_USAGE, "--out=%s is a page, and has no --format", flags->out);
    TRY_OUT(program_path(program));
    TRY_OUT(program_file_find(script, "report.py"));
    TRY_OUT(rows_make(&arguments, flags->given_count + flags->argument_count + 8));
    TRY_OUT(text_make(&arguments[count++], "%s", python != NULL ? python : "python3"));
    TRY_OUT(text_make(&arguments[count++], "%s", script));
    TRY_OUT(text_make(&arguments[count++], "--program=%s", program));
    TRY_OUT(text_make(&arguments[count++], "--command=%s", command));
    TRY_OUT(text_make(&arguments[count++], "--out=%s", flags->out));
    if (beside != NULL)
        TRY_OUT(text_make(&arguments[count++], "--beside=%s", beside));
    TRY_OUT(text_make(&arguments[count++], "--"));
    for (int i = 0; i < flags->given_count; i++) {
        const char *name = flags->given[i].row->name, *value = flags->given[i].value;
        bool is_of_page = false;

        for (size_t j = 0; j < ARRAY_SIZE(of_page); j++)
            is_of_page = is_of_page || strcmp(name, of_page[j]) == 0;
        if (is_of_page)
            continue;
        TRY_OUT(value != NULL ? text_make(&arguments[count++], "--%s=%s", name, value)
                              : text_make(&arguments[count++], "--%s", name));
    }
    for (int i = 0; i < flags->argument_count; i++)
        TRY_OUT(text_make(&arguments[count++], "%s", flags->arguments[i]));
    execvp(arguments[0], arguments);
    FAIL_OUT(STATUS_NO_LIBRARY, "%s cannot be started: %s; scripts/setup.sh --report installs it",
             arguments[0], strerror(errno));

out:
    for (int i = 0; arguments != NULL && arguments[i] != NULL; i++) free(arguments[i]);
    free(arguments);
    return status;
}
