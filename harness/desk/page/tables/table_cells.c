/* Cells and headings that several tables have. */
#include "harness/desk/page/tables/table_cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_USUAL = 8 };

/* Prefixes that C++ names repeat in every row tell rows apart no better. */
void cell_name(char text[NAME_SIZE], const char *name)
{
    static const char *const noise[] = { "void ", "(anonymous namespace)::", "at::native::",
                                         "cutlass::Kernel2<", "cutlass::Kernel<" };
    size_t length = 0;

    while (*name != '\0' && length < NAME_SIZE - 1) {
        size_t skipped = 0;
        for (size_t i = 0; i < ARRAY_SIZE(noise) && skipped == 0; i++)
            if (strncmp(name, noise[i], strlen(noise[i])) == 0)
                skipped = strlen(noise[i]);
        if (skipped == 0)
            text[length++] = *name++;
        name += skipped;
    }
    text[length] = '\0';
}

void cell_percent(char text[CELL_SIZE], double share)
{
    if (isfinite(share))
        snprintf(text, CELL_SIZE, "%.1f%%", 100 * share);
    else
        snprintf(text, CELL_SIZE, "-");
}

void cell_count(char text[CELL_SIZE], int64_t count)
{
    snprintf(text, CELL_SIZE, "%lld", (long long)count);
}

void cell_stamp(char text[CELL_SIZE], int64_t ns)
{
    unsigned long long size = ns < 0 ? 0 - (unsigned long long)ns : (unsigned long long)ns;

    snprintf(text, CELL_SIZE, "%s%llu.%03llu", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

void table_heading(const struct page *page, const char *what, int64_t shown, int64_t all)
{
    char heading[96];

    if (shown < all)
        snprintf(heading, sizeof heading, "%s: %lld of %lld, totals of the trace", what,
                 (long long)shown, (long long)all);
    else
        snprintf(heading, sizeof heading, "%s: totals of the trace", what);
    page_heading(page, heading);
}

int64_t table_rows(const struct table_choice *choice, int64_t count)
{
    int64_t most = choice->rows > 0 ? choice->rows : ROWS_USUAL;

    return count < most ? count : most;
}
