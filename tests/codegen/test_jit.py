"""Generating code leaves LLVM's switches, which the whole process shares, alone."""

import gc
import weakref

import llvmlite.binding as llvm
import numpy as np
import pyarrow as pa

import tiltpy as tilt
from tiltpy.codegen import jit
from tiltpy.codegen.machine_code import NEVER, Drivers, LoadedCode, MachineCode
from tiltpy.loops.nodes import LoopKernel

STRIDED = """
define double @strided(ptr %a, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %sum = phi double [ 0.0, %entry ], [ %more, %loop ]
  %k = mul i64 %i, 24
  %p = getelementptr i8, ptr %a, i64 %k
  %x = load double, ptr %p
  %more = fadd double %sum, %x
  %next = add i64 %i, 1
  %on = icmp slt i64 %next, %n
  br i1 %on, label %loop, label %end
end:
  ret double %more
}
"""
"""A loop whose address is a product, or is added up where its strength is reduced."""


def generated() -> str:
    """Return what another user of LLVM in this process gets."""
    return str(jit._machine(3).emit_assembly(llvm.parse_assembly(STRIDED)))


def test_others_find_strength_reduction_as_it_was() -> None:
    before = generated()
    with jit._STRENGTH_REDUCTION.off():
        with jit._STRENGTH_REDUCTION.off():
            assert generated() != before
        assert generated() != before
    assert generated() == before


def test_a_compiled_query_leaves_it_on() -> None:
    before = generated()
    rows = pa.table({"time": [1, 2, 5], "x": [1.0, 2.0, 4.0]})
    options = tilt.CompileOptions(cache=False)
    query = tilt.parse("input x : f64 point\n~o[t] = sum(~x[t-2 : t])", options=options)
    assert query.run(x=rows).to_arrow()["o"].to_pylist() == [1.0, 3.0, 2.0, 4.0]
    assert generated() == before


def test_code_keeps_the_loops_over_its_calls() -> None:
    """Two threads that compile first make them twice, and only one stays known."""
    kernel = LoopKernel((), (), ())
    drivers = Drivers(jit.compile_drivers())
    kept = weakref.ref(drivers)
    code = MachineCode(jit.compile_object(kernel), drivers)
    del drivers
    gc.collect()
    assert kept() is not None
    del code
    gc.collect()
    assert kept() is None


def test_loads_of_inputs_are_not_merged_with_masks() -> None:
    # The hardware hardly prefetches a masked load.
    query = tilt.parse("input x : f64 sampled 1\n~out[t] = sum(~x[t-10 : t])\n")
    column = pa.array([None, *range(9999)], pa.float64())
    inputs = {"x": tilt.sampled(pa.table({"x": column}), start=0, period=1)}
    code = query.explain(llvm=True, inputs=inputs)
    vector = code.partition("== vector kernel: LLVM IR ==")[2]
    assert "freeze <16 x double>" in vector


def test_kernels_of_many_long_windows_are_compiled() -> None:
    """LLVM's NewGVN ends the process over so many loops."""
    lines = ["input x : f64 point"]
    lines += [f"~o{i}[t] = max(~x[t-{i * 97 + 1000} : t])" for i in range(50)]
    options = tilt.CompileOptions(cache=False)
    query = tilt.parse("\n".join(lines), options=options)
    times = np.arange(20_000)
    rows = pa.table({"time": times, "x": times % 1009 / 8.0})
    found = query.run(x=rows, workers=1)["o49"].to_arrow()["o49"].to_numpy()
    assert found[[0, 500, 19_999]].tolist() == [0.0, 62.5, 126.0]


def test_a_call_keeps_its_code() -> None:
    """Two threads that load a routine first load it twice, and only one stays known."""
    code = LoadedCode(jit.compile_object(LoopKernel((), (), ())))
    engine = weakref.ref(code._engine)
    call = code.call
    del code
    gc.collect()
    assert engine() is not None
    call(0, NEVER)
    del call
    gc.collect()
    assert engine() is None
