/* chokepoint kernel: one kernel alone, executed without a GPU: what is wrong in it, what it wastes,
 * at which line. A kernel of the lessons is called by its name. */
#include "harness/cli/kernel/kernel_checks.h"
#include "harness/cli/kernel/kernel_source.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/program_file.h"
#include "harness/lab/kernel/kernel_output.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kernel_command {
    struct flags flags;
    const char *kernel, *grid, *block, *arguments, *beside;
    int64_t shared_bytes;
    const char *nvcc;
    struct kernel_checks checks;
    bool all;
    int architecture, arch, registers, elements; /* arch: its place in `architectures` */
    uint64_t most_instructions;

    struct kernel_source source;
    char *argument_text; /* of a file */
    const struct kernel_lesson *lesson;
    struct lesson_kernel of_lesson;
    char *source_text;
    char source_path[PATH_MAX];
    struct kernel_argument values[KERNEL_ARGUMENTS_MOST];
    struct kernel_run run;
    struct kernel_outcome outcome;
};

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

/* Lines of a file become a list: spaces are left out, and what follows a '#'. */
static void join_lines(char *text)
{
    char *to = text;
    bool comment = false;

    for (const char *from = text; *from != '\0'; from++) {
        comment = *from != '\n' && (comment || *from == '#');
        if (*from == '\n' || *from == ',') {
            if (to > text && to[-1] != ',')
                *to++ = ',';
        } else if (!comment && *from != ' ' && *from != '\t' && *from != '\r') {
            *to++ = *from;
        }
    }
    while (to > text && to[-1] == ',') to--;
    *to = '\0';
}

/* The launch is the lesson's. BAD_USAGE: the call asks for another one. */
static enum status launch_of_lesson(struct kernel_command *command, int variant)
{
    if (command->kernel != NULL || command->grid != NULL || command->block != NULL ||
        command->arguments != NULL || command->shared_bytes > 0)
        FAIL(STATUS_BAD_USAGE, "%s is a kernel of a lesson, which has its grid and its arguments",
             command->flags.arguments[0]);
    TRY(lesson_kernel_make(&command->of_lesson, command->lesson, variant, command->arch));
    command->run = command->of_lesson.run;
    snprintf(command->source_path, sizeof command->source_path, "%s.cu", command->lesson->name);

    return STATUS_OK;
}

/* A kernel of a lesson, or a file with the launch that the options give. */
static enum status find_launch(struct kernel_command *command)
{
    struct kernel_run *run = &command->run;
    const char *name = command->flags.arguments[0];
    int variant;

    if (kernel_lesson_find(name) != NULL)
        FAIL(STATUS_BAD_USAGE, "%s is a lesson: give %s_before or %s_after", name, name, name);
    if (lesson_kernel_find(&command->lesson, &variant, name))
        return launch_of_lesson(command, variant);
    command->lesson = NULL;
    TRY(parse_dimensions(run->blocks, "grid", command->grid != NULL ? command->grid : "1"));
    TRY(parse_dimensions(run->threads, "block", command->block != NULL ? command->block : "32"));
    const char *text = command->arguments != NULL ? command->arguments : "";
    size_t bytes;
    if (text[0] == '@') {
        TRY(kernel_text_read(&command->argument_text, &bytes, text + 1));
        join_lines(command->argument_text);
        text = command->argument_text;
    }
    command->run.arguments = command->values;
    TRY(kernel_arguments_parse(command->values, &command->run.argument_count, text));
    run->name = name;
    run->kernel = command->kernel;
    run->shared_bytes = (size_t)command->shared_bytes;

    return STATUS_OK;
}

/* The text of the first file among the lines that ran, if it is at hand. */
static enum status find_source(struct kernel_command *command)
{
    const struct kernel_outcome *outcome = &command->outcome;
    size_t bytes;

    for (int i = 0; i < outcome->line_count; i++)
        if (kernel_source_find(command->source_path, command->flags.arguments[0],
                               outcome->lines[i].file))
            return kernel_text_read(&command->source_text, &bytes, command->source_path);
    command->source_path[0] = '\0';
    return STATUS_OK;
}

/* --registers, or what ptxas says, or said of a lesson. */
static struct kernel_needs needs_of(const struct kernel_command *command)
{
    const char *name = command->outcome.kernel_name;

    if (command->registers > 0)
        return (struct kernel_needs){ .registers = command->registers };
    if (command->lesson != NULL)
        return lesson_needs(name, command->arch);
    return kernel_source_needs(&command->source, name, command->architecture);
}

static enum status show_kernel(struct kernel_command *command, int *exit_code)
{
    struct kernel_finding findings[KERNEL_FINDINGS_MOST];
    struct page page = flags_page(&command->flags);
    struct kernel_output output = { .file = command->flags.arguments[0],
                                    .findings = findings,
                                    .elements = command->elements };
    enum status status;
    char *text;

    if (command->lesson == NULL)
        TRY(find_source(command));
    output.source = command->lesson != NULL ? lesson_source(command->lesson) : command->source_text;
    output.source_path = output.source != NULL ? command->source_path : NULL;
    output.facts =
        kernel_facts_of(&command->run, &command->outcome, command->arch, needs_of(command));
    output.finding_count = kernel_findings(&output.facts, findings);
    TRY(kernel_json(&text, &output));
    if (command->flags.format == FORMAT_JSON)
        fputs(text, stdout);
    else
        kernel_page(&page, &output);
    status = kernel_check(&command->checks, &command->run, &command->outcome, text, exit_code);
    free(text);
    return status;
}

static enum status run_kernel(void *context, int *exit_code)
{
    struct kernel_command *command = context;
    struct kernel_run *run = &command->run;

    if (command->flags.argument_count != 1)
        FAIL(STATUS_BAD_USAGE, "give one file of PTX, or of CUDA C, or a kernel of a lesson");
    command->arch = architecture_find(command->architecture);
    if (command->arch < 0)
        FAIL(STATUS_BAD_USAGE, "--arch=%d is not known; %s are", command->architecture,
             ARCHITECTURES);
    if (command->beside != NULL && command->flags.out == NULL)
        FAIL(STATUS_BAD_USAGE, "--beside=%s is for a page: give --out=FILE", command->beside);
    TRY(find_launch(command));
    /* The page is made by a program of its own, which calls `kernel` again for the numbers. */
    if (command->flags.out != NULL)
        return web_page("kernel", &command->flags, command->beside);
    if (command->lesson == NULL) {
        TRY(kernel_source_read(&command->source, command->flags.arguments[0], command->nvcc,
                               command->architecture));
        run->ptx = command->source.ptx;
        run->ptx_bytes = command->source.bytes;
    }
    run->most_instructions = command->most_instructions;
    run->all = command->all;
    run->output = command->flags.format == FORMAT_CONSOLE ? stdout : stderr;
    TRY(kernel_run(run, &command->outcome));
    *exit_code = command->outcome.finding.kind != SIMT_NONE;
    return show_kernel(command, exit_code);
}

static void prepare(void *context)
{
    struct kernel_command *command = context;

    command->flags.out = NULL;
    command->architecture = 90;
    command->elements = 8;
    command->most_instructions = KERNEL_RUN_MOST_INSTRUCTIONS;
    command->checks.relative = 1e-5;
    command->checks.absolute = 1e-8;
}

static void release(void *context)
{
    struct kernel_command *command = context;

    kernel_outcome_release(&command->outcome);
    kernel_arguments_release(command->values, command->run.argument_count);
    kernel_source_release(&command->source);
    free(command->argument_text);
    free(command->source_text);
}

#define ROW(name, value, text, group, take, member)                                                \
    {                                                                                              \
        name, value, text, group, take, .offset = offsetof(struct kernel_command, member)          \
    }

static const struct option_row options[] = {
    ROW("kernel", "NAME", "as the source or the PTX has it; the only one if not given", 1,
        value_text, kernel),
    ROW("grid", "X[,Y[,Z]]", "blocks; 1 if not given", 1, value_text, grid),
    ROW("block", "X[,Y[,Z]]", "threads of a block; 32 if not given", 1, value_text, block),
    ROW("args", "LIST|@FILE", "arguments, in order: f32[1024]:random,i32:1024", 1, value_text,
        arguments),
    ROW("shared", "BYTES", "dynamic shared memory of a block", 1, value_bytes, shared_bytes),
    ROW("nvcc", "OPTIONS", "for CUDA C: --nvcc='-I include -DN=4 --use_fast_math'", 1, value_text,
        nvcc),
    ROW("all", NULL, "go on after what is wrong, and say all of it", 2, value_boolean, all),
    { "arch", "80|90|100", "for how many warps fit; 90 if not given", 2, value_count,
      .offset = offsetof(struct kernel_command, architecture), .least = 1, .most = 999 },
    { "registers", "N", "of a thread, instead of what ptxas or the PTX says", 2, value_count,
      .offset = offsetof(struct kernel_command, registers), .least = 1, .most = 255 },
    ROW("most-instructions", "N", "of warps, before the run ends as one without end; 2e8", 2,
        value_unsigned, most_instructions),
    ROW("save", "[N:]OUT.npy,...", "write array N, or the only one that the kernel writes", 3,
        value_text, checks.save),
    ROW("check", "[N:]REF.npy", "exit with 1 if array N differs from a reference", 3, value_text,
        checks.reference),
    { "rtol", "X", "relative difference that --check allows; 1e-5", 3, value_real,
      .offset = offsetof(struct kernel_command, checks.relative) },
    { "atol", "X", "absolute difference that --check allows; 1e-8", 3, value_real,
      .offset = offsetof(struct kernel_command, checks.absolute) },
    ROW("baseline", "JSON", "exit with 1 if counts are above those of an earlier run", 3,
        value_text, checks.baseline),
    { "elements", "N", "of each array, that are printed; 8 if not given", 3, value_count,
      .offset = offsetof(struct kernel_command, elements), .least = 0, .most = 1048576 },
    FLAG("out", "FILE", "a page of HTML, with pictures of the accesses; -o FILE does the same", 3,
         value_text, out),
    ROW("beside", "JSON", "another run, which the page shows as before", 3, value_text, beside),
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_kernel = {
    .name = "kernel",
    .text = "one kernel of CUDA without a GPU: what is wrong in it, and what it wastes",
    .arguments = "FILE.ptx|FILE.cu|LESSON_before|LESSON_after",
    .help =
        "Executes a kernel of your own warp by warp, on this machine's processor: PTX as nvcc -ptx "
        "-lineinfo writes it, or CUDA C if nvcc is at hand. Every access is checked (bounds, "
        "races, "
        "alignment, what nobody wrote, barriers), and what a profiler counts on a GPU is counted "
        "by "
        "line of the source: sectors, passes of shared memory, active lanes, atomic operations, "
        "barriers. It takes no GPU, and says no times.\v"
        "Arguments are a list: a type (f32, f64, f16, bf16, i8 to i64, u8 to u64), [elements] for "
        "an array, and how it is filled: zero, iota (0, 1, 2, ...), random (floats of [0, 1), "
        "integers; random<256 bounds them, random@7 gives the seed), a number, or nothing: "
        "unwritten. 4k is 4096, and 512*512 a product. x.npy is an array of a file, {i32:4,f32:1} "
        "a "
        "struct, u8x4[64x48] a texture or surface. @FILE has an argument per line; # begins a "
        "comment. A kernel of a lesson (explain gpu_kernels) is called by its name, and has all "
        "this.\n"
        "\n"
        "Examples:\n"
        "  chokepoint kernel sum.ptx --grid=64 --block=256 "
        "--args=f32[16k]:random,f32[64],i32:16384\n"
        "  chokepoint kernel transpose.cu --kernel=naive --grid=8,8 --block=32,32 "
        "--args=f32[256*256]:iota,f32[256*256],i32:256\n"
        "  chokepoint kernel transpose.cu --kernel=tiled --grid=8,8 --block=32,32 "
        "--args=f32[256*256]:iota,f32[256*256],i32:256 -o transpose.html\n"
        "  chokepoint kernel softmax.cu --grid=32 --block=128 --args=x.npy,f32[6400],i32:200 "
        "--check=y.npy\n"
        "  chokepoint kernel bank_conflicts_before\n"
        "\n" EXIT_CODES(
            "the kernel ran to its end, whatever it wastes",
            "something in it is wrong (a race, an access out of bounds, a barrier that "
            "not all threads reach, no end), --check differs, or --baseline is exceeded"),
    .options = options,
    .context_size = sizeof(struct kernel_command),
    .prepare = prepare,
    .run = run_kernel,
    .release = release,
};
