/* The files of `doctor` that arguments name. */
#ifndef HARNESS_CLI_DOCTOR_FILES_H
#define HARNESS_CLI_DOCTOR_FILES_H

#include "harness/fleet/fleet_output.h"

struct doctor_files {
    char **paths; /* [count] */
    int count;
    struct fleet_skipped *skipped; /* [skipped_count] those that could not be read */
    int skipped_count;
};

/* A folder stands for its files that end in .json, and for the files doctor*.json in its folders; numbers in names
 * count by their value. BAD_INPUT: a folder cannot be read or has none. OUT_OF_MEMORY. Release in every case. */
enum status doctor_files_find(struct doctor_files *files, const char *const *arguments, int count);
void doctor_files_release(struct doctor_files *files);

/* Reads and compares them; those that cannot be read are kept in `skipped`. As fleet_make(). */
enum status doctor_files_read(struct doctor_files *files, struct fleet *fleet);

#endif
