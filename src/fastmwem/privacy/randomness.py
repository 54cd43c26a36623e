"""Where randomness comes from: ChaCha20 keyed by the operating system, or a seed that voids the privacy.

No public call takes a seed. A seeded source is an object made on purpose with `Randomness.seeded`; every
run that gets one puts `non_private()` on its ledger.
"""

from __future__ import annotations

import os
import secrets

import numpy as np

__all__ = ["Randomness"]


class Randomness:
    """One run's source of random numbers: `generator` is a NumPy Generator over ChaCha20."""

    def __init__(self, key: int, seed: int | None) -> None:
        from randomgen import ChaCha

        self.seed = seed
        self._pid = os.getpid()
        self._generator = np.random.Generator(ChaCha(key=key, rounds=20))  # pyright: ignore[reportArgumentType]

    @classmethod
    def private(cls) -> Randomness:
        """A fresh 256-bit key from the operating system."""
        return cls(secrets.randbits(256), None)

    @classmethod
    def seeded(cls, seed: int) -> Randomness:
        """A repeatable source for tests and experiments. What is made with it is NOT private."""
        from hashlib import sha256

        return cls(int.from_bytes(sha256(repr(int(seed)).encode()).digest(), "big"), int(seed))

    @property
    def is_private(self) -> bool:
        """Whether no one can know the stream: keyed by the operating system."""
        return self.seed is None

    @property
    def generator(self) -> np.random.Generator:
        """The generator; refuses to serve a forked child, which would repeat its parent's stream."""
        if self._pid != os.getpid():
            raise RuntimeError("this Randomness belongs to the parent process: make a new one after fork.")
        return self._generator

    def __repr__(self) -> str:
        return "Randomness(private)" if self.is_private else f"Randomness(seeded {self.seed}: NOT private)"

    def __reduce__(self):
        raise TypeError("a Randomness is never pickled: its stream must not be used twice.")
