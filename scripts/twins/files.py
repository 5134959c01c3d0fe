"""Logs and states of all twins: written by the loop, or by a thread while it goes on."""
import os
import queue
import threading

from torch.profiler import record_function

tasks = queue.Queue()  # of a thread that writes files while the loop goes on


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def deliver(what, way, path, data):
    if way == "none":
        return
    with record_function(what):
        if way in ("synced", "blocking"):
            write(path, data())
        else:
            tasks.put((path, data))


def start():
    writer = threading.Thread(target=lambda: [write(path, make()) for path, make in iter(tasks.get, None)])
    writer.start()
    return writer


def finish(writer):
    tasks.put(None)
    writer.join()
