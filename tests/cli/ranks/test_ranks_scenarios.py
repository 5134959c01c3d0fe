#!/usr/bin/env python3
"""test_ranks_scenarios.py PROGRAM: what scenarios of many ranks count, which is the same on every machine; and that all of
them are diagnosed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
ELSEWHERE = {"exposed_allreduce", "replicated_state"}  # test_ranks_run and test_replicated_state run them


def measured(*names):
    """Entries of a result, by name."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PROGRAM, "run", *names, "--device=cpu", "--quick", "--repetitions=1", f"--out={folder}/result"],
                       timeout=500, stdout=subprocess.DEVNULL, check=False)
        with open(f"{folder}/result/result.json", encoding="utf-8") as file:
            return {one["name"]: one for one in json.load(file)["chokepoint"]["scenarios"]}


class RanksScenarios(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        listed = json.loads(subprocess.run([PROGRAM, "list", "--format=json"], capture_output=True, check=True).stdout)
        cls.listed = {one["name"]: one for one in listed["scenarios"] if one["group"] == "ranks"}
        cls.result = measured(*sorted(cls.listed.keys() - ELSEWHERE))

    def metrics(self, name):
        samples = self.result[name]["samples"]
        before, after = samples["before"][0], samples["after"][0]
        self.assertEqual(before["losses"], after["losses"])
        return before["metrics"], after["metrics"]

    def evidence(self, name, variant, finding):
        return "".join(one["evidence"] for one in self.result[name]["findings"][variant] if one["id"] == finding)

    def test_all_are_diagnosed(self):
        self.assertEqual(self.result.keys(), self.listed.keys() - ELSEWHERE)
        for name, entry in self.result.items():
            self.assertNotIn(entry["verdict"], ("failed", "skipped"), (name, entry["reason"]))
            # None where no finding is due.
            self.assertEqual(entry["findings"]["accepted_first"] is not None, bool(self.listed[name]["findings"]), name)

    def test_small_buckets(self):
        before, after = self.metrics("small_buckets")
        self.assertGreater(before["collectives_per_step"], 30)
        self.assertEqual(after["collectives_per_step"], 1)
        self.assertEqual(before["collective_bytes_per_step"], after["collective_bytes_per_step"])

    def test_bucket_copies(self):
        before, after = self.metrics("bucket_copies")
        self.assertEqual(before["d2d_bytes_per_step"] - after["d2d_bytes_per_step"],
                         2 * after["collective_bytes_per_step"])
        self.assertGreater(before["copies_per_step"], 60 + after["copies_per_step"])

    def test_late_gathers(self):
        before, after = self.metrics("late_gathers")
        self.assertEqual(before["collective_bytes_per_step"], after["collective_bytes_per_step"])
        self.assertEqual(before["parameter_bytes"], after["parameter_bytes"])
        self.assertGreater(before["late_parameter_bytes_per_step"], 3 * before["parameter_bytes"])
        self.assertLess(after["late_parameter_bytes_per_step"], 0.1 * after["parameter_bytes"])
        self.assertTrue(self.evidence("late_gathers", "before", "exposed_communication"))

    def test_pipeline_bubble(self):
        samples = self.result["pipeline_bubble"]["samples"]
        before, after = samples["before"][0], samples["after"][0]
        for one, other in zip(before["losses"], after["losses"]):
            self.assertAlmostEqual(one, other, delta=1e-5 * max(before["losses"]))
        before, after = before["metrics"], after["metrics"]
        self.assertEqual((before["pipeline_idle_share"], after["pipeline_idle_share"]), (1 / 2, 1 / 9))
        # On the first rank: a message there and one back, or as many and one, and the norm.
        self.assertEqual((before["collectives_per_step"], after["collectives_per_step"]), (3, 10))
        self.assertEqual(before["collective_bytes_per_step"], after["collective_bytes_per_step"])
        self.assertIn("1 micro-batch in 2 ranks 50%", self.evidence("pipeline_bubble", "before", "pipeline_bubble"))
        self.assertEqual(self.evidence("pipeline_bubble", "after", "pipeline_bubble"), "")

    def test_expert_imbalance(self):
        samples = self.result["expert_imbalance"]["samples"]
        before, after = (samples[side][0]["metrics"] for side in ("before", "after"))
        # Other tokens go to other ranks, and as many operations bring them there.
        self.assertEqual(before["collectives_per_step"], after["collectives_per_step"])
        self.assertEqual(before["syncs_per_step"], after["syncs_per_step"])
        self.assertEqual(before["model_flops_per_step"], after["model_flops_per_step"])
        self.assertGreater(before["busiest_rank_tokens"], 1.6)
        self.assertLess(after["busiest_rank_tokens"], 1.3)

    def test_straggler(self):
        before, after = self.metrics("straggler")
        self.assertEqual(before["collectives_per_step"], after["collectives_per_step"])
        # Other programs may slow a rank down more than its loader does, but not each time. After the fix no rank loads.
        for _ in range(3):
            before, after = (self.evidence("straggler", side, "straggler") for side in ("before", "after"))
            self.assertNotIn("it loads data", after)
            if "rank 1 " in before and "it loads data" in before:
                return
            self.result.update(measured("straggler"))
        self.fail(f"it is not named: {before}")


if shutil.which("mpirun") is None or not os.path.exists(os.path.join(os.path.dirname(PROGRAM), "libchokepoint_mpi.so")):
    print("skipped: there is no MPI here (libopenmpi-dev, openmpi-bin)")
    sys.exit(77)
unittest.main()
