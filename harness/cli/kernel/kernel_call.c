/* The launch of a file is what the options say; that of a lesson is the lesson's, and options
 * replace parts of it, so that one can see what a smaller block or another size changes. */
#include "harness/cli/kernel/kernel_call.h"

#include "scenarios/gpu_kernels/kernel_lessons.h"

#include <stdio.h>
#include <stdlib.h>

/* "64", "64,4" or "64,4,2". strtoul() would take blanks and signs, so each number must begin with a
 * digit. */
static enum status parse_dimensions(unsigned sizes[3], const char *option, const char *text)
{
    int count = 0;

    sizes[0] = sizes[1] = sizes[2] = 1;
    for (const char *at = text; count < 3; at++) {
        char *end;
        unsigned long size = strtoul(at, &end, 10);
        if (end == at || *at < '0' || *at > '9' || size < 1 || size > 2147483647)
            break;
        sizes[count++] = (unsigned)size;
        if (*end == '\0')
            return STATUS_OK;
        at = end;
        if (*end != ',')
            break;
    }
    FAIL(STATUS_BAD_USAGE, "--%s=%s: give one to three numbers, as in --%s=64,4", option, text,
         option);
}

/* The launch of a file where nothing is given. */
static void prepare_file(struct kernel_call *call)
{
    call->run = (struct kernel_run){ .name = call->file,
                                     .kernel = call->kernel,
                                     .blocks = { 1, 1, 1 },
                                     .threads = { 32, 1, 1 },
                                     .arguments = call->values };
}

static enum status prepare_lesson(struct kernel_call *call, int variant)
{
    if (call->kernel != NULL)
        FAIL(STATUS_BAD_USAGE, "%s is a kernel of a lesson: leave out --kernel", call->file);
    TRY(lesson_kernel_make(&call->of_lesson, call->lesson, variant, call->arch));
    call->run = call->of_lesson.run;
    return STATUS_OK;
}

enum status kernel_call_prepare(struct kernel_call *call)
{
    struct kernel_run *run = &call->run;
    int variant;

    if (kernel_lesson_find(call->file) != NULL)
        FAIL(STATUS_BAD_USAGE, "%s is a lesson: give %s_before or %s_after", call->file, call->file,
             call->file);
    if (lesson_kernel_find(&call->lesson, &variant, call->file))
        TRY(prepare_lesson(call, variant));
    else
        prepare_file(call);
    if (call->grid != NULL)
        TRY(parse_dimensions(run->blocks, "grid", call->grid));
    if (call->block != NULL)
        TRY(parse_dimensions(run->threads, "block", call->block));
    if (call->arguments != NULL) {
        run->arguments = call->values;
        TRY(kernel_arguments_parse(call->values, &run->argument_count, call->arguments));
    }
    run->shared_bytes = (size_t)call->shared_bytes;
    return STATUS_OK;
}

struct kernel_needs kernel_call_needs(const struct kernel_call *call)
{
    if (call->registers > 0)
        return (struct kernel_needs){ .registers = call->registers };
    if (call->lesson != NULL)
        return lesson_needs(call->outcome.kernel_name, call->arch);
    return (struct kernel_needs){ .registers = 0 };
}

struct kernel_output kernel_call_output(const struct kernel_call *call, struct kernel_needs needs,
                                        struct kernel_finding findings[KERNEL_FINDINGS_MOST])
{
    struct kernel_output output = {
        .file = call->file,
        .source_path = call->lesson != NULL ? lesson_source_name(call->lesson) : NULL,
        .source = call->lesson != NULL ? lesson_source(call->lesson) : NULL,
        .facts = kernel_facts_of(&call->run, &call->outcome, call->arch, needs),
        .findings = findings,
        .elements = call->elements,
    };

    output.finding_count = kernel_findings(&output.facts, findings);
    return output;
}

void kernel_call_release(struct kernel_call *call)
{
    kernel_outcome_release(&call->outcome);
    if (call->run.arguments == call->values)
        kernel_arguments_release(call->values, call->run.argument_count);
}

enum status kernel_call_json(char **text, struct kernel_call *call, const char *source,
                             const char *source_path)
{
    struct kernel_finding findings[KERNEL_FINDINGS_MOST];
    struct kernel_output output;

    TRY(kernel_run(&call->run, &call->outcome));
    output = kernel_call_output(call, kernel_call_needs(call), findings);
    if (call->lesson == NULL) {
        output.source = source;
        output.source_path = source != NULL ? source_path : NULL;
    }
    return kernel_json(text, &output);
}

enum status kernel_of_lesson_json(char **text, const char *name, int arch)
{
    enum status status = STATUS_OK;
    struct kernel_call call = { .file = name, .arch = architecture_find(arch), .elements = 8 };

    *text = NULL;
    if (call.arch < 0)
        FAIL(STATUS_BAD_USAGE, "--arch=%d is not known; %s are", arch, ARCHITECTURES);
    TRY_OUT(kernel_call_prepare(&call));
    if (call.lesson == NULL)
        FAIL_OUT(STATUS_BAD_USAGE, "%s is no kernel of a lesson", name);
    call.run.output = stderr;
    TRY_OUT(kernel_call_json(text, &call, NULL, NULL));

out:
    kernel_call_release(&call);
    return status;
}
