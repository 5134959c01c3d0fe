"""Jinja2, which pages are made with, and which python3 may lack."""
import os
import sys

INSTALL = "scripts/setup.sh --report installs it (Debian: python3-jinja2; pip: jinja2)"
SYSTEM_PYTHON = "/usr/bin/python3"  # for which Debian's packages are; python3 may be another one


def need(fail):
    """Without Jinja2 the system's python3 gets a try, which runs the script anew; then fail(3, sentence)."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        if os.access(SYSTEM_PYTHON, os.X_OK) and not os.environ.get("CHOKEPOINT_REPORT_AGAIN"):
            os.environ["CHOKEPOINT_REPORT_AGAIN"] = "1"
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
        fail(3, f"python3 has no Jinja2; {INSTALL}")
