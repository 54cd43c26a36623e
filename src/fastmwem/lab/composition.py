"""composition: what each accountant lets a round cost, over T."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, legend
from fastmwem.lab.store import Case, Row, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

LINES = {
    "optimal": ("#000000", "-", "optimal, bounded range (ours)"),
    "zcdp": ("#0072B2", "-", "zCDP of bounded range (ours)"),
    "paper": ("#D55E00", "--", "the paper's formula"),
    "theorem": ("#555555", ":", "the theorem that the paper cites"),
}


@dataclass(frozen=True)
class Config:
    rounds: tuple[int, ...] = (10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
    targets: tuple[tuple[float, float], ...] = ((1.0, 1e-3), (1.0, 1e-6), (0.1, 1e-6), (4.0, 1e-6))


def cases(config: Config) -> list[Case]:
    return [
        {"epsilon": epsilon, "delta": delta, "rounds": rounds}
        for epsilon, delta in config.targets
        for rounds in config.rounds
    ]


def theorem(epsilon: float, delta: float, rounds: int) -> float:
    """eps0 by the composition theorem cited: epsilon = sqrt(2T ln(1/delta)) eps0 + 2T eps0^2, solved."""
    linear = math.sqrt(2 * math.log(1 / delta))
    return (math.sqrt(linear * linear + 8 * epsilon) - linear) / (4 * math.sqrt(rounds))


def measure(config: Config, case: Case) -> list[Row]:
    from fastmwem.privacy.accounting import ACCOUNTANTS, accountant
    from fastmwem.privacy.budget import Budget
    from fastmwem.privacy.calibrate import calibrate_rounds
    from fastmwem.privacy.events import exponential_mechanism, repeated

    epsilon, delta, rounds = case["epsilon"], case["delta"], case["rounds"]
    allowed = {
        name: calibrate_rounds(Budget(epsilon, delta), rounds, accountant=name).eps0 for name in ACCOUNTANTS
    }
    allowed["theorem"] = theorem(epsilon, delta, rounds)
    true = accountant("optimal")
    return [
        {
            "accountant": name,
            "scaled": eps0 * math.sqrt(rounds),
            "true_epsilon": true.epsilon(repeated(exponential_mechanism(eps0), rounds), delta),
        }
        for name, eps0 in allowed.items()
    ]


def draw(config: Config, rows: Rows) -> Figure:
    figure, panels = axes(2)
    for panel, (epsilon, delta) in zip(panels, (config.targets[0], config.targets[-1]), strict=True):
        for name, (colour, style, label) in LINES.items():
            some = rows.where(accountant=name, epsilon=epsilon, delta=delta)
            panel.plot(
                some.column("rounds"), some.column("scaled"), color=colour, linestyle=style, label=label
            )
        panel.set(xscale="log", xlabel="rounds T", ylabel="eps0 · sqrt(T) allowed", ylim=(0, None))
        panel.set_title(f"epsilon = {epsilon:g}, delta = {delta:g}", fontsize=10)
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    epsilon, delta = config.targets[0]
    last = rows.where(epsilon=epsilon, delta=delta, rounds=max(config.rounds))
    ours, paper, cited = (last.where(accountant=name) for name in ("optimal", "paper", "theorem"))
    return (
        f"At epsilon = {epsilon:g}, delta = {delta:g}, T = {max(config.rounds):,}, optimal accounting allows "
        f"{ours.mean('scaled') / paper.mean('scaled'):.2f} times the paper's eps0, whose true epsilon is "
        f"{paper.mean('true_epsilon'):.3f}; the theorem that the paper cites allows "
        f"{cited.mean('scaled') / paper.mean('scaled'):.2f} times the paper's."
    )


def caption(config: Config) -> str:
    return (
        "eps0 per round that each accountant allows within the target, times sqrt(T); higher is less noise."
    )


EXPERIMENT = Experiment(
    name="composition",
    title="What a round may cost",
    paper="eps0 = epsilon / sqrt(T ln(1/delta)).",
    why=(
        "The theorem that it cites allows less; it is private all the same because the exponential mechanism "
        "is bounded-range, and counting that allows about twice as much."
    ),
    configs={"tiny": Config(rounds=(10, 100, 1_000), targets=((1.0, 1e-3), (4.0, 1e-6))), "paper": Config()},
    cases=cases,
    measure=measure,
    draw=draw,
    finding=finding,
    caption=caption,
)
