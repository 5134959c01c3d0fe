#include "harness/cli/line/flags.h"

#include <stdio.h>

struct flags flags_default(void)
{
    return (struct flags){ .device = "auto", .out = "chokepoint-result" };
}

struct page flags_page(const struct flags *flags)
{
    return flags->format == FORMAT_MARKDOWN ? page_markdown(stdout)
                                            : page_console(stdout, flags->color);
}
