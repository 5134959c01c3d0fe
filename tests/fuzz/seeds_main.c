/* Runs the harness over files, as a compiler without libFuzzer can.
 *
 * usage: PROGRAM FOLDER. Exit code 1: there is no seed in it. A broken promise aborts. */
#include "tests/fuzz/fuzzing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEED_BYTES = 1 << 20 };

static int run(const char *folder, const char *name)
{
    char path[4096];
    uint8_t *bytes = malloc(SEED_BYTES);
    FILE *file;
    size_t size = 0;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (file != NULL && bytes != NULL)
        size = fread(bytes, 1, SEED_BYTES, file);
    if (file != NULL)
        fclose(file);
    if (size > 0) {
        fprintf(stderr, "%s\n", name); /* the last one is the one that aborts */
        LLVMFuzzerTestOneInput(bytes, size);
    }
    free(bytes);
    return size > 0;
}

int main(int argc, char **argv)
{
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    int seeds = 0;

    if (folder == NULL) {
        fprintf(stderr, "usage: PROGRAM FOLDER\n");
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            seeds += run(argv[1], entry->d_name);
    closedir(folder);
    printf("%d seeds\n", seeds);
    return seeds > 0 ? 0 : 1;
}
