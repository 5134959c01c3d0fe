/* Whether a real cuDNN accepts the graphs of attention: every descriptor is checked when it is
 * finalized, which takes no GPU. Which graphs it has engines for only a GPU can tell. Skipped where there
 * is no cuDNN. */
#include "harness/device/cuda/attention/attention_graph.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <stdio.h>

static const struct cudnn *cudnn;

static void every_graph_is_accepted(void **state)
{
    static const int tokens[] = { 1, 197, 1024 };
    (void)state;

    for (int i = 0; i < 3 * 8; i++) {
        bool backward = i % 2, lengths = i / 2 % 2;
        struct attention_shape shape = { 4,  12,      tokens[i / 8],
                                         64, lengths, i / 4 % 2 ? DTYPE_F16 : DTYPE_BF16 };
        struct attention_graph graph;
        enum status status = attention_graph_build(&graph, cudnn, NULL, &shape, backward);

        if (status != STATUS_OK)
            fail_msg("%s, %s lengths, %d tokens: %s: %s", backward ? "backward" : "forward",
                     lengths ? "with" : "without", shape.tokens, status_last()->context,
                     status_last()->text);
        attention_graph_release(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_graph_is_accepted),
    };

    if (cudnn_load(&cudnn) != STATUS_OK) {
        printf("skipped: %s\n", status_last()->text);
        return 77;
    }
    return cmocka_run_group_tests_name("cuDNN", tests, NULL, NULL);
}
