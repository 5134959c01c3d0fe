#!/usr/bin/python3
"""Times and memory of chokepoint.html beside those of the program, for docs/page.md.

usage: measure_web_page.py PROGRAM SOURCE FOLDER TRACES...

FOLDER keeps the build of scripts/web.sh. Prints a row of Markdown for each file: its size; seconds from the drop to the page
that is drawn, when a page sees its first file and when it sees it again, in brackets those of cores, which a busy machine
changes less; the same of the program on one core; the longest time for which a click had to wait; the memory that the page's
process took more than before, at its peak, the desk's part of it, that of the program at its peak, and their ratio.
"""
import os
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from test_web_page import FOLDER, LEVELS, PROGRAM, SOURCE, TRACES, Page, build  # noqa: E402

DROP = """
    const transfer = new DataTransfer(), begun = performance.now();
    for (const file of document.getElementById("chosen").files) transfer.items.add(file);
    delete document.documentElement.dataset.ready;
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    let last = begun, longest = 0;
    while (document.documentElement.dataset.ready !== "yes") {
      await new Promise((go) => setTimeout(go, 1));
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }
    await new Promise(requestAnimationFrame);
    return { seconds: (performance.now() - begun) / 1000, wait: longest, heap: await tracesDesk.request("memory"),
      found: document.querySelectorAll("[data-finding], [data-bottleneck]").length };"""


def alone(path):
    """Seconds, those of cores, and bytes of the program on one core."""
    begun = time.monotonic()
    with subprocess.Popen([PROGRAM, "diagnose", path, "--format=json", *LEVELS], stdout=subprocess.PIPE,
                          preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})) as child:
        child.stdout.read(1)  # the answer is whole then, and more than the pipe holds
        memory = kept(child.pid, "VmHWM")
        child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0 and memory > 0, path
    return time.monotonic() - begun, used.ru_utime + used.ru_stime, memory


def renderers(root):
    """The processes of pages that a driver has started."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            pass
    found = {root}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return [one for one in found if b"--type=renderer" in pathlib.Path(f"/proc/{one}/cmdline").read_bytes()]


def kept(process, name):
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


def worked(processes):
    """Seconds of cores so far."""
    fields = [pathlib.Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in processes]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


def row(path):
    page = Page(pathlib.Path(FOLDER, "chokepoint.html").as_uri())
    page.run("await tracesDesk.request('memory'); await new Promise((go) => setTimeout(go, 500));")
    page.choose([path])
    processes = renderers(page.browser.service.process.pid)
    for process in processes:  # their peaks are to be those from here on (proc(5))
        pathlib.Path(f"/proc/{process}/clear_refs").write_text("5")
    before, cores = sum(kept(process, "VmRSS") for process in processes), [worked(processes)]
    first = page.run(DROP)
    peak = sum(kept(process, "VmHWM") for process in processes)
    cores.append(worked(processes))
    again = page.run(DROP)
    cores.append(worked(processes))
    page.browser.quit()
    assert first["found"] > 0, path
    seconds, own, memory = min(alone(path) for _ in range(3))
    print(f"| {path.name} | {path.stat().st_size / 1e6:.0f} MB | {first['seconds']:.2f} ({cores[1] - cores[0]:.2f}) | "
          f"{again['seconds']:.2f} ({cores[2] - cores[1]:.2f}) | {seconds:.2f} ({own:.2f}) | "
          f"{max(first['wait'], again['wait']):.0f} ms | {(peak - before) / 1e6:.0f} MB | {first['heap'] / 1e6:.0f} MB | "
          f"{memory / 1e6:.0f} MB | {(peak - before) / memory:.1f} |", flush=True)


if __name__ == "__main__":
    build(SOURCE, FOLDER)
    print("| file | size | first, s | again, s | program, s | a click waits | memory | the desk's | program's | ratio |")
    for trace in TRACES:
        row(trace)
