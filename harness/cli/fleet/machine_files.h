/* The files of `doctor` or `bench` from many machines that arguments name. */
#pragma once

#include "harness/fleet/fleet_output.h"

struct machine_files {
    char **paths; /* [count] */
    int count;
    int64_t room;
    struct fleet_skipped *skipped; /* [skipped_count] those that could not be read */
    int skipped_count;
};

/* A folder stands for its files that end in .json, and for the files COMMAND*.json in its folders;
 * numbers in names count by their value. BAD_INPUT: a folder cannot be read or has none.
 * OUT_OF_MEMORY. Release in every case. */
enum status machine_files_find(struct machine_files *files, const char *command,
                               const char *const *arguments, int count);
void machine_files_release(struct machine_files *files);

/* Reads and compares them; those that cannot be read are kept in `skipped`. As fleet_make(). */
enum status machine_files_read(struct machine_files *files, node_reader *read, struct fleet *fleet);
