/* Findings: what is wrong, where, and whether it is allowed. The first one ends the launch, since
 * what a kernel does after an error says nothing. */
#include "harness/simt/simt_machine.h"

#include "harness/base/words/text.h"

#include <stdlib.h>
#include <string.h>

const char *simt_finding_text(enum simt_finding_kind kind)
{
    static const char *const texts[] = {
#define SIMT_FINDING_TEXT(name, text) text,
        SIMT_FINDINGS(SIMT_FINDING_TEXT)
#undef SIMT_FINDING_TEXT
    };

    return texts[kind];
}

enum status simt_allow(struct simt *simt, enum simt_finding_kind kind, const char *kernel)
{
    struct allowed *row = calloc(1, sizeof *row);

    if (row == NULL || (row->kernel = strdup(kernel)) == NULL) {
        free(row);
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for what is allowed");
    }
    row->kind = kind;
    pthread_mutex_lock(&simt->lock);
    row->next = simt->allowed;
    simt->allowed = row;
    pthread_mutex_unlock(&simt->lock);
    return STATUS_OK;
}

/* By the beginning of the name, so that one call allows a family of kernels. */
static bool is_allowed(const struct grid_launch *launch, enum simt_finding_kind kind)
{
    for (const struct allowed *row = launch->simt->allowed; row != NULL; row = row->next)
        if (row->kind == kind &&
            strncmp(launch->kernel->name, row->kernel, strlen(row->kernel)) == 0)
            return true;
    return false;
}

const char *file_name(const struct module *module, int file)
{
    const char *name = file >= 0 && file < module->file_count ? module->files[file] : NULL;

    return name != NULL ? name : "?";
}

void instruction_text(const struct instruction *instruction, char *text, size_t size)
{
    const char *end = strchr(instruction->text, ';');
    size_t length = end != NULL ? (size_t)(end - instruction->text) : 0, n = 0;

    for (size_t i = 0; i < length && n < size - 1; i++)
        if (instruction->text[i] != '\t' || (n > 0 && text[n - 1] != ' '))
            text[n++] = instruction->text[i] == '\t' ? ' ' : instruction->text[i];
    text[n] = '\0';
}

/* The instruction as the text has it, and its line; that of a function that was inlined has both.
 */
static void describe(struct simt_finding *finding, const struct module *module,
                     const struct instruction *instruction)
{
    instruction_text(instruction, finding->instruction, sizeof finding->instruction);
    if (instruction->line >= 0) {
        const struct source_line *line = &module->lines[instruction->line];
        text_append(finding->place, sizeof finding->place, "%s:%d", file_name(module, line->file),
                    line->line);
        if (line->at_line > 0)
            text_append(finding->place, sizeof finding->place, ", inlined at %s:%d",
                        file_name(module, line->at_file), line->at_line);
    }
}

void warp_find(struct warp *warp, const struct instruction *instruction,
               enum simt_finding_kind kind, int lane, const char *format, ...)
{
    struct grid_launch *launch = warp->launch;
    struct simt_finding *finding = launch->finding;
    const uint32_t *number = warp->group->number;
    va_list arguments;

    if (is_allowed(launch, kind) || finding->kind != SIMT_NONE)
        return;
    *finding = (struct simt_finding){ .kind = kind, .kernel = launch->kernel->name };
    describe(finding, launch->kernel->module, instruction);
    text_append(finding->detail, sizeof finding->detail,
                "block (%u, %u, %u), thread %u: ", number[0], number[1], number[2],
                warp->number * SIMT_LANES + (unsigned)lane);
    va_start(arguments, format);
    text_append_list(finding->detail, sizeof finding->detail, format, arguments);
    va_end(arguments);
    /* No lane is left, so the warp ends, and run_blocks() sees the finding. */
    warp->live = 0;
    warp_take(warp, 0);
}

void launch_find(struct grid_launch *launch, enum simt_finding_kind kind, const char *format, ...)
{
    va_list arguments;

    if (launch->finding->kind != SIMT_NONE)
        return;
    *launch->finding = (struct simt_finding){ .kind = kind, .kernel = launch->kernel->name };
    va_start(arguments, format);
    text_append_list(launch->finding->detail, sizeof launch->finding->detail, format, arguments);
    va_end(arguments);
}
