"""A linear program written in cvxpy, whose right-hand side comes from people.

    python examples/a_private_program.py [--people 100000]

A city plans hours of 6 services. Each of 40 districts can take only so much load, and how much is an average
over a survey of people: private. What an hour of a service is worth, and how it loads a district, is public.
Needs cvxpy.
"""

import argparse

import cvxpy
import numpy as np

import fastmwem as fm

SERVICES, DISTRICTS, HOURS = 6, 40, 4.0


def main(people: int) -> float:
    rng = np.random.default_rng()
    load = rng.uniform(0.1, 1.0, (DISTRICTS, SERVICES))
    worth = np.array([3.0, 2.5, 2.0, 2.0, 1.5, 1.0])
    answers = rng.uniform(
        0.4, 1.0, (people, DISTRICTS)
    )  # PRIVATE, made up: a number in [0, 1] for each district
    capacity = answers.mean(axis=0)  # PRIVATE: one person moves an entry by at most 1/people

    hours = cvxpy.Variable(SERVICES, nonneg=True)
    model = cvxpy.Problem(cvxpy.Maximize(worth @ hours), [load @ hours <= capacity])
    program = fm.LinearProgram.from_cvxpy(model)
    print(program)

    budget = {"sensitivity": 1 / people, "epsilon": 1, "delta": 1e-6}
    plan = fm.plan_scalar(program, radius=HOURS, **budget)  # does not look at the right-hand side
    print(plan)

    answer = fm.solve_scalar_private(program, radius=HOURS, **budget)
    print(answer)

    # Only because the people are made up may the truth be looked at:
    best = model.solve()
    over = fm.violations(load, capacity, answer.x).max
    print(
        f"worth {worth @ answer.x:.3f}, without privacy {best:.3f}; the worst district is over by {over:.4f}"
    )
    return over


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=100_000)
    main(parser.parse_args().people)
