/* chokepoint fleet: the files of doctor from many machines, and which of these is the odd one.
 *
 * The files are found and read here; the comparison and its page are in harness/fleet. A file that
 * cannot be read is skipped and named, because the comparison of the others still stands: the page
 * is printed first, and the exit code then says that it is not of all. */
#include "harness/cli/fleet/machine_files.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/html_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fleet_command {
    struct flags flags;
    struct fleet fleet;
    struct machine_files files;
};

/* As a page for people, as JSON, or as the page of HTML that --out names. */
static enum status print_fleet(const struct fleet_command *command)
{
    const struct machine_files *files = &command->files;
    const char *out = command->flags.out;
    struct page page = flags_page(&command->flags);
    struct json json = { false };
    enum status status;
    cJSON *root;

    if (command->flags.format != FORMAT_JSON && out == NULL) {
        fleet_page(&page, &command->fleet, files->skipped, files->skipped_count);
        return STATUS_OK;
    }
    root = out != NULL ? html_page_document(&json, command_fleet.name, command->flags.arguments[0])
                       : json_object(&json, NULL, NULL);
    fleet_json(&json, out != NULL ? json_object(&json, root, "fleet") : root, &command->fleet,
               files->skipped, files->skipped_count);
    status = out != NULL ? html_page_write(out, &json, root) : json_to_stdout(&json, root);
    cJSON_Delete(root);
    return status;
}

static enum status run_fleet(void *context, int *exit_code)
{
    struct fleet_command *command = context;

    if (command->flags.argument_count == 0)
        FAIL(STATUS_BAD_USAGE, "give the files that chokepoint doctor --format=json wrote, one of "
                               "each machine, or a folder of them");
    TRY(html_page_check(&command->flags));
    TRY(machine_files_find(&command->files, "doctor", command->flags.arguments,
                           command->flags.argument_count));
    TRY(machine_files_read(&command->files, node_read, &command->fleet));
    TRY(print_fleet(command));
    if (command->files.skipped_count > 0)
        FAIL(STATUS_BAD_INPUT, "%d of %d files were skipped; the first: %s",
             command->files.skipped_count, command->files.count, command->files.skipped[0].reason);
    /* A node that is out decides, whatever else could not be told. */
    *exit_code = command->fleet.out_count > 0   ? GATE_FAILED
                 : fleet_tells(&command->fleet) ? GATE_PASSED
                                                : GATE_UNTOLD;

    return STATUS_OK;
}

static void fleet_command_prepare(void *context)
{
    struct fleet_command *command = context;

    command->flags.out = NULL; /* the default of the flags is a folder */
}

static void fleet_command_release(void *context)
{
    struct fleet_command *command = context;

    fleet_release(&command->fleet);
    machine_files_release(&command->files);
}

static const struct option_row options[] = {
    FLAG("out", "FILE",
         "a page of HTML, with all machines against all figures; -o FILE does the same", 3,
         value_text, out),
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_fleet = {
    .name = "fleet",
    .text = "which of many machines is the odd one, from their files of doctor",
    .arguments = "FILE|FOLDER...",
    .help =
        "Reads what chokepoint doctor --format=json found on many machines, and compares machines "
        "with the same device and processor: which is slower than the others, where a row is not "
        "ok, and which settings differ. A figure is out if it is 3% slower than the others or "
        "more, and by more than chance explains in 99 of 100 healthy fleets. A figure that was "
        "low while others used the machine is to be measured again. Each figure says how small a "
        "difference would show; among few machines a difference of 20% may not. A figure that a "
        "machine lacks, that falls into two groups or is too noisy to tell is named, too, and so "
        "is a row that fails on half of the nodes or more.\v"
        "Examples:\n"
        "  srun --ntasks-per-node=1 sh -c 'chokepoint doctor --format=json "
        ">doctor-$(hostname).json'\n"
        "  chokepoint fleet doctor-*.json\n"
        "  chokepoint fleet doctor/ --format=markdown\n"
        "  chokepoint fleet doctor/ -o fleet.html\n"
        "\n" EXIT_CODES("no node is out, and all was measured and tells",
                        "a node is out: a figure is slower than on the others, or a row fails "
                        "there that does not on most",
                        "a figure was not measured or is too noisy, half of the nodes are slower, "
                        "a row fails on half or more, or there are too few nodes"),
    .options = options,
    .context_size = sizeof(struct fleet_command),
    .prepare = fleet_command_prepare,
    .run = run_fleet,
    .release = fleet_command_release,
};
