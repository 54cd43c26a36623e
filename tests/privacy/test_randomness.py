"""The stream is ChaCha20, is never shared, and kernels draw the laws they say."""

import copy
import ctypes
import gc
import os
import pickle
import threading

import numpy as np
import pytest
from numba import njit
from randomgen import ChaCha
from scipy import stats

from fastmwem.errors import InvalidArgument
from fastmwem.privacy.randomness import Randomness
from fastmwem.privacy.stream import next_uint64, uniform


@njit
def _uniforms(stream, n):
    return np.array([uniform(stream) for _ in range(n)])


@njit
def _words(stream, n):
    return np.array([next_uint64(stream) for _ in range(n)])


def test_the_block_function_is_that_of_rfc_8439():
    # Section 2.3.2: key 00..1f, nonce 000000090000004a00000000, block counter 1. randomgen counts words.
    key = int.from_bytes(bytes(range(32)), "little")
    counter = int.from_bytes(bytes.fromhex("01000000" + "000000090000004a00000000"), "little") * 16
    block = ChaCha(key=key, counter=counter, rounds=20).random_raw(8).tobytes().hex()
    assert block == (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )


def test_the_keystream_of_the_zero_key_runs_over_blocks():
    words = Randomness._keyed(0, None).generator.bit_generator.random_raw(16).tobytes().hex()  # type: ignore[attr-defined]
    assert words.startswith("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7")
    assert words[128:].startswith("9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed")


@pytest.mark.parametrize("bit", [0, 63, 64, 128, 192, 255])
def test_every_part_of_the_key_matters(bit):
    def first(key):
        return _words(Randomness._keyed(key, None).stream, 4)

    assert not np.array_equal(first(0), first(1 << bit))


def test_a_stream_keeps_its_generator_alive():
    streams = [Randomness._keyed(key, None).stream for key in range(50)]
    gc.collect()
    again = [_words(Randomness._keyed(key, None).stream, 9) for key in range(50)]
    assert all(np.array_equal(_words(s, 9), words) for s, words in zip(streams, again, strict=True))


def test_kernels_and_numpy_draw_from_one_stream():
    ours, theirs = Randomness.seeded(3), Randomness.seeded(3)
    assert np.array_equal(_words(ours.stream, 5), theirs.generator.bit_generator.random_raw(5))  # type: ignore[attr-defined]
    assert ours.generator.random() == theirs.generator.random()


def test_private_sources_never_repeat():
    sources = [Randomness.private() for _ in range(200)] + [Randomness.private().spawn() for _ in range(200)]
    assert len({int(_words(source.stream, 1)[0]) for source in sources}) == 400
    assert all(source.is_private for source in sources)


def test_a_private_key_has_256_bits(monkeypatch):
    asked = []
    monkeypatch.setattr("secrets.randbits", lambda bits: asked.append(bits) or 7)
    Randomness.private()
    Randomness.private().spawn()
    assert asked == [256] * 3


def test_seeded_sources_repeat_and_say_so():
    one, two = Randomness.seeded(11), Randomness.seeded(11)
    assert np.array_equal(one.generator.random(3), two.generator.random(3))
    child, cousin, second = one.spawn(), two.spawn(), one.spawn()
    draws = child.generator.random(3)
    assert np.array_equal(draws, cousin.generator.random(3))
    assert not np.array_equal(draws, second.generator.random(3))
    assert not one.is_private
    assert not child.is_private
    assert "NOT private" in repr(one)
    with pytest.raises(InvalidArgument, match="seed"):
        Randomness.seeded(-1)


@pytest.mark.filterwarnings(
    "ignore:.*fork.*:DeprecationWarning"
)  # Python 3.12 warns of threads in the parent
def test_a_forked_child_is_refused():
    source = Randomness.private()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # never returns into pytest
        answers = []
        for draw in (lambda: source.generator, lambda: source.stream):
            try:
                draw()
                answers.append(b"served")
            except RuntimeError as error:
                answers.append(b"refused" if b"parent process" in str(error).encode() else b"other")
        os.write(write, b" ".join(answers))
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"refused refused"
    os.close(read)


def test_a_second_thread_is_refused_and_may_spawn():
    source, seen = Randomness.private(), []
    source.generator.random()

    def work():
        try:
            seen.append(source.stream)
        except RuntimeError as error:
            seen.append(str(error))
        seen.append(source.spawn().generator.random())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "another thread" in seen[0]
    assert 0 <= seen[1] < 1


def test_no_one_can_choose_the_key_of_a_private_source():
    for arguments in ((), (42,), (42, None)):
        with pytest.raises(TypeError):
            Randomness(*arguments)


def test_a_source_is_never_copied():
    source = Randomness.private()
    for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="must not be used twice"):
            duplicate(source)


def test_kernels_draw_uniform_numbers():
    draws = _uniforms(Randomness.seeded(1).stream, 200_000)
    assert 0 < draws.min() < draws.max() < 1
    assert stats.kstest(draws, stats.uniform().cdf).pvalue > 1e-6
    assert stats.kstest(draws * 1.03, stats.uniform().cdf).pvalue < 1e-6  # it can tell a law that is 3 % off


def test_a_uniform_number_is_never_0_and_never_1():
    """At the ends of 64 bits: a word of zeros, and one that rounds up to 2^64."""
    for word, expected in ((0, 2.0**-65), (2**64 - 1, 1 - 2.0**-53)):
        source = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(lambda _: word)  # noqa: B023
        stream = np.array([ctypes.cast(source, ctypes.c_void_p).value, 0])
        assert _uniforms(stream, 3).tolist() == [expected] * 3
