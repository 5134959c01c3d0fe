"""A model of a training loop on GPUs, which writes the trace that PyTorch's profiler would record.

The model follows a host thread, or two where backward has its own, loader workers, and streams that do their
work in order; ranks meet in collectives. It knows no rule of ours. Whatever a part of the loop costs is found
by running the model again without that part, with the same random numbers. All times are microseconds.
"""
import dataclasses
import functools
import json
import random

COMPUTE, COPY, COMMUNICATION = 7, 20, 24  # streams
MAIN, BACKWARD = 100, 101  # threads
DELAY = 2.0  # between a launch and its work, on an idle stream
BETWEEN = 0.8  # between kernels that are queued
QUEUE = 1024  # launches that may be queued before a launch waits


@dataclasses.dataclass
class Plan:
    """A loop. The values here are those of a healthy one, apart from its kernels, of which it has none."""

    seed: int = 0
    steps: int = 10
    warm: int = 5  # steps before the recording
    device: tuple = ("NVIDIA A100-SXM4-80GB", 8, 0, 108)
    forward: tuple = ()  # (operator, kernel, time)
    backward: tuple = ()
    optimizer: tuple = ()
    operator_time: float = 8.0  # of the host around each launch, without the call
    call_time: float = 4.0
    backward_thread: bool = True
    graph: bool = False  # a step is one launch
    load_time: float = 0.0  # of a batch, in a worker
    workers: int = 4
    prefetch: int = 2
    fetch_time: float = 60.0  # of the loop, for a batch that is ready
    slow_every: int = 0  # batches, one of which takes slow_time longer
    slow_time: float = 0.0
    epoch: int = 0  # steps, after which all workers start again
    restart_time: float = 0.0
    host_work: tuple = ()  # ("operators" | "annotation" | "unrecorded", time), before the copies
    host_growth: float = 0.0  # each of that takes so much longer than in the step before
    copies: int = 1  # of the batch, to the device
    copy_time: float = 20.0
    copy_call: float = 6.0
    copy_bytes: int = 1 << 20
    copy_way: str = "beside"  # "beside" kernels, "between" them, "pageable", "pageable and waiting"
    device_copies: int = 0  # from the device to itself, after backward
    device_copy_time: float = 0.0
    buckets: tuple = ()  # all-reduces beside backward
    bucket_bytes: int = 25 << 20
    collective_at_end: float = 0.0  # an all-reduce that the optimizer waits for
    reads: tuple = ()  # "end" or "amid", each a value that the host reads per step
    read_every: int = 1
    read_way: str = "call and wait"  # "call waits", "to the device", "hip"
    log_every: int = 0
    log_time: float = 0.0
    save_every: int = 0
    save_time: float = 0.0
    allocations: int = 0  # pairs of cudaMalloc and cudaFree
    allocation_time: float = 0.0
    first_uses: int = 0
    first_use_time: float = 0.0
    late_every: int = 0  # launches, the last of which loses its core
    late_time: float = 0.0
    blocking: str = ""  # "call", "wait": each launch waits for its work
    recapture_every: int = 0
    instantiate_time: float = 0.0


@functools.lru_cache(maxsize=64)
def factors(seed):
    draw = random.Random(f"noise {seed}")
    return [draw.lognormvariate(0, 0.06) for _ in range(4099)]


class Noise:
    """Factors close to 1 that depend on what is asked for, never on what was asked for before."""

    def __init__(self, seed):
        self.factors = factors(seed)

    def __call__(self, kind, step, index=0):
        return self.factors[(kind * 1009 + step * 257 + index * 13) % len(self.factors)]


KERNEL, OPERATOR, CALL, LOAD, COPIED, WORK, OTHER = range(7)  # kinds of noise


class Rank:
    """One process with its device."""

    def __init__(self, plan, number=0):
        self.plan, self.number = plan, number
        self.noise = Noise(plan.seed + 7919 * number)
        self.now, self.thread = 0.0, MAIN
        self.done = {COMPUTE: 0.0, COPY: 0.0, COMMUNICATION: 0.0}
        self.queued = []  # ends of work, by launch
        self.events, self.recording = [], False
        self.correlation = self.step = self.launches = 0
        self.seen = set()
        self.batches = []  # when each batch is ready
        self.worker_free = [0.0] * plan.workers
        self.asked = self.taken = self.next_in_epoch = 0
        self.copied = self.next_copied = 0.0  # when the batch is on the device; it was copied a step ahead

    # --- Rows ---

    def row(self, category, name, thread, start, end, correlation=0, arguments=""):
        """The profiler keeps what begins while it records; that of the device may have been launched before."""
        if self.recording or category in ("kernel", "gpu_memcpy"):
            self.events.append((category, name, thread, start, end, correlation, arguments))

    def spend(self, category, name, time):
        self.row(category, name, self.thread, self.now, self.now + time)
        self.now += time

    def call(self, name, time, correlation=0):
        self.row("cuda_runtime", name, self.thread, self.now, self.now + time, correlation)
        self.now += time

    # --- The device ---

    def work(self, category, name, time, stream, after=0.0, arguments=""):
        """Queues work and says when it ends."""
        start = max(self.now + DELAY, self.done[stream] + BETWEEN, after)
        self.done[stream] = start + time
        self.row(category, name, stream, start, start + time, self.correlation, arguments)
        return start + time

    def call_time(self, kernel):
        plan = self.plan
        time = plan.call_time * self.noise(CALL, self.step, self.launches)
        if len(self.seen) < plan.first_uses and kernel not in self.seen:
            time += plan.first_use_time * self.noise(OTHER, len(self.seen))
        self.seen.add(kernel)
        self.launches += 1
        if plan.late_every and self.launches % plan.late_every == 0:
            time += plan.late_time * self.noise(OTHER, self.launches)
        if len(self.queued) >= QUEUE:
            time = max(time, self.queued[-QUEUE] - self.now)
        return time

    def launch(self, operator, kernel, time, index, stream=COMPUTE, after=0.0):
        start = self.now
        self.now += self.plan.operator_time * 0.8 * self.noise(OPERATOR, self.step, index)
        self.correlation += 1
        begun = self.now
        self.now += self.call_time(kernel)
        end = self.work("kernel", kernel, time, stream, after, ',"grid":[1024,1,1],"block":[256,1,1]')
        if self.plan.blocking == "call":
            self.now = end + DELAY
        self.row("cuda_runtime", "cudaLaunchKernel", self.thread, begun, self.now, self.correlation)
        self.queued.append(end)
        if self.plan.blocking == "wait":
            self.wait(stream)
        self.now += self.plan.operator_time * 0.2
        self.row("cpu_op", operator, self.thread, start, self.now)

    def wait(self, stream=COMPUTE, name="cudaStreamSynchronize"):
        self.call(name, max(0.0, self.done[stream] - self.now) + 4.0)

    def copy(self, name, time, call, size, stream, waits=False, called="cudaMemcpyAsync"):
        self.correlation += 1
        before = self.now
        self.now += call * 0.5
        end = self.work("gpu_memcpy", f"Memcpy {name}", time, stream, 0.0, f',"bytes":{size}')
        self.now = before
        self.call(called, max(call, end - before + 2.0) if waits else call, self.correlation)
        return end

    # --- The loop ---

    def read(self):
        """A value of the device that the host needs, as .item() and torch.tensor(x, device=...) do."""
        way, start = self.plan.read_way, self.now
        self.now += 3.0
        if way == "to the device":
            self.copy("HtoD (Pageable -> Device)", 1.2, 5.0, 8, COMPUTE)
            self.wait()
        elif way == "hip":
            self.copy("DtoH (Device -> Pageable)", 1.4, 5.0, 4, COMPUTE, True, "hipMemcpyWithStream")
        elif way == "call waits":
            self.copy("DtoH (Device -> Pageable)", 1.4, 5.0, 4, COMPUTE, True)
            self.wait()
        else:
            self.copy("DtoH (Device -> Pageable)", 1.4, 5.0, 4, COMPUTE)
            self.wait()
        self.row("cpu_op", "aten::_to_copy" if way == "to the device" else "aten::item", self.thread, start, self.now)

    def is_slow(self, batch):
        block, every = batch // self.plan.slow_every, self.plan.slow_every
        return batch % every == random.Random(f"{self.plan.seed} {block}").randrange(every)

    def ask_for_batches(self):
        plan = self.plan
        while self.asked < self.taken + plan.prefetch * plan.workers:
            worker = self.asked % plan.workers
            time = plan.load_time * self.noise(LOAD, self.asked)
            if plan.slow_every and self.is_slow(self.asked):
                time += plan.slow_time
            ready = max(self.now, self.worker_free[worker]) + time
            self.worker_free[worker] = ready
            self.batches.append(ready)
            self.asked += 1

    def load(self):
        plan, start = self.plan, self.now
        if plan.workers == 0:
            self.now += plan.load_time * self.noise(LOAD, self.step)
            self.row("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", MAIN, start,
                     self.now)
            return
        if plan.epoch and self.step > 0 and self.step % plan.epoch == 0:
            self.now += plan.fetch_time  # a call that hears that there is no batch left
            self.row("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", MAIN, start,
                     self.now)
            self.now += 1.0
            start = self.now
            self.now += plan.restart_time
            del self.batches[self.taken:]
            self.asked = self.taken
            self.worker_free = [self.now] * plan.workers
        self.ask_for_batches()
        self.now = max(self.now, self.batches[self.taken]) + plan.fetch_time
        self.taken += 1
        self.ask_for_batches()
        self.row("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", MAIN, start,
                 self.now)

    def prepare(self):
        for index, (kind, time) in enumerate(self.plan.host_work):
            time = (time + self.plan.host_growth * self.step) * self.noise(WORK, self.step, index)
            if kind == "unrecorded":
                self.now += time
            elif kind == "annotation":
                self.spend("user_annotation", "preprocess", time)
            else:
                for _ in range(5):
                    self.spend("cpu_op", "aten::randn", time / 5)

    def copy_batch(self):
        plan, way = self.plan, self.plan.copy_way
        pageable = way.startswith("pageable")
        name = "HtoD (Pageable -> Device)" if pageable else "HtoD (Pinned -> Device)"
        stream = COPY if way == "beside" else COMPUTE
        self.copied = self.next_copied
        for i in range(plan.copies):
            time = plan.copy_time * self.noise(COPIED, self.step, i)
            call = max(plan.copy_call, 0.9 * time) if pageable else plan.copy_call
            end = self.copy(name, time, call, plan.copy_bytes, stream, way == "pageable and waiting")
            self.next_copied = end if stream == COPY else 0.0
            if way == "pageable and waiting":
                self.wait()

    def run_kernels(self, kernels, base):
        for i, (operator, kernel, time) in enumerate(kernels):
            time *= self.noise(KERNEL, self.step, base + i)
            self.launch(operator, kernel, time, base + i, after=self.copied)

    def all_reduce(self, time):
        """Starts when backward's work so far is done, and ends on all ranks together."""
        start = max(self.now + DELAY, self.done[COMPUTE], self.done[COMMUNICATION] + BETWEEN)
        self.now += self.plan.call_time
        ends = yield start
        end = ends + time * self.noise(KERNEL, self.step, 4000)
        self.correlation += 1
        self.now -= self.plan.call_time
        self.row("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", self.thread, self.now,
                 self.now + self.plan.call_time)
        self.call("cudaLaunchKernel", self.plan.call_time, self.correlation)
        elements = self.plan.bucket_bytes // 2
        self.row("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                 COMMUNICATION, start, end, self.correlation,
                 f',"Collective name":"allreduce","In msg nelems":{elements},"Out msg nelems":{elements},'
                 '"dtype":"BFloat16"')
        self.done[COMMUNICATION] = end

    def run_backward(self):
        plan = self.plan
        if plan.backward_thread:
            self.thread = BACKWARD
            self.now += 20.0
        parts = len(plan.buckets) + 1
        size = -(-len(plan.backward) // parts)
        for part in range(parts):
            self.run_kernels(plan.backward[part * size:(part + 1) * size], 1000 + part * size)
            if part < len(plan.buckets):
                yield from self.all_reduce(plan.buckets[part])
        if plan.collective_at_end:
            yield from self.all_reduce(plan.collective_at_end)
        self.done[COMPUTE] = max(self.done[COMPUTE], self.done[COMMUNICATION])
        if plan.backward_thread:
            self.thread = MAIN
            self.now += 15.0

    def capture(self):
        plan = self.plan
        self.call("cudaStreamBeginCapture", 10.0)
        for i, (operator, _, _) in enumerate(plan.forward + plan.backward + plan.optimizer):
            start = self.now
            self.now += plan.operator_time * self.noise(OPERATOR, self.step, i)
            self.call("cudaLaunchKernel", plan.call_time)
            self.row("cpu_op", operator, self.thread, start, self.now)
        self.call("cudaStreamEndCapture", 15.0)
        self.call("cudaGraphInstantiate", plan.instantiate_time * self.noise(OTHER, self.step))

    def launch_graph(self):
        plan = self.plan
        if plan.recapture_every and self.step % plan.recapture_every == 0:
            self.capture()
        self.correlation += 1
        before = self.now
        self.now += 20.0
        for i, (_, kernel, time) in enumerate(plan.forward + plan.backward + plan.optimizer):
            self.work("kernel", kernel, time * self.noise(KERNEL, self.step, i), COMPUTE, self.copied,
                      ',"grid":[1024,1,1],"block":[256,1,1]')
        self.now = before
        self.call("cudaGraphLaunch", 25.0, self.correlation)

    def is_due(self, every):
        return every and (self.step + 1) % every == 0

    def log(self):
        start = self.now
        self.read()
        self.now += self.plan.log_time
        self.row("user_annotation", "logging", MAIN, start, self.now)

    def save(self):
        start = self.now
        for _ in range(3):
            self.copy("DtoH (Device -> Pageable)", 200.0, 200.0, 4 << 20, COMPUTE, True)
        self.now += self.plan.save_time
        self.row("user_annotation", "save_checkpoint", MAIN, start, self.now)

    def run_step(self):
        plan, start = self.plan, self.now
        self.load()
        self.prepare()
        self.copy_batch()
        for i in range(plan.allocations):
            self.call("cudaMalloc", plan.allocation_time * self.noise(OTHER, self.step, i))
        if plan.graph:
            self.launch_graph()
        else:
            self.run_kernels(plan.forward, 0)
            if self.is_due(plan.read_every):
                for _ in range(plan.reads.count("amid")):
                    self.read()
            yield from self.run_backward()
            for i in range(plan.device_copies):
                time = plan.device_copy_time * self.noise(COPIED, self.step, 500 + i)
                self.copy("DtoD (Device -> Device)", time, 6.0, int(time * 1e6), COMPUTE)
            before = self.now
            self.run_kernels(plan.optimizer, 3000)
            self.row("user_annotation", "Optimizer.step#AdamW.step", MAIN, before, self.now)
        for i in range(plan.allocations):
            wait = max(0.0, self.done[COMPUTE] - self.now)
            self.call("cudaFree", wait + plan.allocation_time * self.noise(OTHER, self.step, 50 + i))
        if self.is_due(plan.read_every):
            for _ in range(plan.reads.count("end") + (plan.reads.count("amid") if plan.graph else 0)):
                self.read()
        if self.is_due(plan.log_every):
            self.log()
        if self.is_due(plan.save_every):
            self.save()
        self.row("user_annotation", f"ProfilerStep#{self.step}", MAIN, start, self.now)
        self.step += 1

    def run(self):
        """Yields when a collective could start on this rank; the answer is when it starts on the last."""
        for _ in range(self.plan.warm):
            yield from self.run_step()
        self.recording, self.start, before = True, self.now, self.ready()
        for _ in range(self.plan.steps):
            yield from self.run_step()
        self.step_time = (self.ready() - before) / self.plan.steps
        self.now += 30.0
        self.wait(max(self.done, key=self.done.get), "cudaDeviceSynchronize")
        self.events = [event for event in self.events if event[3] >= self.start]

    def ready(self):
        return max(self.now, *self.done.values())


def run(*plans):
    """Runs a rank per plan."""
    ranks = [Rank(plan, number) for number, plan in enumerate(plans)]
    runs = [rank.run() for rank in ranks]
    starts = [next(one, None) for one in runs]
    while starts[0] is not None:
        last, starts = max(starts), list(starts)
        for i, one in enumerate(runs):
            try:
                starts[i] = one.send(last)
            except StopIteration:
                starts[i] = None
    return ranks


def step_time(ranks):
    return max(rank.step_time for rank in ranks)


def text_of(rank, ranks):
    """The trace as text."""
    name, major, minor, processors = rank.plan.device
    members = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": rank.number, "name": name, "totalGlobalMem": 85 << 30, "computeMajor": major,
                              "computeMinor": minor, "numSms": processors, "warpSize": 32,
                              "maxThreadsPerMultiprocessor": 2048}],
    }
    if ranks > 1:
        members["distributedInfo"] = {"backend": "nccl", "rank": rank.number, "world_size": ranks}
    rows = []
    for category, event, thread, start, end, correlation, arguments in rank.events:
        is_work = category in ("kernel", "gpu_memcpy")
        pid = rank.number if is_work else 4000 + rank.number
        if is_work:
            arguments = f'"device":{rank.number},"stream":{thread},"correlation":{correlation}{arguments}'
        elif correlation:
            arguments = f'"correlation":{correlation}'
        rows.append(f'{{"ph":"X","cat":"{category}","name":"{event}","pid":{pid},"tid":{thread},'
                    f'"ts":{1e6 + start:.3f},"dur":{end - start:.3f},"args":{{{arguments}}}}}')
    return json.dumps(members)[:-1] + ',"traceEvents":[\n' + ",\n".join(rows) + "\n]}\n"
