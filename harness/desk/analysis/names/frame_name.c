/* A path tells who owns a function: everything is the user's that is neither in a folder of
 * packages nor in one of the libraries and modules that are listed here, or by the trace. */
#include "harness/desk/analysis/names/frame_name.h"

#include "harness/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Libraries by the folder that they are imported from. */
static const char *const libraries[] = {
    "torch", "torchvision", "torchaudio", "torchdata",  "triton",    "numpy",
    "scipy", "pandas",      "sklearn",    "chokepoint", "PIL",       "cv2",
    "av",    "pyarrow",     "tqdm",       "jax",        "functorch",
};

/* Installed packages whose paths PyTorch has cut, where the trace does not list the user's own. */
static const char *const packages[] = {
    "IPython",
    "accelerate",
    "datasets",
    "deepspeed",
    "diffusers",
    "fastai",
    "ignite",
    "ipykernel",
    "keras",
    "lightning",
    "lightning_fabric",
    "monai",
    "peft",
    "pytorch_lightning",
    "skorch",
    "sentence_transformers",
    "timm",
    "stable_baselines3",
    "torch_geometric",
    "torchmetrics",
    "transformers",
    "trl",
    "ultralytics",
};

/* Modules of the standard library that show in profiles: packages by their folder, the others by
 * their file. */
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
        if (list[i][0] == word[0] && strncmp(list[i], word, length) == 0 && list[i][length] == '\0')
            return true;
    return false;
}

/* Files of `record` and `try`. */
#define RECORDER "chokepoint_"

/* Folders of packages; those of Python itself, of what compilers write, and of our own recorder;
 * and Jupyter's of cells. On Windows, too. */
static const char *const of_packages[] = { "/site-packages/", "/dist-packages/",
                                           "\\site-packages\\" };
static const char *const of_python[] = { "/lib/python", "/torchinductor_",
                                         "/triton/",    "/recorder/" RECORDER,
                                         "\\lib\\",     "\\torchinductor_" };
static const char *const of_cells[] = { "ipykernel_" };

/* The rest behind the first of these words in a path; NULL: it has none. Each frame of each stack
 * is asked, and memmem() makes a table first, which costs more than to read a path. */
static const char *behind(const char *path, size_t length, const char *const *words, size_t count)
{
    const char *end = path + length;

    for (size_t i = 0; i < count; i++) {
        size_t room = strlen(words[i]);
        for (const char *at = path; (at = memchr(at, words[i][0], (size_t)(end - at))) != NULL;
             at++)
            if (room <= (size_t)(end - at) && memcmp(at, words[i], room) == 0)
                return at + room;
    }
    return NULL;
}

/* The number of a notebook's cell from the name that Jupyter gives it; 0: it does not tell; -1: it
 * is no cell. The recorder writes "cell 3". */
static int64_t cell_of(const char *file, size_t length)
{
    static const char *const names[] = { "cell ", "<ipython-input-" };
    const char *kernel = behind(file, length, of_cells, ARRAY_SIZE(of_cells));

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strncmp(file, names[i], strlen(names[i])) == 0)
            return strtoll(file + strlen(names[i]), NULL, 10);
    return kernel != NULL && *kernel >= '0' && *kernel <= '9' ? 0 : -1;
}

static bool is_listed(const char *own, const char *word, size_t length)
{
    for (const char *at = own; (at = strchr(at, '"')) != NULL; at++)
        if (strncmp(at + 1, word, length) == 0 && at[1 + length] == '"')
            return true;
    return false;
}

/* The length of the first folder of a path, or of the file's name without ".py". */
static size_t first_part(const char *path, const char *end, bool *is_folder)
{
    const char *slash = path;

    while (slash < end && strchr("/\\", *slash) == NULL) slash++;
    *is_folder = slash < end;
    if (!*is_folder && end - path > 3 && memcmp(end - 3, ".py", 3) == 0)
        slash -= 3;
    return (size_t)(slash - path);
}

enum frame_owner frame_name_owner(const struct frame_name *name, const char *own)
{
    const char *path = name->file, *end = path + name->file_length, *package;
    bool is_cut, is_folder;
    size_t first;

    if (path == NULL || name->file_length == 0)
        return OWNER_PYTHON;
    if (cell_of(path, name->file_length) >= 0 || strncmp(path, "<stdin>", 7) == 0)
        return OWNER_USER;
    package = behind(path, name->file_length, of_packages, ARRAY_SIZE(of_packages));
    is_cut = strchr("/\\<", path[0]) == NULL && memchr(path, ':', name->file_length) == NULL;
    first = first_part(package != NULL ? package : path, end, &is_folder);
    if (is_cut && own != NULL && is_listed(own, path, first))
        return OWNER_USER;
    if (path[0] == '<' || (package == NULL && behind(path, name->file_length, of_python,
                                                     ARRAY_SIZE(of_python)) != NULL))
        return OWNER_PYTHON;
    path = package != NULL ? package : path;
    if (is_in(path, first, standard, ARRAY_SIZE(standard)) ||
        strncmp(path, RECORDER, strlen(RECORDER)) == 0 ||
        (is_folder && is_in(path, first, libraries, ARRAY_SIZE(libraries))))
        return OWNER_PYTHON;
    if (package != NULL || (is_cut && own != NULL) ||
        (is_folder && is_in(path, first, packages, ARRAY_SIZE(packages))))
        return OWNER_LIBRARY;
    return OWNER_USER;
}

bool frame_name_is_part(const struct frame_name *name)
{
    static const char *const parts[] = { "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>" };

    return is_in(name->function, name->function_length, parts, ARRAY_SIZE(parts));
}

bool frame_name_is_iterator(const struct frame_name *name, const char *iterators)
{
    char text[512];

    if (name->file == NULL)
        return false;
    snprintf(text, sizeof text, "%.*s: %.*s", (int)name->file_length, name->file,
             (int)name->function_length, name->function);
    return is_listed(iterators, text, strlen(text));
}

/* Stacks of 2021 begin with the innermost call, later ones with the outermost, which is mostly a
 * module. */
enum frame_owner frame_name_of_stack(const char *text, const char *own, struct frame_name *name)
{
    const char *end = text + strlen(text), *at = text;
    enum frame_owner best = OWNER_PYTHON;
    bool outermost_first = false;

    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        struct frame_name one;
        enum frame_owner owner;
        if (stop == NULL)
            stop = end;
        one = frame_name_of(at, (size_t)(stop - at));
        if (at == text)
            outermost_first = one.function_length == strlen("<module>") &&
                              memcmp(one.function, "<module>", one.function_length) == 0;
        owner = frame_name_owner(&one, own);
        if (owner > best || (owner == best && owner > OWNER_PYTHON && outermost_first)) {
            *name = one;
            best = owner;
        }
        at = stop + 1;
    }
    return best;
}

int64_t frame_line_of(const char *from, const struct frame_name *name)
{
    size_t length = name->file_length;

    if (name->file == NULL || strncmp(from, name->file, length) != 0 || from[length] != ':')
        return 0;
    return strtoll(from + length + 1, NULL, 10);
}

void frame_name_line(char *text, size_t size, const char *file, int64_t line)
{
    int64_t cell = cell_of(file, strlen(file));

    if (cell > 0)
        snprintf(text, size, "cell %lld, line %lld", (long long)cell, (long long)line);
    else if (cell == 0)
        snprintf(text, size, "a notebook's cell, line %lld", (long long)line);
    else
        snprintf(text, size, "%s:%lld", file, (long long)line);
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
