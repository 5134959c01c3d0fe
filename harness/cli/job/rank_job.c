/* Turns a command into a job of several ranks: it finds MPI's launcher and becomes it, with this
 * very command line as what the ranks run. The launcher takes the place of this process, so that
 * signals and the exit code go through it as through one command.
 *
 * In the ranks, which the launcher has started, the same call joins the job; only the first one
 * goes on writing. */
#include "harness/cli/job/job_flags.h"

#include "harness/base/rows.h"
#include "harness/device/many_ranks.h"
#include "harness/lab/experiment/parent/launcher.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { COMMAND_BYTES = 64 << 10, WORDS = 512 };

/* The arguments of this process, each ended by a zero byte, from argv[1] on. */
static enum status read_arguments(char *bytes, const char **words, int *count, int most)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t length;

    if (file == NULL)
        FAIL(STATUS_IO, "cannot read /proc/self/cmdline: %s", strerror(errno));
    length = fread(bytes, 1, COMMAND_BYTES, file);
    fclose(file);
    if (length == COMMAND_BYTES)
        FAIL(STATUS_BAD_USAGE, "the command line is too long to be started again as ranks");
    for (size_t at = strlen(bytes) + 1; at < length; at += strlen(bytes + at) + 1) {
        if (*count + 2 > most)
            FAIL(STATUS_BAD_USAGE, "too many arguments to be started again as ranks");
        words[(*count)++] = bytes + at;
    }

    return STATUS_OK;
}

/* The first rank writes records to its standard output. The descriptor becomes the launcher's
 * standard output (below), so ranks are started without the option. */
static int without_descriptor(const char **words, int count)
{
    static const char option[] = "--record-fd";
    int kept = 0;

    for (int i = 0; i < count; i++) {
        if (strncmp(words[i], option, sizeof option - 1) != 0)
            words[kept++] = words[i];
        else if (words[i][sizeof option - 1] != '=')
            i++;
    }
    return kept;
}

/* Returns only if it fails. */
static enum status become_launcher(int ranks, int output)
{
    enum status status = STATUS_OK;
    struct launcher *launcher = NULL;
    char *bytes = NULL, program[PATH_MAX] = "";
    const char **words = NULL;
    int count = 0;

    TRY_OUT(rows_make(&launcher, 1));
    TRY_OUT(rows_make(&bytes, COMMAND_BYTES + 1));
    TRY_OUT(rows_make(&words, WORDS));
    TRY_OUT(launcher_find(launcher, ranks));
    while (launcher->words[count] != NULL) {
        words[count] = launcher->words[count];
        count++;
    }
    if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0)
        FAIL_OUT(STATUS_IO, "cannot read /proc/self/exe: %s", strerror(errno));
    words[count++] = program;
    TRY_OUT(read_arguments(bytes, words, &count, WORDS));
    words[without_descriptor(words, count)] = NULL;
    /* Open MPI gives its ranks a terminal in any case. */
    if (!isatty(output))
        setenv("NO_COLOR", "1", 0);
    if (output != STDOUT_FILENO)
        dup2(output, STDOUT_FILENO);
    /* It ends its ranks and removes its files when it is asked to; nobody could after SIGKILL. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    fflush(stdout);
    execv(launcher->path, (char **)words); /* exec's type is older than const */
    FAIL_OUT(STATUS_IO, "cannot start %s: %s", launcher->path, strerror(errno));

out:
    free(launcher);
    free(bytes);
    free(words);
    return status;
}

enum status rank_job_enter(int ranks, int output)
{
    if (ranks == 1)
        return STATUS_OK;
    if (!ranks_are_started())
        TRY(become_launcher(ranks, output));
    TRY(ranks_join(ranks));
    if (ranks_rank() > 0 && freopen("/dev/null", "w", stdout) == NULL)
        FAIL(STATUS_IO, "cannot open /dev/null: %s", strerror(errno));

    return STATUS_OK;
}
