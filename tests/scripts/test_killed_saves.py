#!/usr/bin/env python3
"""Mishaps at random moments of train --save: the last state saved is whole after each, and training goes on from it.

usage: test_killed_saves.py PROGRAM [ROUNDS [SEED]]

Every round goes on from the state that the last one left, saves after every step, and is killed by SIGKILL at a
random moment, or shortly after a save began; or it is interrupted, or the file may not become large enough. Then
the state must be whole, and of no fewer steps than before. A file that was not finished may lie beside it until
the next save.
"""
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

PROGRAM = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 12
SEED = int(sys.argv[3] if len(sys.argv) > 3 else os.environ.get("CHOKEPOINT_TEST_SEED", 1))
STATE = "training.state"
HEADER = 4096
END = ".chokepoint"  # of temporary files (harness/base/system/atomic_file.h)
PATIENCE = 120


class Wrong(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Wrong(text)


def steps_of(folder):
    """Of the state, which must be whole; -1 where there is none. Reads the header of step/state.c by itself."""
    path = os.path.join(folder, STATE)
    if not os.path.exists(path):
        return -1
    with open(path, "rb") as file:
        text = file.read()
    expect(len(text) >= HEADER, f"{len(text)} bytes")
    magic, version, checksum, size, steps = struct.unpack_from("<32sIIQq", text)
    expect(magic.rstrip(b"\0") == b"chokepoint training state" and version == 3, "another header")
    expect(size == len(text), f"{len(text)} of {size} bytes")
    expect(zlib.crc32(text[:36] + bytes(4) + text[40:]) == checksum, "the checksum is wrong")
    return steps


def start(folder, mode, period, limit=None):
    """`period` steps between two reads of the loss: the warm-up lasts four of them."""
    arguments = ["train", "--device=cpu", "--model=light", "--steps=1000000", f"--save={folder}", "--save-every=1",
                 f"--save-mode={mode}", f"--loss-every={period}", "--format=json"]
    if os.path.exists(os.path.join(folder, STATE)):
        arguments.append(f"--resume={folder}")

    def prepare():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    return subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, preexec_fn=prepare, text=True)


def unfinished(folder):
    return [name for name in os.listdir(folder) if name.endswith(END)]


def wait_for_a_moment(process, folder, chance):
    """Until it saves, and then a random time, or until the next save has begun."""
    path = os.path.join(folder, STATE)
    before = os.stat(path).st_ino if os.path.exists(path) else None
    while process.poll() is None and (not os.path.exists(path) or os.stat(path).st_ino == before):
        time.sleep(0.001)
    end = time.monotonic() + chance.uniform(0, 0.2)
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    end = time.monotonic() + (5 if chance.random() < 0.7 else 0)
    while process.poll() is None and time.monotonic() < end and not unfinished(folder):
        pass


def go_round(folder, chance):
    mishap = chance.choices(["SIGKILL", "SIGINT", "full disk"], [6, 1, 1])[0]
    before = steps_of(folder)
    process = start(folder, chance.choice(["asynchronous", "blocking"]), 100 if mishap == "SIGINT" else 1,
                    chance.randint(5000, 400_000) if mishap == "full disk" else None)
    if mishap != "full disk":
        wait_for_a_moment(process, folder, chance)
        process.send_signal(getattr(signal, mishap))
    try:
        errors = process.communicate(timeout=PATIENCE)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        raise Wrong("it hangs") from None
    after = steps_of(folder)
    left = unfinished(folder)
    if mishap == "full disk":
        expect(process.returncode == 2 and "File too large" in errors and STATE in errors, errors)
        expect(after == before, f"{after} steps instead of {before}")
    else:
        expect(after > before, f"{after} steps after {before}: {errors}")
    if mishap == "SIGINT":  # Most come in the warm-up. The state is saved once more.
        expect(process.returncode == 128 + signal.SIGINT and "stopped by an interrupt" in errors, errors)
    expect(mishap == "SIGKILL" or not left, f"{left} were left")
    expect(len(left) <= 1, f"{left} were left")
    return mishap, "in a save" if left else "between saves"


def main():
    os.environ.pop("CHOKEPOINT_FAIL", None)
    root = tempfile.mkdtemp()
    folder, chance, counts, failed = os.path.join(root, "saved"), random.Random(SEED), {}, 0
    os.mkdir(folder)
    try:
        for number in range(1, ROUNDS + 1):
            try:
                outcome = go_round(folder, chance)
                counts[outcome] = counts.get(outcome, 0) + 1
            except Wrong as error:
                print(f"FAILED: round {number}: {error}", *sorted(os.listdir(folder)), sep="\n    ", flush=True)
                failed += 1
    finally:
        steps = steps_of(folder) if failed == 0 else -1
        shutil.rmtree(root)
    for outcome, count in sorted(counts.items()):
        print(f"{count:4}  {', '.join(outcome)}")
    print(f"{ROUNDS} rounds from seed {SEED}: {failed} failed; {steps} steps in all")
    return failed > 0


sys.exit(main())
