# Python runs this file when it starts, since `chokepoint record` and `chokepoint try` put its folder first into PYTHONPATH. It also
# runs in programs that have nothing to do with training, and in Python 2, so its syntax is the one that both know.
import os
import sys


def run_hidden():
    """Runs the sitecustomize that this file hides: Debian's, or one of a virtual environment."""
    import importlib.machinery
    import importlib.util

    here = os.path.dirname(os.path.abspath(__file__))
    others = [folder for folder in sys.path if os.path.abspath(folder or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if sys.version_info >= (3, 8):
    command = "try" if os.environ.get("CHOKEPOINT_TRIAL") else "record"
    if os.environ.get("CHOKEPOINT_TRIAL") or os.environ.get("CHOKEPOINT_RECORD"):
        try:
            if command == "try":
                import chokepoint_trial as recorder
            else:
                import chokepoint_recorder as recorder

            recorder.start_from_environment()
        except Exception as error:
            sys.stderr.write("chokepoint %s: %s: %s\n" % (command, type(error).__name__, error))
    run_hidden()
