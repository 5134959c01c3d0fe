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
import _thread

RECENT = 32            # steps, of which the median is the usual one
LONG = 3               # times that, and
LONG_LEAST_NS = 5e6    # so much more
PERIOD_S = 0.05        # between two looks at first; they get rarer, to PERIOD_MOST_S
PERIOD_MOST_S = 1.0
LOOKS = 2000           # about so many in all
SWITCH_S = 1e-4        # a thread that computes in Python gives way after that, just before a look
DEPTH_MOST = 200
LINES_MOST = 2000      # different ones that are kept
PIECES = 16            # of the run, whose usual steps are compared


def age_s():
    """The age of this process in seconds: Linux says when it began, in ticks since it was booted (proc_pid_stat(5), field 22)."""
    try:
        with open("/proc/self/stat") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def short_path(path, known={}):
    """As PyTorch writes it: without the folder that it was imported from."""
    if path not in known:
        heads = [head.rstrip("/") + "/" for head in sys.path if head and path.startswith(head.rstrip("/") + "/")]
        known[path] = path[max(map(len, heads), default=0):]
    return known[path]


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
        self.others = tuple(paths[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")) + (
            os.path.dirname(os.path.abspath(__file__)) + os.sep, "<")
        self.known = {}

    def is_users(self, file):
        if file not in self.known:
            self.known[file] = file.startswith(("<ipython", "<stdin", "/tmp/ipykernel")) or not (
                file.startswith(self.others) or "-packages" + os.sep in file)
        return self.known[file]


class Program:
    def __init__(self, whole=True):
        self.began = time.perf_counter() - (age_s() if whole else 0)
        self.ident = threading.main_thread().ident  # of the thread that trains
        self.waits, self.last_wait_s, self.core_wait_s = Waits(os.getpid()), 0.0, 0.0
        self.owners = Owners()
        self.seen = {}            # in the step that is under way: seconds by place
        self.lines = {name: {} for name in ("before", "steps", "long", "after")}
        self.first = self.last = None  # when the first step began, and the last one ended
        self.recent, self.usual = collections.deque(maxlen=RECENT), None
        self.steps = self.long_steps = 0
        self.steps_s = self.long_s = self.longest_s = self.recording_s = 0.0
        self.pieces = []          # [steps, their seconds without what is long], neighbours joined when they get many
        self.per_piece = 1
        self.collection = None    # when it began
        self.step_collected_s = self.long_collected_s = 0.0
        self.compilations, self.compiling_steps, self.compiling_s = 0, 0, 0.0
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
                place = self.place(sys._current_frames().get(self.ident))
                wait, seen = self.waits.s(), self.seen
                if place in seen or len(seen) < LINES_MOST:
                    seen[place] = seen.get(place, 0) + max(0.0, now - last - max(0.0, wait - waited))
                last, waited = now, wait
        finally:
            ended.release()

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

    def place(self, frame):
        """The user's innermost line, and what it calls; else the innermost line of all."""
        innermost, call = frame, None
        for _ in range(DEPTH_MOST):
            if frame is None:
                break
            code = frame.f_code
            if self.owners.is_users(code.co_filename):
                return code.co_filename, frame.f_lineno, code.co_name, call
            frame, call = frame.f_back, code.co_name
        if innermost is None:
            return None
        return innermost.f_code.co_filename, innermost.f_lineno, innermost.f_code.co_name, None

    def give(self, kind, share=1.0):
        """Counts what was seen as of a kind."""
        lines = self.lines[kind]
        for place, seconds in list(self.seen.items()):
            if place in lines or len(lines) < LINES_MOST:
                lines[place] = lines.get(place, 0) + share * seconds

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
        self.core_wait_s += waited
        self.last_wait_s = wait
        if self.usual is not None and took > LONG * self.usual and took - self.usual > LONG_LEAST_NS / 1e9:
            more = took - self.usual
            self.long_steps += 1
            self.long_s += more
            self.longest_s = max(self.longest_s, took)
            self.long_collected_s += min(more, self.step_collected_s)
            self.give("long", more / took)
        self.give("steps", 1 - more / took if took > 0 else 1)
        self.steps += 1
        self.steps_s += took
        self.recent.append(took)
        if self.steps % 8 == 0 or self.usual is None and self.steps >= 4:
            self.usual = statistics.median(self.recent)
        self.note_piece(took - more)
        compilations = self.compilations
        self.compilations = self.count_compilations()
        if self.compilations > compilations:
            self.compiling_steps += 1
            self.compiling_s += took
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
        for place, seconds in list(self.seen.items()):
            lines[last][place] = lines[last].get(place, 0) + seconds
        return {
            "wall_s": now - self.began, "before_s": before, "steps": self.steps, "steps_s": self.steps_s,
            "usual_s": self.usual or 0, "long_steps": self.long_steps, "long_s": self.long_s,
            "longest_s": self.longest_s, "recording_s": recording_s,
            "after_s": max(0.0, now - self.began - before - in_steps),
            "long_collected_s": self.long_collected_s, "compiling_steps": self.compiling_steps,
            "compiling_s": self.compiling_s, "core_wait_s": self.core_wait_s,
            "pieces_s": [seconds / steps for steps, seconds in self.pieces if steps],
            "lines": [line for name in lines for line in most_of(lines[name], name)]}


def most_of(lines, kind, most=3):
    """The lines that were seen longest."""
    found = sorted((item for item in lines.items() if item[0] is not None), key=lambda item: -item[1])[:most]
    return [{"kind": kind, "s": seconds, "file": short_path(place[0]), "line": place[1] or 0, "function": place[2],
             "call": place[3] or ""} for place, seconds in found]
