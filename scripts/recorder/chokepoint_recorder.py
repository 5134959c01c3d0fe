"""Records a few steps of a PyTorch training that knows nothing of it.

`chokepoint record` brings this module into the program (sitecustomize.py); `chokepoint.recording()` uses it from a
notebook. It imports nothing of torch: it waits until the program does, and then wraps four functions: an optimizer's
step, a fetch of a DataLoader, a step of GradScaler, and the start of another profiler. With `by_forward` it is the call of
the model instead of the first three.

A step ends when the optimizer has stepped, and the next one begins where the loader is asked for its first batch after
that; if the step fetched nothing, right after the optimizer. So no annotation of PyTorch crosses the mark. With several
optimizers the one that steps least often ends a step, and of equals the last. A program without an optimizer is
inference: each fetch begins a step. With `by_forward` each call of the model begins one.

The parts of a recording: some steps are only timed; then `steps` are recorded plainly, whose times are little
disturbed; then `stack_steps` with stacks and shapes, which tell the lines; then a few are timed again. Each part
is a trace of PyTorch's profiler. A note per process says what was done and how it ended (`Recorder.write_note`).
"""
import atexit
import collections
import contextlib
import functools
import gc
import gzip
import importlib.machinery
import inspect
import json
import os
import resource
import statistics
import sys
import threading
import time
import types
import weakref

import chokepoint_program
import chokepoint_stacks

SCHEMA = 1
OWN_KEY = "chokepoint"  # the member of a trace that states untraced times (harness/desk/read/kineto)
OWN_FILES_KEY = "chokepointOwn"  # the member that lists the user's own modules (harness/desk/analysis/names/frame_name.h)
ITERATORS_KEY = "chokepointIterators"  # the member that lists what the loop iterates over (the same)
AFTER_STEPS = 8         # timed again once all is recorded
FETCHES_WITHOUT_OPTIMIZER = 30  # that many, and the program is inference
FETCHES_BEFORE_STEP = 300       # the same if it has made an optimizer, which has not stepped
COUNTED_LEAST = 64              # steps of optimizers, and eight of each, decide which one ends a step
UNENDED_MOST = 4                # times as many without an end, and it is decided anew


# How long a step took, how much of that within fetches of a DataLoader, and for how much of these the loop itself computed.
StepTime = collections.namedtuple("StepTime", ["ns", "loading_ns", "loading_cpu_ns"])


class Part:
    """Some steps under one profiler."""

    def __init__(self, name, folder, warmup, steps, **options):
        self.name, self.folder, self.warmup, self.steps, self.options = name, folder, warmup, steps, options
        self.is_sampled = False  # its stacks are looked at now and then


def harmless(method):
    """The program goes on, whatever goes wrong in the recorder. SystemExit is meant (--stop)."""
    @functools.wraps(method)
    def guarded_method(self, *arguments):
        try:
            method(self, *arguments)
        except Exception as error:
            self.fail(error)

    return guarded_method


class Recorder:
    """One per process. Its phase: "watching" (no step so far), "waiting" (steps are timed), "recording",
    "counting" (the calls of a step), "timing" (steps are timed again), and then "done", "ended early", "own profiler" or "failed"."""

    def __init__(self, folder, wait, steps, stack_steps, stop=False, by_forward=False):
        self.folder, self.wait, self.stop = os.path.abspath(folder), wait, stop
        self.by_forward = by_forward
        self.parts = [Part("plain", "", 2, steps)]
        if stack_steps > 0:
            self.parts.append(Part("stacks", "stacks", 1, stack_steps, with_stack=True, record_shapes=True))
        self.pid = os.getpid()
        self.phase, self.error = "watching", ""
        self.torch = None
        self.thread = None       # the one that trains; PyTorch's profiler records no other
        self.steps_elsewhere = 0  # of optimizers, in other threads
        self.behind_queue = False  # another thread fetches for it
        self.is_child = False    # forked
        self.part = 0            # the one that is recorded, or the next
        self.profiler, self.profiled = None, 0
        self.own_roots = []      # of the user's modules, as a trace names their files
        self.counting = self.sampler = None  # of the calls that a step makes; of its stacks
        self.starting = False    # our own profiler begins
        self.files = []
        self.writing = None      # the trace that is being written
        self.foreign = None      # the trace that the program itself has written
        self.inference = False
        self.optimizer_made = False
        self.depth = 0           # of steps within steps
        self.fetches = 0         # since the last mark
        self.fetches_at_all = 0
        self.calls = 0           # of the model
        self.pending = False     # a step has ended, and the next has not begun
        self.counts = {}         # of steps of late, by optimizer, in the order in which those stepped first
        self.last_counts = {}    # those before, which decided, and
        self.ender = None        # the optimizer that ends a step by them
        self.unended = 0         # steps of optimizers since one ended a step
        self.optimizer_steps = 0
        self.last_ns = None      # the last mark
        self.loading_ns = self.loading_cpu_ns = 0  # within fetches, since then
        self.workers = ()        # the loader's processes; empty: the loop loads
        self.before, self.after, self.recorded = [], [], {}  # StepTimes; those of the recording by part
        self.cores = {}          # whether the threads had one when they wanted it, in the steps before
        self.scheduled = None    # when those began
        self.program = None      # times the whole of it (chokepoint_program.py)
        self.finder = None       # waits for PyTorch's modules
        self.undo = []           # what gives the wrapped functions back
        self.steps_wrapped = []  # of optimizers

    def wraps(self):
        """The changes of modules right after they are imported."""
        return BY_FORWARD if self.by_forward else BY_OPTIMIZER

    # --- Where a step begins ---

    def is_ours(self, steps=False):
        """Whether this thread is the one that trains: the first that fetches, until an optimizer steps in another one. Then
        the first only fetched, for a queue that the training reads."""
        if os.getpid() != self.pid or self.phase in ("own profiler", "failed"):
            return False
        if self.phase == "done" and not self.inference and self.program is None:
            return False
        thread = threading.get_native_id()  # an ident comes again after its thread has ended
        if self.thread is None:
            self.thread = thread
        if self.thread == thread:
            return True
        if not steps:
            return False
        if self.optimizer_steps > 0 or self.profiler is not None:
            self.steps_elsewhere += 1
            return False
        self.start_over()
        self.thread, self.fetches, self.fetches_at_all, self.pending = thread, 0, 0, False
        self.behind_queue = True
        return True

    def ends_step(self, optimizer):
        """Whether a step ends with this optimizer: the one that steps least often of late, and of equals the last. Optimizers
        come and go: each fold of a cross-validation has its own."""
        key, enough = id(optimizer), max(COUNTED_LEAST, 8 * len(self.counts))
        if self.ender is not None and key not in self.last_counts or self.unended > UNENDED_MOST * enough:
            self.counts, self.ender = {}, None
        count = self.counts[key] = self.counts.get(key, 0) + 1
        if self.ender is not None:
            ends = key == self.ender
        elif count == 1 and len(self.counts) > 1 and max(self.counts.values()) == 1:
            ends = False  # more of them may come before the first one steps again
        else:
            ends = key == self.least_often()
        self.unended = 0 if ends else self.unended + 1
        if ends and sum(self.counts.values()) >= enough:
            self.ender, self.last_counts, self.counts = self.least_often(), self.counts, {}
        return ends

    def least_often(self):
        least = min(self.counts.values())
        return [key for key, count in self.counts.items() if count <= least + 1][-1]

    @harmless
    def stepped(self, optimizer):
        """An optimizer has stepped."""
        if not self.is_ours(steps=True):
            return
        if self.is_child and self.optimizer_steps == 0:
            end_with_process(self)
        self.optimizer_steps += 1
        if self.inference:
            self.start_over()
        if not self.ends_step(optimizer):
            return
        if self.phase == "counting":
            self.counting.stepped()
        if self.pending:  # this step fetched nothing: it began where the last one ended
            self.mark()
        self.pending = True
        if self.fetches == 0:
            self.mark()
        self.fetches = 0

    @harmless
    def fetching(self):
        """A DataLoader is about to be asked for a batch."""
        if not self.is_ours():
            return
        self.fetches_at_all += 1
        if self.optimizer_steps == 0:
            most = FETCHES_BEFORE_STEP if self.optimizer_made else FETCHES_WITHOUT_OPTIMIZER
            self.inference = self.inference or self.fetches_at_all > most
            self.pending = self.inference
        if self.pending:
            self.mark()
        self.fetches += 1

    @harmless
    def fetched(self, ns, cpu_ns=0, iterator=None):
        """A DataLoader has taken that long for a batch, and this thread has computed for so long."""
        if self.is_ours():
            self.loading_ns += ns
            self.loading_cpu_ns += cpu_ns
            self.workers = tuple(worker.pid for worker in getattr(iterator, "_workers", ()))

    @harmless
    def called(self):
        """The model is about to be called."""
        if self.is_ours():
            self.calls += 1
            self.mark()

    def start_over(self):
        """Starts over: the calls that were taken for inference were an evaluation before the training."""
        if self.profiler is not None:
            self.end_profiler()
        for file in self.files:
            os.unlink(os.path.join(self.folder, file["file"]))
        self.inference, self.phase, self.part, self.files = False, "watching", 0, []
        self.before, self.after, self.recorded, self.last_ns = [], [], {}, None

    def mark(self):
        """A step begins now."""
        if self.program is not None:
            self.time_program()
        if self.phase == "done" and not self.inference:
            self.pending = False
            return
        self.take_time(time.perf_counter_ns())
        self.pending = False
        if self.phase in ("watching", "waiting"):
            self.phase = "waiting"
            if self.scheduled is None and len(self.before) >= self.wait // 4:
                self.scheduled = Scheduled(self.workers)
            if len(self.before) >= self.wait:
                if self.part == 0 and self.scheduled is not None:
                    self.cores = self.scheduled.shares(self.workers, self.untraced())
                self.begin_part()
        elif self.phase == "recording":
            self.step_profiler()
        elif self.phase == "counting":
            self.choose_stacks()
            self.begin_part()
        elif len(self.after) >= AFTER_STEPS or self.stop:
            self.phase = "done"
            if not self.inference and (self.program is None or self.by_forward or self.is_compiled()):
                self.leave()  # after an inference a training may come
        self.last_ns, self.loading_ns, self.loading_cpu_ns = time.perf_counter_ns(), 0, 0
        if self.stop and self.phase == "done":
            raise SystemExit(0)

    def time_program(self):
        """Steps within a part of the recording are not those of the program."""
        if self.phase not in ("recording", "counting"):
            self.program.train_here()
            self.program.step()

    def is_compiled(self):
        """Whether torch.compile has compiled the step of an optimizer: it would break off at what we have put around it."""
        try:
            entries = sys.modules["torch"]._C._dynamo.eval_frame._debug_get_cache_entry_list
            return any(entries(step.__code__) for step in self.steps_wrapped)
        except Exception:
            return "torch._dynamo.eval_frame" in sys.modules

    def take_time(self, now):
        if self.last_ns is None or self.phase == "counting":
            return
        if self.phase == "recording":
            times = self.recorded.setdefault(self.parts[self.part].name, [])
        else:
            times = self.after if self.phase == "timing" else self.before
        times.append(StepTime(now - self.last_ns, self.loading_ns, self.loading_cpu_ns))

    # --- The profiler ---

    def begin_part(self):
        import torch
        import torch.profiler as profiler

        if torch.autograd._profiler_enabled():
            return self.give_way()
        if self.program is not None:
            self.program.pause()
        part = self.parts[self.part]
        self.own_roots = chokepoint_program.own_roots()
        gc.collect()  # else what the profiler keeps makes Python look through all objects within a step
        self.profiler = profiler.profile(
            schedule=profiler.schedule(wait=0, warmup=part.warmup, active=part.steps, repeat=1), **part.options)
        self.profiled = 0
        self.starting = True
        try:
            with quiet(sys.modules[profiler.profile.__module__]):
                self.profiler.start()
        finally:
            self.starting = False
        if part.is_sampled:
            self.sampler = chokepoint_stacks.Sampler()
        self.phase = "recording"
        self.torch = torch.__version__
        self.write_note()

    def step_profiler(self):
        part = self.parts[self.part]
        self.profiled += 1
        is_last = self.profiled == part.warmup + part.steps
        if is_last:  # the profiler stops by itself
            self.state_times(part)
        self.starting = True
        try:
            self.profiler.step()
        finally:
            self.starting = False
        if not is_last:
            return
        self.end_part()
        if self.part < len(self.parts):
            self.phase, self.counting = "counting", chokepoint_stacks.CallCount()
        else:
            self.phase = "timing"
            self.write_note()
            if self.program is not None:
                self.program.begin()

    def choose_stacks(self):
        """A step of many calls is sampled, for long enough to see what it does."""
        part = self.parts[self.part]
        step_s = statistics.median(microseconds(self.untraced()) or [1e6]) / 1e6
        if not self.counting.stop(step_s):
            return
        del part.options["with_stack"]
        part.is_sampled = True
        part.steps = max(part.steps, min(int(chokepoint_stacks.SAMPLED_S / step_s), chokepoint_stacks.STEPS_MOST))

    def end_part(self):
        """Writes the trace. The profiler's memory is freed here, and not by Python within a later step."""
        part, steps = self.parts[self.part], self.profiled - self.parts[self.part].warmup
        self.part += 1
        if steps < part.steps:
            self.state_times(part)
        sampler = self.sampler
        profiler = self.end_profiler()
        if steps > 0:
            name = self.new_file(part.folder)
            path = os.path.join(self.folder, name)
            profiler.export_chrome_trace(path)
            if steps < part.steps:
                forget_step(path, profiler.step_num)
            if sampler is not None:
                chokepoint_stacks.add_to_trace(path, sampler)
            chokepoint_stacks.name_cells(path)
            self.files.append({"file": name, "part": part.name, "steps": steps, "options": sorted(part.options)})
            self.writing = None
        del profiler
        gc.collect(1)

    def end_profiler(self):
        profiler, self.profiler = self.profiler, None
        if self.sampler is not None:
            self.sampler.stop()
            self.sampler = None
        profiler.stop()
        return profiler

    def untraced(self):
        """Steps before the recording; the first ones of them warm up."""
        return self.before[len(self.before) // 4:][-32:]

    def state_times(self, part):
        """Puts the user's modules, what the loop iterates over, the time of a step, and the share of loading in it, without and
        with the profiler into the trace, before it ends."""
        self.profiler.add_metadata_json(OWN_FILES_KEY, json.dumps(self.own_roots, ensure_ascii=False))
        if self.counting is not None:
            self.profiler.add_metadata_json(ITERATORS_KEY, json.dumps(self.counting.iterators, ensure_ascii=False))
        untraced, traced = self.untraced(), self.recorded.get(part.name, [])[part.warmup:]
        if len(untraced) < 2 or len(traced) == 0:
            return
        times = microseconds(untraced)
        step = statistics.median(times)
        self.profiler.add_metadata_json(OWN_KEY, json.dumps({
            "steps": 1, "windows": len(times), "step_time_us": step,
            "traced_step_time_us": statistics.median(microseconds(traced)),
            "loading_share": loading_share(untraced), "traced_loading_share": loading_share(traced),
            "mean_loading_share": mean_loading_share(untraced),
            "tracing_spread": (max(times) - min(times)) / step, **self.cores}))

    def new_file(self, folder):
        """A new file's name for this process, within the folder of the recording."""
        stem = "trace" if self.rank() is None else "rank%d" % self.rank()
        os.makedirs(os.path.join(self.folder, folder), exist_ok=True)
        for number in range(1000):
            middle = "" if number == 0 else ".%d" % self.pid if number == 1 else ".%d-%d" % (self.pid, number)
            name = os.path.join(folder, stem + middle + ".pt.trace.json.gz")
            self.writing = name
            self.write_note()  # first, so that a process that is killed leaves no trace without its name
            try:
                os.close(os.open(os.path.join(self.folder, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
                return name
            except FileExistsError:
                pass
        raise FileExistsError(name)

    @staticmethod
    def rank():
        distributed = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank()
        rank = os.environ.get("RANK", "")
        return int(rank) if rank.isdigit() else None

    # --- The end ---

    def give_way(self):
        """The program profiles itself, and two profilers disturb each other: its own one goes on."""
        self.phase = "own profiler"
        self.leave()
        self.write_note()

    @harmless
    def other_profiler(self):
        """A profiler that is not ours begins."""
        if self.starting or os.getpid() != self.pid or self.phase in ("done", "failed"):
            return
        if self.profiler is not None:
            self.end_part()
        self.give_way()

    def fail(self, error):
        self.phase, self.error = "failed", "%s: %s" % (type(error).__name__, error)
        if self.profiler is not None:
            try:
                self.end_profiler()
            except Exception:
                self.profiler = None
        self.leave()
        try:
            self.write_note()
        except OSError:  # a full disk, which may be the very error
            pass

    def ended(self):
        """The program ends, by itself, by an exception, or by Ctrl-C: what was recorded is written, however short."""
        if os.getpid() != self.pid or self.is_child and not (self.optimizer_steps or self.fetches_at_all or self.calls):
            return
        try:
            if self.profiler is not None:
                self.end_part()
            if self.program is not None:
                self.program.look_away()
            if self.phase == "timing":
                self.phase = "done"
            elif self.phase in ("waiting", "recording", "counting") or self.phase == "watching" and "torch" in sys.modules:
                self.phase = "ended early"
            self.write_note()
        except Exception as error:
            self.fail(error)

    def shortfall(self):
        """Why less was recorded than was asked for, as a sentence's end; "": all is there, or it is not over."""
        if self.phase == "failed":
            return "the recorder failed: " + self.error
        if self.phase == "own profiler":
            return ("the program profiles itself, and two profilers would disturb each other: its own trace is the one "
                    "to diagnose" + (", " + self.foreign if self.foreign else ""))
        if self.phase != "ended early":
            return ""
        if self.files:
            return "the program ended during the recording: %d of %d steps are there" % (
                self.files[0]["steps"], self.parts[0].steps)
        steps = self.optimizer_steps or self.fetches_at_all or self.calls
        if steps == 0:
            return "the program ended before " + (
                "a module with parameters was called, so no step is known" if self.by_forward else
                "an optimizer stepped or a DataLoader was asked for a batch, so no step is known; if each call of "
                "the model is one, --step=forward records it")
        if self.steps_elsewhere > steps:
            return ("the program's optimizers stepped %d times in one thread and %d times in others, and PyTorch's profiler "
                    "records one thread: let one of them do all steps" % (self.optimizer_steps, self.steps_elsewhere))
        return "the program ended after %d steps, before the recording started: --wait=%d starts it earlier" % (
            steps, 2 if len(self.before) > 6 else 1)

    def write_note(self):
        """Writes what this process did to notes/HOST.PID.json of the folder; `chokepoint record` puts the notes of all processes
        into record.json."""
        folder = os.path.join(self.folder, "notes")
        os.makedirs(folder, exist_ok=True)
        name = os.path.join(folder, "%s.%d.json" % (os.uname().nodename, self.pid))
        with open(name + ".new", "w") as file:
            json.dump(self.note(), file)
        os.replace(name + ".new", name)

    def note(self):
        torch = sys.modules.get("torch")
        return {"pid": self.pid, "recorder": int(os.environ.get("CHOKEPOINT_RECORD_PID", 0)), "rank": self.rank(),
                "argv": sys.argv, "python": sys.version.split()[0],
                "torch": getattr(torch, "__version__", None), "phase": self.phase, "why": self.shortfall() or None,
                "inference": self.inference, "steps": len(self.before), "wait": self.wait,
                "optimizer_steps": self.optimizer_steps, "optimizers": max(len(self.counts), len(self.last_counts)),
                "fetches": self.fetches_at_all, "calls": self.calls, "own_trace": self.foreign, "parts": self.files,
                "writing": self.writing, "program": self.program.note() if self.program is not None else None,
                "before_us": microseconds(self.untraced()),
                "recorded_us": {name: microseconds(times) for name, times in self.recorded.items()},
                "after_us": microseconds(self.after)}

    def leave(self):
        """Gives the program its functions back."""
        while self.undo:
            self.undo.pop()()
        self.steps_wrapped = []
        if self.counting is not None:
            self.counting.end()
        if self.program is not None:  # it would miss steps from now on
            self.program.leave()
            self.program = None

    # --- In a child ---

    def forking(self):
        if self.program is not None:
            self.program.look_away()

    def has_forked(self):
        if self.program is not None and "torch" in sys.modules:
            self.program.look_on()

    def forked(self):
        """A child that trains is recorded if its parent has not stepped. Others record nothing. Once a profiler has run, a
        forked child that ends by exit() hangs in what libkineto does at the end of a process; multiprocessing's children
        end by _exit(), so this child does, too, with its exit code, and with what C has printed."""
        profiled = self.torch is not None
        if self.program is not None:
            self.program.looking = None  # should another thread have begun to look: it is not in the child
            self.program.leave()
            self.program = None
        if not profiled and self.optimizer_steps == 0 and self.phase in ("watching", "waiting"):
            self.start_over()
            self.pid, self.is_child, self.thread = os.getpid(), True, None
            self.fetches = self.fetches_at_all = self.calls = self.depth = 0
            self.pending, self.scheduled = False, None
            return
        self.phase, self.profiler = "done", None
        self.leave()
        if not profiled:
            return
        try:
            import ctypes

            c = ctypes.CDLL(None)
            # Called in reverse order: fflush(NULL), then _exit(code).
            c.on_exit(c._exit, None)
            getattr(c, "__cxa_atexit")(c.fflush, None, None)
        except (ImportError, OSError, AttributeError):
            pass


@contextlib.contextmanager
def quiet(module):
    """PyTorch 2.11 warns at each start that a profiler keeps one cycle only, which the program is not to show. Filters of
    Python's warnings would make it show its own warnings twice."""
    said = getattr(module, "_warn_once", None)
    if said is not None:
        module._warn_once = lambda *_, **__: None
    try:
        yield
    finally:
        if said is not None:
            module._warn_once = said


class Scheduled:
    """How long each thread of this process and each worker of its loader had a core, and how long it waited for one, since it
    began: Linux says both in nanoseconds (Documentation/scheduler/sched-stats.rst)."""

    def __init__(self, workers=()):
        self.ns = time.perf_counter_ns()
        self.workers = {pid: of_core("/proc/%d/schedstat" % pid) for pid in workers}
        self.helpers = {name: times for pid in workers for name, times in of_tasks("/proc/%d/task" % pid)}
        self.switches = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
        self.thread = threading.get_native_id()
        self.threads = dict(of_tasks("/proc/self/task"))

    def of_loader(self, now, steps):
        """The work of its workers: they compute, or wait for a core, or for files, or rest. They do not rest while the loop waits
        for them, so what that leaves is the least that they wait for files. Or what the loop does in its fetches, in which it
        waits for a core as often as elsewhere."""
        workers = [(now.workers[pid], old) for pid, old in self.workers.items() if old and now.workers.get(pid)]
        if workers:
            ran, waited = (sum(new[i] - old[i] for new, old in workers) for i in (0, 1))
            wall, loop_waits = (now.ns - self.ns) * len(workers), mean_loading_share(steps)
        else:
            (wall, ran), loop_waits = (sum(step[i] for step in steps) for i in (1, 2)), 1
            loop, old = now.threads.get(self.thread, [0, 0]), self.threads.get(self.thread, [0, 0])
            waited = ran * (loop[1] - old[1]) / max(1, loop[0] - old[0])
        if wall <= 0 or ran <= 0:
            return {}
        busy = min(1.0, (ran + waited) / wall)
        return {"loader_reads_share": max(0.0, loop_waits - busy) / max(loop_waits, busy), "loader_computes_share": busy}

    def shares(self, workers, steps):
        """From then on until now; empty if the system does not say."""
        now = Scheduled(workers)
        loader = self.of_loader(now, steps)
        had, waited = (sum(since(now.threads, self.threads, i)) for i in (0, 1))
        if self.thread not in now.threads or had <= 0 or now.ns <= self.ns:
            return loader
        of_loop = now.threads[self.thread][1] - self.threads.get(self.thread, [0, 0])[1]
        wanted = had + waited + sum(sum(since(now.helpers, self.helpers, i)) for i in (0, 1))
        return {"core_wait_share": min(1.0, of_loop / (now.ns - self.ns)), "got_core_share": had / (had + waited),
                "involuntary_switches": (now.switches - self.switches) / max(1, len(steps)),
                "wanted_cores": wanted / (now.ns - self.ns), "cores": len(os.sched_getaffinity(0)), **loader}


def since(now, before, which):
    """The times since then, of threads that are still there."""
    return [times[which] - before.get(name, [0, 0])[which] for name, times in now.items()]


def of_tasks(folder):
    """The times of each thread of a process."""
    try:
        times = [(int(name), of_core("%s/%s/schedstat" % (folder, name))) for name in os.listdir(folder)]
    except OSError:
        return []
    return [(name, time) for name, time in times if time]


def of_core(path):
    """How long a thread had a core, and how long it waited for one; None: it is gone, or the system does not say."""
    try:
        with open(path) as file:
            return [int(word) for word in file.read().split()[:2]]
    except (OSError, ValueError):
        return None


def microseconds(times):
    return [each.ns / 1e3 for each in times]


def loading_share(times):
    """The median of the steps' shares: other programs that slow a step down slow its loading down, too."""
    return statistics.median(each.loading_ns / each.ns for each in times)


def mean_loading_share(times):
    return sum(each.loading_ns for each in times) / max(1, sum(each.ns for each in times))


def forget_step(path, number):
    """Takes the mark off a step that was not over: it would look short, or as long as what came after it."""
    with gzip.open(path) as file:
        text = file.read()
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(text.replace(b'"ProfilerStep#%d"' % number, b'"unfinished step"'))


# --- Functions of PyTorch that are wrapped ---

def without_dynamo(function):
    """torch.compile leaves this function alone."""
    try:
        from torch._compile import _disable_dynamo
    except ImportError:
        return function
    return _disable_dynamo(function)


def replace(recorder, owner, name, new):
    """Sets owner.name, until the recorder leaves."""
    old = owner.__dict__.get(name)  # else inherited
    setattr(owner, name, new)

    def give_back():
        if owner.__dict__.get(name) is not new:
            return
        if old is None:
            delattr(owner, name)
        else:
            setattr(owner, name, old)

    recorder.undo.append(give_back)


def subclasses(kind):
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def wrap_optimizer(recorder, module):
    """Wraps the step of each class of optimizers when the first one of the class is made; and those that are there, if
    the recording begins in the midst of a program."""
    optimizer_class = module.Optimizer
    hook = optimizer_class.profile_hook_step
    stepped = without_dynamo(lambda optimizer: recorder.stepped(optimizer))
    wrapped = {}  # what we have made of a step: that step

    def seen(function, optimizer=None):
        @functools.wraps(function)
        def step(*args, **kwargs):
            if recorder.profiler is not None:
                args, kwargs = with_marked_closure(args, kwargs)
            recorder.depth += 1
            try:
                result = function(*args, **kwargs)
            finally:
                recorder.depth -= 1
            if recorder.depth == 0:
                stepped(optimizer or args[0])
            return result

        wrapped[step] = function
        recorder.steps_wrapped.append(step)
        return step

    def profile_hook_step(function):
        recorder.optimizer_made = True
        return seen(hook(function))

    def give_steps_back():
        """Classes have our step, and schedulers of the learning rate keep it in their closures."""
        for kind in subclasses(optimizer_class):
            function = wrapped.get(kind.__dict__.get("step"))
            if function is not None:
                kind.step = function
                function.hooked = True
        if os.getpid() != recorder.pid:
            return  # a child ends soon, and looking at all of its objects takes time
        for holder in gc.get_referrers(*wrapped):
            if isinstance(holder, types.CellType):
                holder.cell_contents = wrapped[holder.cell_contents]

    recorder.undo.append(give_steps_back)
    replace(recorder, optimizer_class, "profile_hook_step", staticmethod(profile_hook_step))
    made = [kind for kind in subclasses(optimizer_class) if getattr(kind.__dict__.get("step"), "hooked", False)]
    for kind in made:
        recorder.optimizer_made = True
        kind.step = seen(kind.step)
    # Schedulers of the learning rate put a step of their own into an optimizer, which goes past that of its class.
    for each in gc.get_objects() if made else []:
        if issubclass(type(each), optimizer_class) and "step" in each.__dict__:
            replace(recorder, each, "step", seen(each.step, each))


def with_marked_closure(args, kwargs):
    """The arguments of an optimizer's step, where the call of a closure is an annotation: what is left of the step is the
    optimizer's own (harness/desk/analysis/timeline/phases.h)."""
    closure = kwargs["closure"] if "closure" in kwargs else args[1] if len(args) > 1 else None
    if not callable(closure):
        return args, kwargs
    from torch.autograd.profiler import record_function

    @functools.wraps(closure, updated=())
    def marked(*words, **named):
        with record_function("Optimizer.closure"):
            return closure(*words, **named)

    if "closure" in kwargs:
        return args, {**kwargs, "closure": marked}
    return (args[0], marked, *args[2:]), kwargs


def wrap_queue(recorder):
    """If another thread fetches, the training waits for a queue as if that were a loader."""
    import queue

    queue_get = queue.Queue.get

    @functools.wraps(queue_get)
    def get(self, *args, **kwargs):
        if not recorder.behind_queue or recorder.thread != threading.get_native_id():
            return queue_get(self, *args, **kwargs)
        recorder.fetching()
        begin = time.perf_counter_ns()
        try:
            if recorder.profiler is None:
                return queue_get(self, *args, **kwargs)
            with sys.modules["torch.autograd.profiler"].record_function("enumerate(DataLoader)#Queue.get"):
                return queue_get(self, *args, **kwargs)
        finally:
            recorder.fetched(time.perf_counter_ns() - begin)

    replace(recorder, queue.Queue, "get", get)


def end_with_process(recorder):
    """A child of multiprocessing ends without what atexit knows, but calls this."""
    from multiprocessing import util

    util.Finalize(None, recorder.ended, exitpriority=0)


def wrap_loader(recorder, module):
    iterator = module._BaseDataLoaderIter
    fetch = iterator.__next__

    @functools.wraps(fetch)
    def __next__(self):
        if recorder.phase == "done" and recorder.program is None:  # after inference a training may come
            return fetch(self)
        recorder.fetching()
        begin, cpu = time.perf_counter_ns(), time.thread_time_ns()
        try:
            return fetch(self)
        finally:
            recorder.fetched(time.perf_counter_ns() - begin, time.thread_time_ns() - cpu, self)

    replace(recorder, iterator, "__next__", __next__)
    wrap_queue(recorder)


def wrap_scaler(recorder, module):
    """A scaler that finds inf in the gradients skips the optimizer; that is a step all the same."""
    scaler = module.GradScaler
    if "step" not in scaler.__dict__:
        return  # inherits the one that is wrapped
    scaled = scaler.step

    @functools.wraps(scaled)
    def step(self, optimizer, *args, **kwargs):
        before = recorder.optimizer_steps
        result = scaled(self, optimizer, *args, **kwargs)
        if recorder.optimizer_steps == before:
            recorder.stepped(optimizer)
        return result

    replace(recorder, scaler, "step", step)


def wrap_forward(recorder, module):
    """The module with parameters that is called first is the model. From then on only its class is wrapped, so calls of
    others cost nothing."""
    base = module.Module
    call = base.__call__
    called = without_dynamo(lambda: recorder.called())

    def watch(_, model):
        if next(iter(model.parameters()), None) is None:
            return
        base.__call__ = call
        kind, model = type(model), weakref.ref(model)
        call_model = kind.__call__

        @functools.wraps(call_model)
        def __call__(self, *args, **kwargs):
            if self is model():
                called()
            return call_model(self, *args, **kwargs)

        replace(recorder, kind, "__call__", __call__)
        called()

    begin = without_dynamo(lambda model: guarded(recorder, watch, model))

    @functools.wraps(call)
    def first(self, *args, **kwargs):
        begin(self)
        return call(self, *args, **kwargs)

    replace(recorder, base, "__call__", first)


def mend_dynamo(recorder, module):
    """torch.compile keeps the call of a module, to see whether somebody has changed it."""
    module.unpatched_nn_module_call = inspect.unwrap(module.unpatched_nn_module_call)


def wrap_profiler(recorder, module):
    profile = module.profile
    prepare = profile._prepare_trace

    @functools.wraps(prepare)
    def _prepare_trace(self, *args, **kwargs):
        recorder.other_profiler()
        return prepare(self, *args, **kwargs)

    replace(recorder, profile, "_prepare_trace", _prepare_trace)


def wrap_own_profiler(recorder, module):
    """A profiler of the program marks steps of its own even while it waits, and the trace that it writes is the one to
    read."""
    profile, start = module.profile, module.profile.start
    kineto, export = module._KinetoProfile, module._KinetoProfile.export_chrome_trace

    @functools.wraps(start)
    def start_profile(self):
        recorder.other_profiler()
        return start(self)


    @functools.wraps(export)
    def export_chrome_trace(self, path, *args, **kwargs):
        if self is not recorder.profiler and recorder.phase == "own profiler":
            recorder.foreign = os.path.abspath(path)
        return export(self, path, *args, **kwargs)

    replace(recorder, profile, "start", start_profile)
    # It stays: the program writes its trace after the recorder has left.
    kineto.export_chrome_trace = export_chrome_trace


PROFILERS = {
    "torch.autograd.profiler": wrap_profiler,
    "torch.profiler.profiler": wrap_own_profiler,
}
BY_OPTIMIZER = {
    **PROFILERS,
    "torch.optim.optimizer": wrap_optimizer,
    "torch.utils.data.dataloader": wrap_loader,
    "torch.amp.grad_scaler": wrap_scaler,
    "torch.cuda.amp.grad_scaler": wrap_scaler,
}
BY_FORWARD = {
    **PROFILERS,
    "torch.nn.modules.module": wrap_forward,
    "torch._dynamo.utils": mend_dynamo,
}


class Finder:
    """Wraps functions of modules right after they are imported."""

    def __init__(self, recorder):
        self.recorder, self.left = recorder, dict(recorder.wraps())

    def find_spec(self, name, path=None, target=None):
        if name == "torch" and self.recorder.program is not None:
            guarded(self.recorder, lambda recorder, _: recorder.program.start(), None)
        wrap = self.left.pop(name, None)
        if wrap is None or self.recorder.phase != "watching":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            guarded(self.recorder, wrap, module)

        spec.loader.exec_module = exec_module
        return spec


def guarded(recorder, wrap, module):
    """A PyTorch that lacks what is wrapped must not fail for it."""
    try:
        wrap(recorder, module)
    except Exception as error:
        recorder.fail(error)


def start(recorder):
    """Waits for the program to import PyTorch, or wraps what it has imported already."""
    finder = Finder(recorder)
    for name, wrap in list(finder.left.items()):
        if name in sys.modules:
            del finder.left[name]
            guarded(recorder, wrap, sys.modules[name])
    sys.meta_path.insert(0, finder)
    recorder.finder = finder
    atexit.register(recorder.ended)
    os.register_at_fork(before=recorder.forking, after_in_parent=recorder.has_forked, after_in_child=recorder.forked)


def stop(recorder):
    """Undoes all wrapping and takes back all hooks, after ended()."""
    recorder.leave()
    if recorder.finder in sys.meta_path:
        sys.meta_path.remove(recorder.finder)
    atexit.unregister(recorder.ended)


def start_from_environment():
    def number(name):
        return int(os.environ["CHOKEPOINT_RECORD_" + name])

    recorder = Recorder(os.environ["CHOKEPOINT_RECORD"], number("WAIT"), number("STEPS"), number("STACK_STEPS"),
                        number("STOP") != 0, number("FORWARD") != 0)
    recorder.program = chokepoint_program.Program()
    start(recorder)
