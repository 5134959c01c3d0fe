/* Nsight Systems' own reports, whose format only nsys knows: it exports them, unless an export is
 * there already. */
#include "harness/base/system/scratch_folder.h"
#include "harness/base/system/side_program.h"
#include "harness/base/words/text.h"
#include "harness/desk/read/input/trace_format.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

extern const struct trace_format nsys_format;

#define EXPORT_SECONDS 1800.0 /* a report of 600 MB takes some minutes */

/* The export beside a report, as `nsys stats` leaves it: not one of an older report by the same
 * name. */
static bool find_beside(char path[PATH_MAX], const char *report)
{
    size_t ending = ends_in(report, ".qdrep") ? strlen(".qdrep") : strlen(".nsys-rep");
    struct stat about, exported;
    size_t length = strlen(report);

    if (length <= ending || length - ending + strlen(".sqlite") >= PATH_MAX)
        return false;
    snprintf(path, PATH_MAX, "%.*s.sqlite", (int)(length - ending), report);
    return stat(report, &about) == 0 && stat(path, &exported) == 0 &&
           exported.st_mtime >= about.st_mtime;
}

static void cut_lines(char *text)
{
    size_t length = strlen(text);

    while (length > 0 && strchr("\r\n ", text[length - 1]) != NULL) text[--length] = '\0';
    for (; *text != '\0'; text++)
        if (*text == '\n')
            *text = ' ';
}

static enum status export_report(const char *nsys, const char *report, const char *to)
{
    enum status status = STATUS_OK;
    char output[PATH_MAX + 16], ending[160];
    const char *const arguments[] = {
        "nsys", "export", "--type=sqlite", "--force-overwrite=true", output, report, NULL
    };
    struct side_program program = { .pid = 0 };

    snprintf(output, sizeof output, "--output=%s", to);
    TRY_OUT(side_program_start(&program, nsys, arguments,
                               &(struct side_program_options){ .seconds = EXPORT_SECONDS }));
    side_programs_wait(&program, 1, NULL);
    if (side_program_exited(&program, 0))
        goto out;
    side_program_ending(ending, sizeof ending, &program);
    cut_lines(program.said);
    FAIL_OUT(STATUS_BAD_INPUT, "nsys does not export %.160s: %s%s%.200s", report, ending,
             program.said[0] != '\0' ? ": " : "", program.said);

out:
    side_program_release(&program);
    return status;
}

static enum status nsys_report_read(struct trace_rows *rows, struct read_ahead *text,
                                    const char *path)
{
    enum status status = STATUS_OK;
    char found[PATH_MAX], nsys[PATH_MAX];
    struct scratch_folder folder = { .path = "" };

    if (find_beside(found, path))
        return nsys_format.read(rows, text, found);
    if (!find_program(nsys, "nsys"))
        FAIL(STATUS_BAD_INPUT,
             "this is a report of Nsight Systems, and nsys is not here to export it; where it is, "
             "run: nsys export --type=sqlite %.200s",
             path);
    TRY_OUT(scratch_folder_make(&folder, "chokepoint-nsys"));
    if (snprintf(found, sizeof found, "%s/export.sqlite", folder.path) >= (int)sizeof found)
        FAIL_OUT(STATUS_BAD_USAGE, "TMPDIR is too long");
    TRY_OUT(export_report(nsys, path, found));
    TRY_OUT(nsys_format.read(rows, text, found));

out:
    scratch_folder_remove(&folder);
    return status;
}

static bool nsys_report_recognises(const char *bytes, size_t count)
{
    (void)bytes;
    (void)count;
    return false; /* only its name tells */
}

const struct trace_format nsys_report_format = {
    .endings = { ".nsys-rep", ".qdrep" },
    .needs_export = true,
    .recognises = nsys_report_recognises,
    .read = nsys_report_read,
};
