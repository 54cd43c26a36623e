"""Drawing from a `Randomness` inside compiled kernels, at some 20 ns a number.

A kernel takes `randomness.stream`, an array of two addresses (so passing it costs little and the kernel's
compilation is cached; a NumPy Generator costs 5 us to unpack at each call), and calls the functions of
this module with it:

    @kernel
    def kernel(stream, ...):
        u = uniform(stream)

The array keeps what it points at alive. No two threads may use one stream at once.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from fastmwem.kernels import kernel

__all__ = ["next_uint64", "uniform"]

_BELOW_ONE = 1.0 - 2.0**-53


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
    return min((float(next_uint64(stream)) + 0.5) * 2.0**-64, _BELOW_ONE)
