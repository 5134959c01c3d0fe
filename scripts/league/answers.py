"""Asks a diagnoser about a trace, within a time, and notes what that took."""
import os
import resource
import signal
import subprocess
import tempfile
import time

OUTPUT_MOST = 64 << 20  # bytes that are read of an answer
KIB = 1024  # ru_maxrss


def last_words(file):
    file.seek(0)
    text = file.read(OUTPUT_MOST).decode(errors="replace").strip()
    return text.splitlines()[-1][:200] if text else ""


def wait(child, timeout):
    """The wait status and the usage, and whether it was in time. Its whole group is ended if not."""
    end = time.monotonic() + timeout
    pause = 0.001
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            return status, usage, True
        if time.monotonic() >= end:
            os.killpg(child.pid, signal.SIGKILL)
            _, status, usage = os.wait4(child.pid, 0)
            return status, usage, False
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def own_peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB


def run(command, timeout):
    """(output, failure, seconds, peak bytes). A child begins with our memory, so below our own the peak is a bound."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                     start_new_session=True)
        except OSError as error:
            return "", f"it cannot be started: {error.strerror}", 0.0, 0
        try:
            status, usage, in_time = wait(child, timeout)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        seconds = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        failure = None
        if not in_time:
            failure = f"it took more than {timeout:g} s"
        elif child.returncode < 0:
            failure = f"it was ended by signal {-child.returncode}"
        elif child.returncode > 0:
            failure = f"it exits with {child.returncode}: {last_words(errors)}".rstrip(": ")
        output.seek(0)
        return output.read(OUTPUT_MOST).decode(errors="replace"), failure, seconds, usage.ru_maxrss * KIB


def ask(diagnoser, path, timeout):
    text, failure, seconds, peak = run(diagnoser.command(path), timeout)
    causes = []
    if failure is None:
        try:
            causes = diagnoser.read(text)
        except Exception as error:  # it may have printed anything
            failure = f"its answer cannot be read: {error}"
    return {"causes": causes, "failure": failure, "seconds": seconds, "peak_bytes": peak,
            "peak_is_bound": peak <= own_peak()}
