/* Loads of global memory that may be under way together: those of a straight run whose addresses do
 * not depend on what others load. ptxas moves such loads together; it does not move them over a
 * store that may change what they load, nor over a branch or a barrier. */
#include "harness/base/rows.h"
#include "harness/simt/code/code.h"
#include "harness/simt/code/opcodes.h"

#include <stdlib.h>

/* The depth of a value is the number of loads of the run that it waits for, one after the other. */
struct chain {
    int32_t *depth;     /* [registers] */
    int32_t *run_of;    /* [registers]: the run in which that is so */
    int32_t *seen;      /* [loads + 1]: the run in which a load of this depth was found last */
    int32_t run, floor; /* floor: of loads after a store that waits itself */
};

static int32_t depth_of(const struct chain *chain, int32_t number)
{
    return number >= 0 && chain->run_of[number] == chain->run ? chain->depth[number] : 0;
}

static int32_t deepest(const struct chain *chain, const struct instruction *row)
{
    int32_t depth = depth_of(chain, row->predicate);

    for (int s = 0; s < SIMT_SOURCES; s++) {
        int32_t own = depth_of(chain, row->s[s]);
        depth = own > depth ? own : depth;
    }
    return depth;
}

static bool is_global(const struct instruction *row)
{
    return row->slot >= 0 && (row->space == SPACE_GLOBAL || row->space == SPACE_GENERIC);
}

/* Gives a row its depth. A store that itself waits for loads raises the floor: loads after it may
 * read what it writes, so they wait too, unless they are of memory that nobody writes
 * (ld.global.nc). */
static void follow(struct chain *chain, struct instruction *row)
{
    int32_t depth = deepest(chain, row);

    if (row->run == lanes_load && is_global(row)) {
        if (!row->read_only && chain->floor > depth)
            depth = chain->floor;
        row->waits = chain->seen[depth] != chain->run;
        chain->seen[depth] = chain->run;
        depth++;
    } else if (is_global(row) && row->run != lanes_load && depth > chain->floor) {
        chain->floor = depth;
    }
    for (int d = 0; d < SIMT_DESTINATIONS; d++)
        if (row->d[d] >= 0) {
            chain->depth[row->d[d]] = depth;
            chain->run_of[row->d[d]] = chain->run;
        }
}

enum status loads_find(struct simt_kernel *kernel)
{
    enum status status = STATUS_OK;
    struct chain chain = { .run = 1 };
    bool *begins = NULL;

    TRY_OUT(rows_make(&chain.depth, kernel->register_count));
    TRY_OUT(rows_make(&chain.run_of, kernel->register_count));
    TRY_OUT(rows_make(&chain.seen, kernel->slots + 2));
    TRY_OUT(rows_make(&begins, kernel->count + 1));
    for (int64_t i = 0; i < kernel->count; i++)
        if (kernel->code[i].target >= 0)
            begins[kernel->code[i].target] = true;
    for (int64_t i = 0; i < kernel->count; i++) {
        if (begins[i] || (i > 0 && kernel->code[i - 1].kind != PLAIN)) {
            chain.run++;
            chain.floor = 0;
        }
        follow(&chain, &kernel->code[i]);
    }

out:
    free(chain.depth);
    free(chain.run_of);
    free(chain.seen);
    free(begins);
    return status;
}
