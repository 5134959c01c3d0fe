/* Going on from a saved state: as if nothing had happened, or with one sentence that says why
 * not. */
#include "harness/engine/data/sequences.h"
#include "harness/engine/step/state.h"
#include "tests/fixtures/lab/training_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

static char place[64];

static int make_place(void **state)
{
    snprintf(place, sizeof place, "/tmp/chokepoint-resume-XXXXXX");
    assert_non_null(mkdtemp(place));
    return open_device(state);
}

static int remove_place(void **state)
{
    char path[PATH_MAX];

    assert_ok(state_path(path, place));
    unlink(path);
    assert_int_equal(rmdir(place), 0); /* Nothing else is in it. */
    return close_device(state);
}

static struct training_config config_in(struct device *device, const char *settings, bool resumes)
{
    struct training_config config = config_of(device, settings);

    snprintf(config.saving.folder, sizeof config.saving.folder, "%s", place);
    if (resumes)
        snprintf(config.saving.resume, sizeof config.saving.resume, "%s", place);
    return config;
}

static struct training *open_in(struct device *device, const char *settings, bool resumes)
{
    struct training_config config = config_in(device, settings, resumes);
    struct training *training = NULL;

    assert_ok(training_open(&training, device, &config));
    return training;
}

/* The device's part of the state; the caller frees it. */
static char *state_of(struct training *training)
{
    char *state = calloc(1, state_bytes(training));

    assert_non_null(state);
    assert_ok(state_copy(training, state, true));
    return state;
}

/* The saved state as a file holds it; the caller frees it. */
static char *read_file(size_t *bytes)
{
    char path[PATH_MAX], *text;
    struct stat facts;
    FILE *file;

    assert_ok(state_path(path, place));
    assert_int_equal(stat(path, &facts), 0);
    *bytes = (size_t)facts.st_size;
    text = malloc(*bytes);
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, *bytes, file), *bytes);
    fclose(file);
    return text;
}

static void write_file(const char *text, size_t bytes)
{
    char path[PATH_MAX];
    FILE *file;

    assert_ok(state_path(path, place));
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
}

enum { BEFORE = 9, STEPS = 21 };

/* A training that never stops, and what one like it saves after BEFORE steps. */
struct origin {
    char settings[256];
    float losses[STEPS];
    char *end, *file; /* the state after all steps, and the saved one */
    size_t end_bytes, file_bytes;
};

static void origin_make(struct origin *origin, struct device *device, const char *settings)
{
    struct training *training = open_training(device, settings);
    float losses[BEFORE];

    free(origin->end);
    free(origin->file);
    *origin = (struct origin){ .end = NULL };
    assert_ok(training_run(training, STEPS));
    assert_ok(training_losses(training, 0, STEPS, origin->losses));
    origin->end = state_of(training);
    origin->end_bytes = state_bytes(training);
    training_close(training);

    training = open_in(device, settings, false);
    assert_ok(training_run(training, BEFORE));
    assert_ok(training_losses(training, 0, BEFORE, losses));
    assert_ok(training_save(training));
    training_close(training);
    assert_memory_equal(origin->losses, losses, sizeof losses);
    origin->file = read_file(&origin->file_bytes);
    snprintf(origin->settings, sizeof origin->settings, "%s", settings);
}

/* BEFORE steps with one group of settings, the rest with another, against a run that never
 * stopped. The first part is trained once for all cases in a row that begin with it. */
static void check_goes_on(struct device *device, const char *first, const char *second)
{
    static struct origin origin;
    struct training *training;
    float resumed[STEPS - BEFORE];
    char *got;

    if (strcmp(origin.settings, first) != 0)
        origin_make(&origin, device, first);
    else
        write_file(origin.file, origin.file_bytes);
    training = open_in(device, second, true);
    assert_int_equal(training_steps_done(training), BEFORE);
    assert_int_equal(training_losses(training, 0, 1, resumed), STATUS_BAD_USAGE);
    assert_ok(training_run(training, STEPS - BEFORE));
    assert_ok(training_losses(training, BEFORE, STEPS - BEFORE, resumed));
    got = state_of(training);
    training_close(training);
    assert_memory_equal(origin.losses + BEFORE, resumed, sizeof resumed);
    assert_memory_equal(origin.end, got, origin.end_bytes);
    free(got);
}

/* Epochs of four batches, so that the end of two is passed before the state is saved, and of three
 * after. */
#define FOUR_BATCHES "model=balanced batch=256 blocks=1 width=32 tokens=5 jpeg_pixels=16 "

TEST(a_resumed_run_trains_on_bit_for_bit)
{
    static const char *const settings[] = {
        "model=light launch=eager precision=fp32",
        "model=light launch=eager precision=bf16 accumulate=2 batch=4",
        "model=light launch=graph precision=fp32 save_every=3 save_mode=blocking",
        "model=light launch=graph precision=bf16 save_every=4",
        "model=light launch=eager precision=bf16 optimizer=unfused input=decoded workers=0",
        "model=light launch=graph precision=fp32 optimizer=per_tensor input=decoded workers=2",
        "model=light launch=eager input=decoded workers=2 batch=8 accumulate=2 padding=longest",
        "model=light launch=eager precision=fp16 loss_scaling=host batch=4 accumulate=2",
        "model=light launch=graph precision=fp16 optimizer=unfused",
        FOUR_BATCHES "input=cached workers=0 launch=eager precision=fp32",
        FOUR_BATCHES "input=cached workers=3 launch=graph precision=bf16",
        FOUR_BATCHES "input=cached workers=2 persistent_workers=no launch=eager precision=bf16",
        FOUR_BATCHES "input=decoded workers=2 launch=graph precision=fp32",
    };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
        check_goes_on(*state, settings[i], settings[i]);
}

/* For knobs that say that they change no result; the test after this one sees that none is
 * missing. */
static const struct {
    const char *first, *other;
} changes[] = {
#define IMAGES FOUR_BATCHES "input=decoded workers=1 launch=eager"
    { IMAGES, "workers=3" },
    { IMAGES, "collate=loop" },
    { IMAGES, "prefetch=1" },
    { IMAGES, "persistent_workers=no" },
    { IMAGES, "resize_threads=3" },
    { IMAGES, "page_cache=dropped" },
    { IMAGES, "storage=shards" },
    { IMAGES, "index=objects" },
    { IMAGES, "host_memory=pageable" },
    { IMAGES, "pinning=loop" },
    { IMAGES, "transfer=blocking" },
    { IMAGES, "pixels=fp32" },
    { IMAGES, "copies=per_tensor" },
    { IMAGES, "checkpointing=block" },
    { IMAGES, "clipping=host" },
    { IMAGES, "launch=graph" },
    { IMAGES, "backward_streams=two" },
    { IMAGES, "allocation=direct" },
    { IMAGES, "segments=exact" },
    { IMAGES, "segments=pooled" },
    { IMAGES, "memory_budget=1GiB" },
    { IMAGES, "empty_cache_every=1" },
    { IMAGES, "loss_every=1" },
    { IMAGES, "log=queued" },
    { IMAGES, "accuracy=host" },
    { IMAGES, "validate_every=2" },
    { IMAGES, "timer=end" },
    { IMAGES, "self_comparison=pairs" },
    { IMAGES, "profiler=stacks" },
    { IMAGES, "kept_loss=graph" },
    { IMAGES, "garbage=collected" },
    { IMAGES, "save_every=2" },
    { IMAGES, "save_mode=blocking" },
    { IMAGES " precision=fp16", "loss_scaling=host" },
    { "model=light launch=graph input=decoded workers=1 batch=8 padding=longest", "graphs=latest" },
    { IMAGES " accuracy=host", "predictions=appended" },
};

TEST(what_changes_no_result_may_change)
{
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        char second[256];
        snprintf(second, sizeof second, "%s %s", changes[i].first, changes[i].other);
        check_goes_on(*state, changes[i].first, second);
    }
}

TEST(every_knob_that_changes_no_result_is_changed_above)
{
    int count;
    const struct knob *knobs = knobs_list(&count);

    for (int i = 0; i < count; i++) {
        size_t length = strlen(knobs[i].name), found = 0;
        for (size_t j = 0; j < ARRAY_SIZE(changes); j++)
            found += strncmp(changes[j].other, knobs[i].name, length) == 0 &&
                     changes[j].other[length] == '=';
        if (knobs[i].changes_no_result != (found > 0))
            fail_msg("%s: %s", knobs[i].name, found > 0 ? "changes results" : "is not tried");
    }
}

/* --- Refusals --- */

/* The file is left as it is, and the error has the sentence. */
static void check_refused(struct device *device, const char *settings, enum status wanted,
                          const char *sentence)
{
    struct training_config config = config_in(device, settings, true);
    struct training *training = NULL;

    assert_int_equal(training_open(&training, device, &config), wanted);
    assert_null(training);
    if (strstr(status_last()->text, sentence) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", sentence, status_last()->text);
}

#define SMALL "model=light width=32 blocks=1"

static void save_small(struct device *device)
{
    struct training *training = open_in(device, SMALL, false);

    assert_ok(training_run(training, 3));
    assert_ok(training_save(training));
    training_close(training);
}

TEST(a_cut_state_is_refused_wherever_it_is_cut)
{
    size_t bytes;
    char *text;

    save_small(*state);
    text = read_file(&bytes);
    for (size_t cut = 0; cut < bytes; cut += cut < 40 ? 13 : cut < STATE_HEADER + 8 ? 509 : 7919) {
        write_file(text, cut);
        check_refused(*state, SMALL, STATUS_BAD_INPUT,
                      cut < 32 ? "is not a training state of chokepoint"
                               : "is cut or was added to");
    }
    write_file(text, bytes - 1);
    check_refused(*state, SMALL, STATUS_BAD_INPUT, "is cut or was added to");
    text = realloc(text, bytes + 1);
    text[bytes] = 0;
    write_file(text, bytes + 1);
    check_refused(*state, SMALL, STATUS_BAD_INPUT, "is cut or was added to");
    free(text);
}

/* Every bit counts: those of the header too. */
TEST(a_damaged_state_is_refused)
{
    size_t bytes;
    char *text;

    save_small(*state);
    text = read_file(&bytes);
    for (size_t at = 36; at < bytes; at = at < 72 ? at + 1 : at * 3 / 2) {
        text[at] = (char)(text[at] ^ 0x10);
        write_file(text, bytes);
        check_refused(*state, SMALL, STATUS_BAD_INPUT,
                      at >= 40 && at < 48 ? "is cut or was added to"
                                          : "is damaged: its checksum does not match");
        text[at] = (char)(text[at] ^ 0x10);
    }
    text[bytes - 1] = (char)(text[bytes - 1] ^ 1);
    write_file(text, bytes);
    check_refused(*state, SMALL, STATUS_BAD_INPUT, "is damaged: its checksum does not match");
    text[32]++;
    write_file(text, bytes);
    check_refused(*state, SMALL, STATUS_BAD_INPUT, "its format is 4, and this one reads 3");
    free(text);
}

TEST(what_is_no_state_is_refused)
{
    char path[PATH_MAX];

    write_file("{\"traceEvents\": []}\n", 20);
    check_refused(*state, SMALL, STATUS_BAD_INPUT, "is not a training state of chokepoint");
    assert_ok(state_path(path, place));
    unlink(path);
    check_refused(*state, SMALL, STATUS_IO, "there is no saved state /tmp/chokepoint-resume-");
    assert_int_equal(mkdir(path, 0700), 0);
    check_refused(*state, SMALL, STATUS_IO, "training.state: Is a directory");
    assert_int_equal(rmdir(path), 0);
}

TEST(settings_that_differ_are_named)
{
    static const struct {
        const char *settings, *sentence;
    } rows[] = {
        { SMALL " seed=2", "was saved with seed=1 instead of 2; give these settings" },
        { SMALL " rate=0.01 batch=2",
          "was saved with batch=1 instead of 2, rate=0.001 instead of 0.01;" },
        { "model=light width=64 blocks=1", "was saved with width=32 instead of 64;" },
        { SMALL " precision=bf16", "was saved with precision=fp32 instead of bf16;" },
        { SMALL " optimizer=unfused", "was saved with optimizer=multi_tensor instead of unfused;" },
    };

    save_small(*state);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        check_refused(*state, rows[i].settings, STATUS_BAD_INPUT, rows[i].sentence);
}

/* The checksum is of a file that was whole, so a wrong one can still come from another program. */
TEST(a_state_that_was_sealed_with_other_facts_is_refused)
{
    size_t bytes;
    char *text, settings[2048];
    struct training_config config = config_of(*state, SMALL);
    const struct dataset_identity fewer = { .samples = 17 },
                                  others = { .samples = SEQUENCES_TRAIN, .files = 1 };

    save_small(*state);
    text = read_file(&bytes);
    assert_ok(knobs_print(&config, settings, sizeof settings));
    state_seal(text, bytes, settings, &fewer, 3);
    write_file(text, bytes);
    check_refused(*state, SMALL, STATUS_BAD_INPUT, "was trained on 17 samples, and now there are ");
    state_seal(text, bytes, settings, &others, 3);
    write_file(text, bytes);
    check_refused(*state, SMALL, STATUS_BAD_INPUT,
                  "was trained on other files: classes, names or sizes differ; train on the same "
                  "data, or leave out --resume");
    state_seal(text, bytes, settings, &fewer, -3);
    write_file(text, bytes);
    check_refused(*state, SMALL, STATUS_BAD_INPUT, "says that -3 steps were done");
    state_seal(text, bytes, "model=light colour=red", &fewer, 3);
    write_file(text, bytes);
    check_refused(*state, SMALL, STATUS_BAD_INPUT, "it has settings unknown to this one");
    free(text);
}

TESTS_WITH(make_place, remove_place)
