/* The variables that count, and when they spoil figures. */
#include "harness/base/system/environment.h"
#include "tests/fixtures/cmocka_prelude.h"

enum { FOUND_MOST = 16 };

struct seen {
    char names[FOUND_MOST][64];
    bool spoils[FOUND_MOST];
    int count;
};

static void take(void *context, const struct environment_variable *variable)
{
    struct seen *seen = context;

    assert_true(seen->count < FOUND_MOST);
    snprintf(seen->names[seen->count], sizeof seen->names[0], "%.*s", variable->name_length,
             variable->name);
    assert_true(strlen(variable->what) > 10);
    seen->spoils[seen->count++] = variable->spoils;
}

TEST(each_value_is_judged_by_its_row)
{
    static const struct {
        const char *variable;
        int count;
        bool spoils;
    } cases[] = {
        { "CUDA_LAUNCH_BLOCKING=1", 1, true },
        { "CUDA_LAUNCH_BLOCKING=0", 1, false },
        { "CUDA_LAUNCH_BLOCKING=", 0, false },
        { "CUDA_LAUNCH_BLOCKINGS=1", 0, false },
        { "CUDA_DEVICE_MAX_CONNECTIONS=1", 1, true },
        { "CUDA_DEVICE_MAX_CONNECTIONS=32", 1, false },
        { "NVIDIA_TF32_OVERRIDE=0", 1, true },
        { "NCCL_P2P_DISABLE=1", 1, true },
        { "NCCL_SOCKET_IFNAME=eth0", 1, false },
        { "NCCL_=1", 0, false },
        { "LD_PRELOAD=/x.so", 1, true },
        { "HOME=/root", 0, false },
        { "broken", 0, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64];
        char *variables[] = { text, NULL };
        struct seen seen = { .count = 0 };
        snprintf(text, sizeof text, "%s", cases[i].variable);
        environment_find(variables, take, &seen);
        if (seen.count != cases[i].count || seen.spoils[0] != cases[i].spoils)
            fail_msg("%s: found %d, spoils %d", text, seen.count, seen.spoils[0]);
    }
}

/* Two processes with the same variables in another order print the same. */
TEST(the_order_is_that_of_the_table)
{
    char omp[] = "OMP_NUM_THREADS=2", path[] = "PATH=/bin", cuda[] = "CUDA_LAUNCH_BLOCKING=1",
         nccl[] = "NCCL_ALGO=Ring";
    char *one[] = { omp, path, cuda, nccl, NULL }, *other[] = { nccl, cuda, omp, NULL },
         *none[] = { path, NULL };
    char text[128], again[128], cut[10];

    environment_print(one, text, sizeof text);
    environment_print(other, again, sizeof again);
    assert_string_equal(text, "CUDA_LAUNCH_BLOCKING=1 NCCL_ALGO=Ring OMP_NUM_THREADS=2");
    assert_string_equal(text, again);
    environment_print(none, text, sizeof text);
    assert_string_equal(text, "none");
    environment_print(one, cut, sizeof cut);
    assert_string_equal(cut, "CUDA_L...");
}
