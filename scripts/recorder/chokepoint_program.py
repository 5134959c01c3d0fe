"""Where the wall time of the whole program goes: before its first step, in steps, in what comes between them now and then,
and after the last one.

A recording sees a few steps in a row. Evaluation every hundred steps, saving, a collection of garbage, and a compilation that
comes back are outside of them, so each step is timed from the first to the last, and a thread looks now and then at the stack
of the thread that trains. A step is long if it takes three times as long as most of the last 32, and what exceeds these is no
part of a usual step. The lines that were seen in it say what that is. Time in which the thread wanted a core and had none is
counted apart: it would make steps of a crowded machine long, and fall on lines at random.
"""
import collections
import gc
import os
import statistics
import sys
import sysconfig
import threading
import time
import types
import _thread

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
RECENT = 32            # steps, of which the median is the usual one
LONG = 3               # times that, and
LONG_LEAST_NS = 5e6    # so much more
PERIOD_S = 0.05        # between two looks at first; they get rarer, to PERIOD_MOST_S
PERIOD_MOST_S = 1.0
LOOKS = 2000           # about so many in all
SWITCH_S = 1e-4        # a thread that computes in Python gives way after that, just before a look
DEPTH_MOST = 200
LINES_MOST = 2000      # different stacks that are kept
PLACES_MOST = 8        # lines of each
RARER = (16, 2)        # times: a line of long steps that is so much rarer in usual ones, or else the next
PIECES = 16            # of the run, whose usual steps are compared
MEMORY_PERIOD_S = 1.0  # between two looks at memory, and MEMORY_REST times what one takes
MEMORY_REST = 200
MEMORY_LOOKS = 64      # that are kept, evenly spread


def age_s():
    """The age of this process in seconds: Linux says when it began, in ticks since it was booted (proc_pid_stat(5), field 22)."""
    try:
        with open("/proc/self/stat") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def memory_bytes():
    """The memory of this process and of those that it has started: what they share counts once (Pss, proc_pid_smaps(5)), as a
    worker's copy of the parent's objects grows while its resident memory stays as it is. None: the system does not say."""
    processes = getattr(sys.modules.get("multiprocessing.process"), "_children", ())
    try:
        return sum(proportional_bytes(pid) for pid in ["self", *filter(None, (each.pid for each in list(processes)))])
    except (OSError, ValueError, IndexError):
        return None


def proportional_bytes(pid):
    with open("/proc/%s/smaps_rollup" % pid) as file:
        return sum(1024 * int(line.split()[1]) for line in file if line.startswith("Pss:"))


def available_bytes():
    try:
        with open("/proc/meminfo") as file:
            return next(1024 * int(line.split()[1]) for line in file if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return 0


def short_path(path, known={}):
    """As PyTorch writes it: without the folder that it was imported from."""
    if path not in known:
        heads = [os.path.abspath(head) + os.sep for head in sys.path]
        known[path] = path[max((len(head) for head in heads if path.startswith(head)), default=0):]
    return known[path]


def cells():
    """The number of each cell that a notebook has run, by the name that IPython gave to its file."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    names = getattr(getattr(shell, "compile", None), "_filename_map", {})
    return {file: number for file, number in names.items() if isinstance(number, int)}


def own_roots():
    """The first folder, or the file, of each module that is the user's own, as PyTorch writes it."""
    owners, modules = Owners(), [each for each in list(sys.modules.values()) if isinstance(each, types.ModuleType)]
    files = {file for file in (vars(each).get("__file__") for each in modules) if isinstance(file, str)}
    paths = [os.path.splitext(short_path(file))[0] for file in files if owners.is_users(file)]
    return sorted({path.partition(os.sep)[0] for path in paths if not os.path.isabs(path)})


class Waits:
    """How long a thread of this process waited for a core: Linux says it in ns (sched-stats.rst)."""

    def __init__(self, native):
        self.native, self.file = native, None
        try:
            self.file = os.open("/proc/self/task/%d/schedstat" % native, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass

    def s(self):
        try:
            return int(os.pread(self.file, 64, 0).split()[1]) / 1e9 if self.file is not None else 0.0
        except (OSError, ValueError, IndexError):
            return 0.0

    def close(self):
        if self.file is not None:
            os.close(self.file)
            self.file = None


class Owners:
    """Whether a file is the user's own: neither of a package, nor of Python, nor of this recorder."""

    def __init__(self):
        paths = sysconfig.get_paths()
        self.others = (HERE, "<") + tuple(
            paths[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts"))
        self.known = {}

    def is_users(self, file):
        if file not in self.known:
            self.known[file] = file.startswith(("<ipython", "<stdin")) or "/ipykernel_" in file or not (
                file.startswith(self.others) or "-packages" + os.sep in file)
        return self.known[file]


class Program:
    def __init__(self, whole=True):
        self.began = time.perf_counter() - (age_s() if whole else 0)
        self.ident = threading.main_thread().ident  # of the thread that trains
        self.waits, self.last_wait_s, self.core_wait_s = Waits(os.getpid()), 0.0, 0.0
        self.owners = Owners()
        self.seen = {}            # in the step that is under way: seconds by places()
        self.lines = {name: {} for name in ("before", "steps", "long", "after")}
        self.first = self.last = None  # when the first step began, and the last one ended
        self.recent, self.usual = collections.deque(maxlen=RECENT), None
        self.steps = self.long_steps = 0
        self.steps_s = self.long_s = self.longest_s = self.recording_s = 0.0
        self.pieces = []          # [steps, their seconds without what is long], neighbours joined when they get many
        self.per_piece = 1
        self.collection = None    # when it began
        self.step_collected_s = self.long_collected_s = self.long_compiled_s = 0.0
        self.compilations, self.compiling_steps, self.long_compiles, self.compiling_s = 0, 0, 0, 0.0
        self.memory, self.memory_every, self.memory_at = [], 1, 0.0  # [steps, bytes]; of so many looks; when to look next
        self.paused = False       # the recorder records: neither its steps nor its lines count
        self.looking = None

    def start(self):
        """PyTorch is about to be imported: other programs are not watched."""
        if self.collected not in gc.callbacks:  # a program may look for PyTorch before it imports it
            gc.callbacks.append(self.collected)
        self.look_on()

    # --- Lines ---

    def look_on(self):
        """Begins to look at stacks. Not across a fork, which is to find as many threads as without us."""
        if self.looking is None and not self.paused:
            self.looking = _thread.allocate_lock(), _thread.allocate_lock()
            for lock in self.looking:
                lock.acquire()
            _thread.start_new_thread(self.look, self.looking)

    def look_away(self):
        looking, self.looking = self.looking, None  # at once: two threads may fork
        if looking is not None:
            looking[0].release()
            looking[1].acquire()

    def train_here(self):
        """This thread trains."""
        if self.ident != _thread.get_ident():
            self.ident = _thread.get_ident()
            self.waits.close()
            self.waits = Waits(threading.get_native_id())
            self.last_wait_s = self.waits.s()

    def look(self, stopped, ended):
        last, waited = time.perf_counter(), self.waits.s()
        try:
            while not stopped.acquire(timeout=min(PERIOD_MOST_S, max(PERIOD_S, (last - self.began) / LOOKS))):
                self.come_near()
                now = time.perf_counter()
                places = self.places(sys._current_frames().get(self.ident))
                wait, seen = self.waits.s(), self.seen
                if places in seen or len(seen) < LINES_MOST:
                    seen[places] = seen.get(places, 0) + max(0.0, now - last - max(0.0, wait - waited))
                last, waited = now, wait
                if now >= self.memory_at:
                    self.look_at_memory()
        finally:
            ended.release()

    def look_at_memory(self):
        begin, seen = time.thread_time(), memory_bytes() if self.first is not None else None
        rest = max(MEMORY_PERIOD_S, MEMORY_REST * (time.thread_time() - begin))
        self.memory_at = time.perf_counter() + rest * self.memory_every
        if seen is not None:
            self.memory.append([self.steps, seen])
        if len(self.memory) == MEMORY_LOOKS:
            self.memory, self.memory_every = self.memory[::2], 2 * self.memory_every

    @staticmethod
    def come_near():
        """This thread has waited for Python's lock until the other one gave it away, mostly in some operator: a look now
        would always find it there. So it looks a moment later, and has to wait for a tenth of a ms only."""
        interval = sys.getswitchinterval()
        sys.setswitchinterval(min(interval, SWITCH_S))
        short = sys.getswitchinterval()  # not quite what was set: Python keeps whole us
        time.sleep(time.perf_counter_ns() % 2500 * 1e-6)
        if sys.getswitchinterval() == short:
            sys.setswitchinterval(interval)

    def places(self, frame):
        """The user's lines, the innermost first, each with what it calls; else the innermost line that is not the recorder's."""
        innermost, call, found = None, None, []
        for _ in range(DEPTH_MOST):
            if frame is None or len(found) == PLACES_MOST:
                break
            code = frame.f_code
            if innermost is None and not code.co_filename.startswith(HERE):
                innermost = frame
            if self.owners.is_users(code.co_filename):
                found.append((code.co_filename, frame.f_lineno, code.co_name, call))
            frame, call = frame.f_back, code.co_name
        if not found and innermost is not None:
            found.append((innermost.f_code.co_filename, innermost.f_lineno, innermost.f_code.co_name, None))
        return tuple(found)

    def give(self, kind, share=1.0):
        """Counts what was seen as of a kind."""
        lines = self.lines[kind]
        for places, seconds in list(self.seen.items()):
            if places in lines or len(lines) < LINES_MOST:
                lines[places] = lines.get(places, 0) + share * seconds

    # --- Steps ---

    def begin(self):
        """The first step begins, or the next one after a recording."""
        now = time.perf_counter()
        if self.first is None:
            self.first = now
            self.give("before")
        if self.paused:
            self.recording_s += now - self.last
        self.last, self.seen, self.step_collected_s = now, {}, 0.0
        self.last_wait_s = self.waits.s()
        self.compilations = self.count_compilations()
        self.paused = False
        self.look_on()

    def pause(self):
        """A recording begins, or its next part."""
        if not self.paused:
            self.look_away()
            self.paused, self.last, self.seen = True, time.perf_counter(), {}

    def step(self):
        """A step ends, and the next one begins."""
        if self.last is None or self.paused:
            return self.begin()
        now, wait = time.perf_counter(), self.waits.s()
        waited = min(max(0.0, wait - self.last_wait_s), now - self.last)
        took, more = now - self.last - waited, 0.0
        compilations = self.compilations
        self.compilations = self.count_compilations()
        if self.compilations > compilations:
            self.compiling_steps += 1
            self.compiling_s += took
        self.core_wait_s += waited
        self.last_wait_s = wait
        if self.usual is not None and took > LONG * self.usual and took - self.usual > LONG_LEAST_NS / 1e9:
            more = took - self.usual
            self.long_steps += 1
            self.long_s += more
            self.longest_s = max(self.longest_s, took)
            collected = min(more, self.step_collected_s)
            self.long_collected_s += collected
            if self.compilations > compilations:
                self.long_compiled_s += more - collected
                self.long_compiles += 1
            self.give("long", more / took)
        self.give("steps", 1 - more / took if took > 0 else 1)
        self.steps += 1
        self.steps_s += took
        self.recent.append(took)
        if self.steps % 8 == 0 or self.usual is None and self.steps >= 4:
            self.usual = statistics.median(self.recent)
        self.note_piece(took - more)
        self.last, self.seen, self.step_collected_s = now, {}, 0.0

    def note_piece(self, took):
        if not self.pieces or self.pieces[-1][0] >= self.per_piece:
            if len(self.pieces) == 2 * PIECES:
                pairs = zip(self.pieces[::2], self.pieces[1::2])
                self.pieces = [[a[0] + b[0], a[1] + b[1]] for a, b in pairs]
                self.per_piece *= 2
            self.pieces.append([0, 0.0])
        self.pieces[-1][0] += 1
        self.pieces[-1][1] += took

    @staticmethod
    def count_compilations():
        """How many functions torch.compile has compiled."""
        utils = sys.modules.get("torch._dynamo.utils")
        try:
            return utils.counters["frames"]["total"]
        except (AttributeError, KeyError, TypeError):
            return 0

    def collected(self, phase, _about):
        if phase == "start":
            self.collection = time.perf_counter()
        elif self.collection is not None:
            took, self.collection = time.perf_counter() - self.collection, None
            if self.paused:
                return
            self.step_collected_s += took

    # --- The end ---

    def leave(self):
        self.look_away()
        self.waits.close()
        if self.collected in gc.callbacks:
            gc.callbacks.remove(self.collected)

    def note(self):
        """The part of record.json about the program, in seconds."""
        now = time.perf_counter()
        recording_s = self.recording_s + (now - self.last if self.paused else 0.0)
        in_steps = 0.0 if self.first is None else self.steps_s + recording_s + self.core_wait_s
        before = (self.first or now) - self.began
        lines = {name: dict(known) for name, known in self.lines.items()}
        last = "before" if self.first is None else "after"
        for places, seconds in list(self.seen.items()):
            lines[last][places] = lines[last].get(places, 0) + seconds
        usual = shares_of(lines["steps"])
        return {
            "wall_s": now - self.began, "before_s": before, "steps": self.steps, "steps_s": self.steps_s,
            "usual_s": self.usual or 0, "long_steps": self.long_steps, "long_s": self.long_s,
            "longest_s": self.longest_s, "recording_s": recording_s,
            "after_s": max(0.0, now - self.began - before - in_steps),
            "long_collected_s": self.long_collected_s, "long_compiled_s": self.long_compiled_s,
            "compiling_steps": self.compiling_steps, "long_compiles": self.long_compiles,
            "compiling_s": self.compiling_s, "core_wait_s": self.core_wait_s,
            "pieces_s": [seconds / steps for steps, seconds in self.pieces if steps],
            "memory_steps": [steps for steps, _ in self.memory], "memory_bytes": [each for _, each in self.memory],
            "available_bytes": available_bytes(),
            "lines": [line for name in lines for line in most_of(lines[name], name, usual)]}


def shares_of(lines):
    """The share of the time in which each line was on the stack."""
    all_s, shares = sum(lines.values()) or 1, {}
    for places, seconds in lines.items():
        for place in set(places):
            shares[place] = shares.get(place, 0) + seconds / all_s
    return shares


def most_of(lines, kind, usual, most=3):
    """The lines that were seen longest: of a stack the innermost. In long steps the innermost that is rarer in usual ones, as
    the model is in both, and only evaluation calls it from there. Without backward and optimizer the model alone takes a few
    times the share that it has in usual steps, so lines that are hardly in these come first."""
    shares, seen = shares_of(lines), {}
    for places, seconds in lines.items():
        if places:
            times = RARER if kind == "long" else (0,)
            rarer = (place for least in times for place in places if least * usual.get(place, 0) <= shares[place])
            place = next(rarer, places[0])
            seen[place] = seen.get(place, 0) + seconds
    found = sorted(seen.items(), key=lambda item: -item[1])[:most]
    numbers = cells()
    return [{"kind": kind, "s": seconds, "line": place[1] or 0, "function": place[2], "call": place[3] or "",
             "file": "cell %d" % numbers[place[0]] if place[0] in numbers else short_path(place[0])}
            for place, seconds in found]
