/* A folder of JPEG files made of any bytes: the first one is the size, up to the first line feed is
 * the name of a class and of a file in it, and the rest is that file. */
#include "harness/engine/data/image_folder.h"
#include "harness/engine/data/images/jpeg.h"
#include "tests/fuzz/fuzzing.h"

#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_MOST = 64, GUARD = 64 };

static char folder[64];

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    return place->level > 0 ? remove(path) : 0;
}

static void empty_folder(void)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void remove_folder(void)
{
    empty_folder();
    rmdir(folder);
}

/* Whether this can be the name of an entry of a folder. */
static bool is_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static void check_decoding(const void *file, size_t bytes, int size)
{
    static struct jpeg_decoder *decoder;
    uint8_t rgb[3 * SIZE_MOST * SIZE_MOST + GUARD];
    enum status status;

    if (decoder == NULL)
        PROMISE(jpeg_decoder_open(&decoder) == STATUS_OK);
    for (int scales = 0; scales < 2; scales++) {
        memset(rgb, 0xa5, sizeof rgb);
        status = jpeg_decode_square(decoder, file, bytes, "input", size, scales == 1, rgb);
        PROMISE(status == STATUS_OK || status_last()->text[0] != '\0');
        for (size_t i = 3 * (size_t)size * (size_t)size; i < sizeof rgb; i++)
            PROMISE(rgb[i] == 0xa5);
    }
}

static void put(const char *class, const char *name, const void *bytes, size_t size)
{
    char path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, class);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", folder, class, name);
    file = fopen(path, "w");
    if (file == NULL)
        return; /* a name that is too long, or a class that is a file */
    fwrite(bytes, 1, size, file);
    fclose(file);
}

static void check_folder(const char *class, const char *name, const void *bytes, size_t size)
{
    struct image_folder images;

    put("a", "a.jpg", bytes, size);
    if (is_name(class) && is_name(name))
        put(class, name, bytes, size);
    if (image_folder_read(&images, folder) != STATUS_OK) {
        PROMISE(status_last()->text[0] != '\0');
        return;
    }
    PROMISE(images.class_count >= 2);
    for (int split = 0; split < 2; split++)
        for (uint32_t i = 0; i < images.splits[split].count; i++)
            PROMISE(images.splits[split].files[i].label < images.class_count &&
                    access(images.splits[split].files[i].path, R_OK) == 0);
    image_folder_release(&images);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char names[2][NAME_MAX + 1] = { "", "" };
    size_t head = 1, which = 0, length = 0;

    if (size == 0)
        return 0;
    for (; head < size && bytes[head] != '\n'; head++) {
        if (bytes[head] == '/' && which == 0) {
            which = 1;
            length = 0;
        } else if (length < NAME_MAX) {
            names[which][length++] = (char)bytes[head];
        }
    }
    head += head < size;
    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "/tmp/chokepoint-fuzz-XXXXXX");
        PROMISE(mkdtemp(folder) != NULL);
        atexit(remove_folder);
    }
    check_decoding(bytes + head, size - head, 1 + bytes[0] % SIZE_MOST);
    check_folder(names[0], names[1], bytes + head, size - head);
    empty_folder();
    return 0;
}
