#!/usr/bin/env python3
"""Digests: diagnose says of them what it says of the traces; they are small, whole or not there, and joined by cat.

usage: tests/cli/traces/test_digest_cli.py PROGRAM CHECKOUT"""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

import digest_equality
import made_ranks

PROGRAM, CHECKOUT = os.path.abspath(sys.argv[1]), sys.argv[2]


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def check_ranks(folder):
    """Even ranks, one rank that is late, and one that is so late that it takes most of the step."""
    for computes in ([1000] * 8, [1000] * 5 + [1500] + [1000] * 2, [1000] * 7 + [9000]):
        paths = made_ranks.write(folder, 8, computes_us=computes)
        found = digest_equality.differs(PROGRAM, folder, paths)
        assert not found, (computes, found)
    return paths


def check_recorded(folder):
    traces = sorted(glob.glob(os.path.join(CHECKOUT, "results", "*", "traces", "*.json.gz")))
    assert traces, "there are no traces in results"
    for path in traces[::4]:
        found = digest_equality.differs(PROGRAM, folder, [path])
        assert not found, (path, found)


def check_joined(folder, paths):
    """One file for all ranks, and files that cat joins, are the same as a file each."""
    ranks = os.path.join(folder, "all.digest")
    done = run("digest", *paths, "-o", ranks, "--node=alpha", "--job=7")
    assert done.returncode == 0 and os.path.getsize(ranks) <= 8 * 32768, done
    joined = os.path.join(folder, "joined.digest")
    with open(joined, "wb") as out:
        for number in range(8):
            with open(os.path.join(folder, f"{number}.digest"), "rb") as file:
                out.write(file.read())
    runs = [json.loads(run("diagnose", path, "--format=json").stdout)["run"] for path in (ranks, joined)]
    for one in runs:
        for row in one["ranks"]:
            del row["file"]
    assert runs[0] == runs[1] and len(runs[0]["ranks"]) == 8


def check_refused(folder):
    """What needs events, and other commands, say so; a broken digest is left out, and the others are read."""
    digest = os.path.join(folder, "0.digest")
    for arguments in (["diagnose", digest, "--timeline"], ["diagnose", digest, "--what-if"],
                      ["digest", digest, "-o", os.path.join(folder, "again")],
                      ["digest", digest], ["digest", os.path.join(folder, "rank0.json.gz"), "-o", "/nowhere/at/all"]):
        done = run(*arguments)
        assert done.returncode == 2 and "digest" in done.stderr, (arguments, done)
    with open(digest, "rb") as file:
        whole = file.read()
    broken = os.path.join(folder, "broken.digest")
    for text in (whole[:len(whole) // 2], whole[:-1], b'{"chokepoint_digest":1}\n', b'{"chokepoint_digest":99}\n',
                 b'{"chokepoint_digest":1'):
        with open(broken, "wb") as file:
            file.write(text)
        done = run("diagnose", broken, os.path.join(folder, "1.digest"), "--format=json")
        assert done.returncode == 2 and broken in done.stderr, (text[:30], done)
        assert [row["rank"] for row in json.loads(done.stdout)["traces"]] == [1]


def check_killed(folder, path):
    """Whenever it is killed, the file is the old one or the new one."""
    digest = os.path.join(folder, "killed.digest")
    assert run("digest", path, "-o", digest).returncode == 0
    with open(digest, "rb") as file:
        whole = file.read()
    started = time.monotonic()
    run("digest", path, "-o", digest)
    took = time.monotonic() - started
    for number in range(24):
        if number % 2:
            os.remove(digest)
        child = subprocess.Popen([PROGRAM, "digest", path, "-o", digest], stdout=subprocess.DEVNULL)
        time.sleep(took * number / 20)
        child.kill()
        child.wait()
        if os.path.exists(digest):
            with open(digest, "rb") as file:
                assert file.read() == whole, number
        else:
            assert number % 2, number
            assert run("digest", path, "-o", digest).returncode == 0
    assert run("digest", path, "-o", digest).returncode == 0
    assert not glob.glob(digest + ".*.chokepoint"), "a file was left"


with tempfile.TemporaryDirectory() as here:
    made = check_ranks(here)
    check_recorded(here)
    made_ranks.write(here, 8)
    digest_equality.differs(PROGRAM, here, made)
    check_joined(here, made)
    check_refused(here)
    check_killed(here, made[0])
