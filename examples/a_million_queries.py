"""A million random linear queries on one private histogram.

    python examples/a_million_queries.py [--queries 1000000] [--cells 500] [--people 2000]

Each query asks for the share of people in a random half of the cells. Noise on each of a million answers
would drown them; `mwem` spends the same budget on some hundred rounds, each of which looks at a few of them.
"""

import argparse
import time

import numpy as np

import fastmwem as fm


def main(queries: int, cells: int, people: int) -> float:
    rng = np.random.default_rng()
    histogram = rng.multinomial(people, rng.dirichlet(np.full(cells, 0.05)))  # PRIVATE: made up here
    workload = fm.linear(rng.integers(0, 2, (queries, cells), dtype=np.uint8))  # public

    print(fm.plan(workload, n=people, epsilon=1, delta=1e-6))
    start = time.perf_counter()
    release = fm.query_release(workload, histogram, epsilon=1, delta=1e-6, method="mwem")
    print(f"{queries:,} answers in {time.perf_counter() - start:.1f} s")
    print(release)

    # Only because the people are made up may the truth be looked at:
    error = release.evaluate(histogram).max_error
    uniform = np.abs(workload.answers(np.full(cells, 1 / cells)) - workload.answers(histogram / people)).max()
    print(f"largest error {error:.3f}; of the uniform distribution, which costs nothing: {uniform:.3f}")
    return error


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--cells", type=int, default=500)
    parser.add_argument("--people", type=int, default=2_000)
    arguments = parser.parse_args()
    main(arguments.queries, arguments.cells, arguments.people)
