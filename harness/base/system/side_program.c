/* A child in a process group of its own, so that what it starts ends with it. Its output is read as
 * it comes, or a full pipe would hold it up; each iteration of the wait looks at time, end and
 * output. */
#include "harness/base/system/side_program.h"

#include "harness/base/clock.h"
#include "harness/base/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 4096, LOOK_MS = 50 };

/* Between the request to end and the kill, and between the kill and giving up. */
static const int64_t PATIENCE_NS = 2000000000;

bool find_program(char path[PATH_MAX], const char *name)
{
    const char *folder = getenv("PATH");

    while (folder != NULL && *folder != '\0') {
        size_t length = strcspn(folder, ":");
        int printed = snprintf(path, PATH_MAX, "%.*s/%s", (int)length, folder, name);
        if (printed > 0 && printed < PATH_MAX && access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

/* In the child: never returns. */
static void become(const char *path, const char *const arguments[],
                   const struct side_program_options *options, int output, int errors, pid_t parent)
{
    int nothing = open("/dev/null", O_RDONLY), score;

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    if (options->cores != NULL)
        sched_setaffinity(0, sizeof *options->cores, options->cores);
    if (options->memory_bytes > 0)
        setrlimit(RLIMIT_DATA,
                  &(struct rlimit){ (rlim_t)options->memory_bytes, (rlim_t)options->memory_bytes });
    score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score < 0 || write(score, "1000", 4) != 4) { /* then the kernel chooses as usual */
    }
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    execv(path, (char *const *)arguments);
    _exit(127);
}

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

enum status side_program_start(struct side_program *program, const char *path,
                               const char *const arguments[],
                               const struct side_program_options *options)
{
    enum status status = STATUS_OK;
    int output[2] = { -1, -1 }, errors[2] = { -1, -1 };
    pid_t self = getpid();

    *program = (struct side_program){ .output = -1, .errors = -1 };
    TRY_OUT(rows_grow(&program->text, PIECE, &program->room));
    program->text[0] = '\0';
    if (pipe2(output, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0)
        FAIL_OUT(STATUS_IO, "cannot make a pipe: %s", strerror(errno));
    program->pid = fork();
    if (program->pid == 0)
        become(path, arguments, options, output[1], errors[1], self);
    if (program->pid < 0) {
        program->pid = 0;
        FAIL_OUT(STATUS_IO, "cannot start %.300s: %s", path, strerror(errno));
    }
    setpgid(program->pid, program->pid); /* as the child does */
    program->end_ns = clock_ns() + (int64_t)(options->seconds * 1e9);
    program->output = output[0];
    program->errors = errors[0];
    output[0] = errors[0] = -1;

out:
    for (int i = 0; i < 2; i++) {
        close_one(&output[i]);
        close_one(&errors[i]);
    }
    return status;
}

/* Takes what is there; closes the descriptor at its end. */
static void take_output(struct side_program *program)
{
    ssize_t got;

    if (rows_grow(&program->text, program->length + PIECE + 1, &program->room) != STATUS_OK) {
        close_one(&program->output);
        return;
    }
    got = read(program->output, program->text + program->length, PIECE);
    if (got > 0)
        program->length += got;
    else if (got == 0 || errno != EINTR)
        close_one(&program->output);
    program->text[program->length] = '\0';
}

/* Keeps the end of what was written there: the last lines say why a program ended. */
static void take_errors(struct side_program *program)
{
    char piece[sizeof program->said];
    ssize_t got = read(program->errors, piece, sizeof piece - 1);
    size_t length = strlen(program->said), kept;

    if (got == 0 || (got < 0 && errno != EINTR))
        close_one(&program->errors);
    if (got <= 0)
        return;
    kept = length + (size_t)got < sizeof program->said ? length
                                                       : sizeof program->said - 1 - (size_t)got;
    memmove(program->said, program->said + length - kept, kept);
    memcpy(program->said + kept, piece, (size_t)got);
    program->said[kept + (size_t)got] = '\0';
}

static bool is_over(const struct side_program *program)
{
    return program->pid == 0 || program->abandoned;
}

/* Ends what its time is up for, step by step. */
static void enforce_time(struct side_program *program, int64_t now_ns)
{
    if (is_over(program) || now_ns < program->end_ns)
        return;
    if (!program->timed_out) {
        program->timed_out = true;
        kill(-program->pid, SIGTERM);
    } else if (now_ns > program->end_ns + 2 * PATIENCE_NS) {
        program->abandoned = true;
    } else if (now_ns > program->end_ns + PATIENCE_NS) {
        kill(-program->pid, SIGKILL);
    }
}

/* The pipes are read to their ends only now, when nobody can write to them any more. */
static void collect_ended(struct side_program *program)
{
    int wait_status;
    pid_t ended;

    if (is_over(program))
        return;
    ended = waitpid(program->pid, &wait_status, WNOHANG);
    if (ended != program->pid && !(ended < 0 && errno == ECHILD))
        return;
    kill(-program->pid, SIGKILL); /* what it may have started */
    program->wait_status = ended == program->pid ? wait_status : SIGKILL;
    program->pid = 0;
    while (program->output >= 0) take_output(program);
    while (program->errors >= 0) take_errors(program);
}

/* Waits a moment for output of any. */
static void listen_to_all(struct side_program *programs, int count)
{
    struct pollfd list[64];
    int listed = 0;

    for (int i = 0; i < count && listed + 2 <= (int)ARRAY_SIZE(list); i++) {
        if (is_over(&programs[i]))
            continue;
        list[listed++] = (struct pollfd){ .fd = programs[i].output, .events = POLLIN };
        list[listed++] = (struct pollfd){ .fd = programs[i].errors, .events = POLLIN };
    }
    poll(list, (nfds_t)listed, LOOK_MS);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < listed; j++) {
            if (list[j].revents == 0 || list[j].fd < 0)
                continue;
            if (list[j].fd == programs[i].output)
                take_output(&programs[i]);
            else if (list[j].fd == programs[i].errors)
                take_errors(&programs[i]);
        }
}

void side_programs_wait(struct side_program *programs, int count, const volatile sig_atomic_t *stop)
{
    bool over = false;

    while (!over) {
        int64_t now_ns = clock_ns();
        over = true;
        for (int i = 0; i < count; i++) {
            if (stop != NULL && *stop != 0 && programs[i].end_ns > now_ns)
                programs[i].end_ns = now_ns;
            enforce_time(&programs[i], now_ns);
            collect_ended(&programs[i]);
            over = over && is_over(&programs[i]);
        }
        if (!over)
            listen_to_all(programs, count);
    }
}

bool side_program_exited(const struct side_program *program, int code)
{
    return !program->timed_out && !program->abandoned && program->pid == 0 &&
           WIFEXITED(program->wait_status) && WEXITSTATUS(program->wait_status) == code;
}

void side_program_ending(char *text, size_t size, const struct side_program *program)
{
    if (program->abandoned)
        snprintf(text, size, "it hangs, and cannot be ended");
    else if (program->timed_out)
        snprintf(text, size, "it hangs: it was ended after its time");
    else if (WIFSIGNALED(program->wait_status))
        snprintf(text, size, "it was ended by signal %d (%s)%s", WTERMSIG(program->wait_status),
                 strsignal(WTERMSIG(program->wait_status)),
                 WTERMSIG(program->wait_status) == SIGKILL
                     ? ", as the kernel does if memory is short"
                     : "");
    else
        snprintf(text, size, "it ended with exit code %d", WEXITSTATUS(program->wait_status));
}

void side_program_release(struct side_program *program)
{
    if (program->text == NULL)
        return;
    close_one(&program->output);
    close_one(&program->errors);
    free(program->text);
    *program = (struct side_program){ .output = -1, .errors = -1 };
}
