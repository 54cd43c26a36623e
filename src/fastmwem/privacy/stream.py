"""Drawing from a `Randomness` inside compiled kernels, at some 20 ns a number.

A kernel takes `randomness.stream`, an array of two addresses (so passing it costs little and the kernel's
compilation is cached; a NumPy Generator costs 5 us to unpack at each call), and calls the functions of
this module with it:

    @kernel
    def kernel(stream, ...):
        g = gumbel(stream)

The array keeps what it points at alive. No two threads may use one stream at once.
"""

from __future__ import annotations

import math

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from fastmwem.kernels import kernel

__all__ = ["below", "exponential", "gumbel", "next_uint64", "uniform"]

_ULP_BELOW_ONE = 1.0 - 2.0**-53


@intrinsic
def _call_next_uint64(typingctx, function, state):
    """function(state), for the C function `uint64_t (*)(void *)` at that address."""

    def codegen(context, builder, signature, args):
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        prototype = ir.FunctionType(word, [pointer])
        callee = builder.inttoptr(args[0], prototype.as_pointer())
        return builder.call(callee, [builder.inttoptr(args[1], pointer)])

    return types.uint64(types.int64, types.int64), codegen


@kernel(inline="always")
def next_uint64(stream):
    """64 bits of the stream."""
    return _call_next_uint64(stream[0], stream[1])  # pyright: ignore[reportCallIssue]


@kernel
def uniform(stream):
    """Uniform on the open interval (0, 1): (k + 1/2) / 2^64, dense near 0, never 0 and never 1."""
    return min((float(next_uint64(stream)) + 0.5) * 2.0**-64, _ULP_BELOW_ONE)


@kernel
def exponential(stream):
    """Standard exponential; dense near 0, at most 36.8."""
    return -math.log1p(-uniform(stream))


@kernel
def gumbel(stream):
    """Standard Gumbel, -log of an exponential: its upper tail, which decides an argmax, is the dense one."""
    return -math.log(exponential(stream))


@kernel
def below(stream, n):
    """Uniform on {0, .., n - 1} without bias: 64 bits, drawn again if they fall in the uneven rest."""
    n = np.uint64(n)
    rest = (np.uint64(0) - n) % n  # 2^64 mod n, in wrapping arithmetic
    word = next_uint64(stream)
    while word < rest:
        word = next_uint64(stream)
    return np.int64(word % n)
