#!/usr/bin/env python3
"""`job` names the rank that was planted in a simulated job, and leaves out what is broken, missing or of another job.

usage: tests/cli/traces/test_job_cli.py PROGRAM MAKE_JOB"""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

import made_ranks

PROGRAM, MAKE_JOB = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])


def run(*arguments):
    return subprocess.run([PROGRAM, "job", *arguments], capture_output=True, text=True, check=False)


def make(folder, ranks, cause, which):
    subprocess.run([MAKE_JOB, folder, str(ranks), cause, str(which)], check=True)
    with open(f"{folder}.truth.json", encoding="utf-8") as file:
        return json.load(file)["lost_ns_per_step"]


with tempfile.TemporaryDirectory() as here:
    for kind, which, name, value in (("late_rank", 21, "rank", 21), ("drifting_node", 3, "node", "node003")):
        folder = os.path.join(here, kind)
        lost = make(folder, 64, kind, which)
        done = run(folder, "--format=json")
        assert done.returncode == 0, done
        found = json.loads(done.stdout)["findings"]
        assert len(found) == 1 and found[0][name] == value, found
        assert abs(found[0]["lost_ns_per_step"] / lost - 1) < 0.1, (found, lost)
    folder = os.path.join(here, "late_rank")
    assert "Rank 21 on node002 is late" in run(folder).stdout
    assert run(folder, "--format=markdown").returncode == 0

    # Racks, by a part of the nodes' names and by a file.
    rack = os.path.join(here, "rack")
    make(rack, 128, "late_rack", 2)
    map_ = os.path.join(here, "racks")
    with open(map_, "w", encoding="utf-8") as file:
        file.writelines(f"node{number:03}  rack{number // 4}  # a comment\n" for number in range(16))
    assert "The ranks of rack rack2 are late" in run(rack, f"--racks={map_}").stdout
    assert json.loads(run(rack, "--racks=/^node0(.)/", "--format=json").stdout)["nodes"][12]["rack"] == "1"

    # Healthy.
    healthy = os.path.join(here, "healthy")
    make(healthy, 64, "healthy", 0)
    assert "None: nothing" in run(healthy).stdout

    # A digest that is cut, one that is missing, one of another job, one that comes twice.
    with open(os.path.join(folder, "rank5.digest"), "r+b") as file:
        file.truncate(900)
    os.remove(os.path.join(folder, "rank40.digest"))
    make(os.path.join(here, "small"), 8, "healthy", 0)
    shutil.copy(os.path.join(here, "small", "rank1.digest"), os.path.join(folder, "small.digest"))
    shutil.copy(os.path.join(folder, "rank7.digest"), os.path.join(folder, "seven.digest"))
    done = run(folder, "--format=json")
    answer = json.loads(done.stdout)
    assert done.returncode == 2 and "rank5.digest" in done.stderr, done
    assert (answer["ranks"], answer["missing"], answer["findings"][0]["rank"]) == (62, 2, 21), answer
    reasons = {os.path.basename(row["file"]): row["reason"] for row in answer["left_out"]}
    assert "8 ranks" in reasons["small.digest"] and "same rank" in reasons["seven.digest"], reasons

    # The longest time that a digest can state is no negative one on the map.
    line = os.path.join(here, "small", "rank1.digest")
    with gzip.open(line) as file:
        digest = json.load(file)
    digest["record"]["part_ns"][0] = str(2**63 - 1)
    with open(line, "w", encoding="utf-8") as file:
        file.write(json.dumps(digest) + "\n")
    layers = json.loads(run(os.path.join(here, "small"), "--map", "--format=json").stdout)["map"]["layers"]
    assert max(max(layer["ns"]) for layer in layers) > 9e18, layers
    assert all(float(f"{ns:.3g}") == ns for layer in layers for ns in layer["ns"]), layers
    assert min(min(layer["ns"]) for layer in layers if layer["name"] != "late") >= 0, layers

    # A bomb: a small file that inflates to more than is read.
    bomb = os.path.join(here, "bomb.digest")
    with gzip.open(bomb, "wb") as file:
        for _ in range(300):
            file.write(json.dumps(digest).encode().ljust(1000 << 10) + b"\n")
    done = run(bomb)
    assert done.returncode == 2 and "more than 256 MB of digests" in done.stderr, done.stderr

    # Digests of traces.
    paths = made_ranks.write(here, 8, computes_us=[1000] * 5 + [1500] + [1000] * 2)
    digests = os.path.join(here, "all.digest")
    subprocess.run([PROGRAM, "digest", *paths, "-o", digests], check=True, capture_output=True)
    found = json.loads(run(digests, "--format=json").stdout)["findings"]
    assert found and (found[0]["id"], found[0]["rank"]) == ("late_rank", 5), found
    assert abs(found[0]["lost_ns_per_step"] - 500e3) < 50e3, found
    for arguments in ([digests, "--map"], [digests, "--racks=/(/"], [digests, f"--racks={digests}"], [digests, "-o", "page.html", "--format=json"], [], [os.path.join(here, "nothing")], [paths[0]]):
        assert run(*arguments).returncode == 2, arguments
