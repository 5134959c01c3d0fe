/* The knobs: every value in and out as text, what is filled in, and what is refused and how. */
#include "harness/engine/settings/knobs.h"
#include "tests/fixtures/cmocka_prelude.h"

static const struct device_properties cpu = {
    .kind = "cpu",
    .name = "CPU device (a test)",
    .memory_bytes = (int64_t)4 << 30,
    .host_cores = 6,
    .shares_host_cores = true,
};

static const struct device_properties cuda = {
    .kind = "cuda",
    .is_gpu = true,
    .is_large = true,
    .name = "NVIDIA test",
    .memory_bytes = (int64_t)80 << 30,
    .host_cores = 16,
    .bf16_matrix_units = true,
    .tf32 = true,
    .fused_attention = true,
    .compute_capability = 90,
};

static struct training_config configured(const char *settings)
{
    struct training_config config;

    knobs_defaults(&config);
    assert_ok(knobs_apply(&config, settings));
    return config;
}

static struct training_config resolved(const char *settings, const struct device_properties *device)
{
    struct training_config config = configured(settings);

    if (knobs_resolve(&config, device) != STATUS_OK)
        fail_msg("%s: %s", settings, status_last()->text);
    return config;
}

static void assert_prints(const struct training_config *config, const char *name, const char *value)
{
    char text[64];

    assert_ok(knob_get(config, name, text, sizeof text));
    assert_string_equal(text, value);
}

static void assert_same_text(const struct training_config *a, const struct training_config *b)
{
    char text_a[KNOBS_TEXT], text_b[KNOBS_TEXT];

    assert_ok(knobs_print(a, text_a, sizeof text_a));
    assert_ok(knobs_print(b, text_b, sizeof text_b));
    assert_string_equal(text_a, text_b);
}

/* A changed default changes what all scenarios mean. A new knob need not stand here: its row says
 * the value, and the test below that it is the one that is set. */
TEST(defaults_are_the_healthy_values)
{
    struct training_config config = configured(""), applied;

    applied = configured(
        "model=balanced data=auto batch=auto accumulate=1 tokens=auto width=auto blocks=auto "
        "patch=auto precision=auto elementwise=fused attention=naive checkpointing=none "
        "input=resident workers=cores prefetch=2 persistent_workers=yes jpeg_pixels=auto "
        "host_memory=pinned transfer=overlapped copies=one optimizer=multi_tensor rate=0.001 "
        "launch=auto allocation=caching memory_budget=device loss_every=20 seed=1");
    assert_same_text(&applied, &config);
    assert_memory_equal(&applied, &config, sizeof config);
}

TEST(what_is_printed_reads_back_the_same)
{
    static const char *const settings[] = {
        "",
        "model=light data=sequences batch=3 accumulate=64 tokens=9 width=96 blocks=7",
        "model=heavy data=images patch=24 precision=bf16 elementwise=unfused attention=fused",
        "checkpointing=block input=decoded workers=8xcores prefetch=5 persistent_workers=no",
        "checkpointing=3",
        "workers=0 jpeg_pixels=97 host_memory=pageable transfer=blocking copies=per_tensor",
        "optimizer=unfused rate=0.00123456789012345 launch=graph allocation=direct",
        "memory_budget=3KiB loss_every=1 seed=18446744073709551615",
    };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        struct training_config config = configured(settings[i]), again;
        char text[KNOBS_TEXT];

        assert_ok(knobs_print(&config, text, sizeof text));
        knobs_defaults(&again);
        assert_ok(knobs_apply(&again, text));
        assert_same_text(&config, &again);
        assert_memory_equal(&config, &again, sizeof config);
        for (const char *one = settings[i]; *one != '\0'; one += strcspn(one, " ")) {
            char word[64];
            one += strspn(one, " ");
            snprintf(word, sizeof word, "%.*s", (int)strcspn(one, " "), one);
            assert_non_null(strstr(text, word));
        }
    }
}

TEST(every_knob_has_a_name_of_its_own_and_starts_healthy)
{
    int count;
    const struct knob *knobs = knobs_list(&count);
    struct training_config config = configured("");

    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        assert_true(strlen(knobs[i].text) > 0);
        assert_prints(&config, knobs[i].name, knobs[i].healthy);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(knobs[i].name, knobs[j].name);
            assert_true(knobs[i].offset != knobs[j].offset);
        }
    }
}

TEST(every_word_of_every_choice_is_taken_and_comes_back)
{
    int count, choices = 0;
    const struct knob *knobs = knobs_list(&count);

    for (int i = 0; i < count; i++) {
        char values[80], *rest = values, *word;
        int words = 0;

        if (knobs[i].kind != KNOB_CHOICE && knobs[i].kind != KNOB_YES_NO)
            continue;
        snprintf(values, sizeof values, "%s", knobs[i].values);
        while ((word = strsep(&rest, "|")) != NULL) {
            struct training_config config = configured("");

            assert_ok(knob_set(&config, knobs[i].name, word));
            assert_prints(&config, knobs[i].name, word);
            words++;
        }
        assert_true(words == 2 || (words > 2 && knobs[i].kind == KNOB_CHOICE));
        choices++;
    }
    assert_true(choices > 0);
}

TEST(words_stand_for_the_enumerators_of_the_same_name)
{
    struct training_config config;

    config = configured("model=heavy data=sequences precision=tf32 elementwise=unfused "
                        "attention=fused checkpointing=block input=cached transfer=inline");
    assert_int_equal(config.model.role, ROLE_HEAVY);
    assert_int_equal(config.data.kind, DATA_SEQUENCES);
    assert_int_equal(config.model.precision, PRECISION_TF32);
    assert_int_equal(config.model.elementwise, ELEMENTWISE_UNFUSED);
    assert_int_equal(config.model.attention, ATTENTION_FUSED);
    assert_int_equal(config.model.checkpointing, 1);
    assert_int_equal(config.loader.input, INPUT_CACHED);
    assert_int_equal(config.transfer.mode, TRANSFER_INLINE);
    config = configured("persistent_workers=no host_memory=pageable copies=per_tensor "
                        "optimizer=per_tensor launch=graph allocation=stream_ordered");
    assert_false(config.loader.persistent_workers);
    assert_false(config.transfer.pinned);
    assert_false(config.transfer.one_copy);
    assert_int_equal(config.optimizer.form, OPTIMIZER_PER_TENSOR);
    assert_int_equal(config.launch.mode, LAUNCH_GRAPH);
    assert_int_equal(config.allocator.mode, ALLOCATION_STREAM_ORDERED);
}

/* `prints`: NULL if the value is to be refused. */
static void check_value(const char *name, const char *value, const char *prints)
{
    struct training_config config = configured(""), before = config;
    enum status status = knob_set(&config, name, value);

    if (status != (prints != NULL ? STATUS_OK : STATUS_BAD_USAGE))
        fail_msg("%s=%s was %s", name, value, status == STATUS_OK ? "taken" : "not taken");
    if (prints != NULL)
        assert_prints(&config, name, prints);
    else
        assert_memory_equal(&config, &before, sizeof config);
}

TEST(numbers_are_taken_as_written_or_not_at_all)
{
    /* Values between ';'. One that is taken prints itself, or what follows a '>'. */
    static const struct {
        const char *name, *taken, *refused;
    } cases[] = {
        /* The word for 0 is auto; 4294967297 is 1 in 32 bits. */
        { "batch", "65536;auto",
          "65537;0;-1;+1; 1;1 ;1.0;1e2;0x10;;99999999999999999999;4294967297;block" },
        { "tokens", "auto", "0" },
        { "width", "auto", "0" },
        { "blocks", "auto", "0" },
        { "patch", "auto", "0" },
        { "jpeg_pixels", "auto", "0" },
        { "save_every", "never", "0" },
        { "accumulate", "4096", "0;auto" },
        { "loss_every", "1", "0" },
        { "checkpointing", "block;2;256", "257;1;0" }, /* the word for 1 is block */
        { "workers", "0;4096;cores;1xcores>cores;64xcores",
          "4097;4294967296;65xcores;0xcores;xcores;-2" },
        /* 2G as --device-memory takes it; 9007199254740993 is 2^53 + 1, 8589934592GiB is 2^63. */
        { "memory_budget",
          "1;1536MiB;1024KiB>1MiB;1073741824>1GiB;1025;device;2G>2GiB;1.5GiB>1536MiB;1GB>1GiB;"
          "9007199254740993",
          "0;+1;0x10;1e3;1..5G;GiB;1 GiB;8589934592GiB" },
        { "uncached_rank", "none;0;1023", "1024;-1;1 " },
        { "rate", "0.1;1e-3>0.001;3.0e-4>0.0003;1e-8>1e-08;1e-12",
          "0;2;nan;inf;-0.1;0x1p-3;1e-3x;" },
        { "seed", "0;18446744073709551615", "18446744073709551616;-1" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char taken[160], refused[160], *rest = taken, *value;

        snprintf(taken, sizeof taken, "%s", cases[i].taken);
        snprintf(refused, sizeof refused, "%s", cases[i].refused);
        while ((value = strsep(&rest, ";")) != NULL) {
            char *prints = value;
            value = strsep(&prints, ">");
            check_value(cases[i].name, value, prints != NULL ? prints : value);
        }
        for (rest = refused; (value = strsep(&rest, ";")) != NULL;)
            check_value(cases[i].name, value, NULL);
    }
    assert_int_equal(configured("memory_budget=3MiB").allocator.budget, 3 << 20);
}

TEST(differences_that_do_not_fit_are_left_out_whole)
{
    struct training_config saved = configured("batch=8 seed=2 workers=0"),
                           now = configured("batch=4 seed=1 workers=3");
    const char *all = "batch=8 instead of 4, seed=2 instead of 1";
    char text[64];

    knobs_differences(&saved, &now, text, strlen(all) + 1);
    assert_string_equal(text, all);
    knobs_differences(&saved, &now, text, strlen(all));
    assert_string_equal(text, "batch=8 instead of 4");
    knobs_differences(&saved, &saved, text, sizeof text);
    assert_string_equal(text, "");
}

TEST(a_bad_value_is_answered_with_those_that_are_taken)
{
    static const struct {
        const char *knob, *advice;
    } cases[] = {
        { "copies", "per_tensor or one" },
        { "prefetch", "a number from 1 to 256" },
        { "width", "a number from 32 to 16384 or auto" },
        { "rate", "a number from 1e-12 to 1" },
        { "workers", "a number from 0 to 4096, cores or 2xcores to 64xcores" },
        { "memory_budget", "a size such as 512MiB or 2GiB, role or device" },
        { "seed", "a number from 0 to 18446744073709551615" },
        { "checkpointing", "none, block or a number from 2 to 256" },
        { "uncached_rank", "none or a number from 0 to 1023" },
        { "accumulate", "a number from 1 to 4096 or fit" },
    };
    struct training_config config = configured("");

    assert_int_equal(knob_set(&config, "launch", "greedy"), STATUS_BAD_USAGE);
    assert_string_equal(status_last()->text,
                        "launch: \"greedy\" is not valid. Use eager, graph, blocking or auto.");
    assert_int_equal(knob_set(&config, "launch", "eag"), STATUS_BAD_USAGE);
    assert_int_equal(knob_set(&config, "launch", "eager|graph"), STATUS_BAD_USAGE);
    assert_int_equal(knob_set(&config, "launch", ""), STATUS_BAD_USAGE);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[256];

        assert_int_equal(knob_set(&config, cases[i].knob, "9x"), STATUS_BAD_USAGE);
        snprintf(text, sizeof text, "%s: \"9x\" is not valid. Use %s.", cases[i].knob,
                 cases[i].advice);
        assert_string_equal(status_last()->text, text);
    }
}

TEST(an_unknown_knob_is_answered_with_the_nearest)
{
    static const struct {
        const char *wrong, *meant;
    } cases[] = {
        { "los_every", "loss_every" },         { "worker", "workers" },
        { "check-pointing", "checkpointing" }, { "optimiser", "optimizer" },
        { "presicion", "precision" },
    };
    struct training_config config = configured("");

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char text[64];

        assert_int_equal(knob_set(&config, cases[i].wrong, "1"), STATUS_BAD_USAGE);
        snprintf(text, sizeof text, "did you mean %s?", cases[i].meant);
        if (strstr(status_last()->text, text) == NULL)
            fail_msg("%s: %s", cases[i].wrong, status_last()->text);
        assert_non_null(strstr(status_last()->text, cases[i].wrong));
    }
    assert_int_equal(knob_set(&config, "nothing", "1"), STATUS_BAD_USAGE);
    assert_string_equal(status_last()->text,
                        "there is no knob \"nothing\"; train --help lists them");
    assert_ok(knob_set(&config, "loss-every", "7"));
    assert_prints(&config, "loss-every", "7");
    assert_int_equal(knob_set(&config, "loss", "7"), STATUS_BAD_USAGE);
    assert_int_equal(knob_set(&config, "loss_every_step", "7"), STATUS_BAD_USAGE);
}

TEST(settings_are_applied_all_or_none)
{
    static const char *const wrong[] = {
        "batch=7 launch",        "batch=7 =3",        "batch=7 launch=",
        "batch=7 launch= eager", "batch=7 nothing=1", "batch=7 launch=auto,seed=3",
    };
    struct training_config config = configured("  batch=5\tseed=9\n"), before = config;

    assert_prints(&config, "batch", "5");
    assert_prints(&config, "seed", "9");
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        assert_int_equal(knobs_apply(&config, wrong[i]), STATUS_BAD_USAGE);
        assert_memory_equal(&config, &before, sizeof config);
    }
    assert_ok(knobs_apply(&config, "batch=7 batch=8"));
    assert_prints(&config, "batch", "8");
}

TEST(too_little_room_for_text_is_an_error_not_a_cut)
{
    struct training_config config = configured("seed=1234567");
    char text[KNOBS_TEXT], whole[KNOBS_TEXT];

    assert_int_equal(knob_get(&config, "seed", text, 7), STATUS_BAD_USAGE);
    assert_ok(knob_get(&config, "seed", text, 8));
    assert_string_equal(text, "1234567");
    assert_ok(knobs_print(&config, whole, sizeof whole));
    assert_int_equal(knobs_print(&config, text, strlen(whole)), STATUS_BAD_USAGE);
    assert_ok(knobs_print(&config, text, strlen(whole) + 1));
    assert_string_equal(text, whole);
}

TEST(roles_have_their_sizes_on_each_device)
{
    static const struct {
        const struct device_properties *device;
        const char *settings;
        enum data_kind data;
        int tokens, width, blocks, batch, patch, image_size, jpeg_pixels, vocabulary, head_width;
        enum launch_mode launch;
    } cases[] = {
        { &cpu, "model=light", DATA_SEQUENCES, 8, 32, 4, 1, 0, 0, 0, 64, 32, LAUNCH_GRAPH },
        { &cpu, "model=balanced", DATA_IMAGES, 17, 64, 2, 8, 8, 32, 64, 64, 32, LAUNCH_EAGER },
        { &cpu, "model=heavy", DATA_IMAGES, 37, 128, 8, 2, 8, 48, 48, 64, 32, LAUNCH_EAGER },
        { &cuda, "model=light", DATA_SEQUENCES, 16, 128, 4, 4, 0, 0, 0, 256, 64, LAUNCH_GRAPH },
        { &cuda, "model=balanced", DATA_IMAGES, 197, 384, 12, 64, 16, 224, 448, 256, 64,
          LAUNCH_EAGER },
        { &cuda, "model=heavy", DATA_IMAGES, 197, 768, 12, 128, 16, 224, 224, 256, 64,
          LAUNCH_EAGER },
        { &cpu, "model=light data=images", DATA_IMAGES, 5, 32, 4, 1, 8, 16, 32, 64, 32,
          LAUNCH_GRAPH },
        { &cuda, "model=light data=images width=64", DATA_IMAGES, 17, 64, 4, 4, 16, 64, 128, 256,
          32, LAUNCH_GRAPH },
        { &cpu, "model=heavy data=sequences tokens=40 batch=3 blocks=9 launch=graph",
          DATA_SEQUENCES, 40, 128, 9, 3, 0, 0, 0, 64, 32, LAUNCH_GRAPH },
        { &cpu, "crop=4", DATA_IMAGES, 17, 64, 2, 8, 8, 128, 128, 64, 32, LAUNCH_EAGER },
        { &cpu, "tokens=10 patch=16 jpeg_pixels=500", DATA_IMAGES, 10, 64, 2, 8, 16, 48, 500, 64,
          32, LAUNCH_EAGER },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct training_config config = resolved(cases[i].settings, cases[i].device), again;

        assert_int_equal(config.data.kind, cases[i].data);
        assert_int_equal(config.model.tokens, cases[i].tokens);
        assert_int_equal(config.data.tokens, cases[i].tokens);
        assert_int_equal(config.model.width, cases[i].width);
        assert_int_equal(config.model.blocks, cases[i].blocks);
        assert_int_equal(config.model.batch, cases[i].batch);
        assert_int_equal(config.model.patch, cases[i].patch);
        assert_int_equal(config.data.image_size, cases[i].image_size);
        assert_int_equal(config.data.jpeg_pixels, cases[i].jpeg_pixels);
        assert_int_equal(config.data.vocabulary, cases[i].vocabulary);
        assert_int_equal(config.model.head_width, cases[i].head_width);
        assert_int_equal(config.launch.mode, cases[i].launch);

        again = config;
        assert_ok(knobs_resolve(&again, cases[i].device));
        assert_memory_equal(&again, &config, sizeof config);
    }
}

TEST(a_resolved_configuration_survives_being_printed)
{
    static const char *const settings[] = { "model=light", "model=balanced input=decoded",
                                            "model=heavy workers=8xcores memory_budget=1GiB" };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        struct training_config config = resolved(settings[i], &cuda), again;
        char text[KNOBS_TEXT];

        assert_ok(knobs_print(&config, text, sizeof text));
        again = resolved(text, &cuda);
        assert_memory_equal(&again, &config, sizeof config);
    }
}

TEST(cores_precision_and_seeds_follow_the_machine)
{
    struct training_config config;

    assert_int_equal(resolved("", &cpu).loader.workers, 6);
    assert_int_equal(resolved("", &cuda).loader.workers, 16);
    assert_int_equal(resolved("workers=8xcores", &cpu).loader.workers, 48);
    assert_int_equal(resolved("workers=0", &cpu).loader.workers, 0);
    assert_int_equal(resolved("", &cpu).model.precision, PRECISION_FP32);
    assert_int_equal(resolved("", &cuda).model.precision, PRECISION_BF16);
    assert_int_equal(resolved("precision=bf16", &cpu).model.precision, PRECISION_BF16);
    assert_int_equal(resolved("precision=fp16", &cpu).model.precision, PRECISION_FP16);
    assert_int_equal(resolved("precision=tf32", &cuda).model.precision, PRECISION_TF32);
    config = resolved("seed=77", &cpu);
    assert_int_equal(config.data.seed, 77);
    assert_int_equal(config.loader.seed, 77);
}

TEST(a_cpu_with_matrix_units_uses_them_where_they_gain)
{
    struct device_properties amx = cpu;

    amx.bf16_matrix_units = true;
    assert_int_equal(resolved("model=light", &amx).model.precision, PRECISION_FP32);
    assert_int_equal(resolved("model=balanced", &amx).model.precision, PRECISION_BF16);
    assert_int_equal(resolved("model=heavy", &amx).model.precision, PRECISION_BF16);
    assert_int_equal(resolved("model=light", &cuda).model.precision, PRECISION_BF16);
}

/* The budget decides, and what checkpointing leaves of it; ranks have a part of the batch each. */
TEST(a_budget_says_how_many_micro_batches_there_are)
{
    static const struct {
        const char *settings;
        int micro_batches;
    } cases[] = {
        { "accumulate=fit", 1 }, /* the device has room */
        { "model=heavy batch=6 accumulate=fit memory_budget=role", 1 },
        { "model=light blocks=22 tokens=17 batch=8 accumulate=fit memory_budget=6MiB", 8 },
        { "model=light blocks=22 tokens=17 batch=8 accumulate=fit memory_budget=7MiB", 4 },
        { "model=light blocks=22 tokens=17 batch=12 accumulate=fit memory_budget=8MiB", 4 },
        { "model=light blocks=22 tokens=17 batch=8 accumulate=fit memory_budget=7MiB ranks=2 "
          "launch=eager",
          2 },
        { "model=light blocks=22 tokens=17 batch=8 accumulate=fit memory_budget=6MiB "
          "checkpointing=block",
          1 },
        { "model=light blocks=22 tokens=17 batch=8 accumulate=fit memory_budget=1MiB",
          8 }, /* none fits */
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int found = resolved(cases[i].settings, &cpu).launch.accumulate;
        if (found != cases[i].micro_batches)
            fail_msg("%s: %d micro-batches", cases[i].settings, found);
    }
}

/* Storage in 16 bits needs less. */
TEST(a_roles_budget_follows_the_precision)
{
    const char *settings = "model=heavy memory_budget=role";
    struct device_properties amx = cpu;
    int64_t fp32 = resolved(settings, &cpu).allocator.budget;

    amx.bf16_matrix_units = true;
    assert_in_range(resolved(settings, &amx).allocator.budget, 1, fp32 - 1);
    assert_int_equal(
        resolved("model=heavy memory_budget=role precision=fp32", &amx).allocator.budget, fp32);
}

/* The settings that say what is trained on, and by how many: sizes follow from them, and what ranks
 * can. */
static bool moves_others(const char *knob)
{
    static const char *const names[] = { "model", "data",  "tokens", "patch",
                                         "crop",  "width", "ranks" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(knob, names[i]) == 0)
            return true;
    return false;
}

/* So that collate=loop and heads=strided are possible. */
#define TURNED "input=decoded attention=fused"

/* Whether the knob takes the value, it is another than the usual one, and nothing else is changed
 * by it. */
static bool turns_alone(const char *name, const char *value)
{
    struct training_config usual = resolved(TURNED, &cuda), turned = configured(TURNED);
    char text[64], usual_text[64];

    if (knob_set(&turned, name, value) != STATUS_OK || knobs_resolve(&turned, &cuda) != STATUS_OK)
        return false;
    assert_ok(knob_get(&turned, name, text, sizeof text));
    assert_ok(knob_get(&usual, name, usual_text, sizeof usual_text));
    if (strcmp(text, value) != 0 || strcmp(text, usual_text) == 0)
        return false; /* "auto", or what auto becomes */
    assert_ok(knob_set(&turned, name, usual_text));
    assert_same_text(&turned, &usual);
    return true;
}

/* One knob must not move another: a scenario's two variants differ in exactly one. */
TEST(no_other_knob_changes_when_one_is_turned)
{
    static const char *const numbers[] = { "0", "2", "4", "77", "0.5", "1GiB" };
    int count;
    const struct knob *knobs = knobs_list(&count);

    for (int i = 0; i < count; i++) {
        char values[80], *rest = values, *word;
        int turns = 0;

        if (moves_others(knobs[i].name))
            continue;
        snprintf(values, sizeof values, "%s", knobs[i].values);
        while ((word = strsep(&rest, "|")) != NULL) turns += turns_alone(knobs[i].name, word);
        for (size_t n = 0; n < ARRAY_SIZE(numbers); n++)
            turns += turns_alone(knobs[i].name, numbers[n]);
        if (turns == 0)
            fail_msg("%s was not turned", knobs[i].name);
    }
}

TEST(what_cannot_be_is_refused_with_the_reason)
{
    static const struct {
        const struct device_properties *device;
        const char *settings, *folder, *reason;
    } cases[] = {
        { &cpu, "data=sequences", "/photos",
          "data=sequences with the folder /photos: a folder holds images, sequences are generated; "
          "leave out the folder or set data=images" },
        { &cpu, "model=light jpeg_pixels=90", "",
          "jpeg_pixels=90 with data=sequences: sequences are not decoded from JPEG files; set "
          "data=images or jpeg_pixels=auto" },
        { &cpu, "model=light jpeg_sizes=uneven", "",
          "jpeg_sizes=uneven with data=sequences: sequences are not decoded from JPEG files; set "
          "data=images or jpeg_sizes=even" },
        { &cpu, "jpeg_sizes=uneven", "/photos",
          "jpeg_sizes=uneven with the folder /photos: its files have the sizes that they have; "
          "leave "
          "out the folder or set jpeg_sizes=even" },
        { &cpu, "model=light crop=2", "",
          "crop=2 with data=sequences: sequences are not cropped; set data=images or crop=1" },
        { &cpu, "model=light patch=8", "",
          "patch=8 with data=sequences: sequences have no patches; set data=images or patch=auto" },
        { &cpu, "patch=12", "",
          "patch=12 with data=images: pixels are read eight at a time; set patch to a multiple of "
          "8" },
        { &cpu, "tokens=16", "",
          "tokens=16 with data=images: a square image has a square number of patches, and the "
          "class "
          "token is one more; set tokens to 5, 17, 65 or 197, say, or data=sequences" },
        { &cpu, "patch=256 tokens=26", "",
          "patch=256 with tokens=26 and crop=1: images of 1280 x 1280 pixels are larger than the "
          "1024 x 1024 that are supported; set patch, tokens or crop lower" },
        { &cpu, "heads=strided", "",
          "heads=strided with attention=naive: the matrices of a batched product are one distance "
          "apart, heads and samples two; set attention=fused or heads=copied" },
        { &cpu, "width=100", "",
          "width=100 on CPU device (a test): kernels need rows of a multiple of 32 elements; "
          "set width to such a multiple" },
        { &cuda, "width=96", "",
          "width=96 on NVIDIA test: attention heads have 64 elements on this device; set width to "
          "a "
          "multiple of 64" },
        { &cpu, "data=sequences batch=65536 tokens=16384 width=64", "",
          "batch=65536 with tokens=16384 and width=64: more than 2147483647 rows of attention "
          "scores; set batch lower or accumulate higher" },
        { &cpu, "precision=tf32", "",
          "precision=tf32 on CPU device (a test): the device does not round products to tf32; set "
          "precision to auto, fp32 or bf16" },
        { &cpu, "launch=graph precision=fp16 loss_scaling=host", "",
          "launch=graph with precision=fp16 and loss_scaling=host: the host decides nothing while "
          "a "
          "graph runs; set launch=eager or loss_scaling=device" },
        { &cpu, "launch=graph clipping=host", "",
          "launch=graph with clipping=host: the host decides nothing while a graph runs; set "
          "launch=eager or clipping=device" },
        { &cpu, "launch=graph allocation=direct", "",
          "launch=graph with allocation=direct: a graph keeps the addresses that it was captured "
          "with, so no memory may be allocated during capture; set launch=eager or "
          "allocation=caching" },
        { &cpu, "accuracy=host accumulate=2 batch=4", "",
          "accuracy=host with accumulate=2: only the last micro-batch's logits are left at the end "
          "of a step; set accuracy=device or accumulate=1" },
        { &cpu, "launch=graph selection=counted", "",
          "launch=graph with selection=counted: a graph's launches keep their sizes; set "
          "launch=eager or selection=masked" },
        { &cpu, "data=sequences pixels=fp32", "",
          "pixels=fp32 with data=sequences: sequences have no pixels; set data=images or "
          "pixels=bytes" },
        { &cpu, "launch=graph gelu=host", "",
          "launch=graph with gelu=host: a graph holds no work of the host; set launch=eager or "
          "gelu=device" },
        { &cuda, "model=light allocation=stream_ordered", "",
          "launch=graph with allocation=stream_ordered: a graph keeps the addresses that it was "
          "captured with, so no memory may be allocated during capture; set launch=eager or "
          "allocation=caching" },
        { &cpu, "model=light padding=longest batch=4 accumulate=2", "",
          "launch=graph with padding=longest and accumulate=2: every combination of lengths would "
          "need a graph of its own; set launch=eager, padding=max_length or accumulate=1" },
        { &cpu, "model=light kept_loss=graph", "",
          "launch=graph with kept_loss=graph: every run of a captured graph writes to the same "
          "activations, so a step cannot keep its own; set launch=eager or kept_loss=number" },
        { &cpu, "workers=64xcores prefetch=11", "",
          "workers=384 with prefetch=11: more than 4096 batches would be loaded ahead; set workers "
          "or prefetch lower" },
        { &cpu, "collate=loop input=cached", "",
          "collate=loop with input=cached: samples are decoded before the timing; set "
          "input=decoded or collate=workers" },
        { &cpu, "collate=loop input=decoded workers=0", "",
          "collate=loop with workers=0: without workers the training thread reads, decodes and "
          "collates anyway; set workers to 1 or more, or collate=workers" },
        { &cpu, "data=sequences tokens=64 padding=longest batch=8 accumulate=4 max_tokens=127", "",
          "max_tokens=127 with batch=8, accumulate=4 and tokens=64: batch / accumulate of the "
          "longest samples have more tokens; set max_tokens or accumulate higher" },
        { &cpu,
          "data=sequences padding=longest batch=8 accumulate=8 update=micro_batch "
          "max_tokens=512",
          "",
          "max_tokens=512 with update=micro_batch: each step would have another number of updates; "
          "set update=step or max_tokens=none" },
        { &cpu, "data=sequences padding=longest batch=8 ranks=2 max_tokens=4096", "",
          "max_tokens=4096 with ranks=2: each rank would have another number of micro-batches; set "
          "max_tokens=none or ranks=1" },
        { &cpu, "memory_budget=5GiB", "",
          "memory_budget=5GiB on CPU device (a test): the device has 4294967296 bytes; set "
          "memory_budget lower or to device" },
        { &cpu, "ranks=3 batch=8", "",
          "batch=8 with ranks=3 and accumulate=1: every rank takes as many samples of each "
          "micro-batch; set batch to a multiple of ranks times accumulate" },
        { &cpu, "ranks=2 launch=graph", "",
          "launch=graph with ranks=2: a graph holds no communication; set launch=eager or "
          "ranks=1" },
        { &cpu, "ranks=2 precision=bf16 optimizer_state=sharded", "",
          "precision=bf16 with optimizer_state=sharded: a rank updates the parameters that all "
          "gather, and not fp32 weights beside them; set precision=fp32 or "
          "optimizer_state=whole" },
        { &cpu, "ranks=2 optimizer=per_tensor optimizer_state=sharded", "",
          "optimizer=per_tensor with optimizer_state=sharded: a rank updates its parts of all "
          "tensors in one kernel; set optimizer=multi_tensor or optimizer_state=whole" },
        { &cpu, "ranks=2 precision=fp16 parameters=sharded", "",
          "precision=fp16 with parameters=sharded: a rank updates the parameters that all gather, "
          "and not fp32 weights beside them; set precision=fp32 or parameters=whole" },
        { &cpu, "ranks=2 optimizer=unfused parameters=prefetched", "",
          "optimizer=unfused with parameters=prefetched: a rank updates its parts of all tensors "
          "in "
          "one kernel; set optimizer=multi_tensor or parameters=whole" },
        { &cpu, "ranks=2 parallel=pipeline blocks=1", "",
          "blocks=1 with ranks=2 and parallel=pipeline: every rank has a block at least; set "
          "blocks to ranks or more, or parallel=data" },
        { &cpu, "ranks=2 batch=8 accumulate=2 gradient_sync=micro_batch optimizer_state=sharded",
          "",
          "gradient_sync=micro_batch with optimizer_state=sharded and parameters=whole: a rank has "
          "the sums of its part only, so that the next micro-batch has nothing to be added to; set "
          "gradient_sync=update, or optimizer_state=whole and parameters=whole" },
        { &cpu, "ranks=2 parallel=pipeline optimizer=unfused", "",
          "optimizer=unfused with parallel=pipeline: a rank updates its tensors in one kernel, "
          "which knows those of the others by their norm; set optimizer=multi_tensor or "
          "parallel=data" },
        { &cpu, "ranks=2 parallel=pipeline accumulate=2 update=micro_batch", "",
          "update=micro_batch with parallel=pipeline: each update would wait until the pipeline is "
          "empty; set update=step or parallel=data" },
        { &cpu, "ranks=2 parallel=pipeline data=sequences padding=longest", "",
          "padding=longest with parallel=pipeline: ranks exchange as many tokens each time; set "
          "padding=max_length or parallel=data" },
        { &cpu, "ranks=2 parallel=pipeline accuracy=host", "",
          "accuracy=host with parallel=pipeline: the last rank alone has the logits; set "
          "accuracy=device or none, or parallel=data" },
        { &cpu, "ranks=2 parallel=pipeline log=queued", "",
          "log=queued with parallel=pipeline: the last rank alone has the loss; set log=none or "
          "parallel=data" },
        { &cpu, "ranks=3 batch=8 accumulate=3 parallel=pipeline", "",
          "batch=8 with accumulate=3: all micro-batches of an update have the same size; set batch "
          "to a multiple of accumulate" },
        { &cpu, "ranks=3 batch=12 experts=4", "",
          "experts=4 with ranks=3: every rank has as many experts; set experts to a multiple of "
          "ranks" },
        { &cpu, "ranks=2 experts=4 parallel=pipeline", "",
          "experts=4 with parallel=pipeline: ranks divide the experts and the samples, not the "
          "blocks; set parallel=data or experts=none" },
        { &cpu, "ranks=2 experts=4 parameters=sharded precision=fp32", "",
          "experts=4 with parameters=sharded and optimizer_state=sharded: an expert is whole on "
          "its "
          "rank; set parameters=whole and optimizer_state=whole, or experts=none" },
        { &cpu, "ranks=2 experts=4 optimizer=unfused", "",
          "optimizer=unfused with experts=4: a rank updates its tensors in one kernel, which knows "
          "those of the others by their norm; set optimizer=multi_tensor or experts=none" },
        { &cpu, "experts=4 gelu=host", "",
          "gelu=host with experts=4: experts compute on the device; set gelu=device or "
          "experts=none" },
        { &cpu, "experts=4 checkpointing=block", "",
          "checkpointing=block with experts=4: tokens would be exchanged again in backward; set "
          "checkpointing=none or experts=none" },
        { &cpu, "experts=4 data=sequences padding=longest", "",
          "padding=longest with experts=4: a router chooses among as many tokens each time; set "
          "padding=max_length or experts=none" },
        { &cpu, "experts=4 save_every=5", "",
          "save_every=5 with experts=4: the bias of the routers is not saved; set "
          "save_every=never, "
          "leave out --save and --resume, or set experts=none" },
        { &cpu, "experts=4 launch=graph", "",
          "launch=graph with experts=4: a graph's launches keep their sizes, and each expert's "
          "depends on how many tokens it gets; set launch=eager or experts=none" },
        { &cpu, "ranks=2 uncached_rank=2", "",
          "uncached_rank=2 with ranks=2: ranks count from 0; set uncached_rank lower than ranks, "
          "or "
          "to none" },
        { &cpu, "ranks=2 save_every=5", "",
          "save_every=5 with ranks=2: the state of one rank only can be saved and resumed; set "
          "save_every=never, leave out --save and --resume, or set ranks=1" },
        { &cpu, "loss_every=1025", "",
          "loss_every=1025: the device keeps the losses of the last 1024 steps, so older ones "
          "would be overwritten between two reads; set loss_every to 1024 or less" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct training_config config = configured(cases[i].settings), before;

        snprintf(config.data.folder, sizeof config.data.folder, "%s", cases[i].folder);
        before = config;
        if (knobs_resolve(&config, cases[i].device) != STATUS_REFUSED)
            fail_msg("%s was not refused", cases[i].settings);
        assert_string_equal(status_last()->text, cases[i].reason);
        assert_memory_equal(&config, &before, sizeof config);
    }
}

TEST(what_lies_just_inside_a_limit_is_not_refused)
{
    resolved("tokens=17 patch=256", &cpu);
    resolved("width=96", &cpu);
    resolved("width=128", &cuda);
    resolved("attention=fused precision=tf32", &cuda);
    resolved("attention=fused", &cpu);
    resolved("model=light launch=eager allocation=direct", &cpu);
    resolved("launch=graph batch=8 accumulate=4", &cpu);
    resolved("model=light padding=longest batch=4 accumulate=2 launch=eager", &cpu);
    resolved("model=light padding=longest batch=4", &cpu);
    resolved("data=sequences tokens=64 padding=longest batch=8 accumulate=4 max_tokens=128", &cpu);
    resolved("model=balanced padding=longest accumulate=2 launch=graph", &cpu); /* images */
    resolved("workers=1024 prefetch=4", &cpu);
    resolved("collate=loop input=decoded workers=1", &cpu);
    resolved("memory_budget=4GiB", &cpu);
    resolved("loss_every=1024", &cpu);
    resolved("transfer=overlapped host_memory=pageable", &cpu);
    resolved("input=resident workers=4", &cpu);
    resolved("model=light batch=12 accumulate=2 ranks=3", &cpu);
    resolved("model=light batch=4 accumulate=4 ranks=2 parallel=pipeline", &cpu);
    resolved("model=light batch=4 ranks=2 experts=4", &cpu);
}

TEST(a_folder_of_images_is_trained_on_unless_sequences_are_asked_for)
{
    struct training_config config = configured("model=light");

    snprintf(config.data.folder, sizeof config.data.folder, "/photos");
    assert_ok(knobs_resolve(&config, &cpu));
    assert_int_equal(config.data.kind, DATA_IMAGES);
    assert_int_equal(config.data.image_size, 16);
    assert_int_equal(config.data.jpeg_pixels, 0); /* as they are */
    config.data.jpeg_pixels = 90;
    assert_ok(knobs_resolve(&config, &cpu));
    assert_int_equal(config.data.jpeg_pixels, 90);
}

/* Each value of each condition is one that the other knob takes and prints. */
TEST(what_a_knob_acts_with_are_values_of_other_knobs)
{
    int count, conditions = 0;
    const struct knob *knobs = knobs_list(&count);

    for (int i = 0; i < count; i++) {
        char copy[256], *rest = copy, *one;
        snprintf(copy, sizeof copy, "%s", knobs[i].acts != NULL ? knobs[i].acts : "");
        while ((one = strsep(&rest, " ")) != NULL && *one != '\0') {
            char *values = strchr(one, '='), *value;
            assert_non_null(values);
            values[values[-1] == '!' ? -1 : 0] = '\0';
            values++;
            assert_string_not_equal(one, knobs[i].name);
            for (conditions++; (value = strsep(&values, "|")) != NULL;) {
                struct training_config config = configured("");
                assert_ok(knob_set(&config, one, value));
                assert_prints(&config, one, value);
            }
        }
    }
    assert_true(conditions > 20);
}

TEST(a_knob_that_cannot_act_says_with_which_settings_it_would)
{
    static const struct {
        const char *settings, *knob, *why;
    } cases[] = {
        { "", "workers", "workers acts only with --input=cached|decoded (here input=resident)" },
        { "input=decoded", "workers", "" },
        { "input=loaded", "transfer", "" },
        { "input=decoded workers=0", "prefetch",
          "prefetch acts only with --workers other than 0 (here workers=0)" },
        { "", "bucket_mb", "bucket_mb acts only with --ranks other than 1 (here ranks=1)" },
        { "ranks=2", "bucket_mb", "" },
        { "ranks=2 parallel=pipeline", "bucket_mb",
          "bucket_mb acts only with --parallel=data (here parallel=pipeline)" },
        { "", "save_mode",
          "save_mode acts only with --save-every other than never (here save_every=never)" },
        { "", "loss_every", "" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct training_config config = resolved(cases[i].settings, &cpu);
        char why[KNOB_WHY];
        assert_int_equal(knob_acts(&config, cases[i].knob, why), cases[i].why[0] == '\0');
        assert_string_equal(why, cases[i].why);
    }
}

TEST(settings_that_change_nothing_are_found)
{
    struct training_config given = configured("workers=0 loss_every=1 bucket_mb=1 prefetch=2");
    struct training_config config = given;
    char why[KNOB_WHY];
    int at = 0;

    assert_ok(knobs_resolve(&config, &cpu));
    assert_true(knobs_next_idle(&given, &config, &at, why));
    assert_int_equal(strncmp(why, "workers ", 8), 0);
    assert_true(knobs_next_idle(&given, &config, &at, why));
    assert_int_equal(strncmp(why, "bucket_mb ", 10), 0);
    assert_false(knobs_next_idle(&given, &config, &at, why));
}
