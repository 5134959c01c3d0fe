/* The types of a C++ name ("Itanium C++ ABI", "Mangling"), as far as kernels mostly have them:
 * numbers, pointers to numbers, and types that were there before. Whatever else it has, the types
 * of the PTX serve, which knows pointers and sizes. */
#include "harness/lab/kernel/input/kernel_arguments.h"

#include "harness/base/words/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPE_SIZE = 16, SUBSTITUTIONS = 32 };

struct mangled {
    const char *at;
    char known[SUBSTITUTIONS][TYPE_SIZE]; /* types that "S0_" and so on stand for */
    int count;
};

static const char *number_of(char code)
{
    static const char codes[] = "fdijlmxystahcb";
    static const char *const names[] = { "f32", "f64", "i32", "u32", "i64", "u64", "i64",
                                         "u64", "i16", "u16", "i8",  "u8",  "i8",  "u8" };
    const char *at = code != '\0' ? strchr(codes, code) : NULL;

    return at != NULL ? names[at - codes] : NULL;
}

static bool remember(struct mangled *name, const char *type)
{
    if (name->count == SUBSTITUTIONS)
        return false;
    snprintf(name->known[name->count++], TYPE_SIZE, "%s", type);
    return true;
}

/* Whether the next type is one that is known. */
static bool read_type(struct mangled *name, char type[TYPE_SIZE])
{
    static const struct {
        const char *code, *type;
    } halves[] = { { "6__half", "f16" }, { "13__nv_bfloat16", "bf16" } };
    char code = *name->at;
    const char *number = number_of(code);
    size_t length;
    long place;
    char *end;

    if (number != NULL) {
        name->at++;
        snprintf(type, TYPE_SIZE, "%s", number);
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(halves); i++)
        if (strncmp(name->at, halves[i].code, strlen(halves[i].code)) == 0) {
            name->at += strlen(halves[i].code);
            snprintf(type, TYPE_SIZE, "%s", halves[i].type);
            return remember(name, type);
        }
    if (code == 'P' || code == 'K' || code == 'V') {
        if (strspn(name->at, "PKV") > SUBSTITUTIONS) /* each is one, so it would fail deeper */
            return false;
        name->at++;
        if (!read_type(name, type))
            return false;
        length = strlen(type);
        if (code == 'P' && length + 3 <= TYPE_SIZE)
            strcat(type, "[]");
        return remember(name, type);
    }
    if (code != 'S' || (name->at[1] != '_' && (name->at[1] == '\0' || name->at[2] != '_')))
        return false;
    place = name->at[1] == '_' ? 0 : strtol((char[]){ name->at[1], '\0' }, &end, 36) + 1;
    if (place >= name->count)
        return false;
    name->at += name->at[1] == '_' ? 2 : 3;
    snprintf(type, TYPE_SIZE, "%s", name->known[place]);
    return true;
}

/* Templates and nested names have substitutions of their own, so they are left to the PTX. */
static bool types_of_name(char *text, size_t size, const char *mangled, int count)
{
    struct mangled name = { .at = mangled };
    char type[TYPE_SIZE] = "", *end;
    unsigned long length;

    if (strncmp(mangled, "_Z", 2) != 0)
        return false;
    length = strtoul(mangled + 2, &end, 10);
    if (end == mangled + 2 || length >= strlen(end))
        return false;
    name.at = end + length;
    for (int i = 0; i < count; i++) {
        if (!read_type(&name, type))
            return false;
        text_join(text, size, ", ", "%s", type);
    }
    return *name.at == '\0';
}

void kernel_wants(char *text, size_t size, const char *name, const struct simt_shape *shape)
{
    text[0] = '\0';
    if (types_of_name(text, size, name, shape->parameters))
        return;
    text[0] = '\0';
    for (int i = 0; i < shape->parameters; i++)
        text_join(text, size, ", ", "%s", shape->parameter_type[i]);
}
