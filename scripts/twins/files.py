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


def record(table, rows, way, path):
    """Adds a step's predictions to a table in a file, which is written anew, or their rows at its end."""
    table += rows
    with record_function("predictions"), open(path, "w" if way == "rewritten" else "a", encoding="utf-8") as file:
        for row in table if way == "rewritten" else rows:
            file.write(",".join(map(str, row)) + "\n")


def start():
    writer = threading.Thread(target=lambda: [write(path, make()) for path, make in iter(tasks.get, None)])
    writer.start()
    return writer


def finish(writer):
    tasks.put(None)
    writer.join()
