#!/usr/bin/env python3
"""test_experts.py UNDER_MPI PROGRAM: a mixture of experts on many ranks computes what one rank with all experts computes.

N ranks with a part of each batch and of the experts have the losses of one rank, but for the order of additions, and the
same bits in every run: whichever tokens go where, and if none come to a rank at all.
"""
import sys
import unittest

sys.dont_write_bytecode = True

from rank_training import difference, evaluate, train, train_anew

IMAGES = "model=balanced batch=12 precision=fp32 launch=eager "
SEQUENCES = "model=light batch=12 blocks=2 launch=eager "


class Experts(unittest.TestCase):
    def check(self, ranks, settings, most=1e-5):
        alone, together = train(1, settings), train(ranks, settings)
        with self.subTest(settings=settings, ranks=ranks):
            self.assertNotEqual(alone[0][0], alone[0][-1])
            self.assertLess(difference(alone[0], together[0]), most)
            self.assertEqual(together[4], alone[4])
        return together

    def test_ranks_compute_what_one_computes(self):
        for ranks, experts in (2, 2), (2, 6), (3, 6), (4, 4):
            for routing in "router_bias=none", "router_bias=load router_skew=0.7":
                self.check(ranks, f"{IMAGES}experts={experts} {routing} ")
        self.check(3, SEQUENCES + "experts=3")

    def test_so_they_do_where_a_rank_gets_no_tokens(self):
        for ranks in 2, 4:
            together = self.check(ranks, IMAGES + "experts=4 router_bias=none router_skew=1")
            self.assertEqual(together[9], ranks)  # all tokens are one rank's

    def test_gradients_of_micro_batches_add_up(self):
        self.check(2, IMAGES + "experts=4 accumulate=2 router_bias=none")  # the bias differs: which samples come first does
        self.check(2, IMAGES + "experts=4 accumulate=3 router_bias=none router_skew=1")

    def test_narrow_types_are_exchanged_too(self):
        for precision in "bf16", "fp16":
            settings = IMAGES.replace("fp32", precision) + "experts=2 router_bias=none router_skew="
            self.check(2, settings + "1", 0.02)
            # A rounding decides where some tokens go, and a little less than half of them that way.
            self.check(2, settings + "0.3", 0.1)

    def test_losses_are_the_same_bits_each_time(self):
        settings = IMAGES + "experts=6 router_skew=0.5 "
        usual = train(3, settings)
        for more in "", "allreduce=after_backward", "bucket_mb=tensor", "bucket_view=no":
            with self.subTest(more=more):
                self.assertEqual(train_anew(3, settings + more)[0], usual[0])

    def test_experts_are_divided(self):
        """The rest of the model is on every rank, and the norm counts it once: else losses were others."""
        alone = train(1, IMAGES + "experts=6")
        shares = [train(ranks, IMAGES + "experts=6")[7] / alone[7] for ranks in (2, 3)]
        experts, rest = 2 * (1 - shares[0]), 1 - 2 * (1 - shares[0])
        self.assertGreater(experts, 0.6)
        self.assertAlmostEqual(shares[1], experts / 3 + rest, places=3)  # memory is cut into blocks

    def test_what_is_exchanged_is_what_the_routers_chose(self):
        """Per block the counts, twice there and back; then the gradients of what all have, and the norm. All that
        one rank sends or receives: half of its tokens, on average, if the routers choose evenly."""
        none = train(2, IMAGES + "experts=2 router_bias=none router_skew=1")
        self.assertEqual(none[1], 2 * (1 + 4) + 1 + 1)
        # The first rank sends its tokens and receives none: eight messages of 6 * 17 vectors of 64 in two blocks.
        exchanged, tokens = 8, 6 * 17 * 64 * 4
        rest = none[2] - exchanged * tokens
        for skew in "0", "0.4":
            some = train(2, f"{IMAGES}experts=2 router_bias=none router_skew={skew}")
            self.assertEqual(some[1], none[1])
            # It sends its own tokens, whoever takes them, and receives those of its expert.
            taken = (some[2] - rest - exchanged * tokens) / tokens / exchanged
            self.assertTrue(0 < taken < 2, (some, none))

    def test_the_bias_balances_the_ranks(self):
        settings = IMAGES.replace("batch=12", "batch=48") + "experts=4 router_skew=0.7 router_bias="
        skewed, balanced = (train(2, settings + bias)[9] for bias in ("none", "load"))
        self.assertGreater(skewed, 1.7)
        self.assertLess(balanced, 1.3)

    def test_a_mixture_is_evaluated_too(self):
        accuracies = {accuracy for ranks in (1, 2) for accuracy in evaluate(ranks, IMAGES + "experts=4")[1]}
        self.assertEqual(len(accuracies), 1)


if __name__ == "__main__":
    unittest.main()
