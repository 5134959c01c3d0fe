#include "tests/training/scratch_disk.h"

#include "tests/fixtures/cmocka_prelude.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int open_file(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    int file = -1;

    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        char path[300], target[300] = "";

        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, target, sizeof target - 1) > 0 &&
            strstr(target, "/chokepoint-scratch-") != NULL)
            file = dup(atoi(entry->d_name));
    }
    closedir(folder);
    return file;
}

rlim_t limit_files(rlim_t bytes)
{
    struct rlimit limit;
    rlim_t before;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    before = limit.rlim_cur;
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    return before;
}
