"""A fixture for pytest: a kernel that is right, and that needs no more than before.

    def test_softmax(kernel_counts):
        out = numpy.zeros((64, 128), numpy.float32)
        kernel_counts("softmax.cu", 64, out, x, 64, 128, block=128)
        numpy.testing.assert_allclose(out, softmax(x), rtol=1e-5)

`pytest --keep-kernel-counts` writes the counts, into kernel_counts/ beside the test; they belong into the repository.
"""
import json
import re
from typing import Any, Callable, Dict

import pytest

from chokepoint._kernel import kernel

_KEPT = ("schema", "kernel", "grid", "block", "counts")  # what --baseline reads


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--keep-kernel-counts", action="store_true",
                     help="write the counts of kernels (fixture kernel_counts) in place of comparing them")


@pytest.fixture
def kernel_counts(request: Any) -> Callable[..., Dict[str, Any]]:
    """chokepoint.kernel(), which fails the test if the kernel is wrong, or if a count is above the one that is kept."""
    calls = 0

    def run(*arguments: Any, **named: Any) -> Dict[str, Any]:
        nonlocal calls
        calls += 1
        test = re.sub(r"\W+", "_", request.node.name).strip("_")
        path = request.path.parent / "kernel_counts" / f"{request.path.stem}.{test}.{calls}.json"
        keeps = request.config.getoption("--keep-kernel-counts")
        if not keeps and not path.exists():
            pytest.fail(f"no counts are kept in {path}: pytest --keep-kernel-counts writes them", pytrace=False)
        try:
            found = kernel(*arguments, **named, baseline=None if keeps else path)
        except AssertionError as error:
            pytest.fail(str(error), pytrace=False)
        if found["wrong"] is not None:
            wrong = found["wrong"]
            pytest.fail(f"{wrong['kind']}: {wrong['place'] or wrong['instruction']}: {wrong['detail']}", pytrace=False)
        if keeps:
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps({member: found[member] for member in _KEPT}, indent=1) + "\n")
        return found

    return run
