"""Other processors: the tests as they run on one with AVX2 and no AVX-512, and on one without FMA.

    python tests/processors.py                        # make processors: both, with the tests that each one names below
    python tests/processors.py avx2 tests/theory -x   # one of them, and other arguments for pytest instead

Sums and sorts of numpy, OpenBLAS and the C library, and what numba compiles, are different code on different
processors: last bits differ, and the order of equal values. A record must not, and no test may depend on it. A
processor that has more instructions can do as if it had fewer. Each library is told by its environment variable when it
starts, so the tests run in a child process; that process first looks, by `faults`, whether every library obeyed.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Processor:
    """A processor to do as if the tests ran on, and the tests that run there."""

    about: str
    needs: tuple[str, ...]
    """What the machine must have, as LLVM calls it."""
    model: str
    """A processor of this kind that OpenBLAS and LLVM know."""
    lacks: str
    """Pattern of the features that it lacks, as LLVM and numpy call them."""
    c_library_lacks: tuple[str, ...]
    not_in_code: str
    """Pattern of the registers and instructions that it lacks, in assembly."""
    in_code: str
    """Pattern of how it multiplies and adds with one rounding."""
    tests: tuple[str, ...]


SIDE_BY_SIDE = ("-n", "auto", "--dist", "worksteal")
QUICK = (*SIDE_BY_SIDE, "-m", "not slow")
EXACT = (
    "tests/contract",
    "tests/engine/test_engine.py",
    "tests/engine/test_linear_engine.py",
    "tests/engine/test_loops.py",
    "tests/kernels",
    "tests/test_products.py",
    "tests/rules",
)
"""Records, products, kernels and rules, compared bit for bit with the textbook's."""

PROCESSORS = {
    "avx2": Processor(
        about="AVX2 and FMA, without AVX-512",
        needs=("avx2", "fma"),
        model="Haswell",
        lacks="avx512|avx10|amx|x86_v4",
        c_library_lacks=("AVX512F",),
        not_in_code=r"zmm|[xy]mm(1[6-9]|2\d|3[01])",
        in_code=r"\tvfmadd",
        tests=(*SIDE_BY_SIDE, *EXACT, "src", "docs", "README.md"),
    ),
    "sse": Processor(
        about="SSE 4.2, without AVX and FMA",
        needs=("sse4.2",),
        model="Nehalem",
        # The last ones imply AVX.
        lacks="avx|amx|fma|x86_v[34]|xop|f16c|vaes|vpclmul|sha512|sm[34]",
        c_library_lacks=("AVX512F", "AVX2", "AVX", "FMA", "FMA4"),
        not_in_code=r"[yz]mm|\tv[a-z]",
        in_code=r"\bfma\b",  # the C library's function
        tests=(*QUICK, *EXACT),
    ),
}


def main(arguments: list[str]) -> int:
    """Run the tests on each processor, and return 0 if all pass."""
    if arguments[:1] == ["--inside"]:
        return _inside(PROCESSORS[arguments[1]], arguments[2:])
    if platform.machine().lower() not in ("x86_64", "amd64"):
        print(f"Left out: other processors can be imitated on x86-64 only, and this one is {platform.machine()}.")
        return 0
    names = [name for name in arguments if name in PROCESSORS] or list(PROCESSORS)
    others = [argument for argument in arguments if argument not in PROCESSORS]
    return max([_run(name, others) for name in names])


def _run(name: str, arguments: list[str]) -> int:
    import llvmlite.binding as llvm

    processor, features = PROCESSORS[name], llvm.get_host_cpu_features()
    missing = [feature for feature in processor.needs if not features.get(feature)]
    if missing:
        print(f"Left out: {processor.about}, for this processor has no {' and no '.join(missing)}.", flush=True)
        return 0
    if not arguments and not _lacking(processor, [feature for feature, there in features.items() if there]):
        print(f"Left out: {processor.about}, for this processor is one, and `make test` runs all there.", flush=True)
        return 0
    command = [sys.executable, __file__, "--inside", name, *(arguments or processor.tests)]
    variables = {**os.environ, "VOTRON_QUICK": "1", **environment(processor)}
    return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode


def environment(processor: Processor) -> dict[str, str]:
    """Return the variables that have the libraries do without what a processor lacks.

    numba keeps what it compiled by the name and the features of the processor, so its cache needs no other place.
    """
    import llvmlite.binding as llvm

    features = sorted(llvm.get_host_cpu_features().items())
    return {
        # numpy can leave out only what it has code for beyond its baseline, and what the machine has.
        "NPY_DISABLE_CPU_FEATURES": " ".join(_lacking(processor, _numpy_targets()[1])),
        "OPENBLAS_CORETYPE": processor.model,
        # The name alone would change nothing: numba adds the features of the machine to it.
        "NUMBA_CPU_NAME": processor.model.lower(),
        "NUMBA_CPU_FEATURES": ",".join(
            ("+" if there and not _lacking(processor, [feature]) else "-") + feature for feature, there in features
        ),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{feature}" for feature in processor.c_library_lacks),
    }


def _lacking(processor: Processor, features: list[str]) -> list[str]:
    return [feature for feature in features if re.match(processor.lacks, feature, re.IGNORECASE)]


def _inside(processor: Processor, arguments: list[str]) -> int:
    found = faults(processor)
    if found:
        print(f"This process is no {processor.about}:", *found, sep="\n  ")
        return 1
    print(f"As on a processor with {processor.about}", flush=True)
    import pytest

    return int(pytest.main(["-q", *arguments]))


# -- whether a process does without them -------------------------------------------------------------------------------


def faults(processor: Processor) -> list[str]:
    """Return a sentence for each library of this process that uses what the processor lacks."""
    baseline, more = _numpy_targets()
    return [
        *(f"numpy uses {name}." for name in _lacking(processor, [*baseline, *more])),
        *(f"OpenBLAS is that of {name}, not {processor.model}." for name in _blas_models() - {processor.model}),
        *(f"The C library uses {name}." for name in sorted(_of_c_library() & set(processor.c_library_lacks))),
        *_faults_of_compiled(processor),
    ]


def _numpy_targets() -> tuple[list[str], list[str]]:
    """Return what numpy's code takes for granted, and what of the rest it uses here."""
    from numpy._core._multiarray_umath import __cpu_baseline__, __cpu_dispatch__, __cpu_features__

    return list(__cpu_baseline__), [name for name in __cpu_dispatch__ if __cpu_features__[name]]


def _blas_models() -> set[str]:
    import scipy.linalg  # noqa: F401  (loads a BLAS of its own)
    from threadpoolctl import threadpool_info

    return {library["architecture"] for library in threadpool_info() if library["internal_api"] == "openblas"}


def _of_c_library() -> set[str]:
    """Return which features the C library uses, of those asked for here; none where it is not glibc, or an old one."""

    class Leaf(ctypes.Structure):
        _fields_ = (("there", ctypes.c_uint * 4), ("used", ctypes.c_uint * 4))

    # Declared in <sys/platform/x86.h>; the name of the library is None where all that is loaded is searched.
    look = getattr(ctypes.CDLL(None), "__x86_get_cpuid_feature_leaf", None) if sys.platform == "linux" else None
    if look is None:
        return set()
    look.restype = ctypes.POINTER(Leaf)
    bits = {"FMA": (0, 2, 12), "AVX": (0, 2, 28), "AVX2": (1, 1, 5), "AVX512F": (1, 1, 16)}
    return {name for name, (leaf, word, bit) in bits.items() if look(leaf).contents.used[word] >> bit & 1}


def _faults_of_compiled(processor: Processor) -> list[str]:
    """Look at the loop of dot products, compiled afresh: what comes from the cache cannot be looked at."""
    import numpy as np
    from numba import njit

    from votron._loops import products

    loop = njit(products.dots_of_tiles.py_func)
    width, height = products.SHAPES["float64"].tile_width, products.SHAPES["float64"].tile_height
    rows, panels = np.ones((height, 2)), np.ones((1, 2 * width))
    loop(rows, np.zeros(height), np.arange(height), panels, width, height, 0, 1, np.empty((height, width)))
    (code,) = loop.inspect_asm().values()
    found = sorted({match[0].strip() for match in re.finditer(processor.not_in_code, code)})
    return [
        *([f"Compiled loops use {', '.join(found)}."] if found else []),
        *([] if re.search(processor.in_code, code) else [f"Compiled loops have no {processor.in_code.strip()!r}."]),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
