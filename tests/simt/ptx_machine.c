#include "tests/simt/ptx_machine.h"

void ptx_machine_open(struct ptx_machine *machine, const char *shared, const char *body)
{
    char text[16384];
    int length = snprintf(text, sizeof text,
                          ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry k(\n.param .u64 p\n)\n{\n"
                          ".reg .pred %%p<8>;\n.reg .b16 %%h<8>;\n.reg .b32 %%r<32>;\n"
                          ".reg .f32 %%f<8>;\n.reg .b64 %%rd<16>;\n%s\n%s\nret;\n}\n",
                          shared, body);

    assert_in_range(length, 1, sizeof text - 1);
    *machine = (struct ptx_machine){ 0 };
    assert_ok(simt_open(&machine->simt));
    assert_ok(simt_read(machine->simt, text, (size_t)length, "test.ptx"));
    machine->kernel = simt_find(machine->simt, "k");
    assert_non_null(machine->kernel);
}

void ptx_machine_close(struct ptx_machine *machine)
{
    simt_close(machine->simt);
}

void ptx_machine_memory(struct ptx_machine *machine, void *memory, size_t bytes, size_t written)
{
    assert_ok(simt_memory_add(machine->simt, memory, bytes));
    simt_memory_written(machine->simt, memory, written);
}

bool ptx_machine_run(struct ptx_machine *machine, unsigned blocks, unsigned threads,
                     const void *argument)
{
    const struct simt_grid grid = { .blocks = { blocks, 1, 1 },
                                    .threads = { threads, 1, 1 },
                                    .all = machine->all,
                                    .order = machine->order };
    const void *arguments[] = { &argument };
    const size_t sizes[] = { sizeof argument };

    return simt_launch(machine->simt, machine->kernel, &grid, arguments, sizes, 1,
                       &machine->finding) == STATUS_OK;
}
