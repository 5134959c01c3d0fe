"""Measures a fix in a PyTorch training that knows nothing of it: some steps with it, some without, in turns, in one run.

`chokepoint try` brings this module into the program (sitecustomize.py), and the two speak by files (docs/try.md). Steps
are found by the recorder. After some that warm up come rounds: in each, a pair of windows for every arm, one as the
program is and one with the arm switched on. An arm takes a cause away ("without"), so that the most is known that a fix
could gain, or is a fix that keeps what the program means. Fixes that no run can switch on and off are in force from the
start of a run of their own (`hold`).

All that is drawn depends on the seed and on numbers of steps alone, so the ranks of a run switch in the same steps. The
trial's own work at a step's begin lies between steps. Up to the first window the program does what it always does; then
its files go to a folder of their own (chokepoint_scratch.py), and after the last window it ends, as by sys.exit(0).
"""
import functools
import inspect
import json
import os
import random
import statistics
import sys
import threading
import time
import types

import chokepoint_program
import chokepoint_recorder
import chokepoint_scratch
import chokepoint_switches
from chokepoint_switches import Cannot, CONTROL, Control, ROWS, SETTLE, why_unknown

SCHEMA = 1
PLACES_MOST = 1000
SHORTEST = 2             # steps of a window, if time is short
LOADER = ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "worker_init_fn", "_dataset_kind")


class Trial(chokepoint_recorder.Recorder):
    def __init__(self, plan):
        super().__init__(os.path.dirname(plan["file"]), plan["wait_steps"], 0, 0)
        self.plan, self.ended_by, self.why = plan, "", ""
        self.scratch = chokepoint_scratch.Scratch(plan["scratch"], plan["file"])
        self.owners = chokepoint_program.Owners()
        self.random = random.Random(plan["seed"])
        self.places, self.loaders = {}, {}    # by id of an optimizer, and of what a loader draws from
        self.optimizers, self.models = [], []
        self.modules = {}                     # that a step calls, in order
        self.fetches_per_step, self.fetches_before = None, 0
        self.around_backward = None           # a context
        self.arms, self.apart, self.not_tried = [], [], []
        self.pair_counts = []
        self.windows, self.window = [], None
        self.coming = None                    # windows, drawn beforehand
        self.arm = None                       # the one that is on
        self.begin_ns, self.wall_ns, self.cpu_ns, self.losses = [], [], [], []
        self.step_losses = []
        self.last_cpu_ns = 0
        self.device = "cpu"

    @property
    def step(self):
        """The number of the step that is under way, or begins."""
        return len(self.wall_ns)

    def wraps(self):
        return {**{name: wrap for name, wrap in super().wraps().items() if name not in chokepoint_recorder.PROFILERS},
                "torch.utils.data.dataloader": wrap_loader, "torch.optim.optimizer": wrap_optimizer,
                "torch.autograd": wrap_backward, "torch.nn.parallel.distributed": wrap_ddp}

    # --- What the program has ---

    def ranks(self):
        distributed = sys.modules.get("torch.distributed")
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_world_size()
        return 1

    def need_gpu(self):
        if self.device == "cpu":
            raise Cannot("there is no GPU")

    def place_of_loader(self):
        return next((loader.place for loader in self.loaders.values() if loader.place), "")

    def settle_of_loaders(self):
        return SETTLE + max((loader.num_workers * (loader.prefetch_factor or 0) for loader in self.loaders.values()), default=0)

    def place(self):
        """The user's line that is under way."""
        frame = sys._getframe(1)
        while frame is not None:
            if self.owners.is_users(frame.f_code.co_filename):
                return "%s:%d" % (frame.f_code.co_filename, frame.f_lineno)
            frame = frame.f_back
        return ""

    def note_place(self, thing):
        if len(self.places) < PLACES_MOST:
            self.places[id(thing)] = self.place()

    # --- Steps ---

    def stepped(self, optimizer):
        if self.step <= self.wait and all(each is not optimizer for each in self.optimizers):
            self.optimizers.append(optimizer)
        super().stepped(optimizer)

    def mark(self):
        """A step begins now. If the trial fails, the program ends: it would be no result."""
        if self.phase == "done":
            return
        try:
            self.begin_step()
        except Exception as error:
            self.fail(error)
            raise SystemExit(1) from error

    def begin_step(self):
        self.end_step()
        self.pending = False
        if self.phase == "watching":
            self.phase = "waiting"
        if self.step == self.wait - 1:
            self.watch_calls()
        if self.step == self.wait:
            self.begin_windows()
        over = self.is_over()
        if not over and self.step >= self.wait:
            over = self.advance()
        if over:
            self.finish(over)
        if self.arm is not None:
            self.arm.begin_step()
        self.step_losses = []
        self.fetches_before = self.fetches_at_all
        self.last_ns, self.last_cpu_ns = time.perf_counter_ns(), time.thread_time_ns()

    def end_step(self):
        if self.last_ns is None:
            return
        if self.window is not None and self.step == self.window["last"]:
            self.synchronize()  # what the window has given the device to do is part of it
        self.begin_ns.append(self.last_ns)
        self.wall_ns.append(time.perf_counter_ns() - self.last_ns)
        self.cpu_ns.append(time.thread_time_ns() - self.last_cpu_ns)
        self.losses.append(self.step_losses)
        if self.step <= self.wait:
            fetches = self.fetches_at_all - self.fetches_before
            self.fetches_per_step = fetches if self.fetches_per_step in (None, fetches) else 0

    def is_over(self):
        plan = self.plan
        if self.step >= plan["most_steps"]:
            return "steps"
        if self.ranks() == 1 and self.begin_ns and time.perf_counter_ns() - self.begin_ns[0] > 1e9 * plan["most_seconds"]:
            return "seconds"
        return ""

    def synchronize(self):
        if self.device != "cpu":
            self.real_synchronize()

    def watch_calls(self):
        """Sees which modules the last step before the windows calls."""
        torch = sys.modules["torch"]
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            self.device, self.real_synchronize = torch.cuda.get_device_name(), torch.cuda.synchronize
        if chokepoint_program.Program.count_compilations() > 0 or not self.optimizers:
            return

        def called(module, _):
            self.modules.setdefault(id(module), module)

        self.watching = torch.nn.modules.module.register_module_forward_pre_hook(called)

    def find_models(self):
        """The outermost modules that were called, of those that have parameters of an optimizer."""
        if not hasattr(self, "watching"):
            return
        self.watching.remove()
        trained = {id(parameter) for each in self.optimizers for group in each.param_groups for parameter in group["params"]}
        inner = set()
        for module in self.modules.values():
            if id(module) in inner:
                continue
            inner.update(id(each) for each in module.modules() if each is not module)
            if any(id(parameter) in trained for parameter in module.parameters()):
                self.models.append(module)
        self.models = [each for each in self.models if id(each) not in inner]
        self.modules = {}

    # --- Windows ---

    def begin_windows(self):
        self.find_models()
        if self.plan["patch"]:
            import chokepoint_patch

            chokepoint_patch.write(self)
            self.finish("patch")
        self.scratch.begin()
        os.environ["CHOKEPOINT_TRIAL_BEGUN"] = "1"  # Python that it starts from now on has no windows of its own
        if self.plan["hold"] is not None:
            return self.hold_arm()
        causes = self.plan["causes"]
        self.arms = [Control(self, CONTROL)]
        for its in ROWS:
            if its.name in causes or set(its.causes) & set(causes):
                self.make_arm(its)
        self.not_tried += [{"cause": each, "kind": "", "name": each, "why": why_unknown(each)} for each in causes if not any(
            each == its.name or each in its.causes for its in ROWS)]
        self.pair_counts = [0] * len(self.arms)
        self.window_steps = self.fitting()
        self.coming = self.draw()

    def make_arm(self, its):
        # The cause of the plan that it is for.
        cause = next((each for each in self.plan["causes"] if each in its.causes), its.causes[0])
        its = its._replace(causes=[cause])
        try:
            (self.apart if its.kind == "apart" else self.arms).append(its.make(self, its, *its.arguments))
        except Exception as error:
            why = str(error) if isinstance(error, Cannot) else "%s: %s" % (type(error).__name__, error)
            self.not_tried.append({"cause": cause, "kind": "fix" if its.kind == "apart" else its.kind, "name": its.name,
                                   "why": why})

    def hold_arm(self):
        """In a whole run: what can be switched is switched on once."""
        its = next((each for each in ROWS if each.name == self.plan["hold"] and each.kind != "apart"), None)
        if its is not None:
            self.switch(its.make(self, its, *its.arguments))

    def decided(self):
        if self.ranks() > 1:
            return []  # they might look before and after it is written
        try:
            with open(self.plan["decided"]) as file:
                return json.load(file)
        except (OSError, ValueError, KeyError):
            return []

    def fitting(self):
        """The least and the most steps of a window: fewer than planned if steps are so long that time would end before each
        arm has pairs enough."""
        plan = self.plan
        least, most = plan["window_steps"]
        if self.ranks() > 1:  # time does not end their trial, and all of them need the same windows
            return least, most
        left_ns = 1e9 * plan["most_seconds"] - (time.perf_counter_ns() - self.begin_ns[0])
        fit = int(left_ns / statistics.median(self.wall_ns) / plan["first_look"] / 2 / len(self.arms))
        mean = fit - max(arm.settle for arm in self.arms)
        if 2 * mean >= least + most:
            return least, most
        return min(least, SHORTEST), min(most, max(SHORTEST + 1, 2 * mean - SHORTEST))

    def draw(self):
        """Windows in the order of time: (arm's number, pair, switched, steps). At the end of each round None."""
        least, most = self.window_steps
        for pair in range(self.plan["pairs"]):
            done = self.decided()
            order = [number for number in range(len(self.arms)) if number == 0 or number not in done]
            if len(order) == 1:
                return
            self.random.shuffle(order)
            for number in order:
                first = self.random.random() < 0.5
                for switched in (first, not first):
                    yield number, self.pair_counts[number], switched, self.random.randint(least, most)
                self.pair_counts[number] += 1
            yield None

    def advance(self):
        """Ends a window and begins the next; returns why the trial is over."""
        if self.plan["hold"] is not None or self.window is not None and self.step < self.window["first"]:
            return ""
        if self.window is not None and self.step == self.window["first"]:
            self.synchronize()
        if self.window is not None and self.step <= self.window["last"]:
            return ""
        if self.window is not None:
            self.windows.append(self.window)
        self.switch(None)  # the note is to have true values
        coming = next(self.coming, "over")
        while coming is None:
            self.write_note()
            coming = next(self.coming, "over")
        if coming == "over":
            self.window = None
            return "pairs" if all(count >= self.plan["pairs"] for count in self.pair_counts) else "decided"
        number, pair, switched, steps = coming
        arm = self.arms[number]
        if switched:
            self.switch(arm)
        first = self.step + arm.settle
        self.window = {"arm": number, "pair": pair, "switched": switched, "first": first, "last": first + steps - 1}
        return ""

    def switch(self, arm):
        if self.arm is not None:
            self.arm.off()
        self.arm = None
        if arm is not None:
            arm.on()
        self.arm = arm

    # --- The end ---

    def finish(self, ended):
        self.ended_by, self.phase = ended, "done"
        self.switch(None)
        self.write_note()
        raise SystemExit(0)

    def fail(self, error):
        if not self.ended_by:
            self.ended_by, self.why = "failed", "%s: %s" % (type(error).__name__, error)
        super().fail(error)

    def leave(self):
        self.switch(None)
        super().leave()

    def ended(self):
        if os.getpid() != self.pid or self.is_child and self.optimizer_steps == 0:
            return
        try:
            self.switch(None)
            if not self.ended_by:
                kind = getattr(sys, "last_type", None)
                self.ended_by = "interrupted" if kind is KeyboardInterrupt else "program"
                if kind is not None and kind is not KeyboardInterrupt:
                    self.why = "the program ended by %s: %s" % (kind.__name__, getattr(sys, "last_value", ""))
            parent = getattr(sys.modules.get("multiprocessing.process"), "parent_process", lambda: None)()
            if self.step > 0 or parent is None and not os.path.exists(self.file()):  # a loader's worker has no say
                self.write_note()
        except Exception as error:
            self.fail(error)

    def start_over(self):
        """The steps so far were an evaluation before the training."""
        if self.windows or self.window is not None:
            self.fail(Cannot("the program evaluates before it trains, and the trial began there"))
            raise SystemExit(1)
        super().start_over()
        self.begin_ns, self.wall_ns, self.cpu_ns, self.losses = [], [], [], []

    def other_profiler(self):
        pass

    def file(self):
        rank = self.rank() or 0
        stem, end = os.path.splitext(self.plan["file"])
        return self.plan["file"] if rank == 0 else "%s.rank%d%s" % (stem, rank, end)

    def write_note(self):
        path = self.file()
        with open(path + ".new", "w") as file:
            json.dump(self.note(), file)
        os.replace(path + ".new", path)

    def note(self):
        torch = sys.modules.get("torch")
        self.losses = [each if not isinstance(each, list) else number_of(each) for each in self.losses]
        return {"schema": SCHEMA, "ended": self.ended_by, "why": self.why, "rank": self.rank(), "ranks": self.ranks(),
                "torch": getattr(torch, "__version__", None), "device": self.device,
                "arms": [arm.note() for arm in self.arms], "apart": [arm.note() for arm in self.apart],
                "not_tried": self.not_tried, "windows": self.windows,
                "redirected": list(self.scratch.redirected), "blocked": list(self.scratch.blocked),
                "steps": {"begin_ns": self.begin_ns, "wall_ns": self.wall_ns, "cpu_ns": self.cpu_ns, "loss": self.losses}}


def number_of(losses):
    """The mean of a step's losses, which are tensors; None if there is none."""
    numbers = [float(each) for each in losses]
    mean = sum(numbers) / len(numbers) if numbers else None
    return mean if mean is None or abs(mean) < float("inf") else None  # JSON knows no NaN


# --- Functions of PyTorch that are wrapped, besides the recorder's ---

def with_arguments(trial, kind, after, changes=None):
    """Wraps a constructor: other arguments, and then a look at what was made."""
    init = kind.__init__
    signature = inspect.signature(init)

    @functools.wraps(init)
    def __init__(self, *args, **kwargs):
        bound = signature.bind(self, *args, **kwargs)
        if changes is not None:
            bound.arguments.update(changes(bound.arguments))
        init(*bound.args, **bound.kwargs)
        if after is not None:
            chokepoint_recorder.guarded(trial, lambda _, made: after(made), self)

    chokepoint_recorder.replace(trial, kind, "__init__", __init__)


def held(trial, names):
    return next((dict(its.arguments[1]) for its in ROWS if its.name in names and its.name == trial.plan["hold"]), {})


def wrap_loader(trial, module):
    chokepoint_recorder.wrap_loader(trial, module)
    new = held(trial, chokepoint_switches.LOADER_FIXES)

    def changes(arguments):
        workers = arguments.get("num_workers", 0)
        return new if workers or "pin_memory" in new else {}

    def after(loader):
        # The loader itself may be gone while its iterator is at work.
        if len(trial.loaders) < PLACES_MOST:
            trial.loaders[id(loader._index_sampler)] = types.SimpleNamespace(
                place=trial.place(), kind=type(loader), **{name: getattr(loader, name) for name in LOADER})

    with_arguments(trial, module.DataLoader, after, changes)


def wrap_optimizer(trial, module):
    chokepoint_recorder.wrap_optimizer(trial, module)

    def after(optimizer):
        trial.note_place(optimizer)
        if trial.plan["hold"] == "channels_last":
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.dim() == 4:
                        parameter.data = parameter.data.contiguous(memory_format=sys.modules["torch"].channels_last)

    with_arguments(trial, module.Optimizer, after)


def wrap_backward(trial, module):
    """Notes the losses, which are read when the trial writes its file."""
    backward = module.backward

    def note(tensors):
        if trial.last_ns is not None and trial.thread == threading.get_native_id():
            tensors = (tensors,) if hasattr(tensors, "numel") else tensors
            trial.step_losses.extend(each.detach() for each in tensors if each.numel() == 1)

    note = chokepoint_recorder.without_dynamo(note)

    @functools.wraps(backward)
    def noted(tensors, *args, **kwargs):
        if trial.phase != "waiting":
            return backward(tensors, *args, **kwargs)
        note(tensors)
        if trial.around_backward is None:
            return backward(tensors, *args, **kwargs)
        with trial.around_backward():
            return backward(tensors, *args, **kwargs)

    chokepoint_recorder.replace(trial, module, "backward", noted)


def wrap_ddp(trial, module):
    new = held(trial, chokepoint_switches.DDP_FIXES)
    if new:
        with_arguments(trial, module.DistributedDataParallel, None, lambda _: new)


def start_from_environment():
    with open(os.environ["CHOKEPOINT_TRIAL"]) as file:
        plan = json.load(file)
    if os.environ.get("CHOKEPOINT_TRIAL_BEGUN"):
        return chokepoint_scratch.Scratch(plan["scratch"], plan["file"]).begin()
    if plan["hold"] == "expandable_segments":
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    return chokepoint_recorder.start(Trial(plan))
