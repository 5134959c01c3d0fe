/* A saved state made of any bytes: as they are, and sealed, so that its checksum is right. */
#include "harness/engine/settings/knobs.h"
#include "harness/engine/step/state.h"
#include "tests/fuzz/fuzzing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64], path[PATH_MAX];

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void make_folder(struct training_config *config)
{
    snprintf(folder, sizeof folder, "/tmp/chokepoint-fuzz-XXXXXX");
    PROMISE(mkdtemp(folder) != NULL && state_path(path, folder) == STATUS_OK);
    atexit(remove_folder);
    knobs_defaults(config);
    snprintf(config->saving.resume, sizeof config->saving.resume, "%s", folder);
}

static enum status check(const struct training_config *config, const struct dataset *dataset,
                         const void *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    enum status status;

    PROMISE(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    status = state_check(config, dataset);
    PROMISE(status == STATUS_OK || status_last()->text[0] != '\0');
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct dataset_config sequences = { .kind = DATA_SEQUENCES,
                                                     .tokens = 16,
                                                     .vocabulary = 64 };
    static struct training_config config;
    static struct dataset *dataset;
    struct dataset_identity data;
    char settings[STATE_HEADER - 72] = "", *state;
    size_t whole = STATE_HEADER + size;

    if (dataset == NULL) {
        make_folder(&config);
        PROMISE(dataset_open(&dataset, &sequences) == STATUS_OK);
    }
    check(&config, dataset, bytes, size);

    /* The same bytes as settings and as tensors. */
    state = calloc(1, whole);
    PROMISE(state != NULL);
    memcpy(state + STATE_HEADER, bytes, size);
    memcpy(settings, bytes, size < sizeof settings - 1 ? size : sizeof settings - 1);
    data = dataset_identity(dataset);
    state_seal(state, whole, settings, &data, size > 0 ? (int8_t)bytes[0] : 0);
    check(&config, dataset, state, whole);
    PROMISE(knobs_print(&config, settings, sizeof settings) == STATUS_OK);
    state_seal(state, whole, settings, &data, 7);
    PROMISE(check(&config, dataset, state, whole) == STATUS_OK);
    free(state);
    return 0;
}
