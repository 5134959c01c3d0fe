/* A child leads a process group of its own, so that all it started ends with it. It writes to two
 * pipes: records, which are cut into lines, and what it prints, of which the end is kept as its
 * last words. Both are read without waiting, at most as much at once as a pipe holds, so that
 * nothing a child does keeps this process from its time limit or from an interrupt.
 *
 * A launcher of ranks gets folders for what its ranks share, which are removed after it, and is
 * asked to end before it is killed, because its ranks are not in its group. */
#include "harness/lab/experiment/parent/process.h"

#include "harness/base/clock.h"
#include "harness/base/rows.h"
#include "harness/base/system/scratch_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SLICE_MS = 100,        /* how long a stop request may go unseen */
    SILENT_SLICE_MS = 2,   /* a child that closed its descriptors is about to end */
    LINE_MOST = 64 << 20,  /* bytes */
    READ_BYTES = 64 << 10, /* a pipe's usual capacity; it may be up to 1 MiB */
    READS_MOST = 17,
    NOT_STARTED = 127, /* the shell's exit code for it */
    SOFT_SECONDS = 5,  /* Open MPI gives its ranks 1 s */
    KEPT_FD = PROCESS_RECORD_FD + 1,
};

static const char FOLDER_NAME[] = "chokepoint-ranks", SHARED_MEMORY[] = "/dev/shm";

/* The bytes of a pipe, cut into lines. */
struct lines {
    char *bytes;
    size_t length;
    int64_t room;
    bool too_long; /* dropping until the next newline */
};

/* The last bytes of a stream. */
struct tail {
    char bytes[2048];
    size_t length;
    bool cut;
};

struct running {
    const struct process *child;
    pid_t pid;
    int records, output; /* our ends, non-blocking; -1 once they are at their end */
    struct lines lines;
    struct tail tail;
    /* The folders of a child that starts others; "": none. */
    struct scratch_folder folder; /* its TMPDIR */
    struct scratch_folder shared; /* in memory */
};

/* --- Records from the child --- */

/* Takes `count` bytes without a newline. */
static enum status lines_append(struct lines *lines, const char *bytes, size_t count)
{
    if (lines->too_long || lines->length + count > LINE_MOST) {
        lines->too_long = true;
        lines->length = 0;
        return STATUS_OK;
    }
    TRY(rows_grow(&lines->bytes, lines->length + count + 1, &lines->room));
    memcpy(lines->bytes + lines->length, bytes, count);
    lines->length += count;

    return STATUS_OK;
}

static enum status lines_take(struct lines *lines, const char *bytes, size_t count,
                              const struct process *child)
{
    while (count > 0) {
        const char *newline = memchr(bytes, '\n', count);
        size_t piece = newline != NULL ? (size_t)(newline - bytes) : count;
        TRY(lines_append(lines, bytes, piece));
        if (newline == NULL)
            break;
        if (!lines->too_long) {
            TRY(rows_grow(&lines->bytes, lines->length + 1, &lines->room));
            lines->bytes[lines->length] = '\0';
            child->line(child->context, lines->bytes);
        }
        lines->length = 0;
        lines->too_long = false;
        bytes += piece + 1;
        count -= piece + 1;
    }

    return STATUS_OK;
}

static void tail_take(struct tail *tail, const char *bytes, size_t count)
{
    size_t room = sizeof tail->bytes, keep;

    if (tail->length + count > room)
        tail->cut = true;
    if (count > room) {
        bytes += count - room;
        count = room;
    }
    keep = tail->length < room - count ? tail->length : room - count;
    memmove(tail->bytes, tail->bytes + tail->length - keep, keep);
    memcpy(tail->bytes + keep, bytes, count);
    tail->length = keep + count;
}

/* Room for [from, end) when its newlines are written as " | ". */
static size_t printed_length(const char *from, const char *end)
{
    size_t length = (size_t)(end - from);

    for (; from < end; from++) length += *from == '\n' ? 2 : 0;
    return length;
}

/* The first line in which a rank says itself what failed; launchers add much about it. False: there
 * is none. */
static bool find_sentence(const char **from, const char **end)
{
    static const char beginning[] = "chokepoint: rank ";
    const char *found = memmem(*from, (size_t)(*end - *from), beginning, sizeof beginning - 1);

    if (found == NULL)
        return false;
    *from = found;
    found = memchr(found, '\n', (size_t)(*end - found));
    if (found != NULL)
        *end = found;
    return true;
}

/* The tail on one line: its last whole lines, as many as fit, or the end of the last. */
static void tail_print(const struct tail *tail, char *text, size_t size)
{
    const char *from = tail->bytes, *end = tail->bytes + tail->length;
    bool cut = !find_sentence(&from, &end) && tail->cut;

    while (end > from && (unsigned char)end[-1] <= ' ') end--;
    while (cut || printed_length(from, end) >= size) {
        const char *newline = memchr(from, '\n', (size_t)(end - from));
        from = newline != NULL ? newline + 1 : end - from >= (long)size ? end - size + 1 : from;
        cut = false;
    }
    for (; from < end; from++) {
        if (*from == '\n')
            text = stpcpy(text, " | ");
        else
            *text++ = (unsigned char)*from < ' ' ? ' ' : *from;
    }
    *text = '\0';
}

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

/* Reads what is there, but no more than a pipe can hold: a child that never stops writing must not
 * keep us from checking the clock. At the end of the stream the descriptor is closed and becomes
 * -1. */
static enum status drain(struct running *running, int *descriptor)
{
    char bytes[READ_BYTES];
    ssize_t count;

    for (int i = 0; i < READS_MOST && *descriptor >= 0; i++) {
        count = read(*descriptor, bytes, sizeof bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            break;
        if (count <= 0)
            close_one(descriptor);
        else if (descriptor == &running->records)
            TRY(lines_take(&running->lines, bytes, (size_t)count, running->child));
        else
            tail_take(&running->tail, bytes, (size_t)count);
    }

    return STATUS_OK;
}

/* --- Starting and ending it --- */

/* Runs in the child after fork, so it makes only calls that are safe there. The record descriptor
 * is moved last, because its number may be that of one of the others. */
static _Noreturn void become(const struct process *child, char *const *arguments,
                             char *const *variables, int records, int output, pid_t parent)
{
    sigset_t none;
    int nothing = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* It died before prctl(). */
        _exit(NOT_STARTED);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    if (records == PROCESS_RECORD_FD)
        fcntl(records, F_SETFD, 0);
    else
        dup2(records, PROCESS_RECORD_FD);
    if (child->kept > 0)
        dup2(child->kept, KEPT_FD);
    close_range(PROCESS_RECORD_FD + 1 + (child->kept > 0), ~0u, 0);
    execve(child->program, arguments, variables);
    _exit(NOT_STARTED);
}

/* Ours, with other variables in place of those of their names. */
struct environment {
    char **list; /* NULL: memory is out */
    char set[3][PATH_MAX + 64];
};

/* A child that starts others keeps what they share in memory, and its other files, in folders that
 * are removed: Open MPI leaves both behind if it is killed. */
static void environment_make(struct environment *to, const struct running *running)
{
    const char *const names[] = { "TMPDIR", "OMPI_MCA_btl_vader_backing_directory",
                                  "OMPI_MCA_btl_sm_backing_directory" };
    size_t count = 0, kept = 0;
    int sets = 0;

    for (int i = 0; i < 3; i++) {
        const char *path = i == 0 ? running->folder.path : running->shared.path;
        if (path[0] != '\0')
            snprintf(to->set[sets++], sizeof to->set[0], "%s=%s", names[i], path);
    }
    while (environ[count] != NULL) count++;
    to->list = calloc(count + 4, sizeof *to->list);
    for (size_t i = 0; i < count && to->list != NULL; i++) {
        bool replaced = false;
        for (int j = 0; j < sets; j++) {
            size_t name = strcspn(to->set[j], "=") + 1;
            replaced = replaced || strncmp(environ[i], to->set[j], name) == 0;
        }
        if (!replaced)
            to->list[kept++] = environ[i];
    }
    for (int j = 0; j < sets && to->list != NULL; j++) to->list[kept++] = to->set[j];
}

/* The argument vector with our own name in front, to be freed; NULL when memory is out. A child is
 * most often this very program: ps shall show it as such, and what it prints shall name it so. */
static char **vector(const struct process *child)
{
    size_t count = 0;
    char **arguments;

    while (child->arguments[count] != NULL) count++;
    arguments = calloc(count + 2, sizeof *arguments);
    if (arguments == NULL)
        return NULL;
    /* exec does not write to them; its type is older than const. */
    arguments[0] = program_invocation_name;
    memcpy(&arguments[1], child->arguments, count * sizeof arguments[0]);
    return arguments;
}

/* A pipe above the standard descriptors and the child's record descriptor, so that none of its ends
 * is overwritten while the child rearranges them. */
static enum status open_pipe(int ends[2])
{
    enum status status = STATUS_OK;
    int low[2] = { -1, -1 };

    if (pipe2(low, O_CLOEXEC) != 0)
        FAIL_OUT(STATUS_IO, "cannot open a pipe to a child: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, PROCESS_RECORD_FD + 1);
        if (ends[i] < 0)
            FAIL_OUT(STATUS_IO, "cannot open a pipe to a child: %s", strerror(errno));
    }
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        FAIL_OUT(STATUS_IO, "cannot read a child's pipe without waiting: %s", strerror(errno));

out:
    for (int i = 0; i < 2; i++)
        if (low[i] >= 0)
            close(low[i]);
    return status;
}

static enum status start_child(struct running *running)
{
    enum status status = STATUS_OK;
    const char *program = running->child->program;
    int records[2] = { -1, -1 }, output[2] = { -1, -1 };
    pid_t self = getpid();
    char **arguments = vector(running->child);
    struct environment variables;

    environment_make(&variables, running);
    if (arguments == NULL || variables.list == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for the arguments of %s", program);
    if (access(program, X_OK) != 0)
        FAIL_OUT(STATUS_IO, "cannot start %s: %s", program, strerror(errno));
    TRY_OUT(open_pipe(records));
    TRY_OUT(open_pipe(output));
    running->pid = fork();
    if (running->pid == 0)
        become(running->child, arguments, variables.list, records[1], output[1], self);
    if (running->pid < 0)
        FAIL_OUT(STATUS_IO, "cannot start %s: %s", program, strerror(errno));
    setpgid(running->pid,
            running->pid); /* The child does the same; the second call fails, which is fine. */
    running->records = records[0];
    running->output = output[0];
    records[0] = output[0] = -1;

out:
    for (int i = 0; i < 2; i++) {
        close_one(&records[i]);
        close_one(&output[i]);
    }
    free(arguments);
    free(variables.list);
    return status;
}

/* Whether the child has ended. It stays a zombie, so that its number and that of its group are not
 * reused before finish(). */
static bool has_ended(const struct running *running)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)running->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == running->pid;
}

/* Ends the whole group and collects the child. */
static int finish(struct running *running)
{
    int how = 0;

    if (running->child->softly && !has_ended(running)) {
        /* Lets the child end what it has started, elsewhere than in its group. */
        int64_t start_ns = clock_ns();

        kill(running->pid, SIGTERM);
        while (!has_ended(running) && (double)(clock_ns() - start_ns) * 1e-9 < SOFT_SECONDS)
            poll(NULL, 0, SILENT_SLICE_MS);
    }
    kill(-running->pid, SIGKILL);
    kill(running->pid, SIGKILL); /* It has no group of its own before its setpgid(). */
    while (waitpid(running->pid, &how, 0) < 0 && errno == EINTR) continue;
    return how;
}

/* Handles what comes until the child ends, by itself or because its time is up. */
static enum status attend(struct running *running, struct process_report *report)
{
    const struct process *child = running->child;
    int64_t start_ns = clock_ns();

    report->end = PROCESS_EXITED;
    while (!has_ended(running)) {
        struct pollfd polled[2] = { { running->records, POLLIN, 0 },
                                    { running->output, POLLIN, 0 } };
        bool silent = running->records < 0 && running->output < 0;
        if (child->stop != NULL && *child->stop != 0) {
            report->end = PROCESS_INTERRUPTED;
            break;
        }
        if (child->timeout_seconds > 0 &&
            (double)(clock_ns() - start_ns) * 1e-9 > child->timeout_seconds) {
            report->end = PROCESS_TIMED_OUT;
            break;
        }
        poll(polled, 2, silent ? SILENT_SLICE_MS : SLICE_MS);
        TRY(drain(running, &running->records));
        TRY(drain(running, &running->output));
    }

    return STATUS_OK;
}

enum status process_run(const struct process *child, struct process_report *report)
{
    struct running running = { .child = child, .records = -1, .output = -1 };
    enum status status = STATUS_OK;
    int how;

    memset(report, 0, sizeof *report);
    if (child->softly)
        TRY_OUT(scratch_folder_make(&running.folder, FOLDER_NAME));
    if (child->softly && access(SHARED_MEMORY, W_OK) == 0)
        TRY_OUT(scratch_folder_make_in(&running.shared, SHARED_MEMORY, FOLDER_NAME));
    TRY_OUT(start_child(&running));
    status = attend(&running, report);
    how = finish(&running);
    TRY_OUT(status);
    /* The pipes may hold what it wrote last. */
    TRY_OUT(drain(&running, &running.records));
    TRY_OUT(drain(&running, &running.output));
    if (report->end == PROCESS_EXITED && WIFSIGNALED(how)) {
        report->end = PROCESS_SIGNALLED;
        report->code = WTERMSIG(how);
    } else if (report->end == PROCESS_EXITED) {
        report->code = WEXITSTATUS(how);
    }
    tail_print(&running.tail, report->last_words, sizeof report->last_words);

out:
    close_one(&running.records);
    close_one(&running.output);
    free(running.lines.bytes);
    scratch_folder_remove(&running.folder);
    scratch_folder_remove(&running.shared);
    return status;
}

void process_describe(const struct process_report *report, char *text, size_t size)
{
    switch (report->end) {
    case PROCESS_EXITED:
        if (report->code == NOT_STARTED)
            snprintf(text, size, "could not be started");
        else
            snprintf(text, size, "ended with exit code %d", report->code);
        break;
    case PROCESS_SIGNALLED:
        snprintf(text, size, "ended by signal %d (%s)", report->code, strsignal(report->code));
        break;
    case PROCESS_TIMED_OUT:
        snprintf(text, size, "took too long and was ended");
        break;
    case PROCESS_INTERRUPTED:
        snprintf(text, size, "was interrupted");
        break;
    }
}
