#!/usr/bin/env python3
"""The recipes of docs/digest.md leave digests of all ranks, which `job` merges: each is run as it stands there, by the
engine itself if it is here (mpirun, GNU parallel, Ray, Spark), or by a stand-in (srun, Kubernetes, a pool of threads).

usage: tests/cli/traces/test_digest_recipes.py PROGRAM SOURCE"""
import importlib.util
import json
import multiprocessing.pool
import os
import re
import shutil
import subprocess
import sys
import tempfile

import made_ranks

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
NODES, RANKS = ("n1", "n2"), 4
SRUN = """#!/bin/sh
# One task on each of two nodes, as --ntasks-per-node=1 asks for.
while [ "${1#-}" != "$1" ]; do shift; done
for node in n1 n2; do NODE=$node TRACES=$TRACES/$node "$@" || exit; done
"""
HOSTNAME = """#!/bin/sh
echo "${NODE:-n1}"
"""


def blocks(kind):
    with open(os.path.join(SOURCE, "docs/digest.md"), encoding="utf-8") as file:
        return re.findall(rf"```{kind}\n(.*?)```", file.read(), re.S)


def recipes():
    """By their comment: "Slurm" and the like."""
    text = next(one for one in blocks("sh") if "srun" in one)
    return dict(re.findall(r"^# (\w+)[^\n]*\n(.*?)(?=\n# |\Z)", text, re.M | re.S))


class Place:
    """A folder of traces, in it one per node, and programs to be found before others."""

    def __init__(self, here):
        self.here, self.traces = here, os.path.join(here, "traces")
        programs = os.path.join(here, "bin")
        os.mkdir(programs)
        os.symlink(PROGRAM, os.path.join(programs, "chokepoint"))
        for name, text in (("srun", SRUN), ("hostname", HOSTNAME)):
            with open(os.path.join(programs, name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(os.path.join(programs, name), 0o755)
        os.mkdir(self.traces)
        self.paths = made_ranks.write(self.traces, RANKS)
        for number, path in enumerate(self.paths):
            folder = os.path.join(self.traces, NODES[number * len(NODES) // RANKS])
            os.makedirs(folder, exist_ok=True)
            os.link(path, os.path.join(folder, os.path.basename(path)))
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "TRACES": self.traces, "SLURM_JOB_ID": "7",
                            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        os.environ["PATH"] = self.environment["PATH"]  # for functions that start the program

    def folder(self, name):
        path = os.path.join(self.here, name)
        os.mkdir(path)
        return path

    def run(self, name, command, **environment):
        digests = self.folder(name)
        done = subprocess.run(["sh", "-euc", command], env={**self.environment, "DIGESTS": digests, **environment}, cwd=self.here,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done)
        self.check(name, digests)

    def check(self, name, digests):
        done = subprocess.run([PROGRAM, "job", digests, "--format=json"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done)
        found = json.loads(done.stdout)
        assert (found["ranks"], found["missing"], found["left_out"]) == (RANKS, 0, []), (name, found)
        print(f"{name}: {len(os.listdir(digests))} files of digests, {found['ranks']} ranks")


def check_kubernetes(place):
    try:
        import yaml
    except ImportError:
        print("Kubernetes: skipped, python3 has no yaml")
        return
    with open(os.path.join(SOURCE, "examples/kubernetes-digest.yaml"), encoding="utf-8") as file:
        job = yaml.safe_load(file)
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    container, volumes = pod["containers"][0], {one["name"] for one in pod["volumes"]}
    assert (job["apiVersion"], job["kind"], spec["completions"]) == ("batch/v1", "Job", spec["parallelism"])
    assert {one["name"] for one in container["volumeMounts"]} == volumes == {"traces", "digests"}
    apart = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]
    assert apart["labelSelector"]["matchLabels"] == spec["template"]["metadata"]["labels"], apart
    shell, option, command = container["command"]
    digests = place.folder("Kubernetes")
    for node in NODES:
        subprocess.run([shell, option, command], check=True, capture_output=True,
                       env={**place.environment, "NODE": node, "TRACES": os.path.join(place.traces, node), "DIGESTS": digests})
    place.check("Kubernetes", digests)


def check_maps(place, function):
    with multiprocessing.pool.ThreadPool(2) as pool:
        digests = place.folder("pool")
        pool.starmap(function, [(path, digests) for path in place.paths])
    place.check("pool", digests)
    if importlib.util.find_spec("ray"):
        import ray
        digests = place.folder("Ray")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        ray.get([ray.remote(function).remote(path, digests) for path in place.paths])
        ray.shutdown()
        place.check("Ray", digests)
    else:
        print("Ray: skipped, it is not installed")
    if importlib.util.find_spec("pyspark"):
        import pyspark
        digests = place.folder("Spark")
        with pyspark.SparkContext("local[2]") as spark:
            names = spark.parallelize(place.paths, 2).map(lambda path: function(path, digests)).collect()
        assert len(names) == RANKS
        place.check("Spark", digests)
    else:
        print("Spark: skipped, it is not installed")


def check_commands(place):
    commands = recipes()
    assert set(commands) == {"Slurm", "MPI", "GNU"}, commands
    place.run("Slurm", commands["Slurm"])
    # The machine is one node: it has all traces.
    if shutil.which("mpirun"):
        place.run("MPI", commands["MPI"])
    else:
        print("MPI: skipped, there is no mpirun")
    if shutil.which("parallel"):
        with open(os.path.join(place.here, "hosts"), "w", encoding="utf-8") as file:
            file.write(":\n")  # this machine, without ssh
        place.run("GNU", commands["GNU"], HOME=place.here)
    else:
        print("GNU parallel: skipped, it is not installed")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        there = Place(made)
        check_commands(there)
        check_kubernetes(there)
        scope = {}
        exec(blocks("python")[0], scope)  # pylint: disable=exec-used
        check_maps(there, scope["digest"])
