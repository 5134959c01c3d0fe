/* A temporary folder below the working one, for the trace files that a test program writes. */
#ifndef TESTS_TRACE_FOLDER_H
#define TESTS_TRACE_FOLDER_H

/* A cmocka group's setup and teardown, which removes the folder with all its files. */
int trace_folder_open(void **state);
int trace_folder_remove(void **state);

const char *trace_folder_path(const char *name); /* static, until the next call */
int trace_folder_files(void);                    /* how many there are */

#endif
