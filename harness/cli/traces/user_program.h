/* The user's Python program, run as it is with scripts/recorder in it, which gets in by PYTHONPATH
 * and sitecustomize.py. Signals that somebody sends to this process alone go on to it. */
#pragma once

#include "harness/base/status.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* The words of a command line, up to NULL. BAD_USAGE: there are none, or an option of Python keeps
 * the recorder out. */
enum status user_program_check(const char *const *words, const char *example);

/* The variables by which the recorder gets into every Python that starts from here. */
enum status user_program_enter(void);

enum status user_variable(const char *name, const char *value);

/* Starts the words as a shell would. Its output goes to the descriptor `output`, and its errors
 * to `errors`; -1: where this process prints. BAD_USAGE: it cannot be started. */
enum status user_program_start(pid_t *pid, const char *const *words, int output, int errors);

/* Waits for its end, or so many seconds, if these are above 0. *ended tells which; it may be NULL
 * where there is no limit. */
enum status user_program_wait(pid_t pid, int *wait_status, double seconds, bool *ended);

/* Its exit code; 128 + n if signal n ended it. */
int user_program_exit_code(int wait_status);

/* The signal that came last to this process while a program ran; 0: none. */
int user_program_signal(void);

/* Runs another command of this program in a process of its own, until it has ended. */
enum status run_own_command(const char *const *words, int output, int errors, int *wait_status);

/* Files that come with the program: its Python scripts. */

/* The path of this program. IO. */
enum status program_path(char path[PATH_MAX]);

/* The path of "recorder/sitecustomize.py" or the like, where the program was built, or where it is
 * installed. IO; NO_LIBRARY: it is in neither. */
enum status program_file_find(char path[PATH_MAX], const char *name);
