/* Objects of the host, and the collection of those that nothing refers to any more, as a loop in
 * Python has them: a long-lived heap, such as the index of a data set, and records of the steps,
 * which refer to each other in cycles and die at once.
 *
 * A collection goes about it as CPython's does (InternalDocs/garbage_collector.md): each object's
 * count of references, less those that come from tracked objects, leaves what is referred to from
 * elsewhere; what can be reached from there lives. So its cost grows with the objects that live and
 * not with those that die. Frozen objects, as by gc.freeze(), are not tracked any more. */
#include "harness/engine/step/training_parts.h"

#include "harness/base/random.h"
#include "harness/base/rows.h"

#include <stdlib.h>

/* Objects of the heap, and records that the steps between two collections make. */
enum { KEPT = 200000, MADE = 2000, CYCLE = 4, REFERENCES = 2 };

#define HEAP_STREAM ((uint64_t)0x6c0bbe << 32) /* apart from the seed's other purposes */

struct object {
    struct object *references[REFERENCES]; /* NULL: none */
    uint32_t count;                        /* of references to it */
    uint32_t left;                         /* of these, from elsewhere */
    bool is_tracked, is_reached;
};

struct garbage {
    struct object **objects; /* the heap first */
    int64_t count, first;    /* first: that is tracked, those before it are frozen */
    struct object **reached; /* whose references are still to be followed, a stack */
};

static void refer(struct object *from, int slot, struct object *to)
{
    from->references[slot] = to;
    to->count++;
}

static enum status make(struct garbage *garbage, int count)
{
    for (int i = 0; i < count; i++) {
        TRY(rows_make(&garbage->objects[garbage->count], 1));
        garbage->objects[garbage->count++]->is_tracked = true;
    }

    return STATUS_OK;
}

/* A list, each of whose objects also refers to some other; its first is held by the program. */
static enum status make_heap(struct garbage *garbage, uint64_t seed)
{
    struct random random = random_seed(seed, HEAP_STREAM);

    TRY(make(garbage, KEPT));
    garbage->objects[0]->count = 1;
    for (int i = 0; i < KEPT; i++) {
        if (i + 1 < KEPT)
            refer(garbage->objects[i], 0, garbage->objects[i + 1]);
        refer(garbage->objects[i], 1, garbage->objects[random_below(&random, KEPT)]);
    }

    return STATUS_OK;
}

/* Rings, each of whose objects refers to one of the heap: nothing refers to a ring from outside. */
static enum status make_records(struct garbage *garbage)
{
    TRY(make(garbage, MADE));
    for (int i = 0; i < MADE; i++) {
        struct object **ring = &garbage->objects[KEPT + i / CYCLE * CYCLE];
        refer(ring[i % CYCLE], 0, ring[(i + 1) % CYCLE]);
        refer(ring[i % CYCLE], 1, garbage->objects[i]);
    }

    return STATUS_OK;
}

/* Takes the references among tracked objects away from what is left of their counts. */
static void count_outside(struct garbage *garbage)
{
    for (int64_t i = garbage->first; i < garbage->count; i++) {
        garbage->objects[i]->left = garbage->objects[i]->count;
        garbage->objects[i]->is_reached = false;
    }
    for (int64_t i = garbage->first; i < garbage->count; i++)
        for (int r = 0; r < REFERENCES; r++)
            if (garbage->objects[i]->references[r] != NULL)
                garbage->objects[i]->references[r]->left--; /* a frozen object's is not read */
}

static void reach(struct object *object, struct object **stack, int64_t *depth)
{
    if (!object->is_tracked || object->is_reached)
        return;
    object->is_reached = true;
    stack[(*depth)++] = object;
}

static void reach_all(struct garbage *garbage)
{
    int64_t depth = 0;

    for (int64_t i = garbage->first; i < garbage->count; i++) {
        if (garbage->objects[i]->left > 0)
            reach(garbage->objects[i], garbage->reached, &depth);
        while (depth > 0) {
            struct object *object = garbage->reached[--depth];
            for (int r = 0; r < REFERENCES; r++)
                if (object->references[r] != NULL)
                    reach(object->references[r], garbage->reached, &depth);
        }
    }
}

static void forget(struct object *object)
{
    for (int r = 0; r < REFERENCES; r++)
        if (object->references[r] != NULL)
            object->references[r]->count--;
}

/* Frees what was not reached, and keeps the others in order; returns how many were freed. */
static int64_t sweep(struct garbage *garbage)
{
    int64_t kept = garbage->first, freed;

    for (int64_t i = garbage->first; i < garbage->count; i++)
        if (!garbage->objects[i]->is_reached)
            forget(garbage->objects[i]);
    for (int64_t i = garbage->first; i < garbage->count; i++)
        if (garbage->objects[i]->is_reached)
            garbage->objects[kept++] = garbage->objects[i];
        else
            free(garbage->objects[i]);
    freed = garbage->count - kept;
    garbage->count = kept;
    return freed;
}

static enum status collect(struct training *training)
{
    struct garbage *garbage = training->garbage;
    int64_t freed;

    TRY(make_records(garbage));
    count_outside(garbage);
    reach_all(garbage);
    freed = sweep(garbage);
    if (freed != MADE)
        FAIL(STATUS_INTERNAL, "a collection freed %lld objects of %d", (long long)freed, MADE);

    return STATUS_OK;
}

static enum status open_garbage(struct training *training)
{
    const bool frozen = training->config.logging.garbage == GARBAGE_FROZEN;
    struct garbage *garbage;

    if (training->config.logging.garbage == GARBAGE_NONE)
        return STATUS_OK;
    TRY(rows_make(&training->garbage, 1));
    garbage = training->garbage;
    TRY(rows_make(&garbage->objects, KEPT + MADE));
    TRY(rows_make(&garbage->reached, KEPT + MADE));
    TRY(make_heap(garbage, training->config.seed));
    garbage->first = frozen ? KEPT : 0;
    for (int i = 0; frozen && i < KEPT; i++) garbage->objects[i]->is_tracked = false;

    return STATUS_OK;
}

static void close_garbage(struct training *training)
{
    struct garbage *garbage = training->garbage;

    if (garbage == NULL)
        return;
    for (int64_t i = 0; i < garbage->count; i++) free(garbage->objects[i]);
    free(garbage->objects);
    free(garbage->reached);
    free(garbage);
}

const struct periodic periodic_garbage = {
    .phase = "garbage",
    .every = offsetof(struct training_config, logging.collect_every),
    .open = open_garbage,
    .run = collect,
    .close = close_garbage,
};
