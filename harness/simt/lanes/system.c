/* Functions that the system has for kernels: printf(), assert(), malloc(), free(), and clocks. Lane
 * after lane does them. A pointer that a kernel gives is looked up as any other address, and text
 * is taken apart here, since the C library would follow whatever the kernel wrote into it. */
#include "harness/simt/code/lanes.h"

#include <stdlib.h>
#include <string.h>

/* The memory that a device has for malloc(), and for printf() in a launch, unless a program asks
 * for more ("Dynamic Global Memory Allocation", "Formatted Output"). */
enum { HEAP_MOST = 8 << 20, PRINT_MOST = 1 << 20, TEXT_MOST = 1024 };

static void *call_bytes(const struct warp *warp, const struct instruction *instruction, int lane,
                        int parameter)
{
    return warp->calls + (size_t)lane * (size_t)warp->launch->kernel->call_bytes +
           ((uint64_t)instruction->offset >> 16 * parameter & 0xffff);
}

static uint64_t parameter_of(const struct warp *warp, const struct instruction *instruction,
                             int lane, int parameter)
{
    uint64_t value;

    memcpy(&value, call_bytes(warp, instruction, lane, parameter), sizeof value);
    return value;
}

static void give_result(const struct warp *warp, const struct instruction *instruction, int lane,
                        const void *value, size_t bytes)
{
    if (instruction->mode > 0)
        memcpy(call_bytes(warp, instruction, lane, 3), value, bytes);
}

/* The host's place of a generic address and the bytes from there on; NULL: no memory has it. */
static const unsigned char *host_of(const struct warp *warp, int lane, uint64_t address,
                                    uint64_t *bytes)
{
    uint64_t local = (uint64_t)warp->launch->kernel->local_bytes;
    const struct memory_block *block;

    if (address & SIMT_LOCAL_WINDOW) {
        address &= ~SIMT_LOCAL_WINDOW;
        *bytes = address < local ? local - address : 0;
        return *bytes > 0 ? warp->local + (uint64_t)lane * local + address : NULL;
    }
    if (address & SIMT_SHARED_WINDOW) {
        address &= ~SIMT_SHARED_WINDOW;
        *bytes = address < warp->group->shared_bytes ? warp->group->shared_bytes - address : 0;
        return *bytes > 0 ? warp->group->shared + address : NULL;
    }
    block = memory_peek(warp->launch->memory, address);
    *bytes = block != NULL ? block->end - address : 0;
    return block != NULL ? (const unsigned char *)(uintptr_t)address : NULL;
}

/* A text of the kernel's, cut to TEXT_MOST; "?" where there is no memory. */
static void text_of(const struct warp *warp, int lane, uint64_t address, char text[TEXT_MOST])
{
    uint64_t bytes;
    const unsigned char *from = host_of(warp, lane, address, &bytes);
    size_t n = 0;

    if (from == NULL) {
        strcpy(text, "?");
        return;
    }
    for (; n < TEXT_MOST - 1 && n < bytes && from[n] != '\0'; n++) text[n] = (char)from[n];
    text[n] = '\0';
}

/* The arguments of printf(): a struct, each member at a multiple of its size. */
struct print_values {
    const struct warp *warp;
    int lane;
    uint64_t at; /* address */
};

static uint64_t next_value(struct print_values *values, unsigned bytes)
{
    uint64_t left, value = 0;
    const unsigned char *from;

    values->at = (values->at + bytes - 1) / bytes * bytes;
    from = host_of(values->warp, values->lane, values->at, &left);
    if (from != NULL && left >= bytes)
        memcpy(&value, from, bytes);
    values->at += bytes;
    return value;
}

/* One conversion, from the character after '%' on; returns the one after it. Widths beyond three
 * digits are cut. */
static const char *print_one(FILE *to, const char *at, struct print_values *values)
{
    char format[48] = "%", text[TEXT_MOST];
    size_t n = 1;
    int digits = 0, longs = 0;
    uint64_t value;
    double real;

    for (; *at != '\0' && strchr("-+ #0123456789.*", *at) != NULL; at++) {
        bool digit = *at >= '0' && *at <= '9';
        int width = *at == '*' ? (int)next_value(values, 4) % 1000 : 0;
        if (*at == '*' && digits == 0 && n < 32)
            n += (size_t)snprintf(format + n, 8, "%d", width);
        digits = *at == '*' ? 3 : digit ? digits + 1 : 0;
        if (*at != '*' && digits <= 3 && n < 32)
            format[n++] = *at;
    }
    for (; *at != '\0' && strchr("hlLqjzt", *at) != NULL; at++) longs += *at != 'h';
    if (*at == '\0')
        return at;
    if (strchr("diouxXc", *at) != NULL) {
        value = next_value(values, longs > 0 ? 8 : 4);
        snprintf(format + n, sizeof format - n, "%s%c", longs > 0 ? "ll" : "", *at);
        if (longs > 0)
            fprintf(to, format, (unsigned long long)value);
        else
            fprintf(to, format, (unsigned)value);
    } else if (strchr("fFeEgGaA", *at) != NULL) {
        value = next_value(values, 8);
        memcpy(&real, &value, sizeof real);
        snprintf(format + n, sizeof format - n, "%c", *at);
        fprintf(to, format, real);
    } else if (*at == 's') {
        text_of(values->warp, values->lane, next_value(values, 8), text);
        strcpy(format + n, "s");
        fprintf(to, format, text);
    } else if (*at == 'p') {
        fprintf(to, "0x%llx", (unsigned long long)next_value(values, 8));
    } else {
        fputc(*at, to);
    }
    return at + 1;
}

/* The output of a lane goes to memory first, so that a launch prints no more than it may. */
void lanes_print(struct warp *warp, const struct instruction *instruction)
{
    struct grid_launch *launch = warp->launch;
    uint32_t one = 1;

    for (int l = 0; l < SIMT_LANES; l++) {
        struct print_values values = { warp, l, 0 };
        char format[TEXT_MOST], *text = NULL;
        size_t bytes = 0;
        FILE *to;

        if (!warp->lane[l])
            continue;
        give_result(warp, instruction, l, &one, sizeof one);
        if (launch->output == NULL || launch->printed > PRINT_MOST ||
            (to = open_memstream(&text, &bytes)) == NULL)
            continue;
        values.at = parameter_of(warp, instruction, l, 1);
        text_of(warp, l, parameter_of(warp, instruction, l, 0), format);
        for (const char *at = format; *at != '\0';)
            if (*at == '%')
                at = print_one(to, at + 1, &values);
            else
                fputc(*at++, to);
        fclose(to);
        launch->printed += bytes;
        fwrite(text, 1, launch->printed > PRINT_MOST ? 0 : bytes, launch->output);
        free(text);
    }
}

void lanes_assert(struct warp *warp, const struct instruction *instruction)
{
    char message[TEXT_MOST], file[TEXT_MOST];
    int lane = first_lane(warp->exec);
    uint32_t line = (uint32_t)parameter_of(warp, instruction, lane, 2);
    const char *slash;

    if (warp->exec == 0)
        return;
    text_of(warp, lane, parameter_of(warp, instruction, lane, 0), message);
    text_of(warp, lane, parameter_of(warp, instruction, lane, 1), file);
    slash = strrchr(file, '/');
    warp_find(warp, instruction, SIMT_ASSERTION, lane, "%s:%u: %.120s",
              slash != NULL ? slash + 1 : file, line, message);
}

/* The heap is memory like any other, which nobody has written; what a kernel does not free is the
 * machine's. */
void lanes_allocate(struct warp *warp, const struct instruction *instruction)
{
    struct lane_heap *heap = warp->launch->heap;

    for (int l = 0; l < SIMT_LANES; l++) {
        uint64_t bytes, address = 0;
        struct heap_block *block;

        if (!warp->lane[l])
            continue;
        bytes = parameter_of(warp, instruction, l, 0);
        if (bytes > 0 && bytes <= HEAP_MOST - heap->bytes &&
            (block = aligned_alloc(16, (sizeof *block + bytes + 15) / 16 * 16)) != NULL) {
            if (memory_add(warp->launch->memory, block + 1, bytes) == STATUS_OK) {
                *block = (struct heap_block){ heap->first, bytes };
                heap->first = block;
                heap->bytes += bytes;
                address = (uint64_t)(uintptr_t)(block + 1);
            } else {
                free(block);
            }
        }
        give_result(warp, instruction, l, &address, sizeof address);
    }
}

/* Accesses remember the block that they were in last, which may be the one that goes. */
static bool release_block(struct warp *warp, uint64_t address)
{
    struct lane_heap *heap = warp->launch->heap;
    struct heap_block **link = &heap->first, *block;

    while (*link != NULL && (uint64_t)(uintptr_t)(*link + 1) != address) link = &(*link)->next;
    block = *link;
    if (block == NULL)
        return false;
    *link = block->next;
    heap->bytes -= block->bytes;
    memory_remove(warp->launch->memory, block + 1);
    free(block);
    memset(warp->launch->cache, 0,
           (size_t)warp->launch->kernel->slots * sizeof(struct memory_block *));
    return true;
}

void lanes_release(struct warp *warp, const struct instruction *instruction)
{
    for (int l = 0; l < SIMT_LANES; l++) {
        uint64_t address;
        if (!warp->lane[l])
            continue;
        address = parameter_of(warp, instruction, l, 0);
        if (address != 0 && !release_block(warp, address))
            warp_find(warp, instruction, SIMT_OUT_OF_BOUNDS, l,
                      "free() of 0x%llx, which malloc() did not give, or which is free already",
                      (unsigned long long)address);
    }
}

/* Time is the instructions that warps of the launch have done: it goes on, and measures nothing. */
void lanes_clock(struct warp *warp, const struct instruction *instruction)
{
    uint64_t time = instruction->mode == CLOCK_NONE ? 0 : warp->launch->most - warp->launch->left;
    uint32_t word = (uint32_t)(instruction->mode == CLOCK_HIGH ? time >> 32 : time);

    if (instruction->mode == CLOCK_LOW || instruction->mode == CLOCK_HIGH) {
        LANES(uint32_t, REGISTER(uint32_t, instruction->d[0]), v = word)
    } else {
        LANES(uint64_t, REGISTER(uint64_t, instruction->d[0]), v = time)
    }
}
