/* The passes of a model in the order in which they run, and the memory that each needs. Passes are
 * put in order first; then each tensor's life follows from who writes and who reads it. Running is
 * a walk over the entries, which allocates, queues and frees.
 *
 * With the same shapes each step allocates and frees in the same order, so a caching allocator asks
 * the device for nothing after the first one. Freeing when a pass is queued, not when it has run,
 * is safe because the memory is used again on the same stream. */
#include "harness/engine/model/encoder.h"

#include "harness/base/rows.h"

#include <stdio.h>
#include <stdlib.h>

/* Notes which nodes of a graph that is captured began with node `first`. */
static void note_span(const struct op_context *context, const char *name, int first)
{
    if (context->spans != NULL)
        graph_spans_add(context->spans, name, first, graph_captured_nodes(context->stream));
}

/* A pass with the tensors that begin and end their lives with it. */
struct entry {
    struct program_entry what;
    const struct pass *pass;
    struct tensor *allocate[PASS_WRITES];
    struct {
        struct tensor *tensor;
        bool saved; /* made by forward for backward: a graph that is kept would keep it */
    } release[PASS_READS + PASS_WRITES];
    int allocations, releases;
};

struct program {
    struct entry *entries;
    int length, forward_length; /* passes before the first one of backward, or recomputed for it */
    struct trace *trace;        /* NULL: nothing is recorded */
    struct trace_operation *operations; /* [length], from the first program_trace() on */
};

static bool among(struct tensor *const *tensors, int count, const struct tensor *tensor)
{
    for (int i = 0; i < count; i++)
        if (tensors[i] == tensor)
            return true;
    return false;
}

static bool reads(const struct pass *pass, const struct tensor *tensor)
{
    return among(pass->reads, PASS_READS, tensor);
}

static bool writes(const struct pass *pass, const struct tensor *tensor)
{
    return among(pass->writes, PASS_WRITES, tensor);
}

static bool defines(const struct pass *pass, const struct tensor *tensor)
{
    return writes(pass, tensor) && !reads(pass, tensor);
}

/* The last entry that uses the value that entry `index` gives `tensor`; `index` itself if none
 * does. */
static int last_use(const struct program *program, int index, const struct tensor *tensor)
{
    int last = index;

    for (int i = index + 1; i < program->length; i++) {
        const struct pass *pass = program->entries[i].pass;
        if (defines(pass, tensor))
            break;
        if (reads(pass, tensor) || writes(pass, tensor))
            last = i;
    }
    return last;
}

/* Whether a later entry reads anything that `index` has written. */
static bool is_needed(const struct program *program, int index)
{
    const struct pass *pass = program->entries[index].pass;

    for (int w = 0; w < PASS_WRITES; w++)
        if (pass->writes[w] != NULL &&
            (pass->writes[w]->persistent || last_use(program, index, pass->writes[w]) > index))
            return true;
    return false;
}

/* An op that has no such pass adds nothing. */
static void append_pass(struct program *program, const struct op *op, bool backward,
                        bool recomputed)
{
    const struct pass *pass = backward ? &op->backward : &op->forward;

    if (pass->run != NULL)
        program->entries[program->length++] =
            (struct entry){ .what = { op, backward, recomputed }, .pass = pass };
}

/* Whether backward treats two neighbouring ops as one group: those of a block, or of a segment of
 * blocks. */
static bool are_together(const struct op *one, const struct op *two, int segment)
{
    if (segment == 0 || one->block < 0 || two->block < 0)
        return one->block == two->block;
    return one->block / segment == two->block / segment;
}

/* Forward, then backward of each group in reverse, after its forward where that is recomputed. */
static void order_passes(struct program *program, enum program_kind kind, const struct op *ops,
                         int count, int segment)
{
    for (int i = 0; i < count; i++) append_pass(program, &ops[i], false, false);
    for (int last = kind == PROGRAM_FORWARD ? 0 : count, first; last > 0; last = first) {
        first = last - 1;
        while (first > 0 && are_together(&ops[first - 1], &ops[last - 1], segment)) first--;
        for (int i = first; segment > 0 && ops[first].block >= 0 && i < last; i++)
            append_pass(program, &ops[i], false, true);
        for (int i = last; i-- > first;) append_pass(program, &ops[i], true, false);
    }
}

static bool is_forward(const struct entry *entry)
{
    return !entry->what.backward && !entry->what.recomputed;
}

/* A tensor is allocated where it is defined and released after its last use before the next
 * definition. */
static void find_lives(struct program *program)
{
    for (int i = 0; i < program->length; i++) {
        struct entry *entry = &program->entries[i];
        for (int w = 0; w < PASS_WRITES; w++) {
            struct tensor *tensor = entry->pass->writes[w];
            if (tensor == NULL || tensor->persistent || !defines(entry->pass, tensor) ||
                among(entry->allocate, entry->allocations, tensor))
                continue;
            struct entry *end = &program->entries[last_use(program, i, tensor)];
            entry->allocate[entry->allocations++] = tensor;
            end->release[end->releases].tensor = tensor;
            end->release[end->releases++].saved = is_forward(entry) && !is_forward(end);
        }
    }
}

enum status program_build(struct program **built, enum program_kind kind, const struct op *ops,
                          int count, int segment)
{
    enum status status = STATUS_OK;
    struct program *program;

    *built = NULL;
    TRY_OUT(rows_make(&program, 1));
    /* At most forward, recomputed forward and backward of each op. */
    TRY_OUT(rows_make(&program->entries, 3 * count));
    order_passes(program, kind, ops, count, segment);
    /* Goes backwards, so that an entry which only a dropped one needed is dropped too. */
    for (int i = program->length; i-- > 0;) {
        if (!program->entries[i].what.recomputed || is_needed(program, i))
            continue;
        for (int j = i; j + 1 < program->length; j++) program->entries[j] = program->entries[j + 1];
        program->length--;
    }
    while (program->forward_length < program->length &&
           is_forward(&program->entries[program->forward_length]))
        program->forward_length++;
    find_lives(program);
    *built = program;
    program = NULL;

out:
    program_free(program);
    return status;
}

void program_free(struct program *program)
{
    if (program == NULL)
        return;
    free(program->entries);
    free(program->operations);
    free(program);
}

/* --- Traces --- */

static const char *const trace_types[DTYPES_ALL] = {
    [DTYPE_F32] = "float",
    [DTYPE_BF16] = "c10::BFloat16",
    [DTYPE_F16] = "c10::Half",
    [DTYPE_F64] = "double",
};

enum { PASS_NAME = sizeof((struct trace_operation *)NULL)->name };

static void name_pass(char name[PASS_NAME], const struct program_entry *what)
{
    snprintf(name, PASS_NAME, "%s%s", what->op->name,
             what->backward     ? " backward"
             : what->recomputed ? " recomputed"
                                : "");
}

/* For a trace: the shapes and types of what the pass reads. */
static void describe_pass(struct trace_operation *operation, const struct entry *entry,
                          const struct op *first)
{
    const struct program_entry *what = &entry->what;

    _Static_assert((int)TRACE_INPUTS >= (int)PASS_READS, "a trace shows every tensor read");
    name_pass(operation->name, what);
    operation->sequence = what->op - first;
    operation->backward = what->backward;
    operation->bytes = entry->pass->bytes;
    operation->flops = entry->pass->flops;
    for (int i = 0; i < PASS_READS; i++) {
        const struct tensor *tensor = entry->pass->reads[i];
        if (tensor == NULL)
            continue;
        operation->inputs[operation->input_count++] = (struct trace_input){
            .rows = tensor->width < tensor->elements ? tensor->elements / tensor->width : 0,
            .width = tensor->width,
            .type = trace_types[tensor->dtype],
        };
    }
}

enum status program_trace(struct program *program, struct trace *trace)
{
    if (trace != NULL && program->operations == NULL) {
        TRY(rows_make(&program->operations, program->length));
        for (int i = 0; i < program->length; i++)
            describe_pass(&program->operations[i], &program->entries[i],
                          program->entries[0].what.op);
    }
    program->trace = trace;

    return STATUS_OK;
}

/* --- Running --- */

static enum status free_tensor(struct tensor *tensor, struct allocator *allocator)
{
    void *data = tensor->data;

    tensor->data = NULL;
    return allocator_free(allocator, data);
}

enum status saved_blocks_free(struct saved_blocks *saved, struct allocator *allocator)
{
    while (saved->count > 0) TRY(allocator_free(allocator, saved->items[--saved->count]));

    return STATUS_OK;
}

void saved_blocks_release(struct saved_blocks *saved)
{
    free(saved->items);
    *saved = (struct saved_blocks){ 0 };
}

/* Without a context nothing is queued. */
static enum status run_entry(struct entry *entry, const struct op_context *context,
                             struct allocator *allocator, const struct tensor *keep,
                             struct saved_blocks *saved)
{
    enum status status = STATUS_OK;

    for (int i = 0; i < entry->allocations; i++) {
        struct tensor *tensor = entry->allocate[i];
        TRY_OUT(allocator_alloc(allocator, tensor->category, tensor_bytes(tensor), &tensor->data));
    }
    if (context != NULL) {
        /* For checksums, bytes that a pass does not write must be the same each time. */
        for (int i = 0; context->sums != NULL && i < entry->allocations; i++)
            TRY_OUT(device_memset(context->stream, entry->allocate[i]->data, 0,
                                  tensor_bytes(entry->allocate[i])));
        TRY_OUT(entry->pass->run(entry->what.op, context));
        for (int i = 0; context->sums != NULL && i < PASS_WRITES; i++)
            if (entry->pass->writes[i] != NULL)
                TRY_OUT(tensor_sums_add(context->sums, entry->what.op->name, entry->what.backward,
                                        entry->pass->writes[i]));
    }
    for (int i = 0; i < entry->releases; i++) {
        struct tensor *tensor = entry->release[i].tensor;
        if (tensor == keep)
            continue;
        if (saved == NULL || !entry->release[i].saved) {
            TRY_OUT(free_tensor(tensor, allocator));
            continue;
        }
        TRY_OUT(rows_grow(&saved->items, saved->count + 1, &saved->room));
        saved->items[saved->count++] = tensor->data;
        tensor->data = NULL;
    }

out:
    if (status != STATUS_OK)
        status_context("%s %s", entry->what.op->name,
                       entry->what.backward ? "backward" : "forward");
    return status;
}

/* After an error in entry `last`, which stays the last error. */
static void release_all(struct program *program, int last, struct allocator *allocator,
                        const struct tensor *keep)
{
    /* Freeing may fail too, and would hide what came first. */
    struct status_error error = *status_last();

    for (int i = 0; i <= last && i < program->length; i++) {
        struct entry *entry = &program->entries[i];
        for (int a = 0; a < entry->allocations; a++)
            if (entry->allocate[a]->data != NULL && entry->allocate[a] != keep)
                free_tensor(entry->allocate[a], allocator);
    }
    status_raise(&error);
}

/* Entry `entry` begins, or is queued. */
static enum status tell_listeners(const struct op_context *context, int entry, bool begins)
{
    for (int i = 0; i < PASS_LISTENERS; i++) {
        const struct pass_listener *listener = context->listeners[i];
        if (listener != NULL && (!begins || listener->begins != NULL))
            TRY((begins ? listener->begins : listener->queued)(listener->context, entry));
    }

    return STATUS_OK;
}

/* The entries from `first` on, up to before `end`. */
static enum status run_entries(struct program *program, int first, int end,
                               const struct op_context *context, struct allocator *allocator,
                               struct tensor *keep, struct saved_blocks *saved)
{
    struct device *device = stream_device(context->stream);
    enum status status = STATUS_OK;
    bool backward = first > 0; /* recomputation belongs to backward */
    int done = first, phase_node = graph_captured_nodes(context->stream);

    phase_push(device, backward ? "backward" : "forward");
    for (; done < end; done++) {
        struct entry *entry = &program->entries[done];
        int node = graph_captured_nodes(context->stream);
        char name[PASS_NAME];
        int64_t start_ns;
        if (!backward && entry->what.backward) {
            backward = true;
            note_span(context, "forward", phase_node);
            phase_node = node;
            phase_pop(device);
            phase_push(device, "backward");
            if (context->forward_end != NULL)
                TRY_OUT(event_record(context->forward_end, context->stream));
        }
        TRY_OUT(tell_listeners(context, done, true));
        start_ns = trace_clock(program->trace);
        TRY_OUT(run_entry(entry, context, allocator, keep, saved));
        if (start_ns != 0)
            trace_add_operator(program->trace, &program->operations[done], start_ns);
        TRY_OUT(tell_listeners(context, done, false));
        if (context->spans != NULL) {
            name_pass(name, &entry->what);
            note_span(context, name, node);
        }
    }
    note_span(context, backward ? "backward" : "forward", phase_node);

out:
    phase_pop(device);
    if (status != STATUS_OK)
        release_all(program, done, allocator, keep);
    return status;
}

enum status program_run(struct program *program, const struct op_context *context,
                        struct allocator *allocator, struct tensor *keep,
                        struct saved_blocks *saved)
{
    return run_entries(program, 0, program->length, context, allocator, keep, saved);
}

enum status program_run_half(struct program *program, bool backward,
                             const struct op_context *context, struct allocator *allocator,
                             struct saved_blocks *saved)
{
    return run_entries(program, backward ? program->forward_length : 0,
                       backward ? program->length : program->forward_length, context, allocator,
                       NULL, saved);
}

/* A walk without queueing: it makes the allocator reserve all that a step takes, as a capture needs
 * it. */
enum status program_reserve(struct program *program, struct allocator *allocator)
{
    enum status status = STATUS_OK;
    int done = 0;

    for (; done < program->length; done++)
        TRY_OUT(run_entry(&program->entries[done], NULL, allocator, NULL, NULL));

out:
    if (status != STATUS_OK)
        release_all(program, done, allocator, NULL);
    return status;
}

int program_length(const struct program *program)
{
    return program->length;
}

struct program_entry program_entry(const struct program *program, int index)
{
    return program->entries[index].what;
}

int program_last_write(const struct program *program, const struct tensor *tensor)
{
    int last = program->length - 1;

    while (last >= 0 && !writes(program->entries[last].pass, tensor)) last--;
    return last;
}

int64_t program_bytes(const struct program *program)
{
    int64_t bytes = 0;

    for (int i = 0; i < program->length; i++) bytes += program->entries[i].pass->bytes;
    return bytes;
}

int64_t program_flops(const struct program *program)
{
    int64_t flops = 0;

    for (int i = 0; i < program->length; i++) flops += program->entries[i].pass->flops;
    return flops;
}

/* Recomputation, and products that backward does again, are work of the implementation and not of
 * the model. */
int64_t program_model_flops(const struct program *program)
{
    int64_t flops = 0;

    for (int i = 0; i < program->length; i++) {
        const struct program_entry *what = &program->entries[i].what;
        if (!what->recomputed)
            flops +=
                program->entries[i].pass->flops - (what->backward ? what->op->repeated_flops : 0);
    }
    return flops;
}
