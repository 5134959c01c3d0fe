#!/usr/bin/env python3
"""Everything that only a machine with a GPU can tell, in steps that are kept and continued.

usage: gpu_check.py [OPTION...] FOLDER

After each step FOLDER has its line of table.txt, and its files whole. So a call may be cut at any
moment, and the next one runs what is missing: nothing that was measured is measured again, or
deleted. On machines that are lent for minutes an archive carries the folder along:

  gpu_check.py --from EARLIER.tar.gz --to LATER.tar.gz FOLDER

  --part NAME    tests: the tests and doctor; rounds: see --rounds; run: scenarios of data, copies,
                 launches, waits and number types; rest: the others; bench: two ranks, benches, and
                 what each switch of tracing costs; torch: PyTorch beside, the heavy step's kernels
                 and counters, NVIDIA's tools, injected faults.
                 All of them, in this order, if not given
  --rounds N     measure the core scenarios N times, and say how many of N were reproduced
  --only REGEX   only steps whose name it finds
  --again        run steps once more that ended with another result than ok or skip
  --seconds N    begin nothing that is expected to end later than after N seconds, and cut what
                 is under way then; 560 if not given
  --from FILE    unpack this archive into FOLDER first, which must be empty; if there is no such
                 file, begin anew
  --to FILE      pack FOLDER after each step
  --build DIR    the build folder, or a bundle of gpu_bundle.sh; CHOKEPOINT_BUILD, this script's
                 folder, or build/ of its checkout if not given
  --device NAME  cuda if not given; cpu tries the script itself

Exit codes: 0 all is well, 1 something is not, or is missing still, 2 bad usage, 77 there is no
GPU, 143 it was told to end.
"""
import argparse
import glob
import gzip
import json
import os
import re
import shutil
import signal
import site
import subprocess
import sys
import tarfile
import tempfile
import time

PARTS = ("tests", "rounds", "run", "rest", "bench", "torch")
LARGE_TRACE = 400_000  # bytes; what diagnose says of it is kept instead
LEAST_SECONDS = 45  # scenarios are begun if there is time for the first one
SAME_LOSS = 1e-3  # trainings that differ in the order of additions differ at most by this share
# The lines of a step that tell most, the best first; and why a tool cannot work in a container.
FIGURES = ("figure: ", "skipped: ", "chokepoint: ", r"\d+ scenarios?: ", r"\d+ checks: ",
           ".*ERROR SUMMARY: ", r"\[  FAILED  \]", r"\[  PASSED  \]")
FORBIDDEN = ("Device not supported", "ERR_NVGPUCTRPERM")
# They end with 3 where there is no second GPU, or no MPI; others where a GPU fails them.
NEED_MORE = ("ranks", "ranks_cpu", "bench_ranks")
# Ways to record (docs/devices.md), each on a step that waits for launches and on a graph.
TRACING = {"as_it_is": "", "driver": "driver=0", "nodes": "nodes=0", "buffers": "buffers=16",
           "device_buffers": "device_buffers=16",
           "all": "driver=0,nodes=0,buffers=16,device_buffers=16"}
# A stream that waits at a test's gate must not hold up another. Users do without.
CONNECTIONS = {"CUDA_DEVICE_MAX_CONNECTIONS": "32"}
HEAVY = ('"$0" train --model=heavy --input=resident --precision=bf16 --attention=fused '
         '--launch=eager --steps=8 "$1" --trace=heavy.json.gz >&2 && '
         '"$0" diagnose --format=json heavy.json.gz')
NSYS = ('"$0" profile --capture-range=cudaProfilerApi --capture-range-end=stop --output=exec '
        '--force-overwrite=true "$@" >&2 && "$0" export --type=sqlite --output=exec.sqlite '
        '--force-overwrite=true exec.nsys-rep >&2 && "$1" diagnose --format=json exec.sqlite')


class Cut(BaseException):
    """The call was told to end."""


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Check:
    def __init__(self, options):
        self.o = options
        self.program = f"{options.build}/chokepoint"
        self.device = f"--device={options.device}"
        self.end = time.monotonic() + options.seconds
        self.work = tempfile.mkdtemp()
        self.fresh = True  # no step was run by this call
        self.table = {}  # name -> [result, seconds, expected, figure]
        if os.path.exists(self.path("table.txt")):
            with open(self.path("table.txt"), encoding="utf-8") as file:
                for line in file.readlines()[1:]:
                    name, *row = line.split("\t")
                    self.table[name.rstrip()] = [word.strip() for word in row]

    def path(self, *names):
        return os.path.join(self.o.folder, *names)

    def log(self, text):
        with open(self.path("log.txt"), "a", encoding="utf-8") as file:
            file.write(text)

    def row(self, name, result, figure, seconds="", expected="", shown=True):
        """A line of the table, at once."""
        row = [result, str(seconds), str(expected), " ".join(figure.split())[:150]]
        self.table[name] = row
        with open(self.path("table.new"), "w", encoding="utf-8") as file:
            for a, b, c, d, e in (("check", "result", "s", "expected", "figure"),
                                  *((name, *rest) for name, rest in self.table.items())):
                file.write(f"{a:30}\t{b:9}\t{c:>5}\t{d:>8}\t{e}\n")
        os.replace(self.path("table.new"), self.path("table.txt"))
        if shown:
            print(f"{name:30} {row[0]:9} {row[1]:>5} {row[2]:>8}  {row[3]}", flush=True)

    def pack(self):
        if self.o.to:
            with tarfile.open(f"{self.o.to}.new", "w:gz", compresslevel=3) as archive:
                archive.add(self.o.folder, ".")
            os.replace(f"{self.o.to}.new", self.o.to)

    def run(self, command, limit, out=None, **environment):
        """The exit code, None if it took too long, and what it wrote. `out`: the file for its
        standard output, which is there if it ends well."""
        said, alone = f"{self.work}/said", f"{self.work}/alone"
        with open(said, "wb") as both, open(alone, "wb") as one:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=one if out else both, stderr=both,
                cwd=self.work, env=os.environ | environment, start_new_session=True)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                for sign in (signal.SIGTERM, signal.SIGKILL):  # and all that it started
                    try:
                        os.killpg(process.pid, sign)
                        process.wait(10)
                    except (ProcessLookupError, subprocess.TimeoutExpired):
                        pass
        if out and status in (0, 1):
            os.makedirs(os.path.dirname(out), exist_ok=True)
            shutil.copyfile(alone, f"{out}.new")
            os.replace(f"{out}.new", out)
        with open(said, encoding="utf-8", errors="replace") as file:
            text = file.read()[-400_000:]
        self.log(f"\n=== {' '.join(command)}\n{text}\n=== exit code {status}\n")
        return status, text

    def step(self, name, limit, expected, command, *, least=None, then=None, **more):
        """Runs `command`, a list for run() or a function of the seconds that there are, if the step
        is wanted and has not ended. Text instead: the reason for which it is skipped."""
        before = self.table.get(name, ["cut"])[0]
        left = self.end - time.monotonic()
        if not re.search(self.o.only, name) or before in ("ok", "skip") or (
                before not in ("cut", "no time") and not self.o.again):
            return
        if isinstance(command, str) or (left < (least or expected) and not self.fresh):
            result, figure = ("skip", command) if isinstance(command, str) else ("no time", "")
            self.row(name, result, figure, 0, expected)
            return
        self.fresh = False
        self.row(name, "cut", "it was under way when the call ended", "", expected, False)
        begin, limit = time.monotonic(), max(min(limit, left), 1)
        status, text = command(limit) if callable(command) else self.run(command, limit, **more)
        lines = text.splitlines()
        figure = next((line for one in FIGURES for line in lines[::-1] if re.match(one, line)), "")
        forbidden = next((line for line in lines if any(one in line for one in FORBIDDEN)), None)
        result = "ok" if status == 0 else "FAILED"
        if status is None:
            result, figure = "cut" if limit == left else "over", f"after {limit:.0f} s"
        elif status == 77 or (status == 3 and name in NEED_MORE) or (status and forbidden):
            result, figure = "skip", forbidden or figure
        elif status == 0 and then:
            try:
                figure = then(text)
            except (ValueError, KeyError, TypeError, OSError) as error:
                result, figure = "FAILED", str(error)
        figure = re.sub("^(figure|skipped): ", "", figure)
        self.row(name, result, figure, round(time.monotonic() - begin), expected)
        self.pack()

    def main(self):
        if not os.path.exists(self.path("machine.txt")):
            describe_machine(self.path("machine.txt"))
        status, text = self.run([self.program, "bench", self.device, "--max-time=0.05",
                                 "--benchmark_filter=^lat_readback"], 60)
        if status == 3:
            print(text.strip().removeprefix("chokepoint: bench: "))
            return 77
        self.row("the device opens", "FAILED" if status else "ok", text.partition("\n")[0])
        for part in PARTS if status == 0 else ():
            if self.o.part in ("all", part):
                getattr(self, f"part_{part}")()
        bad = [name for name, row in self.table.items() if row[0] not in ("ok", "skip")]
        missing = [name for name in bad if self.table[name][0] in ("no time", "cut")]
        print(f"{len(self.table)} lines in {self.path('table.txt')}: {len(bad) - len(missing)} bad"
              + (f"; call again for {', '.join(missing)}" if missing else ""))
        self.pack()
        return 1 if bad else 0

    # --- Tests ---

    def tests(self):
        """By name, of the build's list: the program, and for some a folder of plugins and
        arguments. On the CPU device a test is like all others, but for those that are of a GPU."""
        with open(f"{self.o.build}/gpu_tests", encoding="utf-8") as file:
            lines = [line.split() for line in file]
        return {name: [f"{self.o.build}/{program}", *rest] for name, program, *rest in lines
                if not (self.o.device == "cpu" and program.startswith("test_gpu_"))}

    def test(self, name, limit, expected):
        program, *rest = self.tests()[name]
        more = {"CHOKEPOINT_PLUGINS": f"{self.o.build}/{rest[0]}"} if rest else {}
        self.step(name, limit, expected, [program, *rest[1:]], **CONNECTIONS, **more)

    def part_tests(self):
        long = {"test_gpu_kernels": (120, 20), "test_training_gpu": (120, 30)}
        for name in sorted(self.tests(), key=lambda one: one != "test_gpu_kernels"):
            if name != "test_faults_gpu":
                self.test(name, *long.get(name, (60, 8)))
        self.step("doctor", 90, 45, [self.program, "doctor", self.device])

    # --- Scenarios ---

    def listed(self, *groups):
        """Names of the scenarios of these groups; none given: the core."""
        done = subprocess.run([self.program, "list", "--format=json"], capture_output=True)
        return [one["name"] for one in json.loads(done.stdout)["scenarios"] if
                (one["group"] in groups and not (self.o.rounds and one["core"]) if groups
                 else one["core"])]

    def results(self, pattern):
        """All that was measured: each call that did has its folder."""
        return [one for path in sorted(glob.glob(self.path(pattern, "*", "result.json")))
                for one in load(path)["chokepoint"]["scenarios"]]

    def scenarios(self, name, limit, expected, names):
        def measure(seconds):
            end = time.monotonic() + seconds
            done = {one["name"] for one in self.results(name)}
            missing = [one for one in names if one not in done]
            folder = self.path(name, str(len(glob.glob(self.path(name, "*"))) + 1))
            status, text = 0, f"figure: all of {len(names)}"
            if missing:
                status, text = self.run([self.program, "run", *missing, self.device, "--quick",
                                         "--color=never", f"--out={folder}"], seconds)
            self.summarise(name, end)
            return 0 if status in (1, 3) else status, text  # each scenario has its line

        self.step(name, limit, expected, measure, least=LEAST_SECONDS)
        for one in self.results(name):
            result = {"reproduced": "ok", "skipped": "skip"}.get(one["verdict"], one["verdict"])
            costs = [tracing["overhead"] for tracing in one["tracing"].values()
                     if tracing and tracing["overhead"] is not None]
            self.row(f"  {name} {one['name']}", result,
                     (f"{one['effect']:.2f}x " if one["effect"] else "") +
                     (f"tracing {max(costs):+.1%} " if costs else "") +
                     (one["reason"] if result != "ok" else ""))

    def summarise(self, name, end):
        """Writes the diagnosis of each trace, and then removes the trace if it is large."""
        for trace in sorted(glob.glob(self.path(name, "*", "traces", "*.gz"))):
            kept = trace.replace("/traces/", "/diagnoses/").removesuffix(".gz")
            if not os.path.exists(kept):
                self.run([self.program, "diagnose", "--format=json", trace],
                         max(end - time.monotonic(), 10), kept)
            if os.path.exists(kept) and os.path.getsize(trace) > LARGE_TRACE:
                os.remove(trace)

    def part_rounds(self):
        for number in range(self.o.rounds):
            self.scenarios(f"round{number + 1}", 240, 110, self.listed())
        rounds = self.results("round*") if self.o.rounds else []
        for name in dict.fromkeys(one["name"] for one in rounds):
            shown = [one["effect"] or 0 for one in rounds
                     if one["name"] == name and one["verdict"] == "reproduced"]
            self.row(f"rounds of {name}", "ok" if len(shown) == self.o.rounds else "not all",
                     f"{len(shown)} of {self.o.rounds} reproduced" +
                     (f", {min(shown):.2f}x to {max(shown):.2f}x" if shown else ""))

    def part_run(self):
        self.scenarios("run", 540, 330,
                       self.listed("data", "copies", "launches", "syncs", "dtypes"))

    def part_rest(self):
        self.scenarios("rest", 540, 240,
                       self.listed("kernels", "memory", "logging", "ranks", "measuring"))

    # --- Benches ---

    def part_bench(self):
        train = (self.program, "train", "--ranks=2", "--steps=20", "--format=json", "--batch=12",
                 "--model=balanced", "--data=images", "--input=decoded", "--patch=8", "--tokens=5",
                 "--width=64", "--blocks=2", "--precision=fp32", "--launch=eager")
        self.step("ranks", 60, 20, [*train, self.device], out=self.path("ranks.json"))
        self.step("ranks_cpu", 60, 10, [*train, "--device=cpu"], out=self.path("ranks_cpu.json"),
                  then=self.compare_losses)
        for name, limit, expected, which in (
                ("bench_ranks", 60, 15, "--ranks=2"),
                ("bench_copies", 70, 35, "--benchmark_filter=^(lat|bw)_"),
                ("bench_products", 70, 35, "--benchmark_filter=^(gemm|attention)"),
                ("bench_kernels", 105, 65, "--benchmark_filter=^(layernorm|softmax|gelu|residual|"
                                           "split|merge|bias|adamw)")):
            self.step(name, limit, expected, [  # each row is set up once, which takes longest
                self.program, "bench", self.device, which, "--benchmark_min_time=0.03",
                "--benchmark_enable_random_interleaving=false",
                f"--max-time={0.05 if self.o.device == 'cpu' else 0.4}",
                f"--benchmark_out={self.path(name)}.json"])

        for name, switches in TRACING.items():
            for launch in ("eager", "graph"):
                self.step(f"tracing_{launch}_{name}", 60, 8, [
                    self.program, "train", "--model=light", "--input=resident", "--loss-every=20",
                    f"--launch={launch}", "--steps=20", "--trace=tracing.json.gz", self.device],
                    then=self.overhead, CHOKEPOINT_CUPTI=switches)

    def overhead(self, _):
        """The trace says what it cost itself, before its events."""
        with gzip.open(f"{self.work}/tracing.json.gz", "rt", encoding="utf-8") as file:
            ours = re.search(r'"chokepoint":({[^{}]*})', file.read(20_000))
        told = json.loads(ours[1])
        return (f"tracing {told['tracing_overhead']:+.1%} of {told['step_time_us']:.0f} us, "
                f"{told['rows'] / told['steps']:.0f} rows a step")

    def epilogues(self, _):
        """The heavy step with bias and GELU in its products' kernels, and in some of their own."""
        rows = load(self.path("epilogues.json"))["benchmarks"]
        times = {row["run_name"].rpartition(":")[2]: row["real_time"] for row in rows
                 if row.get("aggregate_name", "median") == "median"}
        with_them, without = times["epilogue"], times["fused"]
        return (f"a step takes {with_them / without:.3f} of its time with epilogues: "
                f"{with_them:.4g} and {without:.4g} {rows[0]['time_unit']}")

    def counters(self, _):
        counters = load(self.path("counters.json"))["traces"][0]["counters"]
        if counters is None:
            raise ValueError("the GPU's counters could not be read")
        return counters["text"]

    def compare_losses(self, _):
        ours, cpu = (load(self.path(f"{name}.json"))["loss"] for name in ("ranks", "ranks_cpu"))
        if not abs(ours - cpu) <= SAME_LOSS * abs(cpu):
            raise ValueError(f"the loss is {ours:.6g}, and {cpu:.6g} on the CPU device")
        return f"loss {ours:.6g}, and {cpu:.6g} on the CPU device"

    # --- PyTorch and NVIDIA's tools ---

    def tool(self, name, tool, limit, expected, command, **more):
        """A step with one of NVIDIA's tools, whose path takes the place of "tool"."""
        path = shutil.which(tool) or shutil.which(tool, path="/usr/local/cuda/bin")
        absent = f"{tool} is not here, or not for this device"
        self.step(name, limit, expected, absent if self.o.device == "cpu" or not path else
                  [path if word == "tool" else word for word in command], **more)

    def part_torch(self):
        beside = os.path.dirname(os.path.realpath(__file__))
        item_sync = (self.program, "exec", "item_sync", "--variant=before", "--quick", self.device)
        small = ["--size", "small", "--rounds", "1"] if self.o.device == "cpu" else []
        # PyTorch finds CUDA's libraries itself, and would take wrong ones from LD_LIBRARY_PATH.
        self.step("torch", 300, 210, [
            sys.executable, f"{beside}/gpu_torch.py", self.program, "--device",
            self.o.device.split(":")[0], "--out", self.path("torch.json"), *small],
            LD_LIBRARY_PATH=self.o.given, CHOKEPOINT_LIBRARIES=os.environ["LD_LIBRARY_PATH"])
        # Everything fixed but the graph, so that each kernel has a row.
        self.step("heavy", 60, 15, ["sh", "-c", HEAVY, self.program, self.device],
                  out=self.path("heavy.json"))
        # Whether elementwise=epilogue should be the default.
        self.step("epilogues", 60, 15, [
            self.program, "train", "--model=heavy", "--input=resident", "--precision=bf16",
            "--attention=fused", "--launch=eager", "--steps=8", "--format=json",
            "--sweep=elementwise=fused,epilogue", self.device],
            out=self.path("epilogues.json"), then=self.epilogues)
        self.step("counters", 60, 15, ["sh", "-c", HEAVY, self.program, self.device],
                  out=self.path("counters.json"), then=self.counters, CHOKEPOINT_CUPTI="counters=1")
        # Whole steps, with NVIDIA's libraries. A library may read what it never uses, so memory
        # that nobody wrote is looked for in kernels alone.
        for name, test, limit, expected in (("memcheck", "test_gpu_training", 90, 60),
                                            ("initcheck", "test_gpu_kernels", 60, 40)):
            self.tool(name, "compute-sanitizer", limit, expected, [
                "tool", "--tool", name, "--error-exitcode", "9", "--target-processes", "all",
                *self.tests().get(test, [f"no {test}"])], CHOKEPOINT_TEST_TYPE="bf16")
        self.tool("ncu", "ncu", 90, 50, [
            sys.executable, f"{beside}/gpu_ncu.py", "--ncu", "tool", "--device", self.o.device,
            "--out", self.path("ncu.csv"), self.program])
        self.tool("exec_nsys", "nsys", 90, 30, ["sh", "-c", NSYS, "tool", *item_sync],
                  out=self.path("exec_nsys.json"),
                  then=lambda _: f"finds {load(self.path('exec_nsys.json'))['findings'][0]['id']}")
        self.tool("exec_ncu", "ncu", 90, 30, [
            "tool", "--profile-from-start=off", "--csv", "--launch-count=20",
            "--metrics=gpu__time_duration.sum", *item_sync], then=count_kernels)
        if "test_faults_gpu" in self.tests():
            self.test("test_faults_gpu", 180, 110)


def count_kernels(text):
    count = text.count('"gpu__time_duration.sum"')
    if count == 0:
        raise ValueError("ncu saw no kernel between the calls of the profiler's API")
    return f"{count} kernels"


def describe_machine(path):
    with open(path, "w", encoding="utf-8") as file:
        for command in ("uname -a", "nvidia-smi -q", "nvidia-smi topo -m", "nvcc --version",
                        "lscpu", "free -m"):
            print(f"\n=== {command}", file=file, flush=True)
            subprocess.run(["timeout", "20", *command.split()], stdout=file,
                           stderr=subprocess.STDOUT, check=False)


def libraries(options):
    """CUDA's libraries: the toolkit's, and those of pip's packages. The bundle comes last:
    libraries that were carried find each other there."""
    toolkits = [f"{os.environ.get('CUDA_HOME', '')}/lib64", "/usr/local/cuda/lib64",
                "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/nvidia/lib64"]
    pip = [found for place in [*site.getsitepackages(), site.getusersitepackages(), *sys.path]
           for found in sorted(glob.glob(f"{place}/nvidia/*/lib"))]
    found = dict.fromkeys(one for one in toolkits + pip if os.path.isdir(one))
    return ":".join([options.given, *found, options.build]).lstrip(":")


def parse():
    beside = os.path.dirname(os.path.realpath(__file__))
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2])
    parser.add_argument("folder")
    parser.add_argument("--part", default="all", choices=("all", *PARTS))
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--seconds", type=float, default=560)
    parser.add_argument("--from", dest="earlier")
    parser.add_argument("--to")
    parser.add_argument("--build", default=os.environ.get("CHOKEPOINT_BUILD") or (
        beside if os.path.exists(f"{beside}/chokepoint") else f"{beside}/../build"))
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    options.build = os.path.realpath(options.build)
    options.folder = os.path.realpath(options.folder)
    options.to = options.to and os.path.realpath(options.to)
    options.given = os.environ.get("LD_LIBRARY_PATH", "")
    if not os.path.exists(f"{options.build}/chokepoint"):
        parser.error(f"{options.build} holds no chokepoint; build it, or give --build")
    os.makedirs(options.folder, exist_ok=True)
    if options.earlier and os.listdir(options.folder):
        parser.error(f"--from wants an empty folder, and {options.folder} is not")
    if options.earlier and os.path.exists(options.earlier):
        with tarfile.open(options.earlier) as archive:
            archive.extractall(options.folder)
    return options


def cut(*_):
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, signal.SIG_IGN)
    raise Cut


def main():
    check = Check(parse())
    os.environ |= {"LD_LIBRARY_PATH": libraries(check.o), "CHOKEPOINT_TEST_DEVICE": check.o.device}
    os.environ.setdefault("CHOKEPOINT_CACHE", f"{check.work}/cache")  # generated images
    os.environ.setdefault("CHOKEPOINT_TEST_SEED", "1")
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sign, cut)
    try:
        return check.main()
    except Cut:
        check.pack()
        print("cut; call again for the rest")
        return 143
    finally:
        shutil.rmtree(check.work, ignore_errors=True)


sys.exit(main())
