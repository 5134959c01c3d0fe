/* Whether two rows did the same work. */
#include "harness/base/status.h"
#include "harness/desk/compare/file/workload.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/fixtures/made/made_catalogue.h"

#include <math.h>

TEST(settings_that_differ_are_named)
{
    static const struct {
        struct workload first, second;
        const char *says; /* "": the same work */
    } cases[] = {
        { { "model=light batch=8", NULL, 0 }, { "model=light batch=8", NULL, 0 }, "" },
        { { "jpeg_pixels=32 seed=1", NULL, 0 },
          { "jpeg_pixels=96 seed=1", NULL, 0 },
          "jpeg_pixels 32 and 96" },
        { { "width=64 seed=1", NULL, 0 }, { "seed=2 width=64", NULL, 0 }, "seed 1 and 2" },
        { { "batch=8 width=64 tokens=5 blocks=2 seed=1", NULL, 0 },
          { "batch=9 width=96 tokens=17 blocks=4 seed=3", NULL, 0 },
          "batch 8 and 9, width 64 and 96, tokens 5 and 17 and 2 more" },
        /* The file does not say, as those of Google Benchmark. */
        { { NULL, NULL, 0 }, { "batch=8", NULL, 0 }, "" },
        { { NULL, NULL, 0 }, { NULL, NULL, 0 }, "" },
        /* A version without the knob ran with its healthy value. */
        { { "batch=8", NULL, 0 }, { "batch=8 save_every=never", NULL, 0 }, "" },
        { { "batch=8 save_every=5", NULL, 0 }, { "batch=8", NULL, 0 }, "save_every 5 and never" },
        { { "batch=8", NULL, 0 }, { "batch=8 save_every=5", NULL, 0 }, "save_every never and 5" },
        { { "batch=8 warp=9", NULL, 0 }, { "batch=8", NULL, 0 }, "warp 9 and unknown" },
        /* A name that begins like another, and a value that begins like another. */
        { { "save_mode=blocking batch=8", NULL, 0 },
          { "batch=80 save_mode=blocking", NULL, 0 },
          "batch 8 and 80" },
        { { "save_mode=blocking save_every=2", NULL, 0 },
          { "save_every=2 save_mode=blocking", NULL, 0 },
          "" },
        /* Whose images; sequences are always generated. */
        { { "data=images", "mine", 0 }, { "data=images", "mine", 0 }, "" },
        { { "data=images", "mine", 0 }, { "data=images", NULL, 0 }, "data folder mine and none" },
        { { "data=images", "a", 0 }, { "data=images", "b", 0 }, "data folder a and b" },
        { { "data=sequences", "mine", 0 }, { "data=sequences", NULL, 0 }, "" },
        /* Its memory, where both say. */
        { { "batch=8", NULL, 0x1p30 }, { "batch=8", NULL, 0x1p30 }, "" },
        { { "batch=8", NULL, NAN }, { "batch=8", NULL, 0x1p30 }, "" },
        { { "batch=8", NULL, 0 },
          { "batch=8", NULL, 0x1p30 },
          "device memory default and 1073741824 bytes" },
    };
    char text[256];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        bool differs = workload_differs(&cases[i].first, &cases[i].second, text, sizeof text);
        assert_string_equal(text, cases[i].says);
        assert_int_equal(differs, cases[i].says[0] != '\0');
        if (cases[i].first.settings != NULL && !isnan(cases[i].first.memory))
            assert_int_equal(differs, workload_fingerprint(&cases[i].first) !=
                                          workload_fingerprint(&cases[i].second));
    }
}

TEST(work_that_is_not_known_has_no_fingerprint)
{
    const struct workload unknown = { NULL, "mine", 4096 }, known = { "", NULL, NAN };

    assert_true(workload_fingerprint(&unknown) == 0);
    assert_true(workload_fingerprint(&known) != 0);
}

TEST(a_long_difference_is_cut_to_its_room)
{
    char folder[600], text[64];
    const struct workload first = { "data=images batch=8", folder, 0 },
                          second = { "data=images batch=9", NULL, 0 };

    memset(folder, 'x', sizeof folder - 1);
    folder[sizeof folder - 1] = '\0';
    assert_true(workload_differs(&first, &second, text, sizeof text));
    assert_int_equal(strlen(text), sizeof text - 1);
}

TEST(without_a_catalogue_a_setting_that_is_not_stated_is_taken_for_equal)
{
    const struct workload first = { "batch=8 save_every=5", NULL, 0 },
                          second = { "batch=8", NULL, 0 };
    char text[64];

    assert_true(workload_differs(&first, &second, text, sizeof text));
    catalogue_use(NULL);
    assert_false(workload_differs(&first, &second, text, sizeof text));
    assert_false(workload_differs(&second, &first, text, sizeof text));
    catalogue_use(&made_catalogue);
}

TEST(a_row_finds_the_settings_of_its_variant)
{
    static const char file[] =
        "{\"chokepoint\": {\"scenarios\": [{\"name\": \"item\"}, {\"name\": \"item_sync\", "
        "\"settings\": {\"before\": \"loss_every=1\", \"after\": \"loss_every=20\"}, "
        "\"protocol\": {\"data\": \"mine\", \"device_memory\": 4096}}, 3, "
        "{\"name\": \"both\", \"aa\": true, \"settings\": {\"before\": \"b=1\", \"after\": "
        "\"b=1\"}}, "
        "{\"name\": \"both\", \"aa\": false, \"settings\": {\"before\": \"b=3\", \"after\": "
        "\"b=4\"}}]}}";
    static const struct {
        const char *row, *settings, *folder;
    } cases[] = {
        { "item_sync/before", "loss_every=1", "mine" },
        { "item_sync/after", "loss_every=20", "mine" },
        { "item_sync/aa:1", "loss_every=1", "mine" },
        { "item_sync/aa:2", "loss_every=20", "mine" },
        { "both/aa:2", "b=1", NULL },
        { "both/before", "b=3", NULL },
        { "both/after", "b=4", NULL },
        { "item_sync/4096", NULL, "mine" },
        { "item/before", NULL, NULL },
        { "item_syn/before", NULL, NULL },
        { "item_sync", NULL, NULL },
        { "bw_copy/before", NULL, NULL },
    };
    cJSON *root = cJSON_Parse(file);

    assert_non_null(root);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct workload work = workload_of_row(root, cases[i].row);
        assert_int_equal(work.settings == NULL, cases[i].settings == NULL);
        assert_int_equal(work.folder == NULL, cases[i].folder == NULL);
        if (work.settings != NULL)
            assert_string_equal(work.settings, cases[i].settings);
        if (work.folder != NULL)
            assert_true(work.memory == 4096);
    }
    assert_null(workload_of_row(NULL, "item_sync/before").settings);
    cJSON_Delete(root);
}

TESTS_WITH(made_catalogue_use, NULL)
