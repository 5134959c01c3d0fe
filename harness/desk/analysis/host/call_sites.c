/* The tree of calls divides the cost among functions and lines (call_tree.h). The search begins
 * with the place that has most of it, and goes on into that function while one place in it has
 * CALL_SITE_MOST of the cost. */
#include "harness/desk/analysis/host/call_sites.h"

#include "harness/base/sort.h"
#include "harness/desk/analysis/names/frame_name.h"
#include "harness/desk/analysis/timeline/intervals.h"

#include <stdio.h>
#include <string.h>

/* --- Costs --- */

void costly_times_add(struct costly_times *times, int64_t start_ns, int64_t end_ns, double cost_ns)
{
    if (end_ns <= start_ns || !(cost_ns > 0))
        return;
    ARENA_ROOM(times->arena, times->items, times->count, times->room);
    times->items[times->count++] = (struct costly_time){ start_ns, end_ns, cost_ns };
}

COMPARATOR(by_start, struct costly_time, ASCENDING(start_ns) ?: ASCENDING(end_ns))

/* --- Search --- */

/* Cost of what a call did itself, between two of the calls that it made. */
struct part {
    double cost_ns;
    bool is_left; /* in the search */
};

/* A function as a whole (lines 0), or lines of it. */
struct candidate {
    uint32_t name; /* of the function */
    uint32_t line, last_line;
    double cost_ns;
    uint32_t call; /* which has most of the cost; 0: none */
    double call_ns;
};

struct search {
    struct arena *scratch;
    const struct call_tree *tree;
    const struct costly_times *times;
    int64_t next; /* of them, in the pass */
    double all_ns;

    struct triple_table parts_known; /* node, after, before */
    struct part *parts;
    int64_t part_room;

    double *covered_ns;      /* by node, with what it called */
    bool *opened;            /* by node: not a place as a whole */
    bool own_only;           /* functions of others are no places as a whole either */
    enum frame_owner wanted; /* of the places */
};

static void add_part(struct search *search, const struct call_segment *segment, double cost_ns)
{
    const struct call_node *node = &search->tree->nodes[segment->node];
    bool has_lines = node->owner > OWNER_PYTHON && search->tree->is_python;
    struct triple key = { segment->node, has_lines ? segment->after : 0,
                          has_lines ? segment->before : 0 };
    uint32_t count = search->parts_known.count,
             number = triple_table_add(&search->parts_known, key);

    if (number == count) {
        ARENA_ROOM(search->scratch, search->parts, number, search->part_room);
        search->parts[number] = (struct part){ 0, true };
    }
    search->parts[number].cost_ns += cost_ns;
}

/* Passes over the times that end before a moment. */
static void pass_times(struct search *search, int64_t at_ns)
{
    const struct costly_times *times = search->times;

    while (search->next < times->count && times->items[search->next].end_ns <= at_ns)
        search->next++;
}

static int64_t take_segment(void *context, const struct call_segment *segment)
{
    struct search *search = context;
    const struct costly_times *times = search->times;
    double cost_ns = 0;
    int64_t covered_ns = 0;

    pass_times(search, segment->start_ns);
    for (int64_t i = search->next; i < times->count && times->items[i].start_ns < segment->end_ns;
         i++) {
        const struct costly_time *time = &times->items[i];
        int64_t ns = interval_earlier(time->end_ns, segment->end_ns) -
                     interval_later(time->start_ns, segment->start_ns);
        if (ns <= 0) /* less only if times overlap, which they should not */
            continue;
        covered_ns += ns;
        cost_ns += time->cost_ns * (double)ns / (double)(time->end_ns - time->start_ns);
    }
    if (covered_ns > 0) {
        search->covered_ns[segment->node] += (double)covered_ns;
        add_part(search, segment, cost_ns);
    }
    pass_times(search, segment->end_ns);
    return search->next < times->count ? times->items[search->next].start_ns : INT64_MAX;
}

static bool is_pure(const struct search *search, uint32_t node)
{
    const struct call_node *call = &search->tree->nodes[node];

    return !search->opened[node] && (!search->own_only || call->owner == search->wanted) &&
           search->covered_ns[node] >= CALL_SITE_PURE * (double)call->total_ns;
}

static struct frame_name name_of(const struct call_tree *tree, uint32_t number)
{
    const char *text = trace_file_name(tree->trace, number);
    struct frame_name name;

    if (tree->frames[0].is_stack && frame_name_of_stack(text, tree->own, &name) > OWNER_PYTHON)
        return name;
    return frame_name_of(text, strlen(text));
}

/* Lines of the function between the two calls. In a loop the one before may be further down. */
static struct candidate between(const struct call_tree *tree, uint32_t function, uint32_t after,
                                uint32_t before)
{
    struct frame_name name;
    uint32_t a = 0, b = 0;

    if (tree->is_python) {
        name = name_of(tree, function);
        a = (uint32_t)frame_line_of(trace_file_name(tree->trace, after), &name);
        b = (uint32_t)frame_line_of(trace_file_name(tree->trace, before), &name);
    }
    if (a == 0 || b == 0)
        a = b = a + b;
    return (
        struct candidate){ .name = function, .line = a < b ? a : b, .last_line = a < b ? b : a };
}

/* The place of a part. False: it is under no code of the wanted owner, or not without code that is
 * closer to the user. */
static bool place_of(const struct search *search, uint32_t number, struct candidate *place)
{
    const struct call_tree *tree = search->tree;
    const struct triple *key = &search->parts_known.items[number];
    uint32_t outermost = CALL_ROOT, below = CALL_ROOT, node;

    for (node = key->a; node != CALL_ROOT && tree->nodes[node].owner <= search->wanted;
         node = tree->nodes[node].parent)
        if (is_pure(search, node))
            outermost = node;
    if (outermost != CALL_ROOT && tree->nodes[outermost].owner == search->wanted) {
        *place = (struct candidate){ .name = tree->nodes[outermost].name };
        return true;
    }
    for (node = outermost != CALL_ROOT ? outermost : key->a;
         node != CALL_ROOT && tree->nodes[node].owner < search->wanted;
         node = tree->nodes[node].parent)
        below = node;
    if (node == CALL_ROOT || tree->nodes[node].owner > search->wanted)
        return false;
    if (below == CALL_ROOT) {
        *place = between(tree, tree->nodes[node].name, key->b, key->c);
    } else {
        uint32_t from = tree->nodes[below].from;
        *place = between(tree, tree->nodes[node].name, from, from);
        place->call = tree->nodes[below].name;
    }
    return true;
}

/* Several calls may be made on a line. The one with more than half of the cost remains. */
static void vote(struct candidate *candidate, uint32_t call, double cost_ns)
{
    if (candidate->call == call) {
        candidate->call_ns += cost_ns;
    } else if (candidate->call_ns >= cost_ns) {
        candidate->call_ns -= cost_ns;
    } else {
        candidate->call = call;
        candidate->call_ns = cost_ns - candidate->call_ns;
    }
}

/* Divides the parts that are left among places, and finds the one with the most. */
static struct candidate find_best(const struct search *search)
{
    uint32_t parts = search->parts_known.count;
    SCRATCH_ARENA(scratch, search->scratch);
    struct triple_table known = { .arena = scratch };
    struct candidate *candidates = ARENA_NEW(scratch, struct candidate, parts);
    struct candidate best = { .name = 0 };

    for (uint32_t i = 0; i < parts; i++) {
        struct candidate place;
        uint32_t number, count = known.count;
        if (!search->parts[i].is_left || !place_of(search, i, &place))
            continue;
        number =
            triple_table_add(&known, (struct triple){ place.name, place.line, place.last_line });
        if (number == count)
            candidates[number] = place;
        candidates[number].cost_ns += search->parts[i].cost_ns;
        vote(&candidates[number], place.call, search->parts[i].cost_ns);
    }
    for (uint32_t i = 0; i < known.count; i++)
        if (candidates[i].cost_ns > best.cost_ns)
            best = candidates[i];
    return best;
}

static void keep_parts_of(struct search *search, const struct candidate *kept)
{
    for (uint32_t i = 0; i < search->parts_known.count; i++) {
        struct candidate place;
        search->parts[i].is_left = search->parts[i].is_left && place_of(search, i, &place) &&
                                   place.name == kept->name && place.line == kept->line &&
                                   place.last_line == kept->last_line;
    }
}

/* Continues within a function: only its parts are left, and it is not a place as a whole. */
static void go_into(struct search *search, const struct candidate *function)
{
    keep_parts_of(search, function);
    for (uint32_t i = 1; i < search->tree->node_count; i++)
        if (search->tree->nodes[i].name == function->name)
            search->opened[i] = true;
}

/* A line that calls a library, which calls the user's code back: a loader that calls __getitem__().
 * If more than half of the cost comes from there, that function is the place. */
static void follow_back(struct search *search, struct candidate *found)
{
    struct candidate back;
    bool own_only = search->own_only;

    if (found->line == 0 || found->call == 0)
        return;
    search->own_only = true;
    back = find_best(search);
    if (back.name != 0 && back.line == 0 && back.cost_ns > CALL_SITE_CALLED_BACK * found->cost_ns)
        *found = back;
    else
        search->own_only = own_only;
}

/* Only the parts of what is found are left. */
static struct candidate search_places(struct search *search)
{
    struct candidate found = find_best(search);

    follow_back(search, &found);
    while (found.line == 0 && found.name != 0) {
        struct candidate next;
        go_into(search, &found);
        next = find_best(search);
        if (next.cost_ns < CALL_SITE_MOST * found.cost_ns ||
            (next.name == found.name && next.line == 0))
            break;
        found = next;
        follow_back(search, &found);
    }
    if (found.line > 0)
        keep_parts_of(search, &found);
    return found;
}

/* --- Words --- */

static void copy(char *to, size_t size, const char *from, size_t length)
{
    size_t cut = length >= size ? length - size + 1 : 0; /* the end of a path says most */

    snprintf(to, size, "%.*s", (int)(length - cut), from + cut);
}

static void describe(struct call_place *place, const struct search *search,
                     const struct candidate *found)
{
    const struct call_tree *tree = search->tree;
    const char *text = trace_file_name(tree->trace, found->name);
    struct frame_name name;

    place->share = found->cost_ns / search->all_ns;
    if (!tree->is_python) {
        place->kind = PLACE_ANNOTATION;
        for (uint32_t i = 1; i < tree->node_count; i++)
            if (tree->nodes[i].name == found->name && tree->nodes[i].is_operator)
                place->kind = PLACE_OPERATOR;
        snprintf(place->function, sizeof place->function, "%s", text);
        return;
    }
    name = name_of(tree, found->name);
    place->kind = PLACE_LINE;
    place->line = found->line > 0 ? found->line : name.line;
    place->last_line = found->line > 0 ? found->last_line : name.line;
    copy(place->file, sizeof place->file, name.file, name.file_length);
    copy(place->function, sizeof place->function, name.function, name.function_length);
    if (found->call != 0)
        frame_name_call(place->call, sizeof place->call, trace_file_name(tree->trace, found->call));
}

enum { PATH_COLUMNS = 40 };

void call_place_text(char *text, size_t size, const struct call_place *place)
{
    const char *comma = place->call[0] != '\0' ? ", " : "";
    const char *path = place->file;
    char shown[176], line[208], last[32] = "";

    /* The end of a path that has room, after its first "/"; its last part in any case. */
    while (strlen(path) > PATH_COLUMNS && strchr(path, '/') != NULL) path = strchr(path, '/') + 1;
    if (place->kind == PLACE_LINE) {
        snprintf(shown, sizeof shown, "%s%s", path > place->file ? ".../" : "", path);
        frame_name_line(line, sizeof line, shown, place->line);
        if (place->last_line > place->line)
            snprintf(last, sizeof last, "-%lld", (long long)place->last_line);
        snprintf(text, size, "%s%s in %s%s%s", line, last, place->function, comma, place->call);
    } else {
        snprintf(text, size, "in %s", place->function);
    }
}

const char *call_place_kind_name(enum call_place_kind kind)
{
    static const char *const names[] = { "unknown", "line", "annotation", "operator" };

    return (unsigned)kind < ARRAY_SIZE(names) ? names[kind] : "unknown";
}

static double iterated_share(const struct search *search)
{
    const struct call_node *nodes = search->tree->nodes;
    double ns = 0;

    for (uint32_t i = 1; i < search->tree->node_count; i++)
        if (nodes[i].is_iterated && !nodes[nodes[i].parent].is_iterated)
            ns += search->covered_ns[i];
    return ns > 0 ? ns / search->covered_ns[CALL_ROOT] : 0;
}

/* The place of that owner with most of the cost that is left. */
static struct call_place find_place(struct search *search, enum frame_owner wanted)
{
    struct call_place place = { .kind = PLACE_UNKNOWN };
    struct candidate found;

    search->wanted = wanted;
    search->own_only = false;
    found = search_places(search);
    if (found.name != 0 && found.cost_ns >= CALL_SITE_LEAST * search->all_ns)
        describe(&place, search, &found);
    return place;
}

struct call_place call_site_of(const struct call_tree *tree, struct costly_times *times,
                               struct call_place *library)
{
    struct call_place place;
    SCRATCH_ARENA(scratch, times->arena);
    struct search search = { .scratch = scratch,
                             .tree = tree,
                             .times = times,
                             .parts_known.arena = scratch,
                             .covered_ns = ARENA_NEW(scratch, double, tree->node_count),
                             .opened = ARENA_NEW(scratch, bool, tree->node_count) };

    sort_items(times->items, times->count, sizeof *times->items, by_start);
    for (int64_t i = 0; i < times->count; i++) search.all_ns += times->items[i].cost_ns;
    if (times->count > 0)
        call_tree_visit(tree, times->items[0].start_ns, take_segment, &search);
    for (uint32_t i = tree->node_count; i-- > 1;) { /* a node comes after its parent */
        search.covered_ns[tree->nodes[i].parent] += search.covered_ns[i];
        /* A function that covers the window has the loop in it: its lines say more. */
        search.opened[i] = (double)tree->nodes[i].total_ns >=
                           CALL_SITE_PURE * (double)(tree->end_ns - tree->start_ns);
    }
    place = find_place(&search, OWNER_USER);
    if (place.kind == PLACE_UNKNOWN)
        for (uint32_t i = 0; i < search.parts_known.count; i++) search.parts[i].is_left = true;
    *library = find_place(&search, OWNER_LIBRARY);
    if (place.kind == PLACE_UNKNOWN) {
        place = *library;
        library->kind = PLACE_UNKNOWN;
    }
    place.iterated = iterated_share(&search);
    return place;
}
