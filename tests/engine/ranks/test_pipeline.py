#!/usr/bin/env python3
"""test_pipeline.py UNDER_MPI PROGRAM: a pipeline of ranks computes what one rank computes, bit for bit.

Every rank has a part of the model. Nothing of the arithmetic changes: micro-batches are the same, gradients add up in their
order, and the norm for clipping is that of all parameters.
"""
import functools
import subprocess
import sys
import unittest

UNDER_MPI, PROGRAM = sys.argv.pop(1), sys.argv.pop(1)
SEQUENCES = "model=light launch=eager batch=12 blocks=3 accumulate=4 "
IMAGES = "model=balanced batch=8 width=64 blocks=3 tokens=5 precision=fp32 "


def run(ranks, settings):
    settings = f"{settings} ranks={ranks} parallel=pipeline"
    command = [PROGRAM, "1", settings] if ranks == 1 else [UNDER_MPI, str(ranks), PROGRAM, settings]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@functools.cache
def train(ranks, settings):
    """Losses, messages and bytes of them per step on the first rank, bytes copied on the device, samples of the window, bytes
    of the optimizer's state on the first rank and on all."""
    done = run(ranks, settings)
    if done.returncode == 77:
        print(done.stdout, end="")
        sys.exit(77)
    assert done.returncode == 0, done.stdout + done.stderr
    losses, counts = done.stdout.strip().splitlines()
    return losses.split(), *map(float, counts.split())


class Pipeline(unittest.TestCase):
    def check(self, ranks, settings):
        alone, together = train(1, settings), train(ranks, settings)
        with self.subTest(settings=settings, ranks=ranks):
            self.assertNotEqual(alone[0][0], alone[0][-1])
            self.assertEqual(together[0], alone[0])
            self.assertEqual(together[4], alone[4])

    def test_two_and_three_ranks_have_the_losses_of_one(self):
        for ranks, settings in ((2, SEQUENCES), (3, SEQUENCES), (2, SEQUENCES.replace("accumulate=4", "accumulate=1")),
                                (3, IMAGES + "accumulate=8 ")):
            self.check(ranks, settings)

    def test_so_they_have_however_the_model_is_computed(self):
        self.check(2, SEQUENCES + "checkpointing=block elementwise=unfused clipping=host")
        self.check(2, SEQUENCES + "selection=counted gelu=host kept_loss=graph")
        self.check(2, IMAGES + "accumulate=4 input=decoded attention=fused accuracy=device")

    def test_narrow_types_and_their_loss_scale_are_the_same_too(self):
        for precision in "bf16", "fp16":
            self.check(2, IMAGES.replace("fp32", precision) + "accumulate=2")

    def test_parameters_and_their_state_are_divided(self):
        """The last of three blocks, or each, with one end of the model or both of them elsewhere."""
        alone = train(1, SEQUENCES)
        for ranks in 2, 3:
            together = train(ranks, SEQUENCES)
            self.assertEqual(together[6], alone[6])
            self.assertLess(together[5], 0.7 * alone[5])

    def test_messages_are_what_the_schedule_says(self):
        """The first rank: activations there, gradients back, the two at once in between; and one norm for all."""
        for micro_batches in 1, 4:
            settings = SEQUENCES.replace("accumulate=4", f"accumulate={micro_batches}")
            calls, size = train(2, settings)[1:3]
            self.assertEqual(calls, micro_batches + 1 + 1)
            self.assertEqual(size % 4, 0)
        one, four = (train(2, SEQUENCES.replace("accumulate=4", f"accumulate={n}"))[2] for n in (1, 4))
        self.assertEqual(one, four)  # micro-batches are as much smaller as they are more


if __name__ == "__main__":
    unittest.main()
