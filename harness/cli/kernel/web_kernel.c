/* Kernels and their lessons for the page in a browser, where this is compiled to WebAssembly: a
 * request is a JSON object with the options of `kernel`, and the answer what `kernel --format=json`
 * prints, or {"error": sentence}. The program itself does not have it. */
#include "harness/cli/kernel/web_kernel.h"

#include "harness/base/words/text.h"
#include "harness/cli/kernel/kernel_call.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"
#include "scenarios/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *web_error(void)
{
    struct json json = { .out_of_memory = false };
    cJSON *root =
        JSON_ADD(&json, json_object(&json, NULL, NULL), KEY("error", status_last()->text));
    char *text = NULL;

    (void)json_print(&json, root, &text);
    cJSON_Delete(root);
    return text;
}

/* A whole number of the request; `otherwise` where there is none. */
static int number_or(const cJSON *request, const char *name, int otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(request, name);

    return cJSON_IsNumber(item) ? item->valueint : otherwise;
}

static const char *text_or_null(const cJSON *request, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(request, name));
}

static enum status take_request(struct kernel_call *call, const cJSON *request)
{
    const char *file = text_or_null(request, "file");
    int number = number_or(request, "arch", 90);

    *call = (struct kernel_call){ .file = file != NULL ? file : "kernel.ptx",
                                  .kernel = text_or_null(request, "kernel"),
                                  .grid = text_or_null(request, "grid"),
                                  .block = text_or_null(request, "block"),
                                  .arguments = text_or_null(request, "args"),
                                  .shared_bytes = number_or(request, "shared", 0),
                                  .arch = architecture_find(number),
                                  .registers = number_or(request, "registers", 0),
                                  .elements = number_or(request, "elements", 8) };
    if (call->arch < 0)
        FAIL(STATUS_BAD_USAGE, "--arch=%d is not known; %s are", number, ARCHITECTURES);
    TRY(kernel_call_prepare(call));
    if (call->lesson == NULL) {
        const char *ptx = text_or_null(request, "ptx");
        if (ptx == NULL || ptx[0] == '\0')
            FAIL(STATUS_BAD_USAGE, "%s is no kernel of a lesson, and there is no PTX", call->file);
        call->run.ptx = ptx;
        call->run.ptx_bytes = strlen(ptx);
    }
    call->run.output = stdout;
    return STATUS_OK;
}

char *web_kernel(const char *request_text)
{
    enum status status = STATUS_OK;
    struct kernel_call *call = calloc(1, sizeof *call);
    cJSON *request = NULL;
    char *text = NULL;

    if (call == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory for a kernel");
    TRY_OUT(json_parse(&request, request_text, NULL, false));
    TRY_OUT(take_request(call, request));
    TRY_OUT(kernel_call_json(&text, call, text_or_null(request, "source"),
                             text_or_null(request, "source_path")));
    fflush(stdout);

out:
    if (status != STATUS_OK)
        text = web_error();
    if (call != NULL)
        kernel_call_release(call);
    free(call);
    cJSON_Delete(request);
    return text;
}

/* --- The lessons --- */

static void put_dimensions(struct json *json, cJSON *to, const char *name, const unsigned sizes[3])
{
    char text[64];

    snprintf(text, sizeof text, sizes[1] > 1 ? "%u,%u" : "%u", sizes[0], sizes[1]);
    json_text(json, to, name, text);
}

/* As --args has them; rows that are filled in part have no such form, and are filled. */
static void put_arguments(struct json *json, cJSON *to, const struct kernel_run *run)
{
    char text[256] = "";

    for (int i = 0; i < run->argument_count; i++) {
        const struct kernel_argument *argument = &run->arguments[i];
        const char *type = kernel_type_name(argument->type);
        if (argument->count == 0)
            text_join(text, sizeof text, ",", "%s:%.0f", type, argument->value);
        else
            text_join(text, sizeof text, ",", "%s[%lld]:%s", type, (long long)argument->count,
                      argument->pattern == KERNEL_ZERO ? "zero" : "small");
    }
    json_text(json, to, "args", text);
}

static enum status put_lesson(struct json *json, cJSON *array, const struct kernel_lesson *lesson)
{
    struct lesson_kernel kernel = { .file = "" };
    int steps[LESSON_VARIANTS], count = lesson_steps(lesson, steps);
    cJSON *object, *launches, *launch;

    lesson_json(json, array, lesson, scenario_groups[GROUP_GPU_KERNELS].name);
    object = cJSON_GetArrayItem(array, cJSON_GetArraySize(array) - 1);
    launches = json_object(json, object, "launches");
    for (int step = 0; step < count; step++) {
        TRY(lesson_kernel_make(&kernel, lesson, steps[step], ARCH_90));
        launch = json_object(json, launches, lesson_variant_name(steps[step]));
        put_dimensions(json, launch, "grid", kernel.run.blocks);
        put_dimensions(json, launch, "block", kernel.run.threads);
        put_arguments(json, launch, &kernel.run);
    }
    JSON_ADD(json, object, KEY("source", lesson_source(lesson)), KEY("ptx", kernel.run.ptx));
    return STATUS_OK;
}

char *web_lessons(void)
{
    enum status status = STATUS_OK;
    struct json json = { .out_of_memory = false };
    cJSON *root = json_object(&json, NULL, NULL), *array = json_array(&json, root, "kernels");
    char *text = NULL;

    for (int i = 0; kernel_lessons[i] != NULL; i++)
        TRY_OUT(put_lesson(&json, array, kernel_lessons[i]));
    JSON_ADD(&json, root,
             KEY("strides", JSON_OBJECT(&json, KEY("source", lesson_file("strides.cu")->text),
                                        KEY("ptx", lesson_file("strides.ptx")->text))));
    TRY_OUT(json_print(&json, root, &text));

out:
    if (status != STATUS_OK)
        text = web_error();
    cJSON_Delete(root);
    return text;
}
