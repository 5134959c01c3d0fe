#!/usr/bin/env python3
"""Machines that give a process little: a quota of processors, little memory, few open files, no /proc. The program names
what is short, and goes on where it can.

usage: test_limits.py PROGRAM

Control groups and a missing /proc are real ones, where this user may make them; else their parts are skipped.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
ROOT = tempfile.mkdtemp()
GROUPS = "/sys/fs/cgroup"
failures = 0


def check(condition, what, *shown):
    global failures
    if not condition:
        failures += 1
        print("FAILED:", what, *shown, sep="\n    ", flush=True)


def run(*arguments, prepare=None, before=()):
    child = subprocess.run([*before, PROGRAM, *arguments], capture_output=True, text=True, preexec_fn=prepare,
                           timeout=300, check=False)
    words = " ".join((child.stdout + child.stderr).split())
    check(child.returncode >= 0 and child.returncode < 128, f"{arguments[0]} dies: {child.returncode}", words)
    return child, words


class Group:
    """A nested group with a limit, made for a part of this test, of either version; None: it may not be made."""

    def __init__(self, controller, files):
        self.made = []
        for base in (os.path.join(GROUPS, controller), GROUPS):
            top = os.path.join(base, f"chokepoint-test-{os.getpid()}")
            try:
                for folder in (top, os.path.join(top, "inner")):
                    os.mkdir(folder)
                    self.made.append(folder)
                present = [name for name in files if os.path.exists(os.path.join(top, name))]
                for name in present:
                    with open(os.path.join(top, name), "w", encoding="ascii") as file:
                        file.write(files[name])
                if present:
                    return
            except OSError:
                pass
            self.close()

    def enter(self):
        """In the child, before it becomes the program."""
        with open(os.path.join(self.made[1], "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))

    def close(self):
        for folder in reversed(self.made):
            os.rmdir(folder)
        self.made = []


def a_quota_sizes_workers_and_is_named():
    group = Group("cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000", "cpu.max": "100000 100000"})
    if not group.made or len(os.sched_getaffinity(0)) < 2:
        print("skipped: a quota needs two cores and a group of one's own")
        return
    out = os.path.join(ROOT, "quota")
    _, words = run("run", "loader_workers", "launch_overhead", "--quick", "--repetitions=1", "--device=cpu", "--no-trace",
                   f"--out={out}", prepare=group.enter)
    check("1 core), as a control group's quota is 1 core" in words, "what is skipped names the quota", words)
    _, words = run("train", "--device=cpu", "--model=light", "--steps=20", "--workers=cores", "--input=decoded",
                   prepare=group.enter)
    check("workers=1 " in words, "workers=cores is one worker", words)
    _, words = run("doctor", "--device=cpu", "--format=json", prepare=group.enter)
    with open(os.path.join(out, "result.json"), encoding="utf-8") as file:
        check(json.load(file)["context"]["cpu_quota"] == "100000 100000", "the context has the quota")
    check('"value":"1 core"' in words.replace('": "', '":"'), "doctor has the quota", words)
    group.close()


def little_memory_costs_the_utilisation_only():
    group = Group("memory", {"memory.limit_in_bytes": str(150 << 20), "memory.max": str(150 << 20)})
    if not group.made:
        print("skipped: a memory limit needs a group of one's own")
        return
    for arguments in (["run", "launch_overhead", "--quick", "--no-trace", f"--out={ROOT}/memory"],
                      ["train", "--model=light", "--steps=20000"]):
        child, words = run(*arguments, "--device=cpu", prepare=group.enter)
        # The kernel ends the child, or refuses it the memory that it would pin.
        short = "the host has no" in words or "no host memory" in words
        check("no utilisation is stated" in words and short, "it says what is short", words)
        check(child.returncode in (0, 3), f"{arguments[0]} ends with {child.returncode}", words)
    group.close()


def few_open_files_are_named():
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))

    child, words = run("run", "launch_overhead", "--quick", "--device=cpu", f"--out={ROOT}/files", prepare=limit)
    check(child.returncode == 2 and "raise the limit of open files (ulimit -n)" in words, "it names the limit", words)
    for command in (["doctor", "--device=cpu"], ["train", "--device=cpu", "--model=light", "--steps=20"]):
        child, words = run(*command, prepare=limit)
        check("Invalid argument" not in words, "it says something else than the cause", words)
        check(child.returncode in (0, 1) or "ulimit -n" in words, f"{command[0]}: {child.returncode}", words)


def without_proc_nothing_is_invented():
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
    for options in ([], ["--map-root-user"]):
        before = [*hidden[:2], *options, *hidden[2:]]
        if shutil.which("unshare") and subprocess.run([*before, "true"], stderr=subprocess.DEVNULL,
                                                      check=False).returncode == 0:
            break
    else:
        print("skipped: /proc cannot be hidden")
        return
    plugins = ["env", f"CHOKEPOINT_PLUGINS={os.path.dirname(PROGRAM)}"]
    for command in ("run launch_overhead", "train --steps=20", "doctor"):
        child, words = run(*command.split(), "--device=cpu", before=before)
        check(child.returncode == 3 and "mount /proc, or set CHOKEPOINT_PLUGINS" in words, "it advises", words)
    child, words = run("doctor", "--device=cpu", before=[*before, *plugins])
    for row in ("virtualisation", "cpu_quota", "load", "memory", "other_programs"):
        check(f"n/a {row} " in words or "there is no /proc" in words, f"{row} is not known", words)
    check("ok virtualisation" not in words and "ok cpu_quota" not in words, "it invents facts", words)
    child, words = run("train", "--device=cpu", "--model=light", "--steps=20000", before=[*before, *plugins])
    check(child.returncode == 0, "train goes on", words)
    check("MFU" not in words, "it states a share of a peak that was not measured", words)


try:
    a_quota_sizes_workers_and_is_named()
    little_memory_costs_the_utilisation_only()
    few_open_files_are_named()
    without_proc_nothing_is_invented()
finally:
    shutil.rmtree(ROOT)
print(f"{failures} failed")
sys.exit(failures > 0)
