"""The program of this package, in place of this Python: its exit code and Ctrl-C are its own."""
import os
import shutil
import sys

from chokepoint._program import PROGRAM


def main() -> None:
    # The name is part of the commands that the program prints: what a shell finds needs no path.
    typed = sys.argv[0]
    name = "chokepoint" if typed in ("", shutil.which("chokepoint")) or typed.endswith(".py") else typed
    os.execv(PROGRAM, [name, *sys.argv[1:]])


if __name__ == "__main__":
    main()
