"""chokepoint.html as scripts/web.sh builds it, for tests of it."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from browser import skip  # noqa: E402


def build(source, folder):
    """Builds it in the folder, which keeps what was built from run to run, and returns its path. The test is skipped where
    emscripten is not there."""
    built = subprocess.run([os.path.join(source, "scripts/web.sh"), "--folder", folder], capture_output=True, text=True,
                           check=False)
    if built.returncode == 3:
        skip(built.stderr.strip().splitlines()[-1])
    assert built.returncode == 0, built.stderr
    assert built.stderr == "", built.stderr
    return pathlib.Path(folder, "chokepoint.html").resolve()
