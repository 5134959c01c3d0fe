/* nvcc and ptxas run as programs of their own, with limits of time and memory, since the file may
 * be anybody's. Without ptxas a kernel runs all the same, with the registers that the PTX names. */
#include "harness/cli/kernel/kernel_source.h"

#include "harness/base/rows.h"
#include "harness/base/system/files.h"
#include "harness/base/system/scratch_folder.h"
#include "harness/base/system/side_program.h"
#include "harness/base/words/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct side_program_options limits = { .seconds = 60,
                                                    .memory_bytes = INT64_C(4) << 30 };

enum status kernel_text_read(char **text, size_t *bytes, const char *path)
{
    enum status status = STATUS_OK;
    int file = regular_file_open(AT_FDCWD, path);
    ssize_t got = 1;

    *text = NULL;
    *bytes = 0;
    if (file < 0)
        FAIL(STATUS_BAD_INPUT, "%s cannot be read: %s", path,
             errno == ENOTSUP ? "it is no regular file" : strerror(errno));
    /* One byte more than is allowed shows that a file is too large; one more ends the text. */
    TRY_OUT(rows_make(text, KERNEL_SOURCE_MOST + 2));
    while (got > 0 && *bytes <= KERNEL_SOURCE_MOST) {
        got = read(file, *text + *bytes, (size_t)KERNEL_SOURCE_MOST + 1 - *bytes);
        if (got < 0)
            FAIL_OUT(STATUS_BAD_INPUT, "%s cannot be read: %s", path, strerror(errno));
        *bytes += (size_t)got;
    }
    if (*bytes > KERNEL_SOURCE_MOST)
        FAIL_OUT(STATUS_BAD_INPUT, "%s has more than %d MiB, which is the limit", path,
                 KERNEL_SOURCE_MOST >> 20);
    (*text)[*bytes] = '\0';

out:
    close(file);
    if (status != STATUS_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

/* In PATH, in the toolkit that the environment names, or where it is usually installed. */
static bool find_tool(char path[PATH_MAX], const char *name)
{
    const char *folders[] = { getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda" };

    if (find_program(path, name))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        if (folders[i] != NULL &&
            snprintf(path, PATH_MAX, "%s/bin/%s", folders[i], name) < PATH_MAX &&
            access(path, X_OK) == 0)
            return true;
    path[0] = '\0';
    return false;
}

/* For the architecture whose residency is asked for. The user's options come last, so that they can
 * name another; they are parted at blanks. */
static enum status compile(const char *path, const char *ptx, const char *options, int architecture)
{
    enum status status = STATUS_OK;
    struct side_program program = { .text = NULL };
    char nvcc[PATH_MAX], why[160], arch[32], words[1024], *save = NULL;
    const char *arguments[64] = { "nvcc", "-ptx", "-lineinfo", arch, "-o", ptx, path };
    size_t count = 7;

    snprintf(arch, sizeof arch, "-arch=compute_%d", architecture);
    if (snprintf(words, sizeof words, "%s", options != NULL ? options : "") >= (int)sizeof words)
        FAIL(STATUS_BAD_USAGE, "--nvcc has more than %zu characters", sizeof words - 1);
    for (char *word = strtok_r(words, " ", &save);
         word != NULL && count < ARRAY_SIZE(arguments) - 1; word = strtok_r(NULL, " ", &save)) {
        if (strncmp(word, "-arch", 5) == 0)
            arguments[3] = "-lineinfo";
        arguments[count++] = word;
    }
    if (!find_tool(nvcc, "nvcc"))
        FAIL(STATUS_NO_LIBRARY,
             "%s is CUDA C, and nvcc is not found: install a CUDA toolkit, or give the PTX that "
             "nvcc "
             "-ptx -lineinfo writes",
             path);
    TRY_OUT(side_program_start(&program, nvcc, arguments, &limits));
    side_programs_wait(&program, 1, NULL);
    side_program_ending(why, sizeof why, &program);
    if (!side_program_exited(&program, 0))
        FAIL_OUT(STATUS_BAD_INPUT, "nvcc refuses %s: %s", path,
                 program.said[0] != '\0' ? program.said : why);

out:
    side_program_release(&program);
    return status;
}

enum status kernel_source_read(struct kernel_source *source, const char *path, const char *options,
                               int architecture)
{
    enum status status = STATUS_OK;
    struct scratch_folder folder = { .path = "" };
    char ptx[PATH_MAX + 16];

    *source = (struct kernel_source){ .ptx = NULL };
    find_tool(source->ptxas, "ptxas");
    if (!ends_in(path, ".cu"))
        return kernel_text_read(&source->ptx, &source->bytes, path);
    if (!is_regular_file(path))
        FAIL(STATUS_BAD_INPUT, "%s is no file", path);
    TRY_OUT(scratch_folder_make(&folder, "chokepoint-kernel"));
    snprintf(ptx, sizeof ptx, "%s/kernel.ptx", folder.path);
    TRY_OUT(compile(path, ptx, options, architecture));
    TRY_OUT(kernel_text_read(&source->ptx, &source->bytes, ptx));

out:
    scratch_folder_remove(&folder);
    return status;
}

void kernel_source_release(struct kernel_source *source)
{
    free(source->ptx);
    *source = (struct kernel_source){ .ptx = NULL };
}

/* "ptxas info : Compiling entry function 'NAME' for 'sm_90'", then its lines until the next. */
static struct kernel_needs parse_needs(const char *said, const char *kernel)
{
    struct kernel_needs found = { 0 };
    char wanted[256];
    const char *at, *next, *used, *stores;
    int loads = 0;

    if (snprintf(wanted, sizeof wanted, "entry function '%s'", kernel) >= (int)sizeof wanted ||
        (at = strstr(said, wanted)) == NULL)
        return found;
    next = strstr(at + 1, "entry function '");
    used = strstr(at, "Used ");
    stores = strstr(at, "bytes stack frame, ");
    if (used != NULL && (next == NULL || used < next))
        found.registers = atoi(used + strlen("Used "));
    if (stores != NULL && (next == NULL || stores < next) &&
        sscanf(stores, "bytes stack frame, %d bytes spill stores, %d bytes spill loads",
               &found.spilled_bytes, &loads) == 2)
        found.spilled_bytes += loads;
    return found;
}

/* The PTX is written to a file again, since it may have been compiled into a folder that is
 * gone. */
static enum status run_ptxas(struct kernel_needs *found, const struct kernel_source *source,
                             const char *kernel, int architecture)
{
    enum status status = STATUS_OK;
    struct side_program program = { .text = NULL };
    struct scratch_folder folder = { .path = "" };
    char ptx[PATH_MAX + 16], arch[32];
    const char *arguments[] = { "ptxas", arch, "-v", "-e", kernel, "-o", "/dev/null", ptx, NULL };
    FILE *file = NULL;

    snprintf(arch, sizeof arch, "-arch=sm_%d", architecture);
    TRY_OUT(scratch_folder_make(&folder, "chokepoint-kernel"));
    snprintf(ptx, sizeof ptx, "%s/kernel.ptx", folder.path);
    file = fopen(ptx, "w");
    if (file == NULL || fwrite(source->ptx, 1, source->bytes, file) != source->bytes)
        FAIL_OUT(STATUS_IO, "%s cannot be written: %s", ptx, strerror(errno));
    fclose(file);
    file = NULL;
    TRY_OUT(side_program_start(&program, source->ptxas, arguments, &limits));
    side_programs_wait(&program, 1, NULL);
    if (side_program_exited(&program, 0))
        *found = parse_needs(program.said, kernel);
    else
        fprintf(
            stderr,
            "chokepoint: kernel: ptxas does not take this PTX for sm_%d, so registers are those "
            "that the PTX has in use: %.*s\n",
            architecture, (int)strcspn(program.said, "\n"), program.said);

out:
    if (file != NULL)
        fclose(file);
    side_program_release(&program);
    scratch_folder_remove(&folder);
    return status;
}

struct kernel_needs kernel_source_needs(const struct kernel_source *source, const char *kernel,
                                        int architecture)
{
    struct kernel_needs found = { 0 };

    if (source->ptxas[0] != '\0' && run_ptxas(&found, source, kernel, architecture) != STATUS_OK)
        fprintf(stderr,
                "chokepoint: kernel: ptxas did not run, so registers are those that the PTX has in "
                "use: %s\n",
                status_last()->text);
    return found;
}

/* Beside the PTX or one folder above, where a build folder's sources often are. Names with a slash
 * are refused: the PTX may be anybody's, and would make this read any file. */
bool kernel_source_find(char path[PATH_MAX], const char *ptx_path, const char *file)
{
    const char *slash = strrchr(ptx_path, '/');
    int folder = slash != NULL ? (int)(slash - ptx_path) + 1 : 0;
    static const char *const above[] = { "", "../" };

    if (strchr(file, '/') != NULL || !(ends_in(file, ".cu") || ends_in(file, ".cuh")))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(above); i++)
        if (snprintf(path, PATH_MAX, "%.*s%s%s", folder, ptx_path, above[i], file) < PATH_MAX &&
            is_regular_file(path))
            return true;
    return false;
}
