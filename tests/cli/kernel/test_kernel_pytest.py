#!/usr/bin/python3
"""The fixture `kernel_counts`: what a user of pytest sees, from no counts to counts that have grown.

usage: test_kernel_pytest.py PROGRAM CHECKOUT
"""
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy  # noqa: F401
    import pytest  # noqa: F401
except ImportError as error:
    print(f"{error}: scripts/setup.sh --tests installs it")
    sys.exit(77)

KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry doubled(.param .u64 a, .param .u32 n) {
.reg .b64 %rd<5>; .reg .b32 %r<8>; .reg .pred %p<2>; .reg .f32 %f<3>;
ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;
mad.lo.s32 %r5, %r3, %r4, %r2; setp.ge.s32 %p1, %r5, %r1; @%p1 bra END;
mul.wide.s32 %rd3, %r5, 4; add.s64 %rd1, %rd1, %rd3;
ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, %f1; st.global.f32 [%rd1], %f2;
END: ret;
}
"""
TEST = """import numpy

def test_doubled(kernel_counts):
    values = numpy.arange(64, dtype=numpy.float32)
    found = kernel_counts("doubled.ptx", 2, values, SIZE, block=32)
    numpy.testing.assert_array_equal(values, 2 * numpy.arange(64))
    assert found["counts"]["warps"] == 2
"""

program, checkout = sys.argv[1:]
environment = dict(os.environ, PYTHONPATH=os.path.join(checkout, "python"), PYTHONDONTWRITEBYTECODE="1",
                   PATH=os.path.dirname(os.path.abspath(program)) + os.pathsep + os.environ["PATH"])


def pytest_says(folder, *options):
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "chokepoint._pytest", "-p", "no:cacheprovider", *options],
                          cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def expect(what, said, code, *words):
    assert said[0] == code and all(word in said[1] for word in words), f"{what}: {said[0]}\n{said[1]}"


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "doubled.ptx").write_text(KERNEL)
    (folder / "test_it.py").write_text(TEST.replace("SIZE", "64"))
    expect("nothing is kept", pytest_says(folder), 1, "no counts are kept", "--keep-kernel-counts")
    expect("they are written", pytest_says(folder, "--keep-kernel-counts"), 0, "1 passed")
    assert [path.name for path in (folder / "kernel_counts").iterdir()] == ["test_it.test_doubled.1.json"]
    expect("the same kernel", pytest_says(folder), 0, "1 passed")
    (folder / "doubled.ptx").write_text(KERNEL.replace("mul.wide", "mov.u32 %r6, 0; mul.wide"))
    expect("an instruction more", pytest_says(folder), 1, "instructions: 30, not 28", "counts have grown")
    (folder / "doubled.ptx").write_text(KERNEL)
    (folder / "test_it.py").write_text(TEST.replace("SIZE", "65").replace("doubled.ptx\", 2", "doubled.ptx\", 3"))
    expect("a wrong kernel", pytest_says(folder, "--keep-kernel-counts"), 1, "an access out of bounds: ld.global.f32 %f1, [%rd1]: ", "0 bytes after the end")
print("counts are kept, held, and refused where they grow")
