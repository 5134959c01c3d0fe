/* In the place of the command line, which a page has not: its documents say what cannot be read. */
#include "harness/cli/line/commands.h"

const struct command command_report = { .name = "report" };

void command_print_error(void)
{
}
