#include "harness/lab/experiment/parent/launcher.h"

#include "harness/base/programs/find_program.h"
#include "harness/device/many_ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The words that `mpirun --version` prints, and the options that let any number of ranks share this
 * machine's cores, which they divide themselves. Intel's needs none. Reading another process's
 * memory, which Open MPI does for large messages, is often forbidden in containers; a rank that
 * yields waits for its turn (mpi.c); memory that is shared through files can be cleaned up by its
 * folder (process.c); and a look at the network's libraries (UCX, libfabric), which ranks of one
 * machine do not need, takes MPI_Init 0.2 s. */
static const struct family {
    const char *says;
    const char *library; /* whose ranks it connects; NULL: it may be any */
    const char *options[LAUNCHER_OPTIONS - 4];
    const char *as_root; /* NULL: nothing */
} families[] = {
    { "Open MPI",
      "Open MPI",
      { "--oversubscribe", "--bind-to", "none", "--mca", "btl_vader_single_copy_mechanism", "none",
        "--mca", "mpi_yield_when_idle", "0", "--mca", "shmem", "mmap", "--mca", "pml", "ob1" },
      "--allow-run-as-root" },
    { "HYDRA", "MPICH", { "-bind-to", "none" }, NULL },
    { "", NULL, { NULL }, NULL },
};

/* Reads what a program prints until it ends. No shell sees its path. */
static void read_output(char *text, size_t size, const char *path, const char *argument)
{
    char *const arguments[] = { (char *)path, (char *)argument, NULL };
    size_t length = 0;
    int ends[2];
    ssize_t got;
    pid_t child;

    text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        execv(path, arguments);
        _exit(127);
    }
    close(ends[1]);
    while (child > 0 && length < size - 1 &&
           ((got = read(ends[0], text + length, size - 1 - length)) > 0 ||
            (got < 0 && errno == EINTR)))
        length += got > 0 ? (size_t)got : 0;
    text[length] = '\0';
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}

static const struct family *family_of(const char *path)
{
    char text[4096];
    const struct family *family = families;

    read_output(text, sizeof text, path, "--version");
    while (strstr(text, family->says) == NULL) family++;
    return family;
}

enum status launcher_find(struct launcher *launcher, int ranks)
{
    const struct family *family;
    int count = 0;

    if (ranks_are_started())
        FAIL(STATUS_BAD_USAGE,
             "mpirun or srun has started this process as one of several, which can start no "
             "others: leave them out, as chokepoint starts its %d ranks itself, or have them start "
             "chokepoint exec SCENARIO",
             ranks);
    TRY(ranks_load());
    if (!find_program(launcher->path, "mpirun") && !find_program(launcher->path, "mpiexec"))
        FAIL(STATUS_NO_LIBRARY,
             "%d ranks need MPI's launcher, and neither mpirun nor mpiexec is "
             "in PATH; install openmpi-bin",
             ranks);
    family = family_of(launcher->path);
    if (family->library != NULL && strcmp(family->library, ranks_library()) != 0)
        FAIL(STATUS_NO_LIBRARY,
             "%s is of %s, and chokepoint was built with %s: put the mpirun of %s first in PATH, "
             "or build with -DMPI_C_COMPILER=, the mpicc of %s",
             launcher->path, family->library, ranks_library(), ranks_library(), family->library);
    launcher->words[count++] = launcher->path;
    for (size_t i = 0; i < ARRAY_SIZE(family->options) && family->options[i] != NULL; i++)
        launcher->words[count++] = family->options[i];
    if (geteuid() == 0 && family->as_root != NULL)
        launcher->words[count++] = family->as_root;
    snprintf(launcher->ranks, sizeof launcher->ranks, "%d", ranks);
    launcher->words[count++] = "-n";
    launcher->words[count++] = launcher->ranks;
    launcher->words[count] = NULL;

    return STATUS_OK;
}
