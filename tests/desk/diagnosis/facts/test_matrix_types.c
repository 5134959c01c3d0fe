/* Advice by what a card can do: traces' devices, as their profilers describe them. */
#include "harness/base/status.h"
#include "harness/desk/diagnosis/facts/matrix_types.h"
#include "harness/desk/trace/trace_file.h"
#include "tests/fixtures/cmocka_prelude.h"

TEST(advice_names_only_what_the_card_has)
{
    static const struct {
        struct event_device device;
        const char *types;
    } cards[] = {
        { { .name = "Quadro GP100", .compute_major = 6, .multiprocessors = 56 }, "" },
        { { .name = "Tesla V100-DGXS-32GB", .compute_major = 7, .multiprocessors = 80 }, "fp16" },
        { { .name = "Tesla T4", .compute_major = 7, .compute_minor = 5 }, "fp16" },
        { { .name = "NVIDIA GeForce GTX 1660", .compute_major = 7, .compute_minor = 5 }, "" },
        { { .name = "NVIDIA A100-SXM4-40GB", .compute_major = 8 }, "bf16, fp16 and tf32" },
        { { .name = "NVIDIA H100", .compute_major = 9, .multiprocessors = 132 },
          "bf16, fp16 and tf32" },
        { { .name = "NVIDIA B300", .compute_major = 10, .compute_minor = 3 },
          "bf16, fp16 and tf32" },
        { { .name = "AMD Radeon VII", .compute_major = 9, .multiprocessors = 60 }, "" },
        { { .name = "AMD Instinct MI100", .compute_major = 9, .multiprocessors = 120 },
          "bf16 and fp16" },
        /* An MI250 calls itself so. */
        { { .name = "AMD Radeon Graphics", .compute_major = 9, .multiprocessors = 104 },
          "bf16 and fp16" },
        { { .name = "AMD Instinct MI300X",
            .compute_major = 9,
            .compute_minor = 4,
            .multiprocessors = 304 },
          "bf16, fp16 and tf32" },
        { { .name = "AMD Instinct MI355X",
            .compute_major = 9,
            .compute_minor = 5,
            .multiprocessors = 256 },
          "bf16 and fp16" },
        { { .name = "AMD Radeon RX 7900 XTX", .compute_major = 11, .multiprocessors = 48 }, "" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cards); i++) {
        struct event_device device = cards[i].device;
        struct matrix_types types;
        const char *advice;
        device.bf16_matrix_units = device.fp16_matrix_units = device.tf32 = -1;
        types = matrix_types_of(&device);
        advice = matrix_types_advice(types, true);
        if (strcmp(matrix_types_text(types), cards[i].types) != 0)
            fail_msg("%s: \"%s\"", device.name, matrix_types_text(types));
        assert_true((advice == NULL) == (cards[i].types[0] == '\0'));
        if (advice == NULL)
            continue;
        assert_true((strstr(advice, "in bf16") != NULL) == types.bf16);
        assert_true((strstr(advice, "allow tf32") != NULL) == types.tf32);
        assert_true((strstr(advice, "GradScaler") != NULL) == (types.fp16 && !types.bf16));
        assert_null(strstr(matrix_types_advice(types, false), "GradScaler"));
        assert_null(strstr(matrix_types_advice(types, false), "master weights"));
    }
    assert_null(matrix_types_advice(matrix_types_of(NULL), true));
}

TEST(products_in_16_bits_are_faster_by_the_peaks_of_the_card)
{
    static const struct {
        struct event_device device;
        double rate;
    } cards[] = {
        { { .name = "Tesla V100-SXM2", .compute_major = 7 }, 8 },
        { { .name = "NVIDIA GeForce RTX 2080 Ti", .compute_major = 7, .compute_minor = 5 }, 4 },
        { { .name = "NVIDIA A100", .compute_major = 8 }, 16 },
        { { .name = "NVIDIA A40", .compute_major = 8, .compute_minor = 6 }, 4 },
        { { .name = "NVIDIA GeForce RTX 4090", .compute_major = 8, .compute_minor = 9 }, 2 },
        { { .name = "NVIDIA H200", .compute_major = 9 }, 15 },
        { { .name = "NVIDIA B200", .compute_major = 10 }, 28 },
        { { .name = "NVIDIA RTX PRO 6000", .compute_major = 12 }, 4 },
        { { .name = "AMD Instinct MI300X", .compute_major = 9, .compute_minor = 4 }, 4 },
        { { .name = "a device", .compute_major = 0 }, 2 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cards); i++)
        if (matrix_types_rate(&cards[i].device) != cards[i].rate)
            fail_msg("%s: %g", cards[i].device.name, matrix_types_rate(&cards[i].device));
    assert_true(matrix_types_rate(NULL) == 2);
}

TEST(what_the_trace_states_counts)
{
    struct event_device device = {
        .name = "CPU device", .bf16_matrix_units = 1, .fp16_matrix_units = 0, .tf32 = 0
    };

    assert_string_equal(matrix_types_text(matrix_types_of(&device)), "bf16");
    device.bf16_matrix_units = 0;
    assert_null(matrix_types_advice(matrix_types_of(&device), true));
}
