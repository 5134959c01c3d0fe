/* Whether a real cuDNN accepts the graphs of attention: every descriptor is checked when it is
 * finalized, which takes no GPU. Only a GPU can tell which graphs it has engines for. Skipped where
 * there is no cuDNN. */
#include "harness/device/cuda/attention/attention_graph.h"
#include "tests/fixtures/cmocka_prelude.h"

static const struct cudnn *cudnn;

/* Over fake_cudnn.c. */
static void a_version_with_wrong_gradients_is_refused(void **state)
{
    static const char *const refused[] = { "8907", "90800", "91000", "91001", "91500" };

    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        setenv("FAKE_CUDNN_VERSION", refused[i], 1);
        assert_int_equal(cudnn_load(&cudnn), STATUS_NO_LIBRARY);
        assert_non_null(strstr(status_last()->text, "install 9.15.1 or newer"));
    }
    setenv("FAKE_CUDNN_VERSION", "91501", 1);
    assert_ok(cudnn_load(&cudnn));
}

static void every_graph_is_accepted(void **state)
{
    static const int tokens[] = { 1, 197, 1024 };

    for (int i = 0; i < 3 * 32; i++) {
        bool backward = i % 2, lengths = i / 2 % 2;
        int width = i / 8 % 2 ? 32 : 64;
        struct attention_shape shape = { 4,         12,      tokens[i / 32],
                                         width,     lengths, i / 4 % 2 ? DTYPE_F16 : DTYPE_BF16,
                                         i / 16 % 2 };
        struct attention_graph graph;
        enum status status = attention_graph_build(&graph, cudnn, NULL, &shape, backward);

        if (status != STATUS_OK)
            fail_msg("%s, %s lengths, %d tokens, width %d: %s: %s",
                     backward ? "backward" : "forward", lengths ? "with" : "without", shape.tokens,
                     width, status_last()->context, status_last()->text);
        attention_graph_release(&graph);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest of_the_version[] = {
        cmocka_unit_test(a_version_with_wrong_gradients_is_refused),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_graph_is_accepted),
    };

    if (argc == 2 && strcmp(argv[1], "version") == 0)
        return cmocka_run_group_tests_name("cuDNN's version", of_the_version, NULL, NULL);
    if (cudnn_load(&cudnn) != STATUS_OK) {
        printf("skipped: %s\n", status_last()->text);
        return 77;
    }
    return cmocka_run_group_tests_name("cuDNN", tests, NULL, NULL);
}
