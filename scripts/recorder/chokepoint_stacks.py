"""Stacks of the thread that trains, where a record of every call would cost too much.

PyTorch's profiler can record each call of Python. That is exact, and took 2.3 KB and 40 us per call (PyTorch 2.15, two
cores of a Xeon), nearly all of it when the trace is written. So the calls of one step are counted first (CallCount), for
at most MOST_CALLS, and in steps with more of them a thread looks at the stack every ms (Sampler). Its samples become
calls of the same form in the trace: from half way between two looks to half way between the next two.
"""
import gzip
import inspect
import json
import os
import re
import sys
import threading
import time
import _thread

import chokepoint_program

MOST_CALLS = 10000     # per step
UNCOUNTED_S = 0.01     # a step, in which they may be as many
PERIOD = 0.001         # s between two looks
SWITCH = 1e-4          # s after which a thread that computes in Python gives way
RARER = 2000           # looks, after as many of which that gets longer by itself, as a step may take minutes
SAMPLED_S = 0.5        # of steps are wanted
STEPS_MOST = 40
DEPTH_MOST = 200
LINE = "<built-in function <line>>"  # the line itself, as a call without a name (harness/desk/analysis/names/frame_name.c)


class CallCount:
    """The calls of this thread, in Python and of functions in C, until there are MOST_CALLS; and what gives the loop its
    batches: iterators, generators mostly, that have given something and wait to be asked again when the optimizer steps."""

    def __init__(self):
        self.calls, self.given = 0, {}
        self.iterators = []  # "train.py: batches"
        # Not if the program profiles itself, or uses torch.compile, which would compile anew.
        self.is_counting = sys.getprofile() is None and chokepoint_program.Program.count_compilations() == 0
        if self.is_counting:
            sys.setprofile(self.see)

    def see(self, frame, event, argument):
        if event in ("call", "c_call"):
            self.calls += 1
            if self.calls >= MOST_CALLS:
                sys.setprofile(None)
        if event in ("call", "return"):
            code = frame.f_code
            if code.co_flags & inspect.CO_GENERATOR or code.co_name == "__next__":
                self.given[code] = event == "call" or argument is not None  # it has no more, and returns None

    def stepped(self):
        """An optimizer has stepped. A loop that is a generator itself is on the stack."""
        frame = sys._getframe()
        while frame is not None:
            self.given.pop(frame.f_code, None)
            frame = frame.f_back
        self.iterators = sorted({"%s: %s" % (chokepoint_program.short_path(code.co_filename), code.co_name)
                                 for code, waits in list(self.given.items()) if waits})

    def stop(self, step_s):
        """Whether they are too many to be recorded one by one; if they were not counted, whether a step is so long that
        looking now and then tells."""
        self.end()
        return self.calls >= MOST_CALLS if self.is_counting else step_s >= UNCOUNTED_S

    def end(self):
        if sys.getprofile() == self.see:
            sys.setprofile(None)


class Sampler:
    """Looks at the stack of the thread that makes it."""

    def __init__(self):
        self.thread, self.native = _thread.get_ident(), threading.get_native_id()
        self.samples = []  # (moment, frames from the outermost on: (code, line))
        self.stopped, self.ended = _thread.allocate_lock(), _thread.allocate_lock()
        self.stopped.acquire()
        self.ended.acquire()
        self.interval = sys.getswitchinterval()
        sys.setswitchinterval(min(self.interval, SWITCH))  # else a thread that computes in Python is seen every 5 ms
        _thread.start_new_thread(self.look, ())

    def look(self):
        try:
            while not self.stopped.acquire(timeout=PERIOD * (1 + len(self.samples) // RARER)):
                frame, stack = sys._current_frames().get(self.thread), []
                while frame is not None and len(stack) < DEPTH_MOST:
                    stack.append((frame.f_code, frame.f_lineno or frame.f_code.co_firstlineno))
                    frame = frame.f_back
                self.samples.append((time.time_ns(), stack[::-1]))
        finally:
            self.ended.release()

    def stop(self):
        self.stopped.release()
        self.ended.acquire()
        sys.setswitchinterval(self.interval)


def calls_of(samples):
    """The calls that were seen: (start, end, name, the line that called it), in ns. A call comes before those in it: some begin
    and end together, as all that were on the stack from the first look to the last."""
    calls, open_calls = [], []  # of the latter: [start, name, from]

    def close(left, at):
        while len(open_calls) > left:
            start, name, line = open_calls.pop()
            calls.append((start, at, name, line))

    for number, (at, stack) in enumerate(samples):
        border = at if number == 0 else (samples[number - 1][0] + at) // 2
        frames, line = [], ""
        for code, own_line in stack:
            file = chokepoint_program.short_path(code.co_filename)
            frames.append(("%s(%d): %s" % (file, code.co_firstlineno, code.co_name), line))
            line = "%s:%d" % (file, own_line)
        frames.append((LINE, line))
        same = 0
        while same < min(len(frames), len(open_calls)) and tuple(open_calls[same][1:]) == frames[same]:
            same += 1
        close(same, border)
        open_calls.extend([border, *frame] for frame in frames[same:])
    if samples:
        close(0, samples[-1][0])
    return sorted(calls[::-1], key=lambda call: call[0])


def name_cells(path):
    """A trace's lines in cells of a notebook get the numbers of these, in place of the names of their files."""
    cells = {json.dumps(chokepoint_program.short_path(file))[1:-1].encode(): number
             for file, number in chokepoint_program.cells().items()}
    if not cells:
        return
    with gzip.open(path) as file:
        text = file.read()
    names = re.compile(b"(%s)(?=[(:])" % b"|".join(map(re.escape, cells)))
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(names.sub(lambda found: b"cell %d" % cells[found.group(1)], text))


def add_to_trace(path, sampler):
    """Writes what was seen into a trace of PyTorch's profiler."""
    with gzip.open(path) as file:
        text = file.read()
    base = re.search(rb'"baseTimeNanoseconds"\s*:\s*(\d+)', text)
    base_ns = int(base.group(1)) if base else 0
    head, found, rest = text.partition(b'"traceEvents": [')
    events = [json.dumps({"ph": "X", "cat": "python_function", "name": name, "pid": os.getpid(), "tid": sampler.native,
                          "ts": (start - base_ns) / 1e3, "dur": (end - start) / 1e3, "args": {"CallFrom": line}})
              for start, end, name, line in calls_of(sampler.samples)]
    if found and events:
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.write(head + found + ",\n".join(events).encode() + b"," + rest)
