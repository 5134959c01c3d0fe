"""One kernel of CUDA, executed and counted without a GPU."""
import json
import os
import tempfile
from typing import Any, Dict, List, Sequence, Union

from chokepoint._program import Path, run

_TYPES = {"float32": "f32", "float64": "f64", "float16": "f16", "int8": "i8", "uint8": "u8", "bool": "u8", "int16": "i16",
          "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64"}


def _numbers(of: Union[int, Sequence[int]]) -> str:
    return ",".join(map(str, [of] if isinstance(of, int) else of))


def _parts_of(value: Any) -> List[Any]:
    """The values that numba passes for an argument: for an array its owners, sizes, memory, shape and strides."""
    import numpy

    if not isinstance(value, numpy.ndarray):
        return [value]
    extents = [numpy.int64(of) for of in (*value.shape, *value.strides)]
    return [numpy.uint64(0), numpy.uint64(0), numpy.int64(value.size), numpy.int64(value.itemsize), value, *extents]


def kernel(source: Any, grid: Union[int, Sequence[int]], *arguments: Any, block: Union[int, Sequence[int], None] = None,
           name: Union[str, None] = None, shared: int = 0, numba: bool = False, baseline: Union[Path, None] = None,
           options: Sequence[str] = ()) -> Dict[str, Any]:
    """Runs a kernel on this machine's processor; returns what `chokepoint kernel --format=json` prints: what is wrong, counts
    by line, findings. Arrays have what the kernel left in them afterwards.

    source: a file of PTX or CUDA C; PTX as text; or a kernel that Triton compiled, as triton.compile() returns it, whose
    name, threads and shared memory are taken from it.
    arguments: arrays of NumPy, and numbers: of NumPy with their type, a float as f32, an int as i32.
    numba: the PTX is numba's (numba.cuda.compile_ptx), whose kernels take seven and more parameters for an array.
    baseline: a file with what an earlier call returned, as JSON. AssertionError: a count has grown since, or --check of the
    options found other values.
    options: further ones of the program, such as "--arch=80" or "--all".
    """
    import numpy

    compiled = getattr(source, "asm", None)
    if numba:
        arguments = tuple(part for value in arguments for part in _parts_of(value))
    with tempfile.TemporaryDirectory() as folder:
        if compiled is not None:
            about = source.metadata
            block, shared, name = block or 32 * about.num_warps, shared or about.shared, name or about.name
            source = compiled["ptx"]
            # Triton passes memory for scratch and profiles in two more parameters.
            wanted = source[:source.index("{", source.index(".entry"))].count(".param ")
            arguments = arguments + (numpy.uint64(0),) * max(wanted - len(arguments), 0)
        if isinstance(source, str) and ".version" in source:
            text, source = source, os.path.join(folder, "kernel.ptx")
            with open(source, "w") as file:
                file.write(text)
        words: List[str] = []
        arrays: Dict[int, Any] = {}
        for number, value in enumerate(arguments):
            if isinstance(value, numpy.ndarray) and value.ndim > 0:
                if not value.flags.c_contiguous or value.dtype.name not in _TYPES:
                    raise ValueError(f"argument {number + 1} should be a contiguous array of numbers")
                words.append(os.path.join(folder, f"{number}.npy"))
                numpy.save(words[-1], value)
                arrays[number + 1] = value
            elif isinstance(value, (numpy.generic, numpy.ndarray)):
                words.append(f"{_TYPES[value.dtype.name]}:{value.item():.17g}")
            else:
                words.append(f"{'f32' if isinstance(value, float) else 'i32'}:{value:.17g}")
        done = run(
            ["kernel", os.fspath(source), f"--grid={_numbers(grid)}", f"--block={_numbers(block or 32)}", "--format=json",
             "--elements=0", "--args=" + ",".join(words),
             *(["--save=" + ",".join(f"{n}:{words[n - 1]}" for n in arrays)] if arrays else []), *([f"--kernel={name}"] if name else []),
             *([f"--shared={shared}"] if shared else []), *([f"--baseline={os.fspath(baseline)}"] if baseline else []), *options])
        found: Dict[str, Any] = json.loads(done.stdout)
        for number, array in arrays.items():
            array.reshape(-1)[:] = numpy.load(words[number - 1]).reshape(-1)
    if done.returncode == 1 and found["wrong"] is None:
        raise AssertionError(done.stderr.decode(errors="replace").strip())
    return found
