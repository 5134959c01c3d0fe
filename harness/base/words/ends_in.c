#include "harness/base/words/ends_in.h"

#include <string.h>

bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), letters = strlen(ending);

    return length > letters && strcmp(name + length - letters, ending) == 0;
}
