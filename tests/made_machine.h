/* A folder that stands for the root of a machine that is made up: it holds what Linux would tell in /proc
 * and /sys, and nothing at first. A process has one at a time. */
#ifndef TESTS_MADE_MACHINE_H
#define TESTS_MADE_MACHINE_H

/* A cmocka setup, and a teardown that removes the folder with all that is in it. */
int made_machine_open(void **state);
int made_machine_close(void **state);

const char *made_machine_root(void);

/* Writes a file, "" an empty one, with the folders that it lies in. `path` is relative to the root. */
void made_machine_put(const char *path, const char *text);

#define ON_A_MADE_MACHINE(test)                                                                    \
    cmocka_unit_test_setup_teardown(test, made_machine_open, made_machine_close)

#endif
