/* Findings: what is wrong, where, and whether it is allowed. The first one ends the launch, since
 * what a kernel does after an error says little, unless all are asked for. */
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

bool warp_allows(const struct warp *warp, enum simt_finding_kind kind)
{
    return is_allowed(warp->launch, kind);
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

/* After these a kernel does nothing more, or nothing from which one could conclude anything. */
static bool is_last(enum simt_finding_kind kind)
{
    return kind == SIMT_BARRIER || kind == SIMT_TRAP || kind == SIMT_ASSERTION ||
           kind == SIMT_LIMITS || kind == SIMT_ENDLESS || kind == SIMT_ARGUMENTS;
}

/* Whether the launch ends. If all are asked for, each kind is kept once for an instruction. */
static bool take_finding(struct grid_launch *launch, const struct simt_finding *finding)
{
    struct simt_findings *all = launch->grid->all;
    int i = 0;

    if (launch->finding->kind == SIMT_NONE)
        *launch->finding = *finding;
    while (all != NULL && i < all->count &&
           (all->rows[i].kind != finding->kind || all->rows[i].text_line != finding->text_line))
        i++;
    if (all != NULL && i == all->count && i < SIMT_FINDINGS_MOST)
        all->rows[all->count++] = *finding;
    launch->ended |= all == NULL || is_last(finding->kind);
    return launch->ended;
}

static void fill_finding(struct simt_finding *finding, const struct warp *warp,
                         const struct instruction *instruction, enum simt_finding_kind kind,
                         int lane, const char *format, va_list arguments)
{
    const uint32_t *number = warp->group->number;

    *finding = (struct simt_finding){ .kind = kind,
                                      .kernel = warp->launch->kernel->name,
                                      .text_line = instruction->text_line };
    describe(finding, warp->launch->kernel->module, instruction);
    text_append(finding->detail, sizeof finding->detail,
                "block (%u, %u, %u), thread %u: ", number[0], number[1], number[2],
                warp->number * SIMT_LANES + (unsigned)lane);
    text_append_list(finding->detail, sizeof finding->detail, format, arguments);
}

void warp_describe(const struct warp *warp, const struct instruction *instruction,
                   enum simt_finding_kind kind, int lane, struct simt_finding *finding,
                   const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fill_finding(finding, warp, instruction, kind, lane, format, arguments);
    va_end(arguments);
}

void group_settle(struct grid_launch *launch, struct warp_group *group)
{
    if (group->suspect.kind == SIMT_NONE || launch->ended)
        return;
    take_finding(launch, &group->suspect);
    group->suspect.kind = SIMT_NONE;
}

void warp_find(struct warp *warp, const struct instruction *instruction,
               enum simt_finding_kind kind, int lane, const char *format, ...)
{
    struct simt_finding finding;
    va_list arguments;

    if (is_allowed(warp->launch, kind) || warp->launch->ended)
        return;
    /* The suspected fault came first, and this one may follow from it. */
    group_settle(warp->launch, warp->group);
    if (!warp->launch->ended) {
        va_start(arguments, format);
        fill_finding(&finding, warp, instruction, kind, lane, format, arguments);
        va_end(arguments);
        if (!take_finding(warp->launch, &finding))
            return;
    }
    /* No lane is left, so the warp ends, and run_blocks() sees it. */
    warp->live = 0;
    warp_take(warp, 0);
}

void launch_find(struct grid_launch *launch, enum simt_finding_kind kind, const char *format, ...)
{
    struct simt_finding finding = { .kind = kind, .kernel = launch->kernel->name };
    va_list arguments;

    if (launch->ended)
        return;
    va_start(arguments, format);
    text_append_list(finding.detail, sizeof finding.detail, format, arguments);
    va_end(arguments);
    take_finding(launch, &finding);
}
