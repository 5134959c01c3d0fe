/* This machine among others, for `bench` and `doctor` with --against. The files of the other
 * machines are read before anything is measured, so that a wrong path costs nothing; the figures of
 * this one are placed among theirs at the end. Only machines with the same device and the same
 * processor are compared. */
#include "harness/cli/machine/against.h"

enum status against_read(struct against *against, const char *command, node_reader *read)
{
    if (against->where == NULL)
        return STATUS_OK;
    TRY(machine_files_find(&against->files, command, &against->where, 1));
    return machine_files_read(&against->files, read, &against->fleet);
}

enum status against_place(struct against *against, const struct own_figure *figures, int count,
                          const struct device_properties *device, const char *cpu_model)
{
    char kind[512];

    if (against->where == NULL)
        return STATUS_OK;
    node_kind(kind, sizeof kind, device->name, cpu_model);
    return machine_ranks_make(&against->standings, figures, count, &against->fleet, kind);
}

void against_release(struct against *against)
{
    machine_ranks_release(&against->standings);
    fleet_release(&against->fleet);
    machine_files_release(&against->files);
}
