/* By ISA-L, at once. */
#include "harness/desk/read/input/deflate.h"

#include "harness/base/rows.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>

enum status deflate_text(char **bytes, size_t *count, const char *text, size_t length,
                         enum deflate_form form)
{
    enum status status = STATUS_OK;
    size_t room = length + length / 8 + 4096;
    struct isal_zstream stream;
    uint8_t *work = NULL;

    *bytes = NULL;
    if (room > UINT32_MAX)
        FAIL(STATUS_BAD_INPUT, "%zu bytes are too many to be compressed at once", length);
    TRY_OUT(rows_make(bytes, room));
    TRY_OUT(rows_make(&work, ISAL_DEF_LVL3_DEFAULT));
    isal_deflate_stateless_init(&stream);
    stream.gzip_flag = form == DEFLATE_GZIP ? IGZIP_GZIP : IGZIP_ZLIB;
    stream.level = 3;
    stream.level_buf = work;
    stream.level_buf_size = ISAL_DEF_LVL3_DEFAULT;
    stream.end_of_stream = 1;
    stream.flush = NO_FLUSH;
    stream.next_in = (uint8_t *)(uintptr_t)text;
    stream.avail_in = (uint32_t)length;
    stream.next_out = (uint8_t *)*bytes;
    stream.avail_out = (uint32_t)room;
    if (isal_deflate_stateless(&stream) != COMP_OK)
        FAIL_OUT(STATUS_BAD_INPUT, "%zu bytes cannot be compressed", length);
    *count = stream.total_out;

out:
    free(work);
    if (status != STATUS_OK) {
        free(*bytes);
        *bytes = NULL;
    }
    return status;
}
