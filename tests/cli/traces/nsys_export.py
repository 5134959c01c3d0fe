"""Writes SQLite files as Nsight Systems exports them: rows in nanoseconds, tables only where there are rows."""
import os
import re
import sqlite3

# Comments, commas and parentheses in them, and columns of several versions, as real exports have them.
TABLES = {
    "StringIds": """(
    -- Consolidation of repetitive string values, one row a string (UTF-8).

    id                          INTEGER   NOT NULL   PRIMARY KEY,           -- ID reference value.
    value                       TEXT      NOT NULL                          -- String value, (may be empty).
)""",
    "CUPTI_ACTIVITY_KIND_KERNEL": """(
    start                       INTEGER   NOT NULL,                         -- Event start timestamp (ns).
    end                         INTEGER   NOT NULL,                         -- Event end timestamp (ns).
    deviceId                    INTEGER   NOT NULL,                         -- Device ID.
    contextId                   INTEGER   NOT NULL,                         -- Context ID.
    greenContextId              INTEGER,                                    -- Green context ID.
    streamId                    INTEGER   NOT NULL,                         -- Stream ID.
    correlationId               INTEGER,                                    -- REFERENCES CUPTI_ACTIVITY_KIND_RUNTIME(correlationId), CPU
    globalPid                   INTEGER,                                    -- Serialized GlobalId.
    demangledName               INTEGER   NOT NULL,                         -- REFERENCES StringIds(id) -- Kernel function name
    shortName                   INTEGER   NOT NULL,                         -- REFERENCES StringIds(id)
    registersPerThread          INTEGER   NOT NULL,
    gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
    blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
    staticSharedMemory          INTEGER   NOT NULL,
    dynamicSharedMemory         INTEGER   NOT NULL,
    graphNodeId                 INTEGER,
    graphId                     INTEGER
)""",
    "CUPTI_ACTIVITY_KIND_RUNTIME": """(
    start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER
)""",
    "CUPTI_ACTIVITY_KIND_MEMCPY": """(
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL,
    copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER
)""",
    "CUPTI_ACTIVITY_KIND_MEMSET": """(
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL,
    bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER
)""",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": """(
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, graphId INTEGER NOT NULL,
    graphExecId INTEGER NOT NULL
)""",
    "NVTX_EVENTS": """(
    start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
    color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER
)""",
    "OSRT_API": """(
    start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
    nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER, callchainId INTEGER NOT NULL
)""",
    "TARGET_INFO_GPU": """(
    vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, memoryBandwidth INTEGER,
    smCount INTEGER, cuDevice INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, computeMajor INTEGER,
    computeMinor INTEGER
)""",
    "TARGET_INFO_CUDA_DEVICE": "(gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL)",
    "TARGET_INFO_SESSION_START_TIME": "(utcEpochNs INTEGER, utcTime TEXT, localTime TEXT)",
    "META_DATA_CAPTURE": "(name TEXT NOT NULL, value TEXT)",
    "META_DATA_EXPORT": "(name TEXT NOT NULL, value TEXT)",
    "DIAGNOSTIC_EVENT": "(timestamp INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT NOT NULL)",
    "PROFILER_OVERHEAD": "(start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL)",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": """(
    start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER, overheadType INTEGER NOT NULL
)""",
}
COPIES = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "HtoH": 9, "PtoP": 10}
MEMORIES = {"Pageable": 0, "Pinned": 1, "Device": 2, "Managed": 4}


def thread_id(pid, tid):
    return 1 << 56 | pid << 24 | tid


class Export:
    """Rows of an export. Times are whole nanoseconds."""

    def __init__(self):
        self.rows = {name: [] for name in TABLES}
        self.strings = {}

    def string(self, text):
        return self.strings.setdefault(text, len(self.strings) + 1)

    def add(self, table, **row):
        self.rows[table].append(row)

    def work(self, table, start, end, correlation, pid, device=0, stream=7, **row):
        self.add(table, start=start, end=end, deviceId=device, contextId=1, streamId=stream,
                 correlationId=correlation, globalPid=thread_id(pid, 0), **row)

    def kernel(self, name, start, end, correlation, pid, grid=(1, 1, 1), block=(1, 1, 1), registers=0,
               graph=None, node=None, **place):
        self.work("CUPTI_ACTIVITY_KIND_KERNEL", start, end, correlation, pid, demangledName=self.string(name),
                  shortName=self.string(re.sub(r"[<(].*", "", name).split("::")[-1]), registersPerThread=registers,
                  gridX=grid[0], gridY=grid[1], gridZ=grid[2], blockX=block[0], blockY=block[1], blockZ=block[2],
                  staticSharedMemory=0, dynamicSharedMemory=0, graphNodeId=node, graphId=graph, **place)

    def copy(self, direction, source, target, start, end, correlation, pid, size, **place):
        self.work("CUPTI_ACTIVITY_KIND_MEMCPY", start, end, correlation, pid, bytes=size, copyKind=COPIES[direction],
                  srcKind=MEMORIES[source], dstKind=MEMORIES[target], **place)

    def memset(self, start, end, correlation, pid, size, **place):
        self.work("CUPTI_ACTIVITY_KIND_MEMSET", start, end, correlation, pid, value=0, bytes=size, memKind=2, **place)

    def graph(self, number, start, end, correlation, pid, **place):
        self.work("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start, end, correlation, pid, graphId=number,
                  graphExecId=number + 1, **place)

    def call(self, name, start, end, correlation, pid, tid, driver=False):
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=int(driver),
                 globalTid=thread_id(pid, tid), correlationId=correlation, nameId=self.string(name), returnValue=0)

    def range(self, text, start, end, pid, tid, registered=False, kind=59):
        self.add("NVTX_EVENTS", start=start, end=end, eventType=kind, text=None if registered else text,
                 textId=self.string(text) if registered else None, globalTid=thread_id(pid, tid), domainId=0)

    def system_call(self, name, start, end, pid, tid, nesting=0):
        self.add("OSRT_API", start=start, end=end, eventClass=27, globalTid=thread_id(pid, tid),
                 nameId=self.string(name), returnValue=0, nestingLevel=nesting, callchainId=0)

    def gpu(self, number, name="NVIDIA H100 80GB HBM3", memory=80 << 30, multiprocessors=132, lanes=32, warps=64,
            capability=(9, 0)):
        self.add("TARGET_INFO_GPU", vmId=0, id=number, name=name, totalMemory=memory, memoryBandwidth=3352320000000,
                 smCount=multiprocessors, cuDevice=number, threadsPerWarp=lanes, maxWarpsPerSm=warps,
                 computeMajor=capability[0], computeMinor=capability[1])

    def write(self, path, page=4096, without=(), pragmas=()):
        if os.path.exists(path):
            os.remove(path)
        database = sqlite3.connect(path)
        for pragma in (f"page_size={page}",) + tuple(pragmas):
            database.execute("PRAGMA " + pragma)
        self.rows["StringIds"] = [{"id": number, "value": text} for text, number in self.strings.items()]
        for name, rows in self.rows.items():
            if not rows or name in without:
                continue
            database.execute(f"CREATE TABLE {name} {TABLES[name]}")
            for columns in {tuple(row) for row in rows}:
                names = ", ".join(f'"{column}"' for column in columns)
                database.executemany(
                    f"INSERT INTO {name} ({names}) VALUES ({', '.join('?' * len(columns))})",
                    (tuple(row.values()) for row in rows if tuple(row) == columns))
        database.commit()
        database.close()
        return path


def nanoseconds(event):
    start = round(event["ts"] * 1000)
    return start, start + round(event["dur"] * 1000)


def export_of(trace):
    """The export of what a trace of Chrome's JSON shows, which nsys would have seen too: no blocks of memory, and
    operators as PyTorch's emit_nvtx() writes them."""
    export = Export()
    pid = next(event["pid"] for event in trace["traceEvents"] if event.get("cat") == "cuda_runtime")
    for device in trace.get("deviceProperties", []):
        export.gpu(device["id"], device["name"], device["totalGlobalMem"], device["numSms"], device["warpSize"], 64,
                   (device["computeMajor"], device["computeMinor"]))
    for event in trace["traceEvents"]:
        if event.get("ph") != "X":
            continue
        kind, args = event["cat"], event.get("args", {})
        start, end = nanoseconds(event)
        place = {"device": args.get("device", 0), "stream": args.get("stream", -1)}
        if kind == "kernel":
            export.kernel(event["name"], start, end, args["correlation"], pid, args["grid"], args["block"],
                          args["registers per thread"], args.get("graph id"), args.get("graph node id"), **place)
        elif kind == "gpu_memcpy":
            direction, source, target = re.match(r"Memcpy (\w+) \((\w+) -> (\w+)\)", event["name"]).groups()
            export.copy(direction, source, target, start, end, args["correlation"], pid, args["bytes"], **place)
        elif kind == "gpu_memset":
            export.memset(start, end, args["correlation"], pid, args["bytes"], **place)
        elif kind in ("cuda_runtime", "cuda_driver"):
            export.call(event["name"] + ("_v7000" if kind == "cuda_runtime" else ""), start, end,
                        args.get("correlation"), event["pid"], event["tid"], kind == "cuda_driver")
        elif kind in ("user_annotation", "cpu_op"):
            text = re.sub("^ProfilerStep#", "iteration ", event["name"])
            if kind == "cpu_op":
                if "Sequence number" in args:
                    text += f", seq = {args['Sequence number']}"
                text += f", op_id = {args.get('External id', 1)}"
                if "Input Dims" in args:
                    text += f", sizes = {args['Input Dims']}"
            export.range(text, start, end, event["pid"], event["tid"], registered=len(text) % 2 == 0)
    return export


def stripped(trace):
    """The trace without what nsys does not see."""
    kept = dict(trace)
    kept["traceEvents"] = [event for event in trace["traceEvents"]
                           if event.get("ph") == "X" and event["cat"] not in ("gpu_user_annotation", "cuda_sync")]
    for event in kept["traceEvents"]:
        if event["cat"] == "user_annotation":
            event["args"] = {}
        event.get("args", {}).pop("est. achieved occupancy %", None)
        if event["cat"] == "cpu_op":
            event["args"].pop("flops", None)
            event["args"].pop("bytes", None)
    kept["deviceProperties"] = [
        {key: device[key] for key in ("id", "name", "totalGlobalMem", "computeMajor", "computeMinor", "warpSize",
                                      "numSms")} | {"maxThreadsPerMultiprocessor": 64 * device["warpSize"]}
        for device in trace.get("deviceProperties", [])]
    kept.pop("chokepoint", None)
    return kept
