#!/usr/bin/env python3
"""The commands that no other test runs on CUDA's own path, over the stand-ins for CUDA and CUPTI: train with a trace that
is diagnosed, a ladder, bench, and doctor with a soak. Their times mean nothing there, since kernels are executed instruction
by instruction; their numbers do.

    test_cuda_commands.py PROGRAM"""

import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
TRAIN = ("train", "--model=light", "--batch=8", "--blocks=2", "--precision=fp32", "--launch=eager", "--loss-every=1",
         "--steps=4", "--format=json")


def run(*arguments, codes=(0,)):
    """Standard output; nothing that the stand-in found may be in what was said."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in codes and "stand-in: " not in done.stderr, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_train_learns_what_the_cpu_device_learns_and_its_trace_is_diagnosed(self):
        trace = pathlib.Path(self.folder.name) / "trace.json.gz"
        cuda = json.loads(run(*TRAIN, "--device=cuda", f"--trace={trace}"))
        cpu = json.loads(run(*TRAIN, "--device=cpu"))
        self.assertLess(abs(cuda["loss"] - cpu["loss"]), 1e-4 * cpu["loss"])
        for count in ("launches_per_step", "syncs_per_step", "copies_per_step"):
            self.assertEqual(cuda[count], cpu[count], count)
        self.assertTrue(cuda["findings"])
        events = json.load(gzip.open(trace))["traceEvents"]
        kernels = {event["name"] for event in events if event.get("cat") == "kernel"}
        self.assertIn("adamw_multi_f32", kernels)
        said = run("diagnose", str(trace), codes=(0, 1))
        self.assertIn(cuda["findings"][0]["id"] + ": ", said)

    def test_the_gpus_counters_are_in_the_trace_and_its_diagnosis(self):
        trace = pathlib.Path(self.folder.name) / "trace.json.gz"
        os.environ["CHOKEPOINT_CUPTI"] = "counters=1"
        self.addCleanup(os.environ.pop, "CHOKEPOINT_CUPTI")
        run(*TRAIN, "--device=cuda", f"--trace={trace}")
        counters = json.loads(run("diagnose", "--format=json", str(trace), codes=(0, 1)))["traces"][0]["counters"]
        self.assertEqual(counters["text"], "SMs active 60%, matrix units 30%, device memory 45%, occupancy 50%")
        self.assertIsNone(counters["bound"])
        self.assertIn(counters["text"], " ".join(run("diagnose", str(trace), codes=(0, 1)).split()))

    def test_a_ladder_ends_when_its_time_does(self):
        ladder = json.loads(run("train", "--ladder", "--device=cuda", "--model=light", "--time-budget=8", "--format=json"))
        self.assertIsNone(ladder["error"])
        self.assertIn("model=light", ladder["from"])
        self.assertGreater(ladder["samples_per_second"], 0)

    def test_bench_measures_copies_products_and_kernels(self):
        out = pathlib.Path(self.folder.name) / "bench.json"
        run("bench", "--device=cuda", "--max-time=0.001", "--benchmark_min_time=0.001", "--benchmark_repetitions=1",
            "--benchmark_filter=^(lat_launch|bw_copy_h2d/4096|gemm_out_fp32/128|layernorm_forward_fp32/64)",
            f"--benchmark_out={out}")
        bench = json.loads(out.read_text())
        self.assertEqual(bench["context"]["device"], "cuda")
        names = {row["run_name"].split("/")[0] for row in bench["benchmarks"]}
        self.assertIn("gemm_out_fp32", names)
        self.assertFalse([row for row in bench["benchmarks"] if row.get("error_occurred")])

    def test_doctor_trusts_the_numbers(self):
        doctor = json.loads(run("doctor", "--device=cuda", "--soak=1s", "--format=json", codes=(0, 1)))
        rows = {row["name"]: row for row in doctor["checks"]}
        for name in ("device", "numerics_gemm", "numerics_kernels", "tracing"):
            self.assertEqual(rows[name]["status"], "ok", rows[name])


if __name__ == "__main__":
    unittest.main()
