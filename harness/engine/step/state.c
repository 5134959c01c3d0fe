/* The file is written as one piece and read in two: the header first, which says whether the rest
 * is worth reading, then everything under one checksum.
 *
 * The file holds fp32 weights and moments, so that a training in 16 bits goes on with exactly what
 * it had; the narrow weights are computed from them (encoder_narrow()). */
#include "harness/engine/step/state.h"

#include "harness/base/rows.h"
#include "harness/engine/settings/knobs.h"
#include "harness/engine/step/training_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define MAGIC "chokepoint training state"

enum { VERSION = 3 };

struct header {
    char magic[32];
    uint32_t version;
    uint32_t checksum; /* zlib's CRC-32 of the whole with 0 here */
    uint64_t bytes;    /* of the whole */
    int64_t steps;     /* done */
    struct dataset_identity data;
    char settings[STATE_HEADER - 72];
};
_Static_assert(sizeof(struct header) == STATE_HEADER, "the header has no gaps");

enum status state_path(char path[PATH_MAX], const char *folder)
{
    if ((size_t)snprintf(path, PATH_MAX, "%s/" STATE_FILE, folder) >= PATH_MAX)
        FAIL(STATUS_BAD_USAGE, "the path %.60s... is too long; choose a shorter one", folder);

    return STATUS_OK;
}

size_t state_bytes(const struct training *training)
{
    const struct encoder *encoder = training->encoder;
    size_t bytes = STATE_HEADER + sizeof(struct step_state);

    for (int i = 0; i < encoder->parameter_count; i++)
        bytes += 3 * (size_t)encoder->parameters[i].value->elements * sizeof(float);
    return bytes;
}

/* --- Copies --- */

/* Blocking or queued: device_copy() or device_copy_async(). */
typedef enum status copy_function(struct stream *stream, enum copy_kind kind, void *to,
                                  const void *from, size_t bytes);

/* Copies the training to `state` (`saves`) or back, in the order of the file. */
static enum status copy_all(struct training *training, copy_function *copy, enum copy_kind kind,
                            bool saves, char *state)
{
    const struct encoder *encoder = training->encoder;

    state += STATE_HEADER;
    for (int i = 0; i < encoder->parameter_count; i++) {
        struct moments moments = optimizer_moments(training->optimizer, i);
        float *device[] = { encoder->parameters[i].master, moments.m, moments.v };
        size_t bytes = (size_t)encoder->parameters[i].value->elements * sizeof(float);

        for (size_t j = 0; j < ARRAY_SIZE(device); j++, state += bytes)
            TRY(copy(training->compute, kind, saves ? (void *)state : device[j],
                     saves ? (void *)device[j] : state, bytes));
    }
    return copy(
        training->compute, kind, saves ? (void *)state : optimizer_state(training->optimizer),
        saves ? (void *)optimizer_state(training->optimizer) : state, sizeof(struct step_state));
}

enum status state_copy(struct training *training, char *state, bool blocking)
{
    return copy_all(training, blocking ? device_copy : device_copy_async, COPY_DEVICE_TO_HOST, true,
                    state);
}

enum status state_keep(struct training *training, char *memory)
{
    return copy_all(training, device_copy_async, COPY_DEVICE_TO_DEVICE, true, memory);
}

enum status state_restore(struct training *training, const char *memory, int64_t steps)
{
    TRY(copy_all(training, device_copy_async, COPY_DEVICE_TO_DEVICE, false, (char *)memory));
    TRY(encoder_narrow(training->encoder, training->compute));
    training->steps = steps;

    return STATUS_OK;
}

/* --- The header --- */

/* The checksum of the whole file, with 0 in its own place. */
static uint32_t checksum_of(const char *state, size_t bytes)
{
    struct header header;
    unsigned long sum = crc32(0, NULL, 0);

    memcpy(&header, state, sizeof header);
    header.checksum = 0;
    sum = crc32_z(sum, (const void *)&header, sizeof header);
    return (uint32_t)crc32_z(sum, (const void *)(state + STATE_HEADER), bytes - STATE_HEADER);
}

void state_seal(char *state, size_t bytes, const char *settings,
                const struct dataset_identity *data, int64_t steps)
{
    struct header header = {
        .magic = MAGIC, .version = VERSION, .bytes = bytes, .steps = steps, .data = *data
    };

    snprintf(header.settings, sizeof header.settings, "%s", settings);
    memcpy(state, &header, sizeof header);
    header.checksum = checksum_of(state, bytes);
    memcpy(state, &header, sizeof header);
}

/* --- Loading --- */

/* As much of the file as there is, `bytes` at most. */
static enum status read_state_bytes(int file, const char *path, void *to, size_t bytes,
                                    size_t *count)
{
    ssize_t got;

    *count = 0;
    while (*count < bytes && (got = read(file, (char *)to + *count, bytes - *count)) != 0) {
        if (got < 0 && errno != EINTR)
            FAIL(STATUS_IO, "cannot read %s: %s", path, strerror(errno));
        *count += got > 0 ? (size_t)got : 0;
    }

    return STATUS_OK;
}

/* Tells from the header and the file's size whether to read the rest. */
static enum status check_header(const struct header *header, size_t count, int file,
                                const char *path)
{
    struct stat facts;

    if (count < sizeof header->magic || memcmp(header->magic, MAGIC, sizeof MAGIC) != 0)
        FAIL(STATUS_BAD_INPUT, "%s is not a training state of chokepoint", path);
    if (count == sizeof *header && header->version != VERSION)
        FAIL(STATUS_BAD_INPUT,
             "%s was saved by another version of chokepoint: its format is %u, and this one reads "
             "%d",
             path, header->version, VERSION);
    if (fstat(file, &facts) != 0)
        FAIL(STATUS_IO, "cannot read %s: %s", path, strerror(errno));
    if (count < sizeof *header || (uint64_t)facts.st_size != header->bytes ||
        header->bytes < STATE_HEADER)
        FAIL(STATUS_BAD_INPUT,
             "%s is cut or was added to: it has %lld bytes, not those it was saved with", path,
             (long long)facts.st_size);

    return STATUS_OK;
}

/* The header decides how much memory the rest takes, so it is checked against the file's size
 * before anything is allocated. */
static enum status read_state(char **state, size_t *bytes, const char *path)
{
    enum status status = STATUS_OK;
    struct header header;
    size_t count;
    int file = -1;

    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && (errno == ENOENT || errno == ENOTDIR))
        FAIL_OUT(STATUS_IO, "there is no saved state %s; leave out --resume to begin anew", path);
    if (file < 0)
        FAIL_OUT(STATUS_IO, "cannot read %s: %s", path, strerror(errno));
    TRY_OUT(read_state_bytes(file, path, &header, sizeof header, &count));
    TRY_OUT(check_header(&header, count, file, path));
    *bytes = header.bytes;
    TRY_OUT(rows_make(state, *bytes));
    memcpy(*state, &header, sizeof header);
    TRY_OUT(read_state_bytes(file, path, *state + STATE_HEADER, *bytes - STATE_HEADER, &count));
    if (count < *bytes - STATE_HEADER || checksum_of(*state, *bytes) != header.checksum)
        FAIL_OUT(STATUS_BAD_INPUT, "%s is damaged: its checksum does not match", path);

out:
    if (file >= 0)
        close(file);
    return status;
}

/* Whether the state is one of a run with the same settings and samples. */
static enum status check_run(const struct training_config *config, const struct dataset *dataset,
                             const struct header *header, const char *path)
{
    struct dataset_identity data = dataset_identity(dataset);
    struct training_config saved;
    char differences[256];

    knobs_defaults(&saved);
    if (header->steps < 0)
        FAIL(STATUS_BAD_INPUT, "%s says that %lld steps were done; leave out --resume", path,
             (long long)header->steps);
    if (header->settings[sizeof header->settings - 1] != '\0' ||
        knobs_apply(&saved, header->settings) != STATUS_OK)
        FAIL(STATUS_BAD_INPUT,
             "%s was saved by another version of chokepoint: it has settings unknown to this one",
             path);
    knobs_differences(&saved, config, differences, sizeof differences);
    if (differences[0] != '\0')
        FAIL(STATUS_BAD_INPUT, "%s was saved with %s; give these settings, or leave out --resume",
             path, differences);
    if (header->data.samples != data.samples)
        FAIL(STATUS_BAD_INPUT,
             "%s was trained on %lld samples, and now there are %lld; train on the same data, or "
             "leave out --resume",
             path, (long long)header->data.samples, (long long)data.samples);
    if (header->data.files != data.files)
        FAIL(STATUS_BAD_INPUT,
             "%s was trained on other files: classes, names or sizes differ; train on the same "
             "data, or leave out --resume",
             path);

    return STATUS_OK;
}

/* The state in the settings' folder, which is of a run with these settings; the caller frees it. */
static enum status read_checked(char **state, size_t *bytes, char path[PATH_MAX],
                                const struct training_config *config, const struct dataset *dataset)
{
    TRY(state_path(path, config->saving.resume));
    TRY(read_state(state, bytes, path));
    return check_run(config, dataset, (const struct header *)(const void *)*state, path);
}

enum status state_check(const struct training_config *config, const struct dataset *dataset)
{
    char path[PATH_MAX], *state = NULL;
    size_t bytes;
    enum status status = read_checked(&state, &bytes, path, config, dataset);

    free(state);
    return status;
}

enum status state_load(struct training *training)
{
    enum status status = STATUS_OK;
    char path[PATH_MAX], *state = NULL;
    struct header header;
    size_t bytes;

    TRY_OUT(read_checked(&state, &bytes, path, &training->config, training->dataset));
    memcpy(&header, state, sizeof header);
    if (bytes != state_bytes(training))
        FAIL_OUT(STATUS_BAD_INPUT, "%s has %zu bytes, but the state of this model has %zu", path,
                 bytes, state_bytes(training));
    TRY_OUT(copy_all(training, device_copy, COPY_HOST_TO_DEVICE, false, state));
    TRY_OUT(encoder_narrow(training->encoder, training->compute));
    training->steps = training->first_step = header.steps;

out:
    free(state);
    return status;
}
