"""The program of this package, in place of this Python: its exit code and Ctrl-C are its own."""
import os
import sys

from chokepoint._program import PROGRAM, environment


def main() -> None:
    os.execve(PROGRAM, [sys.argv[0] or "chokepoint", *sys.argv[1:]], environment())


if __name__ == "__main__":
    main()
