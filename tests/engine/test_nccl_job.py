#!/usr/bin/env python3
"""test_nccl_job.py UNDER_MPI RANK_LOSSES PROGRAM STAND_IN NONE: ranks on the CUDA device, over stand-ins for CUDA and NCCL.

Two ranks compute the losses of two ranks of the CPU device; NCCL is called as its manual wants it; and whatever fails is
said in a sentence and ends all ranks. NONE is a folder whose libnccl.so.2 does not load.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

UNDER_MPI, RANK_LOSSES, PROGRAM, STAND_IN, NONE = [sys.argv.pop(1) for _ in range(5)]
SMALL = "data=images patch=8 tokens=5 width=64 blocks=2 launch=eager precision=fp32 input=decoded"
STEPS = 12  # rank_losses'


class Job(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="nccl")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def cuda(self, **environment):
        return {**os.environ, "CHOKEPOINT_TEST_DEVICE": "cuda", "CHOKEPOINT_PLUGINS": STAND_IN,
                "LD_LIBRARY_PATH": f"{STAND_IN}/lib", "STAND_IN_DEVICES": "2", "TMPDIR": str(self.folder),
                "STAND_IN_NCCL_LOG": str(self.folder / "calls"), **environment}

    def train(self, environment=None, settings=""):
        done = subprocess.run([UNDER_MPI, "2", RANK_LOSSES, f"{SMALL} ranks=2 batch=12 {settings}"], capture_output=True,
                              text=True, timeout=120, env=environment)
        if done.returncode == 77:
            print(done.stdout, end="")
            sys.exit(77)
        return done

    def calls(self, rank):
        """The calls of NCCL that the rank made, with their counts."""
        lines = (self.folder / f"calls.{rank}").read_text(encoding="ascii").splitlines()
        return [(name, int(count)) for name, count in map(str.split, lines)]

    def losses(self, environment=None, settings=""):
        done = self.train(environment, settings)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        losses, counts = done.stdout.strip().splitlines()
        return [float.fromhex(loss) for loss in losses.split()], [float(count) for count in counts.split()]

    def test_they_compute_what_ranks_of_the_cpu_device_compute(self):
        usual, counts = self.losses()
        found, counts_found = self.losses(self.cuda())
        self.assertNotEqual(usual[0], usual[-1])
        self.assertEqual(counts_found[:2], counts[:2])
        self.assertLess(max(abs(a - b) for a, b in zip(usual, found)) / max(usual), 1e-5)

    def test_experts_do_too_and_each_message_has_its_receiver(self):
        """All tokens are the last rank's in one of them, so the other one receives none, and sends it no results."""
        for number, settings in enumerate(("experts=4 router_bias=none router_skew=1", "experts=4 router_skew=0.5")):
            usual, counts = self.losses(settings=settings)
            found, counts_found = self.losses(self.cuda(STAND_IN_NCCL_LOG=str(self.folder / f"calls{number}")), settings)
            self.assertEqual(counts_found[:2], counts[:2])
            self.assertLess(max(abs(a - b) for a, b in zip(usual, found)) / max(usual), 1e-5)
            sent, received = ([line for rank in (0, 1) for line in (self.folder / f"calls{number}.{rank}").read_text().split("\n")
                               if line.startswith(name)] for name in ("ncclSend", "ncclRecv"))
            self.assertGreater(len(sent), 8 * STEPS)
            self.assertEqual(sorted(line.split()[1] for line in sent), sorted(line.split()[1] for line in received))

    def test_nccl_is_called_in_order_with_the_same_on_all_ranks(self):
        _, (calls, size, *_) = self.losses(self.cuda(), "bucket_mb=tensor")
        first, second = self.calls(0), self.calls(1)
        self.assertEqual(first[:2], [("ncclGetUniqueId", 0), ("ncclCommInitRank", 0)])
        self.assertEqual(second[0], ("ncclCommInitRank", 1))  # on the GPU of its number
        self.assertEqual(first[-1][0], "ncclCommDestroy")
        self.assertEqual(first[2:], second[1:])
        reduced = [count for name, count in first if name == "ncclAllReduce"]
        self.assertEqual(len(reduced), calls * STEPS)
        self.assertEqual(4 * sum(reduced), size * STEPS)

    def test_traces_have_the_message_of_every_kernel(self):
        own = f"allreduce after_backward overlap communication_wait shrinks identical {SMALL} ranks=2 batch=12 bucket_mb=tensor"
        done = subprocess.run([PROGRAM, "exec", "mine", "--own", own, "--device=cuda", "--variant=after", "--quick",
                               f"--trace={self.folder}/t.json"], capture_output=True, text=True, timeout=120, env=self.cuda())
        self.assertEqual(done.returncode, 0, done.stderr)
        _, (calls, size, *_) = self.losses(self.cuda(), "bucket_mb=tensor")
        for rank in 0, 1:
            trace = json.loads((self.folder / f"t.rank{rank}.json").read_text(encoding="utf-8"))
            self.assertEqual(trace["distributedInfo"], {"backend": "nccl", "rank": rank, "world_size": 2})
            steps = sum(event.get("cat") == "user_annotation" and event["name"].startswith("ProfilerStep")
                        for event in trace["traceEvents"])
            kernels = [event["args"] for event in trace["traceEvents"]
                       if event.get("cat") == "kernel" and event["name"].startswith("ncclDevKernel")]
            self.assertEqual(len(kernels), steps * calls)
            self.assertEqual({(one["Collective name"], one["dtype"], one["Group size"]) for one in kernels},
                             {("allreduce", "Float", 2)})
            self.assertEqual(sum(one["In msg nelems"] for one in kernels) * 4, steps * size)

    def test_the_collectives_of_bench_pass_their_checks(self):
        done = subprocess.run([PROGRAM, "bench", "--device=cuda", "--ranks=2", "--benchmark_filter=/(4096|65536)/",
                               "--benchmark_repetitions=2", "--benchmark_min_time=1x", "--benchmark_format=json"],
                              capture_output=True, text=True, timeout=120, env=self.cuda())
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["chokepoint"]["failures"] + result["chokepoint"]["skipped"], [])
        self.assertEqual(len({row["run_name"] for row in result["benchmarks"]}), 6)

    def test_what_fails_is_said_and_ends_all(self):
        words = "an error of the stand-in: it was told to fail (NCCL 2.28.9)"
        for what, rank, call, last in (("id", 0, "ncclGetUniqueId", None), ("init", 1, "ncclCommInitRank", "ncclCommInitRank"),
                                       ("call", 1, "ncclAllReduce", "ncclCommAbort"),
                                       ("async", 0, "a collective of the ranks", "ncclCommAbort")):
            with self.subTest(what=what):
                for path in self.folder.glob("calls.*"):
                    path.unlink()
                done = self.train(self.cuda(STAND_IN_NCCL=what, STAND_IN_NCCL_RANK=str(rank)), "bucket_mb=tensor")
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                self.assertIn(f"rank {rank}: {call} failed: {words}", done.stderr)
                if last is not None:
                    self.assertEqual(self.calls(rank)[-1][0], last)
                self.assertEqual(list(self.folder.glob("nccl.*")), [])

    def test_a_gpu_that_is_lost_ends_its_communicator(self):
        done = self.train(self.cuda(CHOKEPOINT_FAIL="kernel:1"))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("it was injected by CHOKEPOINT_FAIL=kernel", done.stderr)
        self.assertIn("ncclCommAbort", [self.calls(rank)[-1][0] for rank in (0, 1)])

    def test_an_end_that_another_rank_does_not_come_to_is_given_up(self):
        usual, _ = self.losses(self.cuda())
        found, _ = self.losses(self.cuda(STAND_IN_NCCL="destroy", STAND_IN_NCCL_RANK="1"))
        self.assertEqual(found, usual)

    def command(self, environment):
        return subprocess.run([PROGRAM, "train", "--device=cuda", "--ranks=2", "--steps=2"], capture_output=True, text=True,
                              timeout=120, env=environment)

    def test_a_gpu_that_is_missing_is_one_sentence(self):
        done = self.command(self.cuda(STAND_IN_DEVICES="1"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("each of 2 ranks takes a GPU of its own, cuda:0 to cuda:1, and there is 1", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        done = self.train(self.cuda(STAND_IN_DEVICES="1"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("rank 1: cuda: each of 2 ranks takes a GPU", done.stderr)

    def test_a_library_that_is_missing_is_one_sentence(self):
        nowhere = {"LD_LIBRARY_PATH": NONE, "CUDA_HOME": "", "CUDA_PATH": "", "VIRTUAL_ENV": "", "CONDA_PREFIX": "",
                   "HOME": str(self.folder)}
        done = self.command(self.cuda(**nowhere))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("NCCL, which connects the GPUs of several ranks, does not load", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        done = self.train(self.cuda(**nowhere))
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not load", done.stderr)


if __name__ == "__main__":
    unittest.main()
