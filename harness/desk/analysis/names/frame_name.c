/* A path tells whether a function is the program's own: everything is that is neither in a folder
 * of packages nor in one of the libraries and modules that are listed here. */
#include "harness/desk/analysis/names/frame_name.h"

#include "harness/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Libraries by the folder that they are imported from. */
static const char *const libraries[] = {
    "torch",   "torchvision", "torchaudio", "torchdata", "triton",  "numpy", "scipy", "pandas",
    "sklearn", "PIL",         "cv2",        "av",        "pyarrow", "tqdm",  "jax",   "functorch",
};

/* Modules of the standard library that show in profiles: packages by their folder, the others by
 * their file. The recorder of `record` is not the user's code either. */
static const char *const standard[] = {
    "_collections_abc",
    "_pydatetime",
    "_pydecimal",
    "_pyio",
    "_weakrefset",
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "bdb",
    "bisect",
    "chokepoint_program",
    "chokepoint_recorder",
    "chokepoint_stacks",
    "codecs",
    "collections",
    "concurrent",
    "contextlib",
    "copy",
    "copyreg",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "dis",
    "email",
    "encodings",
    "enum",
    "fractions",
    "functools",
    "gc",
    "genericpath",
    "getpass",
    "glob",
    "gzip",
    "hashlib",
    "heapq",
    "http",
    "importlib",
    "inspect",
    "io",
    "json",
    "keyword",
    "linecache",
    "locale",
    "logging",
    "multiprocessing",
    "numbers",
    "opcode",
    "operator",
    "os",
    "pathlib",
    "pickle",
    "platform",
    "posixpath",
    "pprint",
    "queue",
    "random",
    "re",
    "reprlib",
    "runpy",
    "selectors",
    "shutil",
    "signal",
    "site",
    "socket",
    "sre_compile",
    "sre_parse",
    "ssl",
    "stat",
    "statistics",
    "string",
    "struct",
    "subprocess",
    "tarfile",
    "tempfile",
    "textwrap",
    "threading",
    "timeit",
    "tokenize",
    "traceback",
    "types",
    "typing",
    "unittest",
    "urllib",
    "uuid",
    "warnings",
    "weakref",
    "xml",
    "zipfile",
};

struct frame_name frame_name_of(const char *text, size_t length)
{
    struct frame_name name = { .function = text, .function_length = length };
    const char *end = text + length;

    for (const char *at = text; at + 3 < end; at++) {
        char *after;
        int64_t line;
        if (*at != '(' || at[1] < '0' || at[1] > '9')
            continue;
        line = strtoll(at + 1, &after, 10);
        if (after + 3 > end || memcmp(after, "): ", 3) != 0)
            continue;
        name = (struct frame_name){ text, (size_t)(at - text), line, after + 3,
                                    (size_t)(end - after - 3) };
    }
    return name;
}

static bool is_in(const char *word, size_t length, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == length && memcmp(list[i], word, length) == 0)
            return true;
    return false;
}

/* Folders of packages, of Python itself, and of what compilers write; on Windows, too. */
static bool is_in_packages(const struct frame_name *name)
{
    static const char *const folders[] = { "/site-packages/", "/dist-packages/",
                                           "/lib/python",     "/torchinductor_",
                                           "/triton/",        "\\site-packages\\",
                                           "\\lib\\",         "\\torchinductor_" };

    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        const char *found = strstr(name->file, folders[i]);
        if (found != NULL && found + strlen(folders[i]) <= name->file + name->file_length)
            return true;
    }
    return false;
}

/* "<frozen os>", "<string>" and what PyTorch generates, but not what somebody typed. */
static bool is_typed(const struct frame_name *name)
{
    return strncmp(name->file, "<ipython", 8) == 0 || strncmp(name->file, "<stdin>", 7) == 0;
}

bool frame_name_is_own(const struct frame_name *name)
{
    const char *slash;
    size_t first;

    if (name->file == NULL || name->file_length == 0)
        return false;
    if (name->file[0] == '<')
        return is_typed(name);
    if (is_in_packages(name))
        return false;
    for (first = 0; first < name->file_length && strchr("/\\", name->file[first]) == NULL;) first++;
    slash = first < name->file_length ? name->file + first : NULL;
    if (slash == NULL && first > 3 && memcmp(name->file + first - 3, ".py", 3) == 0)
        first -= 3;
    return !is_in(name->file, first, standard, ARRAY_SIZE(standard)) &&
           !(slash != NULL && is_in(name->file, first, libraries, ARRAY_SIZE(libraries)));
}

bool frame_name_is_part(const struct frame_name *name)
{
    static const char *const parts[] = { "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>" };

    return is_in(name->function, name->function_length, parts, ARRAY_SIZE(parts));
}

/* Stacks of 2021 begin with the innermost call, later ones with the outermost, which is mostly a
 * module. */
bool frame_name_of_stack(const char *text, struct frame_name *name)
{
    const char *end = text + strlen(text), *at = text;
    bool found = false, outermost_first = false;

    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        struct frame_name one;
        if (stop == NULL)
            stop = end;
        one = frame_name_of(at, (size_t)(stop - at));
        if (at == text)
            outermost_first = one.function_length == strlen("<module>") &&
                              memcmp(one.function, "<module>", one.function_length) == 0;
        if (frame_name_is_own(&one) && (!found || outermost_first)) {
            *name = one;
            found = true;
        }
        at = stop + 1;
    }
    return found;
}

int64_t frame_line_of(const char *from, const struct frame_name *name)
{
    size_t length = name->file_length;

    if (name->file == NULL || strncmp(from, name->file, length) != 0 || from[length] != ':')
        return 0;
    return strtoll(from + length + 1, NULL, 10);
}

void frame_name_call(char *text, size_t size, const char *name)
{
    static const char method[] = "<built-in method ", function[] = "<built-in function ",
                      module[] = "nn.Module: ";
    struct frame_name parts = frame_name_of(name, strlen(name));
    const char *word = parts.function, *dot = "";
    size_t length = parts.function_length;

    text[0] = '\0';
    if (strncmp(name, method, strlen(method)) == 0) {
        word = name + strlen(method);
        length = strcspn(word, " >");
        dot = ".";
    } else if (strncmp(name, function, strlen(function)) == 0) {
        word = name + strlen(function);
        length = strcspn(word, " >");
    } else if (strncmp(name, module, strlen(module)) == 0) {
        word = name + strlen(module);
        length = strlen(word);
    } else if (parts.file == NULL) {
        return;
    }
    if (length > 0 && word[0] != '<')
        snprintf(text, size, "%s%.*s()", dot, (int)length, word);
}
