#include "harness/lab/corpus/corpus_begun.h"

#include "harness/base/sha256.h"
#include "harness/base/system/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(member(object, name));

    return text != NULL ? text : "";
}

/* Members are written as text, and numbers may be of 64 bits. */
static bool is_same(const cJSON *one, const cJSON *other)
{
    char *texts[] = { cJSON_PrintUnformatted(one), cJSON_PrintUnformatted(other) };
    bool same = texts[0] != NULL && texts[1] != NULL &&
                (strcmp(texts[0], texts[1]) == 0 ||
                 (cJSON_IsNumber(other) && strtod(texts[0], NULL) == other->valuedouble));

    free(texts[0]);
    free(texts[1]);
    return same;
}

/* NULL: all is the same; else what is not. */
static const char *difference(const cJSON *root, const cJSON *there)
{
    static const char *const own[] = { "schema", "seed", "protocol", "vocabulary" };
    static const char *const of_machine[] = { "host_name", "library_version", "commit",
                                              "cpu_model", "cores_allowed",   "cpu_quota",
                                              "device",    "device_name",     "gemm_library" };
    const cJSON *context = member(root, "context"), *context_there = member(there, "context");

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (!is_same(member(root, own[i]), member(there, own[i])))
            return own[i];
    for (size_t i = 0; i < ARRAY_SIZE(of_machine); i++)
        if (strcmp(text_of(context, of_machine[i]), text_of(context_there, of_machine[i])) != 0)
            return of_machine[i];
    return NULL;
}

static bool is_sealed(char *text, const cJSON *there)
{
    const char *seal = text_of(there, "seal");
    struct sha256 hash = sha256_start();
    char found[SHA256_TEXT], *place = strlen(seal) == SHA256_TEXT - 1 ? strstr(text, seal) : NULL;

    if (place == NULL)
        return false;
    memset(place, '0', SHA256_TEXT - 1);
    sha256_add(&hash, text, strlen(text));
    sha256_print(&hash, found);
    return strcmp(found, seal) == 0;
}

/* An item that has no trace, as it could not be measured, stays so. */
static bool has_its_trace(const cJSON *item, const char *path)
{
    char trace[PATH_MAX], digest[SHA256_TEXT];
    int folder = (int)(strrchr(path, '/') - path);

    if (cJSON_IsNull(member(item, "trace")))
        return true;
    if (strchr(text_of(item, "trace"), '/') != NULL ||
        snprintf(trace, sizeof trace, "%.*s/%s", folder, path, text_of(item, "trace")) >=
            (int)sizeof trace ||
        !is_regular_file(trace))
        return false;
    return sha256_file(trace, digest) == STATUS_OK && strcmp(digest, text_of(item, "sha256")) == 0;
}

/* As drawn now. Seeds are written anew, since cJSON reads a number of 64 bits as a double. */
static enum status take_items(cJSON *items, const char *path, const struct corpus_item *drawn,
                              int count)
{
    struct json json = { false };
    cJSON *item, *seed;
    int i = 0;

    if (cJSON_GetArraySize(items) >= count)
        FAIL(STATUS_IO,
             "%.300s is there already, with %d items: choose another folder, or give a larger "
             "--count to go on",
             path, cJSON_GetArraySize(items));
    cJSON_ArrayForEach(item, items)
    {
        char digits[24];
        if (strcmp(text_of(item, "name"), drawn[i].name) != 0 || !has_its_trace(item, path))
            FAIL(STATUS_IO,
                 "%.300s is there already, and its item %d is not as it was made: choose another "
                 "folder, or remove that corpus",
                 path, i + 1);
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)drawn[i].seed);
        seed = cJSON_CreateRaw(digits);
        json.out_of_memory |=
            seed == NULL || !cJSON_ReplaceItemInObjectCaseSensitive(item, "seed", seed);
        i++;
    }
    if (json.out_of_memory)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for the items of %.300s", path);

    return STATUS_OK;
}

static enum status read_text(char **text, const char *path)
{
    enum status status = STATUS_OK;
    int descriptor = regular_file_open(AT_FDCWD, path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "r") : NULL;
    size_t room = 0;

    if (file == NULL)
        FAIL_OUT(STATUS_IO, "cannot read %.300s: %s", path, strerror(errno));
    if (getdelim(text, &room, '\0', file) < 0)
        FAIL_OUT(STATUS_IO, "%.300s is there already, and is empty: remove it", path);

out:
    if (file != NULL)
        fclose(file);
    return status;
}

enum status corpus_begun_read(cJSON **items, const char *path, const cJSON *root,
                              const struct corpus_item *drawn, int count)
{
    enum status status = STATUS_OK;
    const char *differs;
    cJSON *there = NULL;
    char *text = NULL;

    *items = NULL;
    if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        goto out;
    TRY_OUT(read_text(&text, path));
    there = cJSON_Parse(text);
    if (there == NULL || !cJSON_IsArray(member(there, "items")) || !is_sealed(text, there))
        FAIL_OUT(STATUS_IO,
                 "%.300s is there already, and is not as a corpus was sealed: choose another "
                 "folder, or remove that corpus",
                 path);
    if (cJSON_GetArraySize(member(there, "items")) == 0)
        goto out;
    differs = difference(root, there);
    if (differs != NULL)
        FAIL_OUT(STATUS_IO,
                 "%.300s is there already, of another %s: choose another folder, or remove that "
                 "corpus",
                 path, differs);
    *items = cJSON_DetachItemFromObjectCaseSensitive(there, "items");
    TRY_OUT(take_items(*items, path, drawn, count));

out:
    if (status != STATUS_OK) {
        cJSON_Delete(*items);
        *items = NULL;
    }
    cJSON_Delete(there);
    free(text);
    return status;
}
