/* Names of types are those of PyTorch (c10/core/ScalarType.h). */
#include "harness/desk/read/kineto/message.h"

#include "harness/base/status.h"

#include <string.h>

static int64_t bytes_of_type(struct event_text type)
{
    static const struct {
        const char *name;
        int bytes;
    } types[] = { { "Float", 4 },
                  { "BFloat16", 2 },
                  { "Half", 2 },
                  { "Double", 8 },
                  { "Long", 8 },
                  { "Int", 4 },
                  { "Short", 2 },
                  { "Char", 1 },
                  { "Byte", 1 },
                  { "Bool", 1 },
                  { "ComplexFloat", 8 },
                  { "ComplexDouble", 16 },
                  { "UInt16", 2 },
                  { "UInt32", 4 },
                  { "UInt64", 8 },
                  { "ComplexHalf", 4 },
                  { "Float8_e5m2", 1 },
                  { "Float8_e4m3fn", 1 },
                  { "Float8_e5m2fnuz", 1 },
                  { "Float8_e4m3fnuz", 1 } };

    for (size_t i = 0; type.bytes != NULL && i < ARRAY_SIZE(types); i++)
        if (type.length == strlen(types[i].name) &&
            memcmp(type.bytes, types[i].name, type.length) == 0)
            return types[i].bytes;
    return 0;
}

static int64_t elements(const struct event_fields *fields, enum event_number number)
{
    return (fields->present >> number & 1) != 0 ? fields->numbers[number] : -1;
}

int64_t message_bytes(const struct event_fields *fields)
{
    int64_t in = elements(fields, EVENT_MESSAGE_IN), out = elements(fields, EVENT_MESSAGE_OUT);
    int64_t most = in > out ? in : out, bytes = most >= 0 ? bytes_of_type(fields->data_type) : 0;

    return bytes > 0 && most <= INT64_MAX / bytes ? most * bytes : -1;
}
