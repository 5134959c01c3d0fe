"""Files that are written whole or not at all, as harness/base/system/atomic_file.h has it."""
import contextlib
import errno
import os
import tempfile


def refuse(path):
    """OSError where `path` is there and no file: renaming would replace a device such as /dev/stdout."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(errno.EEXIST, "it exists and is not a file")


def write(path, content):
    """Writes bytes beside the file first. OSError; then, and after Ctrl-C, whatever was at `path` stays."""
    path = os.path.abspath(path)
    refuse(path)
    mask = os.umask(0)
    os.umask(mask)
    descriptor, temporary = tempfile.mkstemp(".chokepoint", f"{os.path.basename(path)}.", os.path.dirname(path))
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o666 & ~mask)
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
