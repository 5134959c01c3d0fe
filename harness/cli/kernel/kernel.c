/* chokepoint kernel: one kernel alone, executed without a GPU: what is wrong in it, what it wastes,
 * at which line. A kernel of the lessons is called by its name. */
#include "harness/base/words/text.h"
#include "harness/cli/kernel/kernel_call.h"
#include "harness/cli/kernel/kernel_source.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/html_page.h"
#include "harness/lab/kernel/input/npy.h"
#include "harness/text/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Checks of a run that a call asks for --- */

struct kernel_checks {
    const char *save, *reference, *baseline; /* NULL: not asked for */
    double relative, absolute;
};

/* Counts are exact, so one above the baseline's has grown: there is nothing to average, and nothing
 * to allow for. The baseline is what --format=json printed, and both are compared as JSON. */

/* "3:y.npy" or "y.npy", which means the only array that the kernel writes. *array is a place among
 * the arguments. */
static enum status parse_array(const char *text, const char *option, const struct kernel_run *run,
                               const struct kernel_outcome *outcome, int *array, const char **path)
{
    char *end;
    long number = strtol(text, &end, 10);
    int count = 0;

    *path = end > text && *end == ':' ? end + 1 : text;
    if (*path != text) {
        if (number < 1 || number > run->argument_count || run->arguments[number - 1].count == 0)
            FAIL(STATUS_BAD_USAGE, "--%s=%s: argument %ld is no array", option, text, number);
        *array = (int)number - 1;
        return STATUS_OK;
    }
    for (int i = 0; i < run->argument_count; i++)
        if (outcome->arrays[i].footprint.written + outcome->arrays[i].footprint.atomic_words > 0) {
            *array = i;
            count++;
        }
    if (count != 1)
        FAIL(STATUS_BAD_USAGE, "--%s=%s: the kernel writes %d arrays: say which, as in --%s=3:%s",
             option, text, count, option, text);
    return STATUS_OK;
}

/* "3:y.npy,4:z.npy" */
static enum status save_arrays(const char *list, const struct kernel_run *run,
                               const struct kernel_outcome *outcome)
{
    enum status status = STATUS_OK;
    char *copy, *save = NULL;
    const char *path;
    int array;

    TRY(text_make(&copy, "%s", list));
    for (char *one = strtok_r(copy, ",", &save); one != NULL; one = strtok_r(NULL, ",", &save)) {
        TRY_OUT(parse_array(one, "save", run, outcome, &array, &path));
        TRY_OUT(npy_write(&run->arguments[array], outcome->arrays[array].elements, path));
    }

out:
    free(copy);
    return status;
}

static enum status check_reference(const struct kernel_checks *checks, const struct kernel_run *run,
                                   const struct kernel_outcome *outcome, int *exit_code)
{
    struct kernel_argument reference = { .count = 0 };
    const struct kernel_argument *own;
    struct npy_difference found;
    const char *path;
    int array;

    TRY(parse_array(checks->reference, "check", run, outcome, &array, &path));
    TRY(npy_read(&reference, path, strlen(path)));
    own = &run->arguments[array];
    if (reference.count != own->count) {
        free(reference.data);
        FAIL(STATUS_BAD_USAGE, "%s has %lld elements, and array %d has %lld", path,
             (long long)reference.count, array + 1, (long long)own->count);
    }
    found = npy_compare(own, outcome->arrays[array].elements, &reference, checks->relative,
                        checks->absolute);
    if (found.count > 0) {
        *exit_code = 1;
        fprintf(stderr,
                "array %d differs from %s in %lld of %lld elements: [%lld] is %.9g, not %.9g; at "
                "most by %.3g\n",
                array + 1, path, (long long)found.count, (long long)own->count,
                (long long)found.first,
                kernel_element(own->type, outcome->arrays[array].elements, found.first),
                kernel_element(reference.type, reference.data, found.first), found.most);
    }
    free(reference.data);
    return STATUS_OK;
}

/* Whether a count of `now` is above that of `then`; a missing row is all zeros. */
static void compare_count(const char *what, const cJSON *now, const cJSON *then, const char *count,
                          int *grown)
{
    double a = json_number_of(now, count), b = json_number_of(then, count);

    b = b == b ? b : 0;
    if (!(a > b))
        return;
    fprintf(stderr, "%s%s%s: %.0f, not %.0f\n", what, what[0] != '\0' ? ", " : "", count, a, b);
    ++*grown;
}

static int compare_counts(const cJSON *now, const cJSON *then)
{
    static const char *const counts[] = { "instructions", "diverged", "barriers", "waits" };
    static const char *const accesses[] = { "requests", "touched", "conflicts" };
    const cJSON *row, *rows = cJSON_GetObjectItem(then, "accesses");
    int grown = 0;

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) compare_count("", now, then, counts[i], &grown);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(now, "accesses"))
    {
        const cJSON *other, *same = NULL;
        const char *name = json_text_of(row, "name");
        cJSON_ArrayForEach(other, rows) if (strcmp(json_text_of(other, "name"), name) == 0) same =
            other;
        for (size_t i = 0; i < ARRAY_SIZE(accesses); i++)
            compare_count(name, row, same, accesses[i], &grown);
    }
    return grown;
}

static enum status check_baseline(const char *path, const char *json, int *exit_code)
{
    enum status status = STATUS_OK;
    char *text;
    size_t bytes;
    cJSON *now = NULL, *then = NULL;
    static const char *const same[] = { "kernel", "grid", "block" };

    TRY(kernel_text_read(&text, &bytes, path));
    TRY_OUT(json_parse(&then, text, NULL, false));
    TRY_OUT(json_parse(&now, json, NULL, false));
    if (cJSON_GetObjectItem(then, "counts") == NULL || now == NULL)
        FAIL_OUT(STATUS_BAD_INPUT, "%s is not what kernel --format=json writes", path);
    for (size_t i = 0; i < ARRAY_SIZE(same); i++)
        if (!cJSON_Compare(cJSON_GetObjectItem(now, same[i]), cJSON_GetObjectItem(then, same[i]),
                           true))
            FAIL_OUT(STATUS_BAD_INPUT, "%s is of another %s, so its counts say nothing here", path,
                     same[i]);
    if (compare_counts(cJSON_GetObjectItem(now, "counts"), cJSON_GetObjectItem(then, "counts")) >
        0) {
        fprintf(stderr, "counts have grown since %s\n", path);
        *exit_code = 1;
    }

out:
    cJSON_Delete(now);
    cJSON_Delete(then);
    free(text);
    return status;
}

/* `json` is the run's, as kernel_json() makes it. A check that fails is printed to standard error,
 * and *exit_code is 1 then. BAD_USAGE, BAD_INPUT: what is asked for cannot be done. */
static enum status check_run(const struct kernel_checks *checks, const struct kernel_run *run,
                             const struct kernel_outcome *outcome, const char *json, int *exit_code)
{
    if (checks->save != NULL)
        TRY(save_arrays(checks->save, run, outcome));
    if (checks->reference != NULL)
        TRY(check_reference(checks, run, outcome, exit_code));
    return checks->baseline != NULL ? check_baseline(checks->baseline, json, exit_code) : STATUS_OK;
}

struct kernel_command {
    struct flags flags;
    struct kernel_call call;
    const char *beside, *nvcc;
    struct kernel_checks checks;
    bool all;
    int architecture;
    uint64_t most_instructions;

    struct kernel_source source;
    char *argument_text; /* of a file */
    char *source_text;
    char source_path[PATH_MAX];
};

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

/* The launch that the options give; --args=@FILE is read first. */
static enum status find_launch(struct kernel_command *command)
{
    struct kernel_call *call = &command->call;
    size_t bytes;

    call->file = command->flags.arguments[0];
    if (call->arguments != NULL && call->arguments[0] == '@') {
        TRY(kernel_text_read(&command->argument_text, &bytes, call->arguments + 1));
        join_lines(command->argument_text);
        call->arguments = command->argument_text;
    }
    return kernel_call_prepare(call);
}

/* The text of the first file among the lines that ran, if it is at hand. */
static enum status find_source(struct kernel_command *command, struct kernel_output *output)
{
    const struct kernel_outcome *outcome = &command->call.outcome;
    size_t bytes;

    for (int i = 0; i < outcome->line_count; i++)
        if (kernel_source_find(command->source_path, command->call.file, outcome->lines[i].file)) {
            TRY(kernel_text_read(&command->source_text, &bytes, command->source_path));
            output->source = command->source_text;
            output->source_path = command->source_path;
            break;
        }
    return STATUS_OK;
}

/* --registers, what ptxas said of a lesson, or what it says of a file now. */
static struct kernel_needs needs_of(const struct kernel_command *command)
{
    struct kernel_needs needs = kernel_call_needs(&command->call);

    if (needs.registers == 0 && command->call.lesson == NULL)
        return kernel_source_needs(&command->source, command->call.outcome.kernel_name,
                                   command->architecture);
    return needs;
}

static void add_run(struct json *json, cJSON *kernels, const char *name, const char *text)
{
    JSON_ROW(json, kernels, KEY("name", name), KEY("kernel", json_raw(json, text)));
}

/* A page of the run, beside that of another whose JSON is at hand. */
static enum status write_page(const struct kernel_command *command, const char *text)
{
    enum status status = STATUS_OK;
    struct json json = { .out_of_memory = false };
    cJSON *document = html_page_document(&json, command_kernel.name, command->call.file);
    cJSON *kernels = json_array(&json, document, "kernels"), *other = NULL;
    char *before = NULL;
    size_t bytes;

    if (command->beside != NULL) {
        TRY_OUT(kernel_text_read(&before, &bytes, command->beside));
        TRY_OUT(json_parse(&other, before, NULL, true));
        if (!cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(other, "counts")))
            FAIL_OUT(STATUS_BAD_INPUT, "--beside=%s is not as kernel --format=json writes it",
                     command->beside);
        add_run(&json, kernels, "before", before);
    }
    add_run(&json, kernels, command->beside != NULL ? "after" : "", text);
    TRY_OUT(html_page_write(command->flags.out, &json, document));

out:
    free(before);
    cJSON_Delete(other);
    cJSON_Delete(document);
    return status;
}

static enum status show_kernel(struct kernel_command *command, int *exit_code)
{
    struct kernel_finding findings[KERNEL_FINDINGS_MOST];
    const struct kernel_call *call = &command->call;
    struct page page = flags_page(&command->flags);
    struct kernel_output output = kernel_call_output(call, needs_of(command), findings);
    enum status status = STATUS_OK;
    char *text = NULL;

    if (call->lesson == NULL)
        TRY(find_source(command, &output));
    TRY(kernel_json(&text, &output));
    if (command->flags.out != NULL)
        TRY_OUT(write_page(command, text));
    else if (command->flags.format == FORMAT_JSON)
        fputs(text, stdout);
    else
        kernel_page(&page, &output);
    status = check_run(&command->checks, &call->run, &call->outcome, text, exit_code);

out:
    free(text);
    return status;
}

static enum status run_kernel(void *context, int *exit_code)
{
    struct kernel_command *command = context;
    struct kernel_call *call = &command->call;
    struct kernel_run *run = &call->run;

    if (command->flags.argument_count != 1)
        FAIL(STATUS_BAD_USAGE, "give one file of PTX, or of CUDA C, or a kernel of a lesson");
    call->arch = architecture_find(command->architecture);
    if (call->arch < 0)
        FAIL(STATUS_BAD_USAGE, "--arch=%d is not known; %s are", command->architecture,
             ARCHITECTURES);
    if (command->beside != NULL && command->flags.out == NULL)
        FAIL(STATUS_BAD_USAGE, "--beside=%s is for a page: give --out=FILE", command->beside);
    TRY(find_launch(command));
    TRY(html_page_check(&command->flags));
    if (call->lesson == NULL) {
        TRY(kernel_source_read(&command->source, command->flags.arguments[0], command->nvcc,
                               command->architecture));
        run->ptx = command->source.ptx;
        run->ptx_bytes = command->source.bytes;
    }
    run->most_instructions = command->most_instructions;
    run->all = command->all;
    run->output = command->flags.format == FORMAT_CONSOLE ? stdout : stderr;
    TRY(kernel_run(run, &call->outcome));
    *exit_code = call->outcome.finding.kind != SIMT_NONE;
    return show_kernel(command, exit_code);
}

static void prepare(void *context)
{
    struct kernel_command *command = context;

    command->flags.out = NULL;
    command->architecture = 90;
    command->call.elements = 8;
    command->most_instructions = KERNEL_RUN_MOST_INSTRUCTIONS;
    command->checks.relative = 1e-5;
    command->checks.absolute = 1e-8;
}

static void release(void *context)
{
    struct kernel_command *command = context;

    kernel_call_release(&command->call);
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
        value_text, call.kernel),
    ROW("grid", "X[,Y[,Z]]", "blocks; 1 if not given", 1, value_text, call.grid),
    ROW("block", "X[,Y[,Z]]", "threads of a block; 32 if not given", 1, value_text, call.block),
    ROW("args", "LIST|@FILE", "arguments, in order: f32[1024]:random,i32:1024", 1, value_text,
        call.arguments),
    ROW("shared", "BYTES", "dynamic shared memory of a block", 1, value_bytes, call.shared_bytes),
    ROW("nvcc", "OPTIONS", "for CUDA C: --nvcc='-I include -DN=4 --use_fast_math'", 1, value_text,
        nvcc),
    ROW("all", NULL, "go on after what is wrong, and say all of it", 2, value_boolean, all),
    { "arch", "80|90|100", "for how many warps fit; 90 if not given", 2, value_count,
      .offset = offsetof(struct kernel_command, architecture), .least = 1, .most = 999 },
    { "registers", "N", "of a thread, instead of what ptxas or the PTX says", 2, value_count,
      .offset = offsetof(struct kernel_command, call.registers), .least = 1, .most = 255 },
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
      .offset = offsetof(struct kernel_command, call.elements), .least = 0, .most = 1048576 },
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
        "integers; random<256 bounds them, random@7 gives the seed), small (1 to 16), a number, or "
        "nothing: unwritten. 4k is 4096, and 512*512 a product. x.npy is an array of a file, "
        "{i32:4,f32:1} "
        "a "
        "struct, u8x4[64x48] a texture or surface. @FILE has an argument per line; # begins a "
        "comment. A kernel of a lesson (explain gpu_kernels) is called by its name, and has all "
        "this; options replace parts of it.\n"
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
        "  chokepoint kernel contended_atomics_before --grid=4 --args=f32[1k]:small,f32[1]:zero\n"
        "\n" EXIT_CODES(
            "the kernel ran to its end, whatever it wastes",
            "something in it is wrong (a race, an access out of bounds, a barrier that "
            "not all threads reach, no end), --check differs, or --baseline is exceeded",
            "it could not be run"),
    .options = options,
    .context_size = sizeof(struct kernel_command),
    .prepare = prepare,
    .run = run_kernel,
    .release = release,
};
