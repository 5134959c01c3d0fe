#include "tests/fuzz/fuzzing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void promise(bool kept, const char *what)
{
    if (kept)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

static char paths[FUZZ_FILES][64]; /* "": not made yet */

static void remove_files(void)
{
    for (int i = 0; i < FUZZ_FILES; i++)
        if (paths[i][0] != '\0')
            unlink(paths[i]);
}

const char *fuzz_file(int index, const void *bytes, size_t size)
{
    static int files[FUZZ_FILES];

    if (files[index] == 0) {
        PROMISE(index > 0 || atexit(remove_files) == 0);
        snprintf(paths[index], sizeof paths[index], "/tmp/chokepoint-fuzz-XXXXXX");
        files[index] = mkstemp(paths[index]);
        PROMISE(files[index] > 0);
    }
    PROMISE(ftruncate(files[index], 0) == 0);
    PROMISE(pwrite(files[index], bytes, size, 0) == (ssize_t)size);
    return paths[index];
}

int fuzz_parts(struct part *parts, int most, const uint8_t *bytes, size_t size)
{
    static const char line[] = "\n----\n";
    int count = 0;

    for (const uint8_t *end; count + 1 < most; count++) {
        end = memmem(bytes, size, line, strlen(line));
        if (end == NULL)
            break;
        parts[count] = (struct part){ bytes, (size_t)(end - bytes) };
        size -= parts[count].size + strlen(line);
        bytes = end + strlen(line);
    }
    parts[count++] = (struct part){ bytes, size };
    return count;
}

FILE *fuzz_nowhere(void)
{
    static FILE *stream;

    if (stream == NULL)
        stream = fopen("/dev/null", "w");
    PROMISE(stream != NULL);
    return stream;
}
