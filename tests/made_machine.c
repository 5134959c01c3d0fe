#include "tests/made_machine.h"

#include "tests/cmocka_prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];

int made_machine_open(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/chokepoint-test-XXXXXX");
    return mkdtemp(root) == NULL;
}

int made_machine_close(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

const char *made_machine_root(void)
{
    return root;
}

void made_machine_put(const char *path, const char *text)
{
    char name[256];
    FILE *file;

    snprintf(name, sizeof name, "%s/%s", root, path);
    for (char *slash = name + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(name, 0700);
        *slash = '/';
    }
    file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}
