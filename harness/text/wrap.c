#include "harness/text/wrap.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int wrap_width(FILE *stream)
{
    struct winsize size;

    if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < 40 ? 40 : size.ws_col > 100 ? 100 : size.ws_col;
}

/* Columns of `bytes` bytes of UTF-8: continuation bytes take none. */
static int columns(const char *text, size_t bytes)
{
    int count = 0;

    for (size_t i = 0; i < bytes; i++) count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

int wrap_columns(const char *text)
{
    return columns(text, strlen(text));
}

void wrap_print(FILE *stream, int column, int indent, int width, const char *text)
{
    bool first = true;

    text += strspn(text, " \n");
    while (*text != '\0') {
        size_t bytes = strcspn(text, " \n");
        int wide = columns(text, bytes);

        if (!first && column + 1 + wide > width) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        fprintf(stream, "%s%.*s", first ? "" : " ", (int)bytes, text);
        column += wide + !first;
        first = false;
        text += bytes;
        text += strspn(text, " \n");
    }
    fputc('\n', stream);
}
