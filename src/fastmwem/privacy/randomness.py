"""Where randomness comes from: ChaCha20 keyed by the operating system, or a seed that voids the privacy.

No public call takes a seed. A seeded source is an object made on purpose with `Randomness.seeded`; every
run that gets one puts `non_private()` on its ledger.

What is claimed. The bits are those of ChaCha20 (RFC 8439's block function, 20 rounds, counter from 0) under a
256-bit key from the operating system; whoever cannot tell ChaCha20 from random bits sees the laws that the
proofs speak of, up to the rounding of floating-point numbers: a uniform number is within 2^-53 of a real one,
so a chance that it decides is off by 2^-53, and each of k chances that it chooses among by some k 2^-53.
Samplers choose among at most some thousand at a time, so that of millions each chance keeps ten digits.
Nothing is charged for this. No two objects share a stream: a fork or a second thread that reaches for its
parent's stream is refused.
"""

from __future__ import annotations

import ctypes
import os
import secrets
from hashlib import sha256
from threading import get_ident
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmwem.errors import check_whole

__all__ = ["Randomness", "Stream"]

Stream = NDArray[np.int64]  # [address of next_uint64, address of the generator's state]; keeps both alive

_forks = 0  # how many forks lie between this process and the first: every check is one comparison


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):  # where there is no fork there is nothing to guard against
    os.register_at_fork(after_in_child=_count_fork)


class Randomness:
    """One run's source of random numbers: the same ChaCha20 stream for NumPy and for compiled kernels.

    `generator` is a NumPy Generator over it. `stream` is what kernels take (`fastmwem.privacy.stream`).
    The first thread that draws owns the object; others `spawn` their own.

    >>> Randomness.private()
    Randomness(private)
    >>> Randomness.seeded(7)
    Randomness(seeded 7: NOT private)
    """

    seed: int | None
    _born: int
    _thread: int | None
    _spawned: int
    _generator: np.random.Generator
    _stream: Stream

    def __init__(self) -> None:
        raise TypeError("make a Randomness by Randomness.private(), or Randomness.seeded(n) for tests.")

    @classmethod
    def _keyed(cls, key: int, seed: int | None) -> Randomness:
        """The stream of `key`: of the operating system's if `seed` is None, and only then."""
        from randomgen import ChaCha

        self = cls.__new__(cls)
        self.seed = seed
        self._born = _forks
        self._thread = None
        self._spawned = 0
        bits = ChaCha(key=key, rounds=20)
        self._generator = np.random.Generator(bits)  # pyright: ignore[reportArgumentType]
        self._stream = _addresses(bits)
        return self

    @classmethod
    def private(cls) -> Randomness:
        """A fresh 256-bit key from the operating system."""
        return cls._keyed(secrets.randbits(256), None)

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """A repeatable source for tests and experiments. What is made with it is NOT private."""
        seed = check_whole("seed", seed, low=0)
        return cls._keyed(_key(f"{seed}"), seed)

    @property
    def is_private(self) -> bool:
        """Whether no one can know the stream: keyed by the operating system."""
        return self.seed is None

    @property
    def generator(self) -> np.random.Generator:
        """The NumPy Generator; refuses a forked child or a second thread, which could repeat the stream."""
        self._check_owner()
        return self._generator

    @property
    def stream(self) -> Stream:
        """The stream for compiled kernels, as two addresses; refuses as `generator` does."""
        self._check_owner()
        return self._stream

    def spawn(self) -> Randomness:
        """An independent source, for another thread or process: private from private, seeded from seeded."""
        if self.seed is None:
            return Randomness.private()
        self._check_owner()
        self._spawned += 1
        return Randomness._keyed(_key(f"{self.seed}/{self._spawned}"), self.seed)

    def _check_owner(self) -> None:
        if self._born != _forks:
            raise RuntimeError("this Randomness belongs to the parent process: make a new one after fork.")
        if self._thread != get_ident():
            if self._thread is not None:
                raise RuntimeError("this Randomness belongs to another thread: give each thread a spawn().")
            self._thread = get_ident()

    def __repr__(self) -> str:
        return "Randomness(private)" if self.is_private else f"Randomness(seeded {self.seed}: NOT private)"

    def __reduce__(self):
        raise TypeError("a Randomness is never pickled: its stream must not be used twice.")

    def __deepcopy__(self, memo: object):
        raise TypeError("a Randomness is never copied: its stream must not be used twice.")

    __copy__ = __reduce__


def _key(name: str) -> int:
    """The 256-bit key of the seeded stream called `name`; different names, unrelated keys."""
    return int.from_bytes(sha256(b"fastmwem seeded " + name.encode()).digest(), "big")


def _addresses(bits: Any) -> Stream:
    """Where `bits` draws from; the array's base owns `bits`, so no address outlives what it points at."""
    interface = bits.ctypes
    function = ctypes.cast(interface.next_uint64, ctypes.c_void_p).value
    holder = (ctypes.c_int64 * 2)(function, interface.state_address)
    holder.owner = bits  # pyright: ignore[reportAttributeAccessIssue]
    addresses = np.frombuffer(holder, np.int64)  # pyright: ignore[reportArgumentType,reportCallIssue]
    addresses.flags.writeable = False
    return addresses
