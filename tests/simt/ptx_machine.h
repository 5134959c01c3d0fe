/* A machine for a test: kernels written in PTX, memory that the test owns. */
#pragma once

#include "harness/simt/simt.h"
#include "tests/fixtures/cmocka_prelude.h"

struct ptx_machine {
    struct simt *simt;
    struct simt_kernel *kernel;
    struct simt_finding finding;
    struct simt_findings *all;      /* of each launch; NULL: its first finding ends it */
    const struct simt_order *order; /* of the launches; NULL: each comes after all before it */
};

/* Reads a kernel `k` with the parameter `.param .u64 p`, whose registers are %p<8>, %h<8> (16
 * bits), %r<32>, %f<8> and %rd<16>; `shared` declares more, "" nothing. */
void ptx_machine_open(struct ptx_machine *machine, const char *shared, const char *body);
void ptx_machine_close(struct ptx_machine *machine);

/* Memory for kernels, of which the first `written` bytes are. */
void ptx_machine_memory(struct ptx_machine *machine, void *memory, size_t bytes, size_t written);

/* Launches with the argument; whether there was no finding. */
bool ptx_machine_run(struct ptx_machine *machine, unsigned blocks, unsigned threads,
                     const void *argument);
