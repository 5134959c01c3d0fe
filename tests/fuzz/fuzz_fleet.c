/* Files of doctor and of bench made of any bytes, as machines of a fleet. */
#include "harness/fleet/fleet_output.h"
#include "tests/fuzz/fuzzing.h"

#include <cjson/cJSON.h>

static void skip(void *context, const char *path)
{
    (void)context;
    PROMISE(path != NULL && status_last()->text[0] != '\0');
}

static void check_fleet(node_reader *reader, const char *const *paths, int count)
{
    struct fleet fleet;
    struct page page = page_console(fuzz_nowhere(), COLOR_NEVER);
    struct json json = { false };
    cJSON *root;

    if (fleet_make(&fleet, reader, paths, count, skip, NULL) != STATUS_OK) {
        PROMISE(status_last()->text[0] != '\0');
        fleet_release(&fleet);
        return;
    }
    PROMISE(fleet.count > 0 && fleet.count <= count);
    for (int i = 0; i < fleet.out_count; i++)
        PROMISE(fleet.out[i] >= 0 && fleet.out[i] < fleet.count);
    fleet_page(&page, &fleet, NULL, 0);
    root = json_object(&json, NULL, NULL);
    fleet_json(&json, root, &fleet, NULL, 0);
    cJSON_Delete(root);
    fleet_release(&fleet);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct part parts[FUZZ_FILES];
    const char *paths[FUZZ_FILES];
    int count = fuzz_parts(parts, FUZZ_FILES, bytes, size);

    /* The last part stands for as many machines as are missing: few tell nothing. */
    for (int i = 0; i < FUZZ_FILES; i++) {
        const struct part *part = &parts[i < count ? i : count - 1];
        paths[i] = fuzz_file(i, part->bytes, part->size);
    }
    check_fleet(node_read, paths, FUZZ_FILES);
    check_fleet(node_read_bench, paths, FUZZ_FILES);
    return 0;
}
