"""All that a trial can switch on and off in a PyTorch training: a table of rows (ROWS), and how each is done.

A row is a switch that takes a cause away ("without"), a fix that keeps what the program means, or a fix that only a whole run
can have ("apart"). Its arm is made after the steps that warm up, and says then why it cannot be (Cannot). docs/try.md has
the table, as this file prints it.
"""
import collections
import copy
import functools
import gc
import inspect
import os
import sys

import chokepoint_program

SETTLE = 2              # steps after each switch
SLOW_SETTLE = 4         # what is compiled or tuned in them
ANSWERS_MOST = 1000     # in one step to one line: a loop that waits for a value gets the true one from then on
COLLECTED_EVERY = 100   # steps
WORKERS_MOST = 4
BUCKET_MB = 100


class Cannot(Exception):
    """Why something is not tried."""


# --- Arms ---

class Arm:
    settle = SETTLE

    def __init__(self, trial, row):
        self.trial, self.row, self.uses, self.place, self.values = trial, row, 0, "", {}
        self.is_on = False
        self.prepare()

    def prepare(self):
        """Raises Cannot."""

    def on(self):
        pass

    def off(self):
        pass

    def begin_step(self):
        """A step begins, while it is on."""
        self.uses += 1

    def note(self):
        return {"name": self.row.name, "cause": self.row.causes[0], "kind": self.row.kind, "keeps": self.row.keeps,
                "text": self.row.text.format(**self.values), "advice": self.row.advice.format(**self.values),
                "place": chokepoint_program.short_path(self.place), "uses": self.uses}


class Control(Arm):
    def begin_step(self):
        """Nothing acts."""


class Patched(Arm):
    """While it is on, some functions are others: `new(real)` makes one of each."""
    names = ()

    def targets(self):
        """The functions of `names`, wherever a module has imported them."""
        for name in self.names:
            holder, _, last = name.rpartition(".")
            owner = named(holder)
            if owner is None or not hasattr(owner, last):
                continue
            yield owner, last
            if not inspect.isclass(owner):
                real = getattr(owner, last)
                for module in list(sys.modules.values()):
                    for key, value in list(getattr(module, "__dict__", {}).items()):
                        if value is real and (module, key) != (owner, last):
                            yield module, key

    def begin_step(self):
        """Its functions count."""

    def prepare(self):
        self.undo, self.made = [], {}
        self.found = list(self.targets())
        if not self.found:
            raise Cannot("the program has imported none of " + ", ".join(self.names))

    def on(self):
        for owner, name in self.found:
            real = getattr(owner, name)
            if id(real) not in self.made:
                self.made[id(real)] = real, functools.wraps(real)(self.new(real))
            self.undo.append((owner, name, name in vars(owner), real))
            setattr(owner, name, self.made[id(real)][1])

    def off(self):
        while self.undo:
            owner, name, is_own, real = self.undo.pop()
            if is_own:
                setattr(owner, name, real)
            else:
                delattr(owner, name)


def named(dotted):
    """The module or class of this name, if its module has been imported."""
    head, rest = dotted, []
    while head not in sys.modules:
        head, dot, last = head.rpartition(".")
        if not dot:
            return None
        rest.insert(0, last)
    return functools.reduce(lambda owner, name: getattr(owner, name, None), rest, sys.modules[head])


class Silent(Patched):
    def __init__(self, trial, row, *names):
        self.names = names
        super().__init__(trial, row)

    def new(self, real):
        def silent(*_, **__):
            self.uses += 1

        return silent


class Saving(Silent):
    def on(self):
        self.trial.scratch.saves = False
        super().on()

    def off(self):
        super().off()
        self.trial.scratch.saves = True


class Kept:
    """A batch that is given again and again; what the program has changed in place is put right before."""

    def __init__(self, batch, device=None):
        from torch.utils import _pytree

        self.torch, self.unflatten = sys.modules["torch"], _pytree.tree_unflatten
        leaves, self.spec = _pytree.tree_flatten(batch)
        if device is not None:
            leaves = [leaf.to(device) if hasattr(leaf, "to") else leaf for leaf in leaves]
        self.leaves = [self.copied(leaf) for leaf in leaves]
        self.given = [self.fresh(leaf) for leaf in self.leaves]

    def copied(self, leaf):
        if not isinstance(leaf, self.torch.Tensor):
            return copy.copy(leaf)
        return leaf.clone().pin_memory() if leaf.is_cpu and leaf.is_pinned() else leaf.clone()

    def fresh(self, leaf):
        new = self.copied(leaf)
        return new, getattr(new, "_version", 0)

    def give(self):
        for place, (leaf, version) in enumerate(self.given):
            if not isinstance(leaf, self.torch.Tensor) or leaf._version != version:
                self.given[place] = self.fresh(self.leaves[place])
        return self.unflatten([leaf for leaf, _ in self.given], self.spec)


class Batches(Patched):
    """The samplers are asked all the same, so epochs keep their lengths."""
    names = ("torch.utils.data.dataloader._SingleProcessDataLoaderIter._next_data",
             "torch.utils.data.dataloader._MultiProcessingDataLoaderIter._next_data")
    device = None

    def prepare(self):
        super().prepare()
        self.settle = self.trial.settle_of_loaders()
        self.place = self.trial.place_of_loader()
        self.kept = {}

    def new(self, real):
        def _next_data(iterator):
            sampler = iterator._index_sampler
            if id(sampler) not in self.kept:
                batch = real(iterator)
                self.kept[id(sampler)] = sampler, Kept(batch, self.device)
                return batch
            try:
                next(iterator._sampler_iter)
            except StopIteration:
                return real(iterator)  # what workers have begun, or the end
            self.uses += 1
            return self.kept[id(sampler)][1].give()

        return _next_data


class DeviceBatches(Batches):
    def prepare(self):
        self.trial.need_gpu()
        self.device = sys.modules["torch"].device("cuda", sys.modules["torch"].cuda.current_device())
        super().prepare()


class Samples(Patched):
    """The data set is not asked; its samples are put together as ever."""
    names = ("torch.utils.data._utils.fetch._MapDatasetFetcher.fetch",)

    def prepare(self):
        super().prepare()
        if any(loader.num_workers for loader in self.trial.loaders.values()):
            raise Cannot("the samples are made in worker processes")
        self.place = self.trial.place_of_loader()
        self.kept = {}

    def new(self, real):
        def fetch(fetcher, index):
            known = self.kept.get((id(fetcher.dataset), len(index) if isinstance(index, list) else 0))
            if known is not None:
                self.uses += 1
                return fetcher.collate_fn(list(known[1]) if isinstance(known[1], list) else known[1])
            collate = fetcher.collate_fn

            def kept(samples):
                key = id(fetcher.dataset), len(index) if isinstance(index, list) else 0
                self.kept[key] = fetcher.dataset, list(samples) if isinstance(samples, list) else samples
                return collate(samples)

            fetcher.collate_fn = kept
            try:
                return real(fetcher, index)
            finally:
                fetcher.collate_fn = collate

        return fetch


class Reads(Patched):
    """Answers with the value that the same line read last, of a tensor of the same shape."""
    names = tuple("torch.Tensor." + name for name in (
        "item", "cpu", "tolist", "nonzero", "to", "__bool__", "__float__", "__int__"))

    def prepare(self):
        super().prepare()
        self.known = {}

    def new(self, real):
        is_copy, name = real.__name__ in ("cpu", "to"), real.__name__
        is_gpu = self.trial.device != "cpu"

        def read(tensor, *args, **kwargs):
            if tensor.is_cpu and (is_gpu or is_copy) or is_copy and tensor.requires_grad or (
                    name == "to" and not (args and str(args[0]) == "cpu")):
                return real(tensor, *args, **kwargs)
            frame = sys._getframe(1)
            key = id(frame.f_code), frame.f_lasti, name, tensor.shape, tensor.dtype, args
            last = self.known.get(key)
            if frame.f_globals.get("__name__", "").startswith("torch.optim"):  # its count of steps
                return real(tensor, *args, **kwargs)
            if last is None:
                last = self.known[key] = [real(tensor, *args, **kwargs), 0, self.trial.step]
                return last[0]
            last[1], last[2] = (last[1] + 1 if last[2] == self.trial.step else 0), self.trial.step
            if last[1] > ANSWERS_MOST:
                return real(tensor, *args, **kwargs)
            self.uses += 1
            return last[0]

        return read


class Collections(Silent):
    def __init__(self, trial, row):
        super().__init__(trial, row, "gc.collect")

    def on(self):
        super().on()
        self.was_on = gc.isenabled()
        gc.disable()

    def off(self):
        super().off()
        if self.was_on:
            gc.enable()

    def begin_step(self):
        self.uses += 1


class SetCollections(Arm):
    def on(self):
        gc.collect()
        gc.freeze()
        gc.disable()

    def off(self):
        gc.enable()
        gc.unfreeze()

    def begin_step(self):
        self.uses += 1
        if self.trial.step % COLLECTED_EVERY == 0:
            gc.collect()

    def prepare(self):
        if not gc.isenabled():
            raise Cannot("the program has switched the collection of garbage off itself")


class Workers(Patched):
    """A second loader with workers, which draws from the first one's sampler, so each batch comes once, in its order."""
    names = Batches.names[:1]

    def prepare(self):
        super().prepare()
        loaders = self.trial.loaders.values()
        if not loaders:
            raise Cannot("no DataLoader is known")
        if any(loader.num_workers for loader in loaders):
            raise Cannot("the loader has workers")
        kinds = sys.modules["torch.utils.data.dataloader"]._DatasetKind
        if any(loader._dataset_kind == kinds.Iterable for loader in loaders):
            raise Cannot("an IterableDataset must share its samples among its workers itself")
        self.values = {"workers": workers_here()}
        self.settle = 2 * workers_here() + SETTLE
        self.place = self.trial.place_of_loader()
        self.clones = {}
        self.installed = False

    def on(self):
        self.is_on = True
        if not self.installed:  # from then on: what the workers have begun is used
            super().on()
            self.installed = True

    def off(self):
        self.is_on = False

    def new(self, real):
        def _next_data(iterator):
            clone = self.clones.get(id(iterator._index_sampler))
            if clone is None:
                if not self.is_on:
                    return real(iterator)
                clone = self.clones[id(iterator._index_sampler)] = Clone(self.trial, iterator, workers_here())
            if not clone.fill(iterator, self.is_on):
                return real(iterator)
            self.uses += self.is_on
            return clone.iterator._next_data()

        return _next_data


class Clone:
    def __init__(self, trial, iterator, workers):
        import torch
        from torch.utils.data import DataLoader

        self.sampler, self.rest, self.most = iterator._index_sampler, Rest(iterator._sampler_iter), 2 * workers
        loader = trial.loaders.get(id(iterator._index_sampler))
        how = {"batch_sampler": self.rest} if iterator._auto_collation else {"batch_size": None, "sampler": self.rest}
        self.iterator = iter(DataLoader(
            iterator._dataset, num_workers=workers, prefetch_factor=2, persistent_workers=True, collate_fn=iterator._collate_fn,
            pin_memory=iterator._pin_memory, worker_init_fn=getattr(loader, "worker_init_fn", None),
            generator=torch.Generator(), **how))  # else it would draw from the program's random numbers

    def fill(self, iterator, is_on):
        """Whether there is a batch."""
        if iterator._sampler_iter is not self.rest.source:  # the epoch before was broken off
            self.rest.source = None
            while self.iterator._rcvd_idx < self.iterator._send_idx:
                self.iterator._next_data()
        self.rest.source = iterator._sampler_iter if is_on else None
        for _ in range(self.most - self.iterator._tasks_outstanding if is_on else 0):
            self.iterator._try_put_index()
        has = self.iterator._rcvd_idx < self.iterator._send_idx
        self.rest.source = iterator._sampler_iter if is_on or has else None
        self.rest.is_open = is_on
        return has


class Rest:
    """The rest of a sampler that another iterator draws from, too."""

    def __init__(self, source):
        self.source, self.is_open = source, True

    def __iter__(self):
        return self

    def __next__(self):
        if self.source is None or not self.is_open:
            raise StopIteration
        return next(self.source)


class Setting(Arm):
    """One value of PyTorch's."""

    def __init__(self, trial, row, get, put, value, gpu=False):
        self.get, self.put, self.value, self.gpu = get, put, value, gpu
        super().__init__(trial, row)

    def prepare(self):
        if self.gpu:
            self.trial.need_gpu()
            self.settle = SLOW_SETTLE
        self.values = {"value": self.value}
        if self.get() == self.value:
            raise Cannot("it is so already")

    def on(self):
        self.before = self.get()
        self.put(self.value)

    def off(self):
        self.put(self.before)


class Autocast(Arm):
    """The forward pass in bf16. It keeps no weight's copy across an update."""

    def prepare(self):
        torch = sys.modules["torch"]
        self.kind = "cpu" if self.trial.device == "cpu" else "cuda"
        self.values, self.context = {"kind": self.kind}, None
        self.make = functools.partial(torch.autocast, self.kind, dtype=torch.bfloat16)
        self.pause = functools.partial(torch.autocast, self.kind, enabled=False)

    def on(self):
        self.context = self.make()
        self.context.__enter__()
        self.trial.around_backward = self.pause

    def off(self):
        self.trial.around_backward = None
        context, self.context = self.context, None
        context.__exit__(None, None, None)

    def begin_step(self):
        self.uses += 1
        self.off()
        self.on()


class OptimizerKind(Arm):
    def __init__(self, trial, row, fused):
        self.fused = fused
        super().__init__(trial, row)

    def prepare(self):
        name = "fused" if self.fused else "foreach"
        self.optimizers = [each for each in self.trial.optimizers if name in getattr(each, "defaults", {})]
        if not self.optimizers:
            raise Cannot("the optimizer has no %s=True" % name)
        groups = [group for each in self.optimizers for group in each.param_groups]
        if all(group.get(name) for group in groups):
            raise Cannot("it is so already")
        if any(group.get("differentiable") for group in groups):
            raise Cannot("the optimizer is differentiable")
        if self.fused and type(self.optimizers[0]).__name__ not in ("Adam", "AdamW", "SGD", "Adagrad"):
            raise Cannot("no fused form is known of %s" % type(self.optimizers[0]).__name__)
        self.values = {"optimizer": type(self.optimizers[0]).__name__}
        self.place = self.trial.places.get(id(self.optimizers[0]), "")

    def on(self):
        self.before = [(group, group.get("fused"), group.get("foreach")) for each in self.optimizers
                       for group in each.param_groups]
        for group, _, _ in self.before:
            group["fused"], group["foreach"] = (True, False) if self.fused else (False, True)
        self.move_counts()

    def off(self):
        for group, fused, foreach in self.before:
            group["fused"], group["foreach"] = fused, foreach
        self.move_counts()

    def move_counts(self):
        """A fused optimizer on a GPU counts its steps there."""
        for each in self.optimizers:
            for group in each.param_groups:
                for parameter in group["params"]:
                    state = each.state.get(parameter, {})
                    if hasattr(state.get("step"), "to"):
                        there = group.get("fused") or group.get("capturable")
                        state["step"] = state["step"].to(parameter.device if there else "cpu")


class Compiled(Arm):
    settle = SLOW_SETTLE

    def prepare(self):
        if chokepoint_program.Program.count_compilations() > 0:
            raise Cannot("the program compiles already")
        if not self.trial.models or not hasattr(self.trial.models[0], "_compiled_call_impl"):
            raise Cannot("no module with the optimizer's parameters was called")
        self.compiled = None

    def on(self):
        if self.compiled is None:
            self.compiled = [self.guarded(model._call_impl) for model in self.trial.models]
        for model, function in zip(self.trial.models, self.compiled):
            model._compiled_call_impl = function

    def off(self):
        for model in self.trial.models:
            model._compiled_call_impl = None

    def guarded(self, function):
        compiled = sys.modules["torch"].compile(function)

        def call(*args, **kwargs):
            try:
                return compiled(*args, **kwargs)
            except Exception as error:  # what the program raises itself comes again
                self.trial.not_tried.append({"name": self.row.name, "cause": self.row.causes[0], "kind": self.row.kind,
                                             "why": "%s: %.200s" % (type(error).__name__, error)})
                self.off()
                self.compiled = [model._call_impl for model in self.trial.models]
                return function(*args, **kwargs)

        return call


class SetToNone(Patched):
    names = ("torch.optim.Optimizer.zero_grad", "torch.nn.Module.zero_grad")

    def new(self, real):
        def zero_grad(owner, set_to_none=True):
            self.uses += not set_to_none
            return real(owner, True)

        return zero_grad


class NonBlocking(Patched):
    names = ("torch.Tensor.to", "torch.Tensor.cuda")

    def prepare(self):
        self.trial.need_gpu()
        super().prepare()

    def new(self, real):
        def copied(tensor, *args, **kwargs):
            if tensor.is_cpu and "non_blocking" not in kwargs and not any(isinstance(each, bool) for each in args):
                self.uses += 1
                kwargs["non_blocking"] = True
            return real(tensor, *args, **kwargs)

        return copied


class NoSync(Arm):
    """Gradients of all but the last of a step's batches stay on their rank."""

    def prepare(self):
        kind = named("torch.nn.parallel.DistributedDataParallel")
        self.models = [each for each in self.trial.models if kind is not None and isinstance(each, kind)]
        self.batches = self.trial.fetches_per_step
        if not self.models:
            raise Cannot("the model is no DistributedDataParallel")
        if not self.batches or self.batches < 2:
            raise Cannot("the steps have not always the same number of batches, and more than one")
        self.values = {"batches": self.batches}

    def on(self):
        self.hooks = [model.register_forward_pre_hook(self.before_forward) for model in self.models]
        self.calls = 0

    def off(self):
        for hook in self.hooks:
            hook.remove()
        for model in self.models:
            model.require_backward_grad_sync = True

    def begin_step(self):
        self.calls = 0
        self.uses += 1

    def before_forward(self, model, _):
        self.calls += 1
        model.require_backward_grad_sync = self.calls >= self.batches * len(self.models)


# --- Fixes of whole runs ---

class Apart(Arm):
    """In force from the start: arguments that a constructor gets, or an environment."""

    def __init__(self, trial, row, applies, arguments):
        self.applies, self.arguments = applies, arguments
        super().__init__(trial, row)

    def prepare(self):
        if self.trial.plan["hold"] is None:
            self.applies(self)
        self.values = self.arguments


def loader_with(test, why):
    def applies(arm):
        loaders = arm.trial.loaders.values()
        if not any(map(test, loaders)):
            raise Cannot(why)
        arm.place = arm.trial.place_of_loader()

    return applies


def needs_gpu(arm):
    arm.trial.need_gpu()


def needs_ddp(arm):
    if named("torch.nn.parallel.DistributedDataParallel") is None or arm.trial.ranks() < 2:
        raise Cannot("the program has one rank")


def needs_images(arm):
    if not any(parameter.dim() == 4 for each in arm.trial.optimizers for group in each.param_groups
               for parameter in group["params"]):
        raise Cannot("no parameter has four dimensions")


def workers_here():
    return max(1, min(WORKERS_MOST, len(os.sched_getaffinity(0)) - 1))


# --- The table ---

LOGGERS = ("builtins.print", "logging.Logger.handle", "tqdm.std.tqdm.display", "wandb.sdk.wandb_run.Run.log",
           "mlflow.log_metric", "mlflow.log_metrics",
           *("torch.utils.tensorboard.writer.SummaryWriter.add_" + what for what in (
               "scalar", "scalars", "histogram", "image", "images", "figure", "text")))
WRITERS = ("torch.save", "torch.jit.save", "torch.distributed.checkpoint.save", "safetensors.torch.save_file",
           "numpy.save", "numpy.savez", "pickle.dump", "joblib.dump")
Row = collections.namedtuple("Row", ["name", "kind", "causes", "keeps", "text", "advice", "make", "arguments"])


def row(name, kind, causes, keeps, text, advice, make, *arguments):
    return Row(name, kind, causes.split(), keeps, text, advice, make, arguments)


def threads(count):
    def make(trial, its):
        torch = sys.modules["torch"]
        return Setting(trial, its, torch.get_num_threads, torch.set_num_threads, count())

    return make


def flag(owner, name, value):
    def make(trial, its):
        trial.need_gpu()
        holder = named(owner)
        return Setting(trial, its, lambda: getattr(holder, name), lambda new: setattr(holder, name, new), value, True)

    return make


# `keeps`: how the losses are with it; "close" is by rounding.
KEEPS = {"nothing": "change", "bits": "the same bits", "close": "close", "order": "samples are shuffled otherwise"}
ROWS = [
    row("batches", "without", "data_loading data_jitter epoch_gap", "nothing", "the loader gives a batch again",
        "make batches faster, or in advance: workers, fewer operations per sample, samples prepared once", Batches),
    row("device_batches", "without", "exposed_copy pageable_copy small_copies", "nothing",
        "the loader gives a batch again that is on the device", "copy earlier: pinned memory, non_blocking=True", DeviceBatches),
    row("samples", "without", "data_loading", "nothing", "the data set's samples are given again",
        "make samples faster: prepare them once, transform whole batches", Samples),
    row("reads", "without", "host_sync values_read", "nothing", "values of tensors are not read again",
        "read values rarely, and many at once", Reads),
    row("syncs", "without", "host_sync", "nothing", "explicit synchronisation does nothing",
        "leave torch.cuda.synchronize() out", Silent, "torch.cuda.synchronize", "torch.cuda.Stream.synchronize",
        "torch.cuda.Event.synchronize"),
    row("saving", "without", "save_pause host_work rare_work", "nothing", "nothing is saved",
        "save rarely, or in another thread", Saving, *WRITERS),
    row("logging", "without", "logging_gap host_work", "nothing", "nothing is logged or printed",
        "log rarely, and do not wait for it", Silent, *LOGGERS),
    row("empty_cache", "without", "allocation_churn", "nothing", "torch.cuda.empty_cache() does nothing",
        "leave torch.cuda.empty_cache() out", Silent, "torch.cuda.empty_cache"),
    row("garbage", "without", "garbage_collection", "nothing", "no garbage is collected",
        "gc.freeze() before the loop, and fewer objects that refer to each other", Collections),
    row("workers", "fix", "data_loading data_jitter", "close", "num_workers={workers}",
        "DataLoader(..., num_workers={workers}, persistent_workers=True)", Workers),
    row("non_blocking", "fix", "exposed_copy", "bits", "non_blocking=True", "tensor.to(device, non_blocking=True)", NonBlocking),
    row("tf32", "fix", "fp32_matmul", "close", "TF32 for products", "torch.backends.cuda.matmul.allow_tf32 = True",
        flag("torch.backends.cuda.matmul", "allow_tf32", True)),
    row("bf16", "fix", "fp32_matmul device_bound", "close", "autocast in bf16",
        "with torch.autocast(\"{kind}\", dtype=torch.bfloat16): around the forward pass", Autocast),
    row("cudnn_benchmark", "fix", "device_bound", "close", "cuDNN tries its algorithms",
        "torch.backends.cudnn.benchmark = True", flag("torch.backends.cudnn", "benchmark", True)),
    row("fused", "fix", "optimizer_overhead small_operators", "close", "fused=True", "{optimizer}(..., fused=True)",
        OptimizerKind, True),
    row("foreach", "fix", "optimizer_overhead small_operators", "close", "foreach=True", "{optimizer}(..., foreach=True)",
        OptimizerKind, False),
    row("compile", "fix", "launch_bound small_kernels unfused_ops small_operators", "close", "torch.compile",
        "model = torch.compile(model)", Compiled),
    row("set_to_none", "fix", "optimizer_overhead", "bits", "set_to_none=True", "zero_grad()", SetToNone),
    row("one_thread", "fix", "oversubscribed_host lost_core small_operators host_computes", "close", "one thread",
        "torch.set_num_threads(1)", threads(lambda: 1)),
    row("all_cores", "fix", "host_computes", "close", "{value} threads", "torch.set_num_threads({value})",
        threads(lambda: len(os.sched_getaffinity(0)))),
    row("set_collections", "fix", "garbage_collection", "bits", "garbage is collected every %d steps" % COLLECTED_EVERY,
        "gc.freeze(); gc.disable(); gc.collect() every %d steps" % COLLECTED_EVERY, SetCollections),
    row("no_sync", "fix", "exposed_communication small_messages", "close", "no_sync() but in the last of {batches} batches",
        "with model.no_sync(): for all but the last batch of a step", NoSync),
    row("pin_memory", "apart", "pageable_copy exposed_copy", "bits", "pin_memory=True", "DataLoader(..., pin_memory=True)", Apart,
        lambda arm: (needs_gpu(arm), loader_with(lambda loader: not loader.pin_memory, "it is so already")(arm)),
        {"pin_memory": True}),
    row("persistent_workers", "apart", "epoch_gap", "order", "persistent_workers=True",
        "DataLoader(..., persistent_workers=True)", Apart,
        loader_with(lambda loader: loader.num_workers and not loader.persistent_workers, "the loader has no workers that end"),
        {"persistent_workers": True}),
    row("prefetch", "apart", "data_jitter", "bits", "prefetch_factor=8", "DataLoader(..., prefetch_factor=8)", Apart,
        loader_with(lambda loader: loader.num_workers, "the loader has no workers"), {"prefetch_factor": 8}),
    row("more_workers", "apart", "data_loading data_jitter", "close", "num_workers={num_workers}",
        "DataLoader(..., num_workers={num_workers})", Apart,
        loader_with(lambda loader: 0 < loader.num_workers < workers_here(), "the loader has no workers, or as many as cores"),
        {"num_workers": 2 * workers_here()}),
    row("channels_last", "apart", "layout_conversions device_bound", "close", "channels_last",
        "model.to(memory_format=torch.channels_last)", Apart, needs_images, {}),
    row("bucket_view", "apart", "exposed_communication", "bits", "gradient_as_bucket_view=True",
        "DistributedDataParallel(..., gradient_as_bucket_view=True)", Apart, needs_ddp, {"gradient_as_bucket_view": True}),
    row("bucket_size", "apart", "small_messages", "close", "bucket_cap_mb=%d" % BUCKET_MB,
        "DistributedDataParallel(..., bucket_cap_mb=%d)" % BUCKET_MB, Apart, needs_ddp, {"bucket_cap_mb": BUCKET_MB}),
    row("expandable_segments", "apart", "allocation_churn fragmentation", "bits", "expandable segments",
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", Apart, needs_gpu, {}),
]
CANNOT = [  # neither a switch nor a whole run does these rightly
    ("graph capture", "launch_bound", "the program must keep its tensors at their addresses: only its author knows"),
    ("a larger batch", "launch_bound small_grid", "it is another training: losses cannot be compared step by step"),
    ("activation checkpointing", "activation_memory", "it trades time for memory, and a trial measures time"),
    ("sharded optimizer states", "replicated_state", "a model must be wrapped anew, and its states be cut"),
    ("fewer validations", "rare_work", "how often is enough is the author's to say"),
]
CONTROL = row("control", "control", "control", "bits", "nothing is switched", "", Control)
LOADER_FIXES = ("pin_memory", "persistent_workers", "prefetch", "more_workers")
DDP_FIXES = ("bucket_view", "bucket_size")


def why_unknown(name):
    """Why this name, which is in no row, is not tried."""
    return next(("%s: %s" % (what, why) for what, causes, why in CANNOT if name in causes.split()),
                "no switch or fix is called so, or is for such a finding")


def table():
    """The table of docs/try.md."""
    lines = ["| name | kind | findings | what is done | losses | advice |", "|---|---|---|---|---|---|"]
    kinds = {"without": "switch", "fix": "fix", "apart": "fix, in whole runs"}
    for its in ROWS:
        words = [text.replace("{", "").replace("}", "").replace("|", "\\|") for text in (its.text, its.advice)]
        lines.append("| `%s` | %s | %s | %s | %s | %s |" % (
            its.name, kinds[its.kind], ", ".join("`%s`" % each for each in its.causes), words[0],
            KEEPS[its.keeps], words[1]))
    lines += ["", "| not tried | findings | why |", "|---|---|---|"]
    lines += ["| %s | %s | %s |" % (name, ", ".join("`%s`" % each for each in causes.split()), why)
              for name, causes, why in CANNOT]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
