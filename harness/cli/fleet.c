/* chokepoint fleet: the files of doctor from many machines, and which of these is the odd one. */
#include "harness/base/ends_in.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/fleet/fleet_output.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct fleet_command {
    struct flags flags;
    struct fleet fleet;
    char **paths;
    int path_count;
    struct fleet_skipped *skipped;
    int skipped_count;
};

/* --- Files --- */

static enum status add_path(struct fleet_command *command, const char *folder, const char *name)
{
    enum status status = STATUS_OK;
    char **longer = reallocarray(command->paths, (size_t)command->path_count + 1, sizeof *longer);
    char *path = NULL;

    if (longer != NULL)
        command->paths = longer;
    if (longer == NULL || asprintf(&path, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name) < 0)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for the names of %d files", command->path_count);
    command->paths[command->path_count++] = path;

out:
    return status;
}

static int is_json_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && ends_in(entry->d_name, ".json");
}

static enum status add_folder(struct fleet_command *command, const char *folder)
{
    enum status status = STATUS_OK;
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_json_name, versionsort);

    if (count < 0)
        FAIL(STATUS_BAD_INPUT, "the folder %s cannot be read: %s", folder, strerror(errno));
    if (count == 0)
        FAIL(STATUS_BAD_INPUT, "the folder %s has no file that ends in .json", folder);
    for (int i = 0; i < count; i++) TRY(add_path(command, folder, entries[i]->d_name));

out:
    for (int i = 0; i < count; i++) free(entries[i]);
    free(entries);
    return status;
}

static enum status add_arguments(struct fleet_command *command)
{
    enum status status = STATUS_OK;
    struct stat about;

    for (int i = 0; i < command->flags.argument_count; i++) {
        const char *argument = command->flags.arguments[i];
        if (stat(argument, &about) == 0 && S_ISDIR(about.st_mode))
            TRY(add_folder(command, argument));
        else
            TRY(add_path(command, "", argument));
    }

out:
    return status;
}

/* --- The command --- */

static void skip(void *context, const char *path)
{
    struct fleet_command *command = context;
    struct fleet_skipped *skipped = &command->skipped[command->skipped_count++];

    skipped->path = path;
    snprintf(skipped->reason, sizeof skipped->reason, "%s", status_last()->text);
}

static enum status print(const struct fleet_command *command)
{
    enum status status = STATUS_OK;
    struct page page = flags_page(&command->flags);
    struct json json = { false };
    cJSON *root = NULL;
    char *text = NULL;

    if (command->flags.format == FORMAT_JSON) {
        root = json_object(&json, NULL, NULL);
        fleet_json(&json, root, &command->fleet, command->skipped, command->skipped_count);
        TRY(json_print(&json, root, &text));
        fputs(text, stdout);
    } else {
        fleet_page(&page, &command->fleet, command->skipped, command->skipped_count);
    }

out:
    cJSON_Delete(root);
    free(text);
    return status;
}

static enum status run_fleet(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    struct fleet_command *command = context;

    if (command->flags.argument_count == 0)
        FAIL(STATUS_BAD_USAGE, "give the files that chokepoint doctor --format=json wrote, one of "
                               "each machine, or a folder of them");
    TRY(add_arguments(command));
    command->skipped = calloc((size_t)command->path_count, sizeof *command->skipped);
    if (command->skipped == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %d files", command->path_count);
    TRY(fleet_make(&command->fleet, (const char *const *)command->paths, command->path_count, skip,
                   command));
    TRY(print(command));
    if (command->skipped_count > 0)
        FAIL(STATUS_BAD_INPUT, "%d of %d files were skipped; the first: %s", command->skipped_count,
             command->path_count, command->skipped[0].reason);
    *exit_code = command->fleet.out_count > 0 ? 1 : 0;

out:
    return status;
}

static void release(void *context)
{
    struct fleet_command *command = context;

    fleet_release(&command->fleet);
    for (int i = 0; i < command->path_count; i++) free(command->paths[i]);
    free(command->paths);
    free(command->skipped);
}

static const struct option_row options[] = {
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
        "ok, and which settings differ. A figure is out if it is 5% slower than the median or "
        "more, and by more than chance explains in 99 of 100 healthy fleets. A figure that was "
        "low while others used the machine is to be measured again.\v"
        "Examples:\n"
        "  srun --ntasks-per-node=1 sh -c 'chokepoint doctor --format=json "
        ">doctor-$(hostname).json'\n"
        "  chokepoint fleet doctor-*.json\n"
        "  chokepoint fleet doctor/ --format=markdown\n"
        "\n" EXIT_CODES("no node is out",
                        "a node is out: a figure is slower than on the others, or a row fails "
                        "there that does not on most"),
    .options = options,
    .context_size = sizeof(struct fleet_command),
    .run = run_fleet,
    .release = release,
};
