#!/usr/bin/env python3
"""test_rank_losses.py UNDER_MPI PROGRAM: many ranks train as one does.

N ranks with a part of each batch compute the losses of one rank with all of it, but for the order of additions;
and the same bits in every run, whenever and in whichever buckets their gradients are added up, and whoever updates
which parameters.
"""
import sys
import unittest

sys.dont_write_bytecode = True

from rank_training import difference, evaluate, train, train_anew

SEQUENCES = "model=light launch=eager batch=12 blocks=3 "
IMAGES = "model=balanced batch=12 precision=fp32 "


class RankLosses(unittest.TestCase):
    def test_ranks_compute_what_one_computes(self):
        for settings in (SEQUENCES, SEQUENCES + "accumulate=2 padding=longest", IMAGES, IMAGES + "input=decoded"):
            alone = train(1, settings)
            for ranks in (2, 3):
                with self.subTest(settings=settings, ranks=ranks):
                    together = train(ranks, settings)
                    self.assertLess(difference(alone[0], together[0]), 1e-5)
                    self.assertNotEqual(alone[0][0], alone[0][-1])
                    self.assertEqual(alone[4], together[4])

    def test_narrow_gradients_are_added_up_too(self):
        """Half the bytes; sums are rounded, but for that it is the same training."""
        whole = train(2, IMAGES)
        for precision in ("bf16", "fp16"):
            settings = IMAGES.replace("precision=fp32", f"precision={precision}")
            alone, together, copied = train(1, settings), train(2, settings), train(2, settings + "bucket_view=no")
            with self.subTest(precision=precision):
                self.assertLess(difference(alone[0], together[0]), 0.02)
                self.assertEqual(together[0], copied[0])
                self.assertEqual(together[0], train(2, settings + "bucket_mb=tensor allreduce=after_backward")[0])
                self.assertEqual(2 * together[2], whole[2])

    def test_losses_are_the_same_bits_each_time(self):
        usual = train(2, SEQUENCES)
        for settings in ("", "allreduce=after_backward", "bucket_mb=tensor", "bucket_view=no", "bucket_mb=1",
                         "allreduce=after_backward bucket_mb=tensor bucket_view=no"):
            with self.subTest(settings=settings):
                self.assertEqual(train_anew(2, SEQUENCES + settings)[0], usual[0])

    def test_sums_sent_after_each_micro_batch_are_those_sent_once(self):
        settings = SEQUENCES + "accumulate=2 "
        alone = train(1, settings)
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                once, each = train(ranks, settings), train(ranks, settings + "gradient_sync=micro_batch")
                self.assertLess(difference(alone[0], each[0]), 1e-5)
                self.assertEqual(each[1], 2 * once[1])
                self.assertEqual(each[0], train(ranks, settings + "gradient_sync=micro_batch bucket_view=no")[0])

    def test_a_rank_without_the_cache_loads_the_same(self):
        usual = train(2, IMAGES + "input=cached workers=0")
        for rank in 0, 1:
            with self.subTest(rank=rank):
                self.assertEqual(train(2, f"{IMAGES}input=cached workers=0 uncached_rank={rank}")[0], usual[0])

    def test_buckets_decide_the_calls_and_views_the_copies(self):
        usual = train(2, SEQUENCES)
        single = train(2, SEQUENCES + "bucket_mb=tensor")
        copied = train(2, SEQUENCES + "bucket_view=no")
        self.assertEqual(usual[1], 1)
        self.assertGreater(single[1], 30)
        self.assertEqual(single[2], usual[2])
        self.assertEqual(copied[3] - usual[3], 2 * usual[2])

    def test_a_part_of_the_bytes_is_in_each_bucket(self):
        few = train(2, IMAGES + "width=256 bucket_mb=4")
        self.assertGreater(few[1], 1)
        self.assertGreaterEqual(few[1] * 4 * 2**20, few[2])

    def test_each_rank_updates_its_part_as_all_update_everything(self):
        for ranks, settings in ((2, SEQUENCES), (3, SEQUENCES), (2, SEQUENCES + "accumulate=2 clipping=host "),
                                (3, IMAGES + "width=256 ")):
            usual = train(ranks, settings)
            ways = ("", "allreduce=after_backward", "bucket_mb=tensor", "bucket_view=no")
            for way in ways if settings == SEQUENCES else ways[:1]:
                with self.subTest(ranks=ranks, settings=settings + way):
                    self.assertEqual(train(ranks, settings + "optimizer_state=sharded " + way)[0], usual[0])

    def test_the_state_is_divided(self):
        """Into parts that are equal but for the chunks of 2048 parameters, with two means of four bytes."""
        settings = IMAGES + "width=256 "
        alone = train(1, settings)
        for ranks in (2, 3):
            replicated, sharded = train(ranks, settings), train(ranks, settings + "optimizer_state=sharded")
            self.assertEqual(replicated[5:7], (alone[5], ranks * alone[5]))
            self.assertEqual(sharded[6], alone[5])
            self.assertLess(abs(sharded[5] - alone[5] / ranks), 2 * 2048 * 8)

    def test_a_tensor_alone_is_divided_too(self):
        state = train(2, SEQUENCES + "optimizer_state=sharded bucket_mb=tensor")[5:7]
        self.assertLess(state[0], 0.8 * state[1])  # Biases and the like, shorter than a chunk, are the first rank's.

    def test_sums_are_scattered_and_parameters_gathered(self):
        usual, sharded = train(2, SEQUENCES), train(2, SEQUENCES + "optimizer_state=sharded")
        self.assertEqual((usual[1], sharded[1]), (1, 3))  # with the norm's partial sums
        self.assertGreater(sharded[2], 2 * usual[2])
        self.assertLess(sharded[2], 2 * (usual[2] + 3 * 2048 * 4) + usual[2] / 16)

    def test_parameters_that_are_gathered_have_the_bits_of_those_that_stay(self):
        cases = [(2, SEQUENCES, way) for way in ("", "allreduce=after_backward", "bucket_view=no", "checkpointing=2")]
        cases += [(3, SEQUENCES, ""), (2, SEQUENCES + "accumulate=2 padding=longest ", ""), (3, IMAGES + "width=256 ", "")]
        for ranks, settings, way in cases:
            for parameters in ("sharded", "prefetched") if not way else ("prefetched",):
                with self.subTest(ranks=ranks, settings=settings + way, parameters=parameters):
                    self.assertEqual(train(ranks, f"{settings}{way} parameters={parameters}")[0], train(ranks, settings)[0])

    def test_each_rank_keeps_a_part_of_every_block(self):
        """Of whole chunks of 2048 parameters, of four bytes; so does the optimizer of its means."""
        settings = IMAGES + "width=256 "
        alone = train(1, settings)
        for ranks in (2, 3):
            sharded = train(ranks, settings + "parameters=sharded")
            self.assertLess(abs(sharded[7] - alone[7] / ranks), 4 * 2048 * 4)
            self.assertEqual(sharded[6], alone[5])
            self.assertLess(abs(sharded[5] - alone[5] / ranks), 4 * 2048 * 8)

    def test_units_are_gathered_for_each_pass(self):
        """Three blocks twice, what is before them twice, and what comes after them once; each sums its gradients, and there
        is the norm. Only the step's first can be late where the others are prefetched."""
        late, early = (train(2, SEQUENCES + f"parameters={value}") for value in ("sharded", "prefetched"))
        self.assertEqual((late[1], early[1]), (9 + 5 + 1, 9 + 5 + 1))
        self.assertEqual(late[2], early[2])
        self.assertGreater(late[8], 1.5 * 2 * late[7])
        self.assertLess(early[8], late[8] / 4)

    def test_a_model_of_parts_is_evaluated_too(self):
        whole, sharded = (evaluate(2, SEQUENCES + more) for more in ("", "parameters=prefetched"))
        self.assertEqual(len(whole[1]), 2)
        self.assertEqual(whole, sharded)


if __name__ == "__main__":
    unittest.main()
