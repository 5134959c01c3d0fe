/* Calls are sorted so that a call comes before those in it. One pass with a stack gives each its
 * node, and later passes need no more than these numbers. */
#include "harness/desk/analysis/host/call_tree.h"

#include "harness/base/bisect.h"
#include "harness/desk/analysis/timeline/intervals.h"

#include <string.h>

/* A call as the passes see it, whatever the tree is made of. */
struct any_call {
    int64_t start_ns, end_ns;
    uint32_t name, from;
    bool is_operator, is_left_out;
};

static struct any_call call_at(const struct call_tree *tree, int64_t number)
{
    if (tree->is_python) {
        const struct event_frame *frame = &tree->frames[number];
        return (struct any_call){ frame->start_ns, frame->end_ns, frame->name,
                                  frame->from,     false,         false };
    } else {
        const struct trace_event *event = tree->host[number];
        return (struct any_call){ event->start_ns,
                                  event->end_ns,
                                  event->name,
                                  0,
                                  event->kind == EVENT_KIND_OPERATOR,
                                  trace_event_is_call(event) };
    }
}

/* --- The thread --- */

/* A thread's calls follow each other in frames (reader.h). The loop's thread is asked; if it has
 * none, as where steps are marked by another thread, the one with the most. */
static void choose_frames(struct call_tree *tree, const struct host_activity *activity)
{
    const struct trace_file *trace = tree->trace;
    int64_t next;

    for (int64_t i = 0; i < trace->frame_count; i = next) {
        uint32_t track = trace->frames[i].track;
        bool is_loop = activity->has_loop && track == activity->loop;
        for (next = i; next < trace->frame_count && trace->frames[next].track == track;) next++;
        if (is_loop || next - i > tree->call_count) {
            tree->frames = trace->frames + i;
            tree->call_count = next - i;
        }
        if (is_loop)
            break;
    }
    tree->is_python = tree->call_count > 0;
}

/* The loop's events, which are neighbours: the host's are sorted by thread. */
static void choose_host(struct call_tree *tree, const struct timeline *timeline,
                        const struct host_activity *activity)
{
    int64_t first = 0, end;

    while (first < timeline->host_count && timeline->host[first]->track != activity->loop) first++;
    for (end = first; end < timeline->host_count && timeline->host[end]->track == activity->loop;)
        end++;
    tree->host = timeline->host + first;
    tree->call_count = activity->has_loop ? end - first : 0;
}

/* --- Nodes --- */

struct growing {
    struct call_tree *tree;
    struct arena *arena, *scratch;
    struct triple_table known;
    uint8_t *owners; /* by name of a frame: enum frame_owner + 1; 0: not asked yet */
    /* For each node, the node of the call that came after it the last time: in a loop it comes next
     * again, so it is tried first. */
    uint32_t *followers;
    int64_t follower_room;
    uint32_t last; /* node */
};

/* A name is that of a whole stack or of one function. A comprehension is no function that anybody
 * wrote: it is part of the one around it. */
static enum frame_owner owner_of_name(const struct call_tree *tree, const char *text)
{
    struct frame_name name;

    if (tree->frames[0].is_stack)
        return frame_name_of_stack(text, tree->own, &name);
    name = frame_name_of(text, strlen(text));
    return frame_name_is_part(&name) ? OWNER_PYTHON : frame_name_owner(&name, tree->own);
}

/* Without Python's calls, an operator that no other operator called counts as the program's own. */
static enum frame_owner owner_of(struct growing *growing, uint32_t parent,
                                 const struct any_call *call)
{
    const struct call_tree *tree = growing->tree;
    uint8_t *owner = &growing->owners[call->name];

    if (!tree->is_python)
        return call->is_operator && tree->nodes[parent].is_operator ? OWNER_PYTHON : OWNER_USER;
    if (*owner == 0)
        *owner = (uint8_t)(1 + owner_of_name(tree, trace_file_name(tree->trace, call->name)));
    return (enum frame_owner)(*owner - 1);
}

static bool is_iterated(const struct call_tree *tree, uint32_t parent, const struct any_call *call)
{
    const char *text = trace_file_name(tree->trace, call->name);
    struct frame_name name;

    if (tree->nodes[parent].is_iterated || tree->iterators == NULL)
        return tree->nodes[parent].is_iterated;
    name = frame_name_of(text, strlen(text));
    return frame_name_is_iterator(&name, tree->iterators);
}

static uint32_t find_node(struct growing *growing, uint32_t parent, const struct any_call *call)
{
    struct call_tree *tree = growing->tree;
    struct triple key = { parent, call->name, call->from };
    uint32_t number = growing->followers[growing->last];
    const struct call_node *node = &tree->nodes[number];

    if (number != CALL_ROOT && node->parent == parent && node->name == call->name &&
        node->from == call->from)
        return number;
    number = triple_table_add(&growing->known, key) + 1; /* 0 is the root */
    if (number < tree->node_count)
        return number;
    ARENA_ROOM(growing->scratch, growing->followers, number, growing->follower_room);
    ARENA_ROOM(growing->arena, tree->nodes, tree->node_count, tree->node_room);
    tree->nodes[tree->node_count++] =
        (struct call_node){ .parent = parent,
                            .name = call->name,
                            .from = call->from,
                            .owner = owner_of(growing, parent, call),
                            .is_operator = call->is_operator,
                            .is_iterated = is_iterated(tree, parent, call) };
    return number;
}

/* --- Passes --- */

struct open_call {
    uint32_t node, from;
    uint32_t after; /* `from` of the last call that it made */
    int64_t end_ns;
};

struct call_pass {
    struct open_call stack[CALL_DEPTH];
    int depth;
    int64_t cursor_ns;
    int64_t from_ns; /* nothing is to be shown before */
    call_segment_visit *visit;
    void *context;
};

/* The innermost call's own time since the last segment. */
static void show_segment(struct call_pass *pass, int64_t until_ns, uint32_t before)
{
    const struct open_call *top = &pass->stack[pass->depth - 1];
    struct call_segment segment = { pass->cursor_ns, until_ns, top->node, top->after, before };

    if (until_ns <= pass->cursor_ns)
        return;
    pass->cursor_ns = until_ns;
    if (pass->visit != NULL)
        pass->from_ns = pass->visit(pass->context, &segment);
}

/* Ends the calls that end before a moment. */
static void close_calls(struct call_pass *pass, int64_t at_ns)
{
    while (pass->depth > 0 && pass->stack[pass->depth - 1].end_ns <= at_ns) {
        struct open_call *top = &pass->stack[pass->depth - 1];
        show_segment(pass, top->end_ns, 0);
        if (--pass->depth > 0)
            pass->stack[pass->depth - 1].after = top->from;
    }
}

/* A call that outlasts the one around it is cut: profilers' times may cross by a little. */
static void open_call(struct call_pass *pass, const struct any_call *call, uint32_t node)
{
    struct open_call *top = pass->depth > 0 ? &pass->stack[pass->depth - 1] : NULL;
    int64_t end_ns = call->end_ns;

    if (top != NULL) {
        show_segment(pass, call->start_ns, call->from);
        end_ns = interval_earlier(end_ns, top->end_ns);
    }
    pass->cursor_ns = interval_later(pass->cursor_ns, call->start_ns);
    pass->stack[pass->depth++] = (struct open_call){ node, call->from, 0, end_ns };
}

/* A call without time to show, and those in it, are passed over. Returns its end. */
static int64_t pass_over(struct call_pass *pass, const struct any_call *call)
{
    struct open_call *top = pass->depth > 0 ? &pass->stack[pass->depth - 1] : NULL;
    int64_t end_ns = top != NULL ? interval_earlier(call->end_ns, top->end_ns) : call->end_ns;

    pass->cursor_ns = interval_later(pass->cursor_ns, end_ns);
    if (top != NULL)
        top->after = call->from;
    return end_ns;
}

/* The first call from `first` on that does not start before a moment, mostly one of the next. */
static int64_t find_from(const struct call_tree *tree, int64_t first, int64_t at_ns)
{
    int64_t low = first, high = tree->call_count;

    BISECT_NEAR(low, high, first, i,
                (tree->is_python ? tree->frames[i].start_ns : tree->host[i]->start_ns) < at_ns);
    return low;
}

void call_tree_visit(const struct call_tree *tree, int64_t from_ns, call_segment_visit *visit,
                     void *context)
{
    struct call_pass pass = {
        .cursor_ns = INT64_MIN, .from_ns = from_ns, .visit = visit, .context = context
    };
    int64_t next;

    for (int64_t i = 0; i < tree->call_count && pass.from_ns < INT64_MAX; i = next) {
        struct any_call call;
        next = i + 1;
        if (tree->node_of[i] == CALL_ROOT)
            continue;
        call = call_at(tree, i);
        close_calls(&pass, call.start_ns);
        if (pass.depth > 0)
            show_segment(&pass, call.start_ns, call.from);
        if (call.end_ns <= pass.from_ns)
            next = find_from(tree, next, pass_over(&pass, &call));
        else
            open_call(&pass, &call, tree->node_of[i]);
    }
    close_calls(&pass, INT64_MAX);
}

/* The same pass, which gives calls their nodes. */
static void find_nodes(struct call_tree *tree, struct arena *arena, struct arena *scratch)
{
    struct call_pass pass = { .cursor_ns = INT64_MIN };
    struct growing growing = {
        .tree = tree,
        .arena = arena,
        .scratch = scratch,
        .known.arena = scratch,
        .owners = ARENA_NEW(scratch, uint8_t, trace_file_name_count(tree->trace)),
    };

    ARENA_ROOM(scratch, growing.followers, 0, growing.follower_room);
    for (int64_t i = 0; i < tree->call_count; i++) {
        struct any_call call = call_at(tree, i);
        uint32_t parent;
        int64_t start_ns, end_ns;
        if (call.is_left_out)
            continue;
        close_calls(&pass, call.start_ns);
        if (pass.depth == CALL_DEPTH)
            continue;
        parent = pass.depth > 0 ? pass.stack[pass.depth - 1].node : CALL_ROOT;
        tree->node_of[i] = find_node(&growing, parent, &call);
        growing.followers[growing.last] = tree->node_of[i];
        growing.last = tree->node_of[i];
        open_call(&pass, &call, tree->node_of[i]);
        start_ns = interval_later(call.start_ns, tree->start_ns);
        end_ns = interval_earlier(pass.stack[pass.depth - 1].end_ns, tree->end_ns);
        if (end_ns > start_ns)
            tree->nodes[tree->node_of[i]].total_ns += end_ns - start_ns;
    }
}

struct call_tree call_tree_of(struct arena *arena, const struct timeline *timeline,
                              const struct host_activity *activity, int64_t start_ns,
                              int64_t end_ns)
{
    SCRATCH_ARENA(scratch, arena);
    struct call_tree tree = { .trace = timeline->trace,
                              .own = trace_file_metadata(timeline->trace, FRAME_OWN_KEY),
                              .iterators =
                                  trace_file_metadata(timeline->trace, FRAME_ITERATORS_KEY),
                              .start_ns = start_ns,
                              .end_ns = end_ns };

    choose_frames(&tree, activity);
    if (!tree.is_python)
        choose_host(&tree, timeline, activity);
    tree.node_of = ARENA_NEW(arena, uint32_t, tree.call_count);
    ARENA_ROOM(arena, tree.nodes, tree.node_count, tree.node_room);
    tree.node_count = 1;
    find_nodes(&tree, arena, scratch);
    return tree;
}
