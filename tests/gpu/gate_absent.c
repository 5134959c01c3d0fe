/* In place of gate.c where there is no CUDA toolkit: no test gets as far as a GPU's stream then. */
#include "tests/gpu/gate.h"

#include "tests/cmocka_prelude.h"

void gpu_gate_close(struct stream *stream, void *page)
{
    (void)stream;
    (void)page;
    fail_msg("built without the CUDA toolkit");
}

void gpu_gate_open(void *page)
{
    (void)page;
}
