/* A file is gzip when it begins with gzip's two bytes (RFC 1952); its name does not matter. The
 * text before any damage is handed on, and the reader makes a partial result of it. ISA-L inflates,
 * because zlib took a third of the time of reading a trace. */
#include "harness/desk/read/input/inflate_window.h"

#include "harness/base/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_BYTES = 128 << 10 };

struct inflate_window {
    int file;
    const char *path;
    bool gzip, ended;
    bool between; /* two gzip members: the next byte begins one */
    struct inflate_state stream;
    int64_t read_bytes; /* of the file */
    int64_t file_bytes; /* when it was opened; 0: it is none on a disk */
    char damage[160];
    unsigned char input[INPUT_BYTES];
};

/* Fills the input if it is used up. At the end of the file avail_in stays 0. */
static enum status refill(struct inflate_window *window)
{
    ssize_t got;

    do {
        got = read(window->file, window->input, sizeof window->input);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        FAIL(STATUS_IO, "cannot read %s at byte %lld: %s", window->path,
             (long long)window->read_bytes, strerror(errno));
    window->stream.next_in = window->input;
    window->stream.avail_in = (uint32_t)got;
    window->read_bytes += got;

    return STATUS_OK;
}

/* A gzip member: ISA-L reads its header and compares its checksum. */
static void begin_member(struct inflate_window *window)
{
    isal_inflate_reset(&window->stream);
    window->stream.crc_flag = ISAL_GZIP;
}

enum status inflate_window_open(struct inflate_window **opened, const char *path)
{
    enum status status = STATUS_OK;
    struct stat about;
    struct inflate_window *window;

    *opened = NULL;
    TRY_OUT(rows_make(&window, 1));
    window->path = path;
    window->file = open(path, O_RDONLY | O_CLOEXEC);
    if (window->file < 0)
        FAIL_OUT(STATUS_IO, "cannot open %s: %s", path, strerror(errno));
    if (fstat(window->file, &about) != 0)
        FAIL_OUT(STATUS_IO, "cannot look at %s: %s", path, strerror(errno));
    window->file_bytes = S_ISREG(about.st_mode) ? (int64_t)about.st_size : 0;
    if (S_ISDIR(about.st_mode))
        FAIL_OUT(STATUS_BAD_INPUT, "%s is a folder; name the trace files in it", path);
    TRY_OUT(refill(window));
    if (window->stream.avail_in >= 2 && window->input[0] == 0x1f && window->input[1] == 0x8b) {
        begin_member(window);
        window->gzip = true;
    }
    *opened = window;
    window = NULL;

out:
    inflate_window_close(window);
    return status;
}

void inflate_window_close(struct inflate_window *window)
{
    if (window == NULL)
        return;
    if (window->file >= 0)
        close(window->file);
    free(window);
}

/* The text that was read until then stays good, so damage ends the text and is no error. */
static void damaged(struct inflate_window *window, const char *what)
{
    snprintf(window->damage, sizeof window->damage, "%s near byte %lld of the compressed file",
             what, (long long)(window->read_bytes - window->stream.avail_in));
    window->ended = true;
}

/* One call of isal_inflate(): as much as there is input or room for. */
static void inflate_some(struct inflate_window *window)
{
    struct inflate_state *stream = &window->stream;

    if (isal_inflate(stream) < 0) {
        /* Padding after the last member is not damage: gzip itself ignores it. */
        if (window->between)
            window->ended = true;
        else
            damaged(window, "its compression is damaged");
    } else if (stream->block_state == ISAL_BLOCK_FINISH) { /* another member may follow */
        window->between = true;
        begin_member(window);
    } else if (stream->total_out > 0) {
        window->between = false;
    }
}

enum status inflate_window_read(struct inflate_window *window, char *bytes, size_t size,
                                size_t *count)
{
    struct inflate_state *stream = &window->stream;

    *count = 0;
    while (*count < size && !window->ended) {
        if (stream->avail_in == 0) {
            TRY(refill(window));
            if (stream->avail_in == 0) {
                window->ended = true;
                if (window->gzip && !window->between)
                    damaged(window, "its compression ends");
                break;
            }
        }
        if (window->gzip) {
            stream->next_out = (unsigned char *)bytes + *count;
            stream->avail_out = (uint32_t)(size - *count);
            inflate_some(window);
            *count = size - stream->avail_out;
        } else {
            size_t most = size - *count < stream->avail_in ? size - *count : stream->avail_in;
            memcpy(bytes + *count, stream->next_in, most);
            stream->next_in += most;
            stream->avail_in -= (uint32_t)most;
            *count += most;
        }
    }

    return STATUS_OK;
}

bool inflate_window_is_plain(const struct inflate_window *window)
{
    return window->file_bytes > 0 && !window->gzip;
}

enum status inflate_window_read_at(const struct inflate_window *window, int64_t at, char *bytes,
                                   size_t size, size_t *count)
{
    int64_t left = window->file_bytes - at;
    size_t most = left < (int64_t)size ? (size_t)(left > 0 ? left : 0) : size;

    *count = 0;
    while (*count < most) {
        /* With a place of its own for each call, so that threads may read at once. */
        ssize_t got = pread(window->file, bytes + *count, most - *count, at + (int64_t)*count);
        if (got == 0) /* the file became shorter */
            break;
        if (got > 0)
            *count += (size_t)got;
        else if (errno != EINTR)
            FAIL(STATUS_IO, "cannot read %s at byte %lld: %s", window->path,
                 (long long)(at + (int64_t)*count), strerror(errno));
    }
    return STATUS_OK;
}

const char *inflate_window_damage(const struct inflate_window *window)
{
    return window->damage[0] != '\0' ? window->damage : NULL;
}
