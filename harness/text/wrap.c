/* Columns are counted in characters of UTF-8, which is right for all but wide and combining ones.
 */
#include "harness/text/wrap.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_LEAST = 40 };

int wrap_terminal(FILE *stream)
{
    struct winsize size;

    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int wrap_width(FILE *stream)
{
    int width = wrap_terminal(stream);

    if (width == 0)
        return 80;
    return width < COLUMNS_LEAST ? COLUMNS_LEAST : width > 100 ? 100 : width;
}

int wrap_room(FILE *stream)
{
    int width = wrap_terminal(stream);

    if (width == 0)
        return isatty(fileno(stream)) ? 80 : INT_MAX;
    return width < COLUMNS_LEAST ? COLUMNS_LEAST : width;
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

size_t wrap_bytes(const char *text, int columns)
{
    size_t bytes = 0;

    for (; text[bytes] != '\0'; bytes++)
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && columns-- <= 0)
            break;
    return bytes;
}

/* Bytes of the first words, each measured by `word_bytes`, that fit. */
static size_t line_of(const char *text, int width, size_t (*word_bytes)(const char *text))
{
    size_t bytes = word_bytes(text);

    for (;;) {
        size_t next = bytes + strspn(text + bytes, " ");
        next += word_bytes(text + next);
        if (next == bytes || columns(text, next) > width)
            return bytes;
        bytes = next;
    }
}

static size_t to_space(const char *text)
{
    return strcspn(text, " ");
}

size_t wrap_line(const char *text, int width)
{
    return line_of(text, width, to_space);
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

void wrap_quote(char *to, size_t size, const char *word)
{
    static const char special[] = " \t\"'\\`$&|;<>()[]{}*?!#~";
    size_t length = 0;

    for (; *word != '\0' && length + 2 < size; word++) {
        if (strchr(special, *word) != NULL)
            to[length++] = '\\';
        to[length++] = *word;
    }
    to[length] = '\0';
}

/* As a shell quotes: by a backslash, or between single quotes. */
static size_t to_unquoted_space(const char *text)
{
    bool is_quoted = false;
    size_t bytes = 0;

    while (text[bytes] != '\0' && (is_quoted || text[bytes] != ' ')) {
        is_quoted ^= text[bytes] == '\'';
        bytes += text[bytes] == '\\' && !is_quoted && text[bytes + 1] != '\0' ? 2 : 1;
    }
    return bytes;
}

void wrap_command(FILE *stream, int indent, int width, const char *text)
{
    enum { FURTHER = 4 };

    for (int more = 0;; more = FURTHER) {
        int room = width - indent - more;
        size_t bytes =
            line_of(text, columns(text, strlen(text)) <= room ? room : room - 2, to_unquoted_space);
        const char *rest = text + bytes + strspn(text + bytes, " ");
        fprintf(stream, "%*s%.*s%s\n", indent + more, "", (int)bytes, text,
                *rest != '\0' ? " \\" : "");
        if (*rest == '\0')
            return;
        text = rest;
    }
}
