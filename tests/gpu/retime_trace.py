"""Gives a trace that was recorded over the stand-in for CUDA the times of a GPU, so that it can be diagnosed.

The machine that executes kernels is some hundred times slower than a GPU, and what a step costs the host vanishes beside
it. Here the loop of the host and its calls keep their times, waits last until the work that was launched before them has
ended, each kernel takes as long as any other, and a copy the time of its bytes, one piece after the other on its stream.
What the program does, how often and in which order, is the trace's own; how long it takes is a model."""
import bisect

LAUNCH_US, START_US, KERNEL_US, COPY_US = 4, 3, 1.5, 1.5  # a call; from it to the work; work, besides a copy's bytes
LEAST_US = {"cudaGraphInstantiate": 1000}  # calls that cost the stand-in nothing: some microseconds for each node
BYTES_PER_US = {"pageable": 5e3, "link": 2e4, "memory": 1e6}


class Times:
    """From the times of the file to those of the model; between two that are known, in proportion."""

    def __init__(self):
        self.old, self.new = [], []

    def add(self, old, new):
        if not self.old or old > self.old[-1]:
            self.old.append(old)
            self.new.append(max(new, self.new[-1]) if self.new else new)

    def __call__(self, old):
        after = bisect.bisect_right(self.old, old)
        if after in (0, len(self.old)):
            near = max(after - 1, 0)
            return self.new[near] + old - self.old[near]
        share = (old - self.old[after - 1]) / (self.old[after] - self.old[after - 1])
        return self.new[after - 1] + share * (self.new[after] - self.new[after - 1])


def work_us(event):
    if event["cat"] == "kernel":
        return KERNEL_US
    name = event["name"]
    way = "pageable" if "Pageable" in name else "link" if "HtoD" in name or "DtoH" in name else "memory"
    return COPY_US + event["args"]["bytes"] / BYTES_PER_US[way]


class Model:
    def __init__(self, events):
        self.host, self.streams, self.ends, self.placed = Times(), {}, {}, {}
        self.work = {}
        for event in events:
            if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
                self.work.setdefault(event["args"]["correlation"], []).append(event)
        calls = [event for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver")]
        threads = [event["tid"] for event in calls]
        self.loop = max(set(threads), key=threads.count)
        self.now, self.call_end = 0, min(event["ts"] for event in events)
        self.host.add(self.call_end, 0)
        for call in sorted(calls, key=lambda event: (event["ts"], -event["dur"])):
            self.follow(call)

    def follow(self, call):
        # A call within another, or of a thread beside the loop, takes no time of the loop's.
        outer = call["tid"] == self.loop and call["ts"] >= self.call_end
        if outer:
            self.now += call["ts"] - self.call_end
            self.host.add(call["ts"], self.now)
        launched = sorted(self.work.pop(call["args"]["correlation"], []), key=lambda event: event["ts"])
        for event in launched:
            self.place(event)
        if not outer:
            return
        if "Synchronize" in call["name"] or any("DtoH (Device -> Pageable" in event["name"] for event in launched):
            self.now = max(self.now, *self.ends.values()) + 1 if self.ends else self.now + 1
        else:
            self.now += min(call["dur"], LAUNCH_US) if launched else max(call["dur"], LEAST_US.get(call["name"], 0))
        self.call_end = call["ts"] + call["dur"]
        self.host.add(self.call_end, self.now)

    def place(self, event):
        stream = event["args"]["stream"]
        start = max(self.now + START_US, self.ends.get(stream, 0) + 0.5)
        self.ends[stream] = start + work_us(event)
        self.placed[id(event)] = start, work_us(event)
        times = self.streams.setdefault(stream, Times())
        times.add(event["ts"], start)
        times.add(event["ts"] + event["dur"], self.ends[stream])

    def times_of(self, event):
        return self.streams.get(event["tid"], self.host) if event.get("cat") == "gpu_user_annotation" else self.host


def retime(trace):
    """Changes the times of the trace, and drops what it says of the device's speed."""
    events = [event for event in trace["traceEvents"] if "ts" in event]
    model, starts = Model(events), {}
    for event in events:
        if id(event) in model.placed:
            event["ts"], event["dur"] = model.placed[id(event)]
            starts.setdefault(event["args"]["correlation"], event["ts"])
        elif event["ph"] != "f":
            times, end = model.times_of(event), event["ts"] + event.get("dur", 0)
            event["ts"] = times(event["ts"])
            if "dur" in event:
                event["dur"] = max(0, times(end) - event["ts"])
    for event in events:
        if event["ph"] == "f":
            event["ts"] = starts.get(event["id"], event["ts"])
    for name in ("step_time_us", "traced_step_time_us", "peak_flops_per_second", "copy_bytes_per_second"):
        trace["chokepoint"].pop(name, None)
