/* The program is started with this process' environment, in which its orders stand, and which
 * processes that it starts inherit: so every rank has the recorder in it. */
#include "harness/cli/traces/user_program.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Scripts are looked up beside the program. */
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

extern char **environ;

/* --- The command --- */

/* Options of Python that leave out the folders of PYTHONPATH, or sitecustomize.py. An option that
 * takes letters may hold several; "-c", "-m" and "-" end Python's own options. */
static const char *isolating(const char *const *words)
{
    const char *slash = strrchr(words[0], '/'), *name = slash != NULL ? slash + 1 : words[0];

    if (strncmp(name, "python", 6) != 0)
        return NULL;
    for (int i = 1; words[i] != NULL && words[i][0] == '-' && words[i][1] != '-'; i++) {
        const char *letters = words[i] + 1;
        if (letters[0] == 'c' || letters[0] == 'm' || letters[0] == '\0')
            return NULL;
        if (letters[strspn(letters, "bBdhiOPqsuvx")] != '\0' &&
            strchr("IES", letters[strspn(letters, "bBdhiOPqsuvx")]) != NULL)
            return words[i];
        if ((letters[0] == 'W' || letters[0] == 'X') && letters[1] == '\0')
            i += words[i + 1] != NULL;
    }
    return NULL;
}

enum status user_program_check(const char *const *words, const char *example)
{
    const char *isolated;

    if (words[0] == NULL)
        FAIL(STATUS_BAD_USAGE, "the program is missing: %s", example);
    isolated = isolating(words);
    if (isolated != NULL)
        FAIL(STATUS_BAD_USAGE,
             "%s %s keeps the recorder out, which comes in by PYTHONPATH and sitecustomize.py: "
             "leave the option out",
             words[0], isolated);
    return STATUS_OK;
}

/* --- The environment --- */

enum status user_variable(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0)
        FAIL(STATUS_OUT_OF_MEMORY, "out of memory for the environment");
    return STATUS_OK;
}

enum status user_program_enter(void)
{
    const char *before = getenv("PYTHONPATH");
    char file[PATH_MAX], *path = NULL;
    enum status status;

    TRY(program_file_find(file, "recorder/sitecustomize.py"));
    *strrchr(file, '/') = '\0';
    /* The recorder comes first, so that its sitecustomize.py is the one that Python runs. */
    if (before == NULL || before[0] == '\0')
        return user_variable("PYTHONPATH", file);
    TRY(text_make(&path, "%s:%s", file, before));
    status = user_variable("PYTHONPATH", path);
    free(path);
    return status;
}

/* --- The child --- */

/* The program under way, for the handler; 0: none. */
static volatile sig_atomic_t child, caught;

/* A terminal sends its signals to the child as well; those that somebody sends to this process
 * alone go on to it. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
    (void)context;
    caught = signal;
    if (child > 0 && info->si_code <= 0)
        kill((pid_t)child, signal);
}

static void catch_signals(void)
{
    static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
    struct sigaction action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };

    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        struct sigaction before;
        sigaction(signals[i], NULL, &before);
        /* A signal that is ignored, as under nohup, stays ignored. */
        if (before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

int user_program_signal(void)
{
    return (int)caught;
}

/* The words may be those of another command of this program, whose file has another name. Signals
 * that this process has changed are as they were. */
static enum status start(pid_t *pid, const char *file, const char *const *words, int output,
                         int errors)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t changed;
    int error;

    sigemptyset(&changed);
    sigaddset(&changed, SIGXFSZ);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &changed);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (errors >= 0)
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    error = posix_spawnp(pid, file, &actions, &attributes, (char *const *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (error != 0)
        FAIL(STATUS_BAD_USAGE, "%s cannot be started: %s", file, strerror(error));
    child = (sig_atomic_t)*pid;
    catch_signals();
    return STATUS_OK;
}

enum status user_program_start(pid_t *pid, const char *const *words, int output, int errors)
{
    return start(pid, words[0], words, output, errors);
}

enum status user_program_wait(pid_t pid, int *wait_status, double seconds, bool *ended)
{
    const struct timespec moment = { .tv_nsec = 50000000 };
    pid_t result;

    for (double waited = 0;; waited += 0.05) {
        result = waitpid(pid, wait_status, seconds > 0 ? WNOHANG : 0);
        if (result < 0 && errno != EINTR)
            FAIL(STATUS_IO, "the program cannot be waited for: %s", strerror(errno));
        if (result > 0 || (result == 0 && waited >= seconds))
            break;
        if (seconds > 0)
            nanosleep(&moment, NULL);
    }
    if (result > 0)
        child = 0;
    if (ended != NULL)
        *ended = result > 0;
    return STATUS_OK;
}

int user_program_exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

enum status run_own_command(const char *const *words, int output, int errors, int *wait_status)
{
    enum status status = STATUS_OK;
    char program[PATH_MAX];
    const char **named = NULL;
    int count = 0;
    pid_t pid;

    while (words[count] != NULL) count++;
    TRY_OUT(program_path(program));
    TRY_OUT(rows_make(&named, count + 2));
    named[0] = program_invocation_name; /* in the commands that it prints */
    for (int i = 0; i < count; i++) named[i + 1] = words[i];
    fflush(stdout);
    TRY_OUT(start(&pid, program, named, output, errors));
    TRY_OUT(user_program_wait(pid, wait_status, 0, NULL));

out:
    free(named);
    return status;
}
