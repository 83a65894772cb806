"""Lowers a program for GPUs and TPUs, and says what does not suit them."""

__all__ = ["PLATFORMS", "faults", "wide"]

import re

import jax
from jax import export

PLATFORMS = ("cuda", "tpu")
CALLS = {
    *("Eigh", "Cholesky", "TriangularSolve", "LuDecomposition"),  # TPU
    *("cusolver_syevd_ffi", "cusolver_potrf_ffi", "cu_lu_pivots_to_permutation"),
    *("Sharding", "annotate_device_placement"),
}


def wide(text):
    """Whether a program has floats or arrays of integers of 64 bits."""
    attribute = r"\b\w+ = dense<[^<>]*> : tensor<[^<>]*>"  # these have, in any program
    text = re.sub(attribute, "", text)
    kinds = r"((\d+x)*(f64|complex<f64>)|(\d+x)+u?i64)"  # single integers count turns
    return re.search(rf"stablehlo.*tensor<{kinds}>", text)


def faults(program, *arguments):
    """What is wrong with a program on an accelerator: a set of words."""
    made = export.export(jax.jit(program), platforms=PLATFORMS)(*arguments)
    text = made.mlir_module()
    calls = set(re.findall(r"custom_call @([\w.$]+)", text)) - CALLS
    found = {f"calls {name}" for name in calls}
    for line in text.splitlines():
        if re.search(r"dot_general|stablehlo.convolution", line):
            floats = re.search(r": \(tensor<[^>]*f\d+>", line)
            if floats and "HIGHEST, HIGHEST" not in line:
                found.add("rounded product")
    if wide(text) and not jax.config.jax_enable_x64:
        found.add("64 bits")
    for body in re.findall(r'"stablehlo.scatter"(.*?)stablehlo.return', text, re.S):
        adds = re.search(r"stablehlo.add .*tensor<f\d+>", body)
        if adds and "unique_indices = true" not in body:
            found.add("float scatter-add")
    return found
