"""The instructions that products are compiled to, by processor: LLVM can compile for one that is not there."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys

import pytest

COMPILE = """
import json, re
from llvmlite import binding
from numba import njit, types
from votron._loops import products

i64 = types.int64
SUMS = {"int8": types.int32, "int16": types.int32, "float32": types.float32, "float64": types.float64}

def array(element, dimensions):
    return types.Array(element, dimensions, "C")

def compiled(form, kind):
    sums, panels = SUMS[kind], array(getattr(types, kind), 2)
    if form == "lists":
        loop = njit(products.dots_of_lists.py_func, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
        arrays = array(types.int32, 1), array(sums, 1), array(i64, 1), array(sums, 1), array(i64, 1), panels
        loop.compile((*arrays, i64, i64, i64, i64, array(sums, 2)))
    else:
        loop = njit(products.dots_of_tiles.py_func, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)
        loop.compile((array(sums, 2), array(sums, 1), array(i64, 1), panels, i64, i64, i64, i64, array(sums, 2)))
    return loop

def on_arm(loop):
    (text,) = loop.inspect_llvm().values()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple("aarch64-linux-gnu").create_target_machine(cpu="neoverse-n1")
    text = re.sub(r'(?m)^target (triple|datalayout) = .*$', "", text)
    text = re.sub(r'"target-(cpu|features)"="[^"]*"', "", text)
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = "aarch64-linux-gnu", str(machine.target_data)
    return machine.emit_assembly(module)

found = {}
for form in ("lists", "tiles"):
    for kind in SUMS if ARM else KINDS:
        loop = compiled(form, kind)
        code = next(iter(loop.inspect_asm().values()))
        both = code, on_arm(loop) if ARM else ""
        used, used_by_arm = (sorted(set(re.findall(r"[a-z][a-z0-9]*", each))) for each in both)
        found[f"{form} {kind}"] = used, "zmm" in code, used_by_arm
print(json.dumps(found))
"""

AVX2 = "+avx,+avx2,+fma"
AVX512 = f"{AVX2},+avx512f,+avx512bw,+avx512vl,+avx512dq"
FUSED = {"float32": "vfmadd231ps", "float64": "vfmadd231pd"}
PROCESSORS = {
    "sapphirerapids": (f"{AVX512},+avx512vnni", {"int8": "vpdpbusd", "int16": "vpdpwssd", **FUSED}, True),
    "alderlake": (f"{AVX2},+avxvnni", {"int8": "vpdpbusd", "int16": "vpdpwssd"}, False),
    "haswell": (AVX2, {"int16": "vpmaddwd", **FUSED}, False),
}


@functools.cache
def instructions(processor: str) -> dict[str, tuple[list[str], bool, list[str]]]:
    features, expected, _ = PROCESSORS[processor]
    settings = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": features}
    done = subprocess.run(
        [sys.executable, "-c", f"ARM, KINDS = {processor == 'haswell'}, {list(expected)}\n{COMPILE}"],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("processor", PROCESSORS)
def test_products_use_what_the_processor_has(processor):
    """Which of them: `SHAPES` and `HAS_QUADS` ask numba for its target, not the machine for its processor."""
    _, expected, wide = PROCESSORS[processor]
    for form in ("lists", "tiles"):
        for kind, instruction in expected.items():
            used, zmm, _ = instructions(processor)[f"{form} {kind}"]
            assert instruction in used, (form, kind, used)
            assert zmm == wide, (form, kind)


@pytest.mark.slow
def test_portable_products_compile_for_arm():
    """No instruction of x86 is named where the processor has no quads: another compiler makes its own of them."""
    for form in ("lists", "tiles"):
        for kind, expected in {"int8": "smull", "int16": "smull", "float32": "fmla", "float64": "fmla"}.items():
            *_, used = instructions("haswell")[f"{form} {kind}"]
            assert expected in used, (form, kind, used)
