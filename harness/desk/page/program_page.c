/* The first table of a recording's page: the program's wall time in parts that sum to it. */
#include "harness/desk/page/diagnosis_page.h"

#include "harness/base/figures/quantity.h"
#include "harness/text/page.h"

#include <stdio.h>
#include <string.h>

static const struct column columns[] = {
    { "", -30, 0 }, { "time", 8, 0 }, { "share", 6, 0 }, { " most of it", PAGE_CUT, 0 }
};

static void print_part(const struct page *page, const struct program_times *times, const char *name,
                       double s, const char *kind)
{
    const struct program_line *line = kind != NULL ? program_times_line(times, kind) : NULL;
    struct quantity_text time = quantity_time(1e9 * s);
    char share[16], place[CALL_PLACE_TEXT + 1] = "";
    const char *const cells[] = { name, time.text, share, place };

    if (!(s > 0))
        return;
    snprintf(share, sizeof share, "%.1f%%", 100 * s / times->wall_s);
    if (line != NULL) {
        place[0] = ' ';
        call_place_text(place + 1, sizeof place - 1, &line->where);
    }
    page_row(page, columns, ARRAY_SIZE(columns), cells);
}

void program_page(const struct page *page, const struct program_times *times)
{
    char heading[96], usual[48];

    snprintf(heading, sizeof heading, "Program: %s from start to end",
             quantity_time(1e9 * times->wall_s).text);
    page_heading(page, heading);
    page_table(page, columns, ARRAY_SIZE(columns));
    snprintf(usual, sizeof usual, "steps, as usual (%.0f)", times->steps);
    print_part(page, times, "before the first step", times->before_s, "before");
    print_part(page, times, usual, times->steps_s - times->long_s, "steps");
    print_part(page, times, "what exceeds usual steps", times->long_s, "long");
    print_part(page, times, "without a core, in steps", times->core_wait_s, NULL);
    print_part(page, times, "steps that were recorded", times->recording_s, NULL);
    print_part(page, times, "after the last step", times->after_s, "after");
}
