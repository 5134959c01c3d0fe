/* One pointer, which the program with a lab sets once before it starts. */
#include "harness/text/catalogue.h"

static const struct catalogue *known;

void catalogue_use(const struct catalogue *catalogue)
{
    known = catalogue;
}

bool catalogue_known(void)
{
    return known != NULL;
}

const char *catalogue_scenario(const char *finding, int number)
{
    return known != NULL ? known->scenario(finding, number) : NULL;
}

const char *catalogue_healthy(const char *setting, size_t length)
{
    return known != NULL ? known->healthy(setting, length) : NULL;
}
