#!/usr/bin/env python3
"""Mishaps at random moments of run, train --sweep and bench: the results are whole after each.

usage: test_whole_results.py PROGRAM [ROUNDS [SEED]]

A round starts a command in a folder that has results already, and then one of these happens: SIGKILL, SIGINT,
a full disk, or a second command of the same kind in the same folder. The moment is random, or a few milliseconds
after something changed in the folder, where a commit would be cut in two. After it the folder must hold the old
results or new ones: valid JSON, whose traces are there, whole, and of the same run. Nothing else may be there
unless a process was killed, and then the next one removes it.

Nothing measured is lost: each scenario that `run` had measured there is there after it, too.

A full disk is a small tmpfs where one may be mounted, else a limit on the size of files (ulimit -f).
"""
import gzip
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 8
SEED = int(sys.argv[3] if len(sys.argv) > 3 else os.environ.get("CHOKEPOINT_TEST_SEED", 1))
PATIENCE = 120  # seconds for a command that nothing ends
END = ".chokepoint"  # of temporary files (harness/base/system/atomic_file.h)
LOCK = "run.lock"
ROWS = {"lat_event", "lat_readback"}


class Wrong(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Wrong(text)


def refuse(word):
    raise ValueError(f"{word} is no JSON")


def strict(text):
    return json.loads(text, parse_constant=refuse)


def contents(folder):
    """Every file below the folder, with a digest of what it holds."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            with open(full, "rb") as file:
                found[os.path.relpath(full, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def is_temporary(path):
    return path.endswith(END)


# --- The promises of each command ---


class Run:
    """A folder with result.json, and the traces that it names."""

    name = "run"

    def arguments(self, folder, chance):
        scenario = chance.choice(["item_sync", "launch_overhead"])
        return ["run", scenario, "--device=cpu", "--quick", "--repetitions=1", f"--out={folder}"]

    def results(self, folder):
        """The paths of what belongs to the results, or None where there are none."""
        path = os.path.join(folder, "result.json")
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            document = strict(file.read())
        scenarios = document["chokepoint"]["scenarios"]
        expect(scenarios, "result.json has no scenario")
        paths = {"result.json"}
        for scenario in scenarios:
            expect(scenario["verdict"], "a scenario has no verdict")
            for variant in ("before", "after"):
                trace = scenario["traces"][variant]
                if trace is None:
                    continue
                with gzip.open(os.path.join(folder, trace)) as file:
                    expect(strict(file.read())["traceEvents"], f"{trace} has no events")
                paths.add(trace)
        return paths

    def measured(self, folder):
        """The scenarios that have rows."""
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
            return {row["name"].split("/")[0] for row in json.load(file)["benchmarks"]}

    def may_be_left(self, path):
        """By a process that was killed."""
        return path == LOCK or is_temporary(path) or path.startswith("traces")

    def check_second(self, first, second):
        for process in (first, second):
            refused = "another run is under way" in process.errors
            expect(process.code == 2 if refused else process.code in (0, 1, 3),
                   f"exit code {process.code}: {process.errors}")
        expect(first.code != 2 or second.code != 2, "both were refused")


class Bench:
    """A file of rows."""

    name = "bench"

    def arguments(self, folder, chance):
        # The longer one writes its file several times: every two seconds.
        repetitions = chance.choice([10, 80]) if ROUNDS > 20 else 10
        return ["bench", "--device=cpu", f"--benchmark_filter=^({'|'.join(ROWS)})$",
                f"--benchmark_enable_random_interleaving={chance.choice(['true', 'false'])}",
                f"--benchmark_repetitions={repetitions}", "--benchmark_min_time=0.005",
                f"--benchmark_out={folder}/bench.json"]

    def results(self, folder):
        path = os.path.join(folder, "bench.json")
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as file:
            rows = strict(file.read())["benchmarks"]
        expect(rows, "bench.json has no row")
        expect({row["run_name"] for row in rows} <= ROWS, "bench.json has rows of others")
        expect(all(row["real_time"] > 0 for row in rows if row["run_type"] == "iteration"),
               "a row has no time")
        return {"bench.json"}

    def may_be_left(self, path):
        return is_temporary(path)

    def check_second(self, first, second):
        expect(first.code == second.code == 0, f"exit codes {first.code}, {second.code}")


class Sweep:
    """Standard output alone: whole, or the exit code says that it is not."""

    name = "train --sweep"

    def arguments(self, folder, chance):
        return ["train", "--device=cpu", "--model=light", "--steps=100", "--repetitions=3",
                "--sweep", "launch=eager,graph", "--format=json"]

    def results(self, folder):
        return set()

    def may_be_left(self, path):
        return False

    def check_second(self, first, second):
        expect(first.code == second.code == 0, f"exit codes {first.code}, {second.code}")

    def check_output(self, process):
        if process.code == 0 or (process.code == 130 and process.output):
            rounds = [value["rounds"] for value in strict(process.output)["values"]]
            expect(all(rounds) if process.code == 0 else any(rounds), "the sweep has no round")


# --- Processes ---


class Process:
    def __init__(self, arguments, folder, limit=None):
        self.output_path = os.path.join(folder, "..", f"output{time.monotonic_ns()}")
        self.output_file = open(self.output_path, "w+", encoding="utf-8")

        def prepare():
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        self.child = subprocess.Popen([PROGRAM, *arguments], stdout=self.output_file,
                                      stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                      preexec_fn=prepare, text=True)

    def is_over(self):
        return self.child.poll() is not None

    def wait(self):
        try:
            self.errors = self.child.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            self.child.kill()
            raise Wrong("it hangs") from None
        self.code = self.child.returncode if self.child.returncode >= 0 else 128 - self.child.returncode
        self.output_file.seek(0)
        self.output = self.output_file.read()
        self.output_file.close()
        os.unlink(self.output_path)


def signature(folder):
    """Changes whenever a file or folder appears, goes or is replaced."""
    seen = []
    for path in (folder, os.path.join(folder, "traces"), os.path.join(folder, "traces-2")):
        try:
            seen.append([(entry.name, entry.inode()) for entry in os.scandir(path)])
        except OSError:
            seen.append(None)
    return seen


def wait_for_a_moment(process, folder, chance, seconds):
    """A random time, or shortly after a random one of the changes in the folder."""
    if chance.random() < 0.4:
        end = time.monotonic() + chance.uniform(0, seconds)
        while time.monotonic() < end and not process.is_over():
            time.sleep(0.001)
        return
    changes, last = chance.randint(1, 12), signature(folder)
    while changes > 0 and not process.is_over():
        now = signature(folder)
        changes -= now != last
        last = now
        time.sleep(0.0002)
    end = time.monotonic() + chance.choice([0, 0, chance.uniform(0, 0.002), chance.uniform(0, 0.05)])
    while time.monotonic() < end:
        pass  # A sleep would take longer than the moment.


# --- Rounds ---


class Place:
    """A folder for each command, and their results, made once without a mishap."""

    def __init__(self, root, chance):
        self.root, self.chance = root, chance
        self.commands = [Run(), Bench(), Sweep()]
        self.seconds = {}
        self.small = os.path.join(root, "small")
        os.mkdir(self.small)
        self.has_small = "IN_NAMESPACE" in os.environ and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", self.small],
                                        stderr=subprocess.DEVNULL, check=False).returncode == 0
        for command in self.commands:
            folder = self.folder(command)
            os.mkdir(folder)
            start = time.monotonic()
            process = Process(command.arguments(folder, chance), folder)
            process.wait()
            expect(process.code in (0, 1, 3), f"{command.name}: {process.errors}")
            self.seconds[command.name] = time.monotonic() - start
            expect(command.results(folder) is not None, f"{command.name}: no results")
            if self.has_small:
                shutil.copytree(folder, self.folder(command, self.small))

    def close(self):
        if self.has_small:
            subprocess.run(["umount", self.small], check=True)

    def folder(self, command, parent=None):
        return os.path.join(parent or self.root, command.name.replace(" ", ""))

    def check(self, command, folder, before, mishap=None):
        results = command.results(folder)
        expect(results is not None, "the results are gone")
        after = contents(folder)
        if any(after.get(path) == digest for path, digest in before.items() if path.endswith(".json")):
            old = {path: digest for path, digest in before.items() if path in results}
            expect(all(after.get(path) == digest for path, digest in old.items()),
                   "the old results have other traces")
        others = set(after) - results
        if mishap == "SIGKILL":
            others = {path for path in others if not command.may_be_left(path)}
        if mishap == "SIGINT":  # It may end a command that has yet to look at what a killed one left.
            others = {path for path in others if path not in before}
        expect(not others, f"more is there: {sorted(others)}")

    def kill(self, command, folder, number):
        process = Process(command.arguments(folder, self.chance), folder)
        wait_for_a_moment(process, folder, self.chance, self.seconds[command.name])
        process.child.send_signal(number)
        process.wait()
        expect(process.code in (0, 1, 3, 128 + number), f"exit code {process.code}: {process.errors}")
        return process

    def fill(self, command, folder, parent):
        limit = None
        if parent == self.small:
            used = shutil.disk_usage(self.small).used
            size = used + int(self.chance.uniform(0, 300_000))
            subprocess.run(["mount", "-o", f"remount,size={size}", self.small], check=True)
        else:
            limit = int(10 ** self.chance.uniform(1.5, 5.5))
        process = Process(command.arguments(folder, self.chance), folder, limit)
        process.wait()
        if parent == self.small:
            subprocess.run(["mount", "-o", "remount,size=8m", self.small], check=True)
        expect(process.code in (0, 1, 2, 3), f"exit code {process.code}: {process.errors}")
        expect(process.code != 2 or process.errors, "it does not say what is wrong")
        return process

    def twice(self, command, folder):
        first = Process(command.arguments(folder, self.chance), folder)
        wait_for_a_moment(first, folder, self.chance, self.seconds[command.name])
        second = Process(command.arguments(folder, self.chance), folder)
        first.wait()
        second.wait()
        command.check_second(first, second)
        return first

    def round(self, number):
        command = self.chance.choices(self.commands, [5, 3, 1])[0]
        mishap = self.chance.choices(["SIGKILL", "SIGINT", "full disk", "second"], [4, 3, 2, 1])[0]
        parent = self.small if mishap == "full disk" and self.has_small and self.chance.random() < 0.6 else self.root
        folder = self.folder(command, parent)
        before = contents(folder)
        measured = command.measured(folder) if hasattr(command, "measured") else set()
        what = f"round {number}, {command.name}, {mishap}"
        try:
            if mishap == "full disk":
                process = self.fill(command, folder, parent)
            elif mishap == "second":
                process = self.twice(command, folder)
            else:
                process = self.kill(command, folder, getattr(signal, mishap))
            if hasattr(command, "check_output"):
                command.check_output(process)
            self.check(command, folder, before, mishap)
            expect(not measured or measured <= command.measured(folder), f"lost: {measured}")
        except (Wrong, ValueError, KeyError, OSError, EOFError) as error:
            print(f"FAILED: {what}: {error!r}", *sorted(contents(folder)), sep="\n    ", flush=True)
            return command.name, mishap, "failed"
        replaced = any(before.get(path) != digest for path, digest in contents(folder).items()
                       if path.endswith(".json"))
        return command.name, mishap, "replaced" if replaced else "as before"

    def check_that_all_is_tidied_up(self):
        """The next command removes what killed ones left."""
        for command in self.commands:
            folder = self.folder(command)
            process = Process(command.arguments(folder, self.chance), folder)
            process.wait()
            expect(process.code in (0, 1, 3), f"{command.name}: {process.errors}")
            self.check(command, folder, {})


def into_a_mount_namespace():
    """Starts this script again where it may mount a file system that nobody else sees; returns if it may not."""
    for options in (["--mount"], ["--mount", "--map-root-user"]):
        command = ["unshare", *options]
        if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.environ["IN_NAMESPACE"] = "1"
            os.execvp(command[0], [*command, sys.executable, *sys.argv])


def main():
    if shutil.which("unshare") and "IN_NAMESPACE" not in os.environ:
        into_a_mount_namespace()
    os.environ.pop("CHOKEPOINT_FAIL", None)
    counts, place = {}, None
    root = tempfile.mkdtemp()
    try:
        place = Place(root, random.Random(SEED))
        print("a full disk is", "a small tmpfs or" if place.has_small else "only", "a limit on files", flush=True)
        for number in range(1, ROUNDS + 1):
            outcome = place.round(number)
            counts[outcome] = counts.get(outcome, 0) + 1
        place.check_that_all_is_tidied_up()
    finally:
        if place is not None:
            place.close()
        shutil.rmtree(root)
    for outcome, count in sorted(counts.items()):
        print(f"{count:4}  {', '.join(outcome)}")
    failed = sum(count for outcome, count in counts.items() if outcome[2] == "failed")
    print(f"{ROUNDS} rounds from seed {SEED}: {failed} failed")
    return failed > 0


sys.exit(main())
