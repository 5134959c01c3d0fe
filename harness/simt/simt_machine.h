/* The machine itself, as its files share it. Under the machine's lock. */
#pragma once

#include "harness/simt/code/lanes.h"
#include "harness/simt/simt.h"

#include <pthread.h>

struct allowed {
    enum simt_finding_kind kind;
    char *kernel;
    struct allowed *next;
};

struct simt {
    FILE *output; /* of printf(); NULL: nowhere */
    struct lane_heap heap;
    struct simt_texture *textures;
    int64_t texture_count, texture_room;
    pthread_mutex_t lock;
    struct module *modules;
    struct memory memory;
    struct allowed *allowed;
};

/* warps.c: the lanes of `mask` go on at `pc`, until `meet`; runs a warp until it ends or waits at a
 * barrier. */
void warp_push(struct warp *warp, int32_t pc, int32_t meet, uint32_t mask);
void warp_run(struct warp *warp);

/* counts.c: adds what an instruction did in the steps that it is part of. */
void count_row(struct simt_counts *counts, const struct simt_kernel *kernel,
               const struct instruction *row, const struct step_counts *step);
enum simt_access access_of(const struct instruction *row);

/* counts.c: visits the instructions that ran, each with the step that it is part of: that of the
 * first of its straight run. Ends with the first status that is not OK. */
typedef enum status executed_visit(void *to, const struct simt_kernel *kernel,
                                   const struct instruction *row, const struct step_counts *step);
enum status executed_rows(const struct simt_kernel *kernel, executed_visit *visit, void *to);

/* lines.c: the line that an instruction counts for. */
void line_of(const struct simt_kernel *kernel, const struct instruction *row, const char **file,
             int *line);

/* findings.c: "?" for a file without a name; an instruction without its ';'; of the launch as a
 * whole. */
const char *file_name(const struct module *module, int file);
void instruction_text(const struct instruction *instruction, char *text, size_t size);
void launch_find(struct grid_launch *launch, enum simt_finding_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
