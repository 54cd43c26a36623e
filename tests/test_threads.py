"""BLAS has one thread inside and what it had before outside, whoever leaves first."""

import numpy as np  # noqa: F401  brings its BLAS
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fastmwem.threads import one_blas_thread


def threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two():
    with threadpool_limits(limits=2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has no second thread")
        yield


def test_one_thread_inside_and_two_again_after_an_error(two):
    def fails():
        with one_blas_thread():
            seen.append(threads())
            raise KeyError

    seen = []
    with pytest.raises(KeyError):
        fails()
    assert seen == [{1}]
    assert threads() == {2}


def test_the_last_who_leaves_gives_the_threads_back(two):
    first, second = one_blas_thread(), one_blas_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}
    second.__exit__(None, None, None)
    assert threads() == {2}
