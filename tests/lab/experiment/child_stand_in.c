/* A child that behaves as told: for the tests of what can go wrong with one. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 3 };

static void crash(void)
{
    dprintf(RECORDS, "whole\nhalf a li");
    fprintf(stderr, "something is wrong\n");
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
}

/* As one of several ranks, whose launcher then says much. */
static void fail_as_a_rank(int lines)
{
    fprintf(stderr, "chokepoint: rank 1: the copy failed\n");
    for (int i = 0; i < lines; i++)
        fprintf(stderr, "the launcher ends all processes, line %d\n", i);
    exit(1);
}

/* Its own child keeps the pipes open and would live on. */
static void leave_one_behind(void)
{
    pid_t pid = fork();

    if (pid == 0)
        for (;;) pause();
    dprintf(RECORDS, "%d\n", (int)pid);
}

static void hang(void)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    dprintf(RECORDS, "%d\n", (int)getpid());
    for (;;) pause();
}

static void close_and_hang(void)
{
    close(RECORDS);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    for (;;) pause();
}

static void flood(void)
{
    for (;;) {
        static const char bytes[4096];
        if (write(RECORDS, bytes, sizeof bytes) < 0 ||
            write(STDERR_FILENO, bytes, sizeof bytes) < 0)
            exit(1);
    }
}

static void talk(int lines)
{
    for (int i = 0; i < lines; i++) {
        dprintf(RECORDS, "line %d of many\n", i);
        fprintf(stderr, "progress %d of many\n", i);
    }
}

static void long_line(size_t bytes)
{
    char *line = malloc(bytes + 1);

    if (line == NULL)
        exit(9);
    memset(line, 'x', bytes);
    line[bytes] = '\n';
    for (size_t at = 0; at < bytes + 1;) {
        ssize_t count = write(RECORDS, line + at, bytes + 1 - at);
        if (count < 0)
            exit(9);
        at += (size_t)count;
    }
    free(line);
}

/* Says what it inherits: standard input's end, and which descriptors are open. */
static void look_around(void)
{
    char byte;

    dprintf(RECORDS, "stdin %d\n", (int)read(STDIN_FILENO, &byte, 1));
    for (int i = RECORDS + 1; i < 256; i++)
        if (dup2(i, i) == i)
            dprintf(RECORDS, "open %d\n", i);
    dprintf(RECORDS, "group %d\n", getpgrp() == getpid());
}

static void play(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t count;

    if (file == NULL)
        exit(9);
    while ((count = getline(&line, &room, file)) > 0) {
        if (getenv("STAND_IN_PAUSES") != NULL)
            usleep(400000);
        if (write(RECORDS, line, (size_t)count) != count)
            exit(9);
    }
    free(line);
    fclose(file);
}

static int is_told_to_trace(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--trace") == 0)
            return 1;
    return 0;
}

/* As `chokepoint exec NAME ...` is called: the name says what to do. With --trace it is another
 * child, which plays another file. */
int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    int traces = is_told_to_trace(argc, argv);
    const char *play_file = getenv(traces ? "STAND_IN_TRACE_RECORDS" : "STAND_IN_RECORDS");

    if (play_file != NULL)
        play(play_file);
    if (traces && getenv("STAND_IN_TRACE_CRASHES") != NULL)
        crash();
    else if (strcmp(what, "crash") == 0 || getenv("STAND_IN_CRASHES") != NULL)
        crash();
    else if (strcmp(what, "exit") == 0)
        exit(7);
    else if (strcmp(what, "rank") == 0)
        fail_as_a_rank(0);
    else if (strcmp(what, "rank_and_launcher") == 0)
        fail_as_a_rank(30);
    else if (strcmp(what, "hang") == 0 || getenv("STAND_IN_HANGS") != NULL)
        hang();
    else if (strcmp(what, "close_and_hang") == 0)
        close_and_hang();
    else if (strcmp(what, "leave_one_behind") == 0)
        leave_one_behind();
    else if (strcmp(what, "flood") == 0)
        flood();
    else if (strcmp(what, "talk") == 0)
        talk(20000);
    else if (strcmp(what, "long_lines") == 0) {
        long_line(3 << 20);
        long_line((64 << 20) + 1);
        long_line(5);
    } else if (strcmp(what, "look_around") == 0)
        look_around();
    else if (strcmp(what, "name") == 0)
        dprintf(RECORDS, "%s\n", argv[0]);
    else if (strcmp(what, "print") == 0)
        for (int i = 1; i < argc; i++) dprintf(RECORDS, "%s\n", argv[i]);
    return 0;
}
