#!/usr/bin/env python3
"""kill -9 at random moments, of whatever is at work: nothing is lost, and nothing is left behind.

usage: test_killed.py PROGRAM [ROUNDS [SEED [VICTIM...]]]

Each victim is killed ROUNDS times, unless it mostly ends before it can be: the parent of a run, its child, a rank,
mpirun, a ladder, a ladder's child. (train --save has a test of its own, test_killed_saves.py; workers of the
loader are threads of the process that trains.) After a kill, within seconds:

    no process of the command runs, and no shared memory of its processes is left;
    what was whole before is whole: the result of an earlier run;
    a run whose child died says so.

After the next command of the kind that nothing disturbs, its temporary folder is empty, and in its results is nothing but
results.
"""
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.path.abspath(sys.argv[1])
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 1
WANTED = sys.argv[4:]
TRIES = 5  # per round: a command that ends before its kill is started again
PATIENCE = 300
MEMORY = "/dev/shm"
OURS = "chokepoint-ranks-"


class Wrong(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Wrong(text)


def processes(mark):
    """Numbers of those that have the mark in their environment, and the words of each."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if mark.encode() not in file.read():
                    continue
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                found[int(entry)] = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue
    return found


def is_alive(number):
    """A process whose first thread has ended holds its files until the others have."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
        return state not in "ZX" or len(os.listdir(f"/proc/{number}/task")) > 1
    except OSError:
        return False


def shared_memory():
    return set(os.listdir(MEMORY)) if os.path.isdir(MEMORY) else set()


def is_in_use(name):
    """Whether a process has it mapped: others on this machine may have shared memory too."""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit():
                with open(f"/proc/{entry}/maps", encoding="utf-8", errors="replace") as file:
                    if f"{MEMORY}/{name}" in file.read():
                        return True
        except OSError:
            continue
    return False


def left_memory(before):
    """What nobody uses, and is there for seconds; our own folder goes with the next run of ranks."""
    left = {name for name in shared_memory() - before if not name.startswith(OURS)}
    for _ in range(20):
        left = {name for name in left & shared_memory() if not is_in_use(name)}
        if left:
            time.sleep(0.2)
    return left


def unused_folders():
    """Our folders in shared memory that no process has locked."""
    unused = []
    for name in shared_memory():
        if name.startswith(OURS):
            try:
                folder = os.open(f"{MEMORY}/{name}", os.O_RDONLY)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                unused.append(name)
            except OSError:
                pass
            os.close(folder)
    return unused


class Command:
    """A command in a folder and with a temporary folder of its own."""

    def __init__(self, root, name, arguments):
        self.folder = os.path.join(root, name)
        self.temporary = os.path.join(root, f"{name}-tmp")
        os.mkdir(self.temporary)
        self.mark = f"CHOKEPOINT_TEST_KILLED={os.path.basename(root)}-{name}"
        self.arguments = [word.replace("FOLDER", self.folder) for word in arguments]
        self.has_ranks = "exposed_allreduce" in arguments

    def start(self):
        key, value = self.mark.split("=")
        return subprocess.Popen([PROGRAM, *self.arguments], env={**os.environ, key: value, "TMPDIR": self.temporary},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def finish(self, child):
        try:
            text = child.communicate(timeout=PATIENCE)[0]
        except subprocess.TimeoutExpired:
            child.kill()
            raise Wrong("it hangs") from None
        return child.returncode, text

    def undisturbed(self):
        begin, unused = time.monotonic(), unused_folders()
        code, text = self.finish(self.start())
        expect(code in (0, 1, 3), f"undisturbed it ends with {code}: {text}")
        expect(os.listdir(self.temporary) == [], f"left in TMPDIR: {os.listdir(self.temporary)}")
        left = [name for name in unused if os.path.exists(f"{MEMORY}/{name}")]
        expect(not self.has_ranks or not left, f"left in shared memory: {left}")
        self.seconds = time.monotonic() - begin
        return text

    def wait_until_gone(self, known):
        """`known`: numbers of processes, which lose their environment before their files when they end."""
        end = time.monotonic() + 20
        while (left := [*processes(self.mark), *filter(is_alive, known)]) and time.monotonic() < end:
            time.sleep(0.05)
        expect(not left, f"still running: {left}")


class Run(Command):
    """run, with a result of an earlier one. Of the processes those are killed that `chosen` takes."""

    def __init__(self, root, name, chosen, more=()):
        super().__init__(root, name, ["run", *(more or ["launch_overhead"]), "--device=cpu", "--quick", "--repetitions=1",
                                      "--out=FOLDER"])
        self.chosen = chosen

    def victims(self, child):
        return [number for number, words in processes(self.mark).items() if self.chosen(number == child.pid, words)]

    def check(self, code, text, killed_parent):
        with open(os.path.join(self.folder, "result.json"), encoding="utf-8") as file:
            scenarios = json.load(file)["chokepoint"]["scenarios"]
        expect(scenarios, "the result is empty")
        if not killed_parent:
            expect(code in (0, 1, 3), f"exit code {code}: {text}")
            expect(code == 0 or any(words in text for words in ("signal 9", "failed", "undecided", "not reproduced")),
                   f"no word on it: {text}")

    def check_tidy(self):
        expect(set(os.listdir(self.folder)) <= {"result.json", "traces", "traces-2"}, str(os.listdir(self.folder)))


class Ladder(Command):
    """train --ladder, which has no files but temporary ones."""

    def __init__(self, root, name, chosen):
        super().__init__(root, name, ["train", "--ladder", "--device=cpu", "--model=light", "--launch=eager",
                                      "--loss-every=1", "--time-budget=6"])
        self.chosen = chosen

    victims = Run.victims

    def check(self, code, text, killed_parent):
        expect(killed_parent or code in (0, 1, 3), f"exit code {code}: {text}")

    def check_tidy(self):
        pass


def is_exec(is_first, words):
    return not is_first and words[1:2] == ["exec"]


def commands(root):
    yield "parent", lambda: Run(root, "parent", lambda is_first, words: is_first)
    yield "child", lambda: Run(root, "child", is_exec)
    if shutil.which("mpirun") and os.path.exists(os.path.join(os.path.dirname(PROGRAM), "libchokepoint_mpi.so")):
        ranks = ["exposed_allreduce"]
        yield "rank", lambda: Run(root, "rank", is_exec, ranks)
        yield "launcher", lambda: Run(root, "launcher", lambda is_first, words: "mpirun" in words[0], ranks)
        yield "parent-of-ranks", lambda: Run(root, "parent-of-ranks", lambda is_first, words: is_first, ranks)
    yield "ladder", lambda: Ladder(root, "ladder", lambda is_first, words: is_first)
    yield "ladder-child", lambda: Ladder(root, "ladder-child", lambda is_first, words: not is_first)


def kill_once(command, chance):
    """Starts the command and kills one of its processes at a random moment. True: it was killed."""
    before = shared_memory()
    child, begin = command.start(), time.monotonic()
    end = begin + chance.uniform(0, command.seconds)
    while time.monotonic() < end and child.poll() is None:
        time.sleep(0.002)
    victims = []
    while not victims and child.poll() is None:
        victims = command.victims(child)
    number = chance.choice(victims) if victims else None
    known = list(processes(command.mark))
    if number is not None:
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            number = None
    code, text = command.finish(child)
    if number is None:  # It had ended: the next moment is drawn from the time that it took.
        command.seconds = time.monotonic() - begin
    command.wait_until_gone(known)
    command.check(code, text, number == child.pid)
    left = left_memory(before) if command.has_ranks else None
    expect(not left, f"shared memory is left: {left}")
    return number is not None


def main():
    chance, failed = random.Random(SEED), 0
    os.environ.pop("CHOKEPOINT_FAIL", None)
    root = tempfile.mkdtemp(prefix="chokepoint-killed-")
    try:
        for name, make in commands(root):
            if WANTED and name not in WANTED:
                continue
            killed = wrong = tries = 0
            command = make()
            try:
                command.undisturbed()
                while killed + wrong < ROUNDS and tries < TRIES * ROUNDS:
                    tries += 1
                    try:
                        killed += kill_once(command, chance)
                    except Wrong as error:
                        wrong += 1
                        print(f"FAILED: {name}, try {tries} from seed {SEED}: {error}", flush=True)
                expect(killed + wrong > 0, f"it always ended first, in {tries} tries")
                command.undisturbed()
                command.check_tidy()
            except Wrong as error:
                wrong += 1
                print(f"FAILED: {name}: {error}", flush=True)
            finally:
                print(f"{name}: {killed} kills, {wrong} failed", flush=True)
            failed += wrong
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return failed > 0


sys.exit(main())
