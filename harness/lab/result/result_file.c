/* The document grows in memory and is written as a whole after each addition, in place of the file
 * before. */
#include "harness/lab/result/result_file.h"

#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/text.h"
#include "harness/bench/device_context.h"
#include "harness/lab/kernel/kernel_output.h"
#include "harness/lab/result/result_rows.h"
#include "harness/lab/result/result_scenario.h"
#include "harness/text/json.h"
#include "harness/text/machine_context.h"

#include <stdlib.h>
#include <string.h>

struct result_file {
    struct result_folder folder;
    char *path;
    int written; /* scenarios and pairs of kernels in the file on disk */
    struct json json;
    cJSON *root, *benchmarks, *scenarios, *kernels; /* the others belong to root */
    int families;
};

/* `try`: writes the document elsewhere, and only to learn that it can be written. */
static enum status save(struct result_file *file, bool try)
{
    enum status status = STATUS_OK;
    char *text = NULL;

    TRY_OUT(result_file_text(file, &text));
    TRY_OUT((try ? atomic_file_try : atomic_file_write)(file->path, text, strlen(text)));
    if (try)
        goto out;
    file->written = cJSON_GetArraySize(file->scenarios) + cJSON_GetArraySize(file->kernels);
    result_folder_replaced(&file->folder);

out:
    free(text);
    return status;
}

/* Older results stay until there is a row. */
static enum status save_added(struct result_file *file, const char *name)
{
    enum status status;

    /* A date: the folder holds results of an earlier run. */
    if (file->folder.date[0] != '\0' && cJSON_GetArraySize(file->benchmarks) == 0)
        return STATUS_OK;
    status = save(file, false);
    if (status != STATUS_OK)
        status_context("the result file, with %s added", name);
    return status;
}

enum status result_file_open(struct result_file **file, const char *folder, bool traced,
                             const struct device_properties *device,
                             const struct device_health *health)
{
    enum status status = STATUS_OK;
    struct result_file *opened;
    struct machine machine;
    cJSON *context, *ours;

    *file = NULL;
    TRY_OUT(rows_make(&opened, 1));
    TRY_OUT(result_folder_open(&opened->folder, folder, traced));
    TRY_OUT(text_make(&opened->path, "%s%sresult.json", folder,
                      folder[strlen(folder) - 1] == '/' ? "" : "/"));
    machine_read(&machine, "");
    opened->root = json_object(&opened->json, NULL, NULL);
    context = json_object(&opened->json, opened->root, "context");
    machine_context(&machine, &opened->json, context);
    device_context(&opened->json, context, device, health);
    opened->benchmarks = json_array(&opened->json, opened->root, "benchmarks");
    ours = json_object(&opened->json, opened->root, "chokepoint");
    json_integer(&opened->json, ours, "schema", RESULT_SCHEMA);
    opened->scenarios = json_array(&opened->json, ours, "scenarios");
    opened->kernels = json_array(&opened->json, ours, "kernels");
    TRY_OUT(save(opened, true));
    *file = opened;

out:
    if (status != STATUS_OK) {
        status_context("the result file");
        result_file_close(opened);
    }
    return status;
}

void result_file_close(struct result_file *file)
{
    if (file == NULL)
        return;
    result_folder_close(&file->folder, file->scenarios, file->written);
    cJSON_Delete(file->root);
    free(file->path);
    free(file);
}

enum status result_file_add(struct result_file *file, const struct scenario_result *result)
{
    if (result_has_rows(result))
        result_rows_add(&file->json, file->benchmarks, result, file->families++);
    result_scenario_add(&file->json, file->scenarios, result);
    return save_added(file, result->scenario->name);
}

enum status result_file_add_lesson(struct result_file *file, const struct lesson_result *result)
{
    lesson_rows_json(&file->json, file->benchmarks, result, file->families++);
    lesson_result_json(&file->json, file->kernels, result);
    return save_added(file, result->lesson->name);
}

const struct result_folder *result_file_folder(const struct result_file *file)
{
    return &file->folder;
}

int result_file_written(const struct result_file *file)
{
    return file->written;
}

const char *result_file_path(const struct result_file *file)
{
    return file->path;
}

enum status result_file_text(const struct result_file *file, char **text)
{
    return json_print(&file->json, file->root, text);
}
