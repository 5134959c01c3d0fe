"""Where the samples of all twins are stored: in memory, in a file each, or in shards of many."""
import os
import tempfile

SHARD = 128  # samples


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())  # or its pages could not be dropped


def read(path):
    """From the disk: its pages are dropped from the host's memory first."""
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return file.read()


class Storage:
    """Samples of which the stored texts come in turns. A shard is read whole, and kept until each of its samples has
    been used."""

    def __init__(self, texts, samples, way):
        self.texts, self.way, self.shards = texts, way, {}
        self.folder = tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp"))
        if way == "files":
            for i in range(samples):
                write(self.path(i), self.text(i))
        if way == "shards":
            for first in range(0, samples, SHARD):
                write(self.path(first // SHARD), b"".join(map(self.text, range(first, min(first + SHARD, samples)))))

    def path(self, number):
        return os.path.join(self.folder.name, str(number))

    def text(self, i):
        return self.texts[i % len(self.texts)]

    def get(self, i):
        if self.way == "memory":
            return self.text(i)
        if self.way == "files":
            return read(self.path(i))
        number, place = divmod(i, SHARD)
        if number not in self.shards:
            data, ends = read(self.path(number)), [0]
            for other in range(number * SHARD, number * SHARD + SHARD):
                ends.append(ends[-1] + len(self.text(other)))
            self.shards[number] = [data[a:b] for a, b in zip(ends, ends[1:]) if b <= len(data)], set()
        samples, used = self.shards[number]
        used.add(place)
        if len(used) == len(samples):
            del self.shards[number]
        return samples[place]
