/* The launcher's own words tell whose it is, and so which options it takes. */
#include "harness/lab/experiment/parent/launcher.h"

#include "harness/base/system/side_program.h"
#include "harness/device/many_ranks.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double VERSION_SECONDS = 30;

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

/* One that does not answer is of the last family. */
static const struct family *family_of(const char *path)
{
    const char *const arguments[] = { path, "--version", NULL };
    const struct side_program_options limits = { .seconds = VERSION_SECONDS };
    struct side_program program = { .text = NULL };
    const struct family *family = families;
    const char *text;

    if (side_program_start(&program, path, arguments, &limits) == STATUS_OK)
        side_programs_wait(&program, 1, NULL);
    text = program.text != NULL ? program.text : "";
    while (strstr(text, family->says) == NULL && strstr(program.said, family->says) == NULL)
        family++;
    side_program_release(&program);
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
