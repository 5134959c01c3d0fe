/* Programs that run beside this one, and what they print: each with a limit on its time, so that
 * one that hangs costs its own result only. */
#pragma once

#include "harness/base/status.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The first program of that name in the folders of PATH. */
bool find_program(char path[PATH_MAX], const char *name);

struct side_program_options {
    double seconds;         /* most time that it may take */
    const cpu_set_t *cores; /* that it may run on; NULL: as this process */
    /* most private memory that it may take (RLIMIT_DATA); 0: as this process */
    int64_t memory_bytes;
};

struct side_program {
    pid_t pid; /* 0: not started, or collected */
    int output, errors;
    char *text;     /* what it printed; ends with '\0', never NULL once it was started */
    char said[512]; /* the end of its standard error */
    int64_t length, room;
    int64_t end_ns; /* when its time is up */
    bool timed_out;
    bool abandoned;  /* it could not even be killed: a driver keeps it */
    int wait_status; /* as of waitpid(); of no meaning if it was abandoned */
};

/* Starts `path` with `arguments`, which end with NULL, and the first of which is the program's
 * name. No shell is involved. It ends with this process, and is the first one that the kernel ends
 * if memory is short. IO. */
enum status side_program_start(struct side_program *program, const char *path,
                               const char *const arguments[],
                               const struct side_program_options *options);

/* Waits until all have ended, been killed because their time is up, or been abandoned two seconds
 * after that. `stop`: NULL, or a flag that ends all at once, if it is not 0. */
void side_programs_wait(struct side_program *programs, int count,
                        const volatile sig_atomic_t *stop);

/* Whether it ended by itself with this exit code. */
bool side_program_exited(const struct side_program *program, int code);

/* "it was ended by signal 9 (Killed)", "it took longer than 60 s". */
void side_program_ending(char *text, size_t size, const struct side_program *program);

/* All zeros are allowed. */
void side_program_release(struct side_program *program);
