"""nvcc, for tests of what is kept of it, and its PTX without what is of one machine."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

OLDEST = 13  # what is kept is this one's


def find():
    """(path, "V13.0.88", None), or (None, None, why not)."""
    nvcc = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin:/usr/local/cuda-13.0/bin")
    if nvcc is None:
        return None, None, "nvcc was found neither in PATH nor in /usr/local/cuda/bin"
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"release (\d+)\.\d+, (V\S+)", text)
    if release is None or int(release[1]) < OLDEST:
        version = release[2] if release else "an unknown version"
        return None, None, f"{nvcc} is of {version}; CUDA {OLDEST}.0 or newer is wanted"
    return nvcc, release[2], None


def find_or_skip():
    """(path, "V13.0.88"). Exit 77 (skipped): there is none."""
    nvcc, version, why = find()
    if nvcc is None:
        print(f"skipped: {why}")
        sys.exit(77)
    return nvcc, version


def plain(ptx, folder=""):
    """Without the folders of this machine, but for `folder` before the names of CUDA C, and without blanks at the ends of
    lines. A mangled name of an anonymous namespace, "_INTERNAL_" and eight digits, has a hash of the folder; in the PTX it
    is bytes of debugging information."""
    def name(found):
        path = pathlib.PurePath(found[2])
        return f'{found[1]}"{pathlib.PurePath(folder, path.name) if path.suffix == ".cu" else path.name}"'

    ptx = re.sub(r'(\.file\s+\d+ )"([^"]+)"', name, ptx)
    internal = ",".join(str(byte) for byte in b"_INTERNAL_")
    ptx = re.sub(rf"({internal})(,\d+){{8}}", r"\1" + 8 * ",48", ptx)
    return "".join(line.rstrip() + "\n" for line in ptx.strip().splitlines())
