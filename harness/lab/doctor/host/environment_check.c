/* environment.h knows the variables; each one that is set becomes a row. */
#include "harness/lab/doctor/host/host.h"

#include "harness/base/system/environment.h"

#include <stdio.h>

struct found {
    struct checks *checks;
    int count;
};

static void add_variable(void *context, const struct environment_variable *variable)
{
    struct found *found = context;
    char name[sizeof((struct check *)0)->name];

    snprintf(name, sizeof name, "%.*s", variable->name_length, variable->name);
    checks_add(found->checks, name, variable->spoils ? CHECK_LOW : CHECK_OK,
               variable->spoils ? "not set" : variable->what, variable->what, "%s",
               variable->value);
    found->count++;
}

void environment_check(struct checks *checks, char *const *variables)
{
    struct found found = { checks, 0 };

    checks->group = "environment";
    environment_find(variables, add_variable, &found);
    if (found.count == 0)
        checks_add(checks, "environment", CHECK_OK, "none that spoils figures", "",
                   "nothing is set");
}
