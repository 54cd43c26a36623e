"""Who is measured: its environment, and the module and function that run it there."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["METHODS", "PEERS", "ROOT", "VENVS", "Method", "Peer"]

ROOT = Path(__file__).parents[2]
VENVS = ROOT / ".benchmarks" / "peers"


@dataclass(frozen=True)
class Peer:
    """A package, and what `pip install` is told, one line after the other, to get it."""

    package: str
    install: tuple[tuple[str, ...], ...] = ()
    shown: tuple[str, ...] = ()  # further packages that do its work: their versions are recorded too

    @property
    def folder(self) -> Path:
        return VENVS / self.package

    @property
    def python(self) -> Path:
        """Its interpreter; ours if it needs nothing of its own."""
        return self.folder / "bin" / "python" if self.install else Path(sys.executable)


OURS = Peer("fastmwem", shown=("numpy", "scipy", "numba"))
PLAIN = Peer("numpy", shown=("scipy",))

PEERS = {
    peer.package: peer
    for peer in (
        # Its torch, opacus and pac-synth belong to synthesizers other than MWEM, which does not import them.
        Peer(
            "smartnoise-synth",
            (("smartnoise-sql==1.0.10", "Faker"), ("--no-deps", "smartnoise-synth==1.0.8")),
            ("opendp", "pandas"),
        ),
        Peer(
            "opendp", (("opendp[mbi]==0.16.0", "pandas"),), ("mbi", "jax", "polars")
        ),  # its mbi wants pandas
        Peer("mbi", (("mbi==2.0.0",),), ("jax",)),
        Peer("dpmm", (("dpmm==0.1.9",),), ("opendp",)),
    )
}


@dataclass(frozen=True)
class Method:
    """One line of every table: `kind` is "ours", "peer" or "plain"."""

    name: str
    peer: Peer
    module: str
    function: str
    kind: str
    applies: tuple[str, ...]  # kinds of workload: marginals, ranges, matrix, program
    options: dict[str, Any] = field(default_factory=dict)
    runs: int = 3  # at most: what takes long, or fails, runs once
    pure: bool = False  # spends no delta


def _method(name: str, peer: Peer, function: str, applies: str, kind: str = "peer", **rest: Any) -> Method:
    module = {"fastmwem": "ours", "numpy": "plain", "smartnoise-synth": "smartnoise"}.get(
        peer.package, peer.package
    )
    return Method(
        name, peer, f"benchmarks.peers.adapters.{module}", function, kind, tuple(applies.split()), **rest
    )


_ANY = "marginals ranges matrix"
_SN, _DP, _MBI, _DPMM = (PEERS[name] for name in ("smartnoise-synth", "opendp", "mbi", "dpmm"))

METHODS = (
    _method("fastmwem auto", OURS, "release", _ANY, "ours", options={"method": "auto"}),
    _method("fastmwem direct", OURS, "release", _ANY, "ours", options={"method": "direct"}, runs=1),
    _method("fastmwem measured", OURS, "release", _ANY, "ours", options={"method": "measured"}, runs=1),
    _method("fastmwem mwem", OURS, "release", _ANY, "ours", options={"method": "mwem"}, runs=1),
    _method(
        "fastmwem histogram",
        OURS,
        "release",
        "ranges matrix",
        "ours",
        options={"method": "histogram"},
        runs=1,
    ),
    _method("mbi, Gaussian on all 3-way", _MBI, "fixed", "marginals", options={"lower": False}),
    _method("mbi, Gaussian on all 1-, 2-, 3-way", _MBI, "fixed", "marginals", options={"lower": True}),
    _method("opendp MST", _DP, "mst", "marginals"),
    _method("opendp AIM", _DP, "aim", "marginals"),
    _method("dpmm MST", _DPMM, "mst", "marginals"),
    _method("dpmm AIM", _DPMM, "aim", "marginals"),
    _method("dpmm PrivBayes", _DPMM, "privbayes", "marginals"),
    _method("smartnoise MWEM", _SN, "mwem", "marginals ranges", pure=True),
    _method(
        "smartnoise MWEM, 10 x 5 iterations",
        _SN,
        "mwem",
        "marginals ranges",
        options={"iterations": 10, "mult_weights_iterations": 5},
        pure=True,
    ),
    _method("Gaussian on each cell", PLAIN, "gaussian_cells", _ANY, "plain"),
    _method("Laplace on each cell", PLAIN, "laplace_cells", _ANY, "plain", pure=True),
    _method(
        "Gaussian on each cell, clipped at 0", PLAIN, "gaussian_cells", _ANY, "plain", options={"clip": True}
    ),
    _method(
        "Laplace on each cell, clipped at 0",
        PLAIN,
        "laplace_cells",
        _ANY,
        "plain",
        options={"clip": True},
        pure=True,
    ),
    _method("Gaussian on each answer", PLAIN, "gaussian_answers", "marginals matrix", "plain"),
    _method("textbook MWEM", PLAIN, "textbook_mwem", _ANY, "plain", options={"rounds": 100}),
    _method("uniform", PLAIN, "uniform", _ANY, "plain", runs=1, pure=True),
    _method("fastmwem auto", OURS, "solve", "program", "ours", options={"method": "auto"}),
    _method("fastmwem mw", OURS, "solve", "program", "ours", options={"method": "mw"}),
    _method(
        "fastmwem mw by exhaustive selection",
        OURS,
        "solve",
        "program",
        "ours",
        options={"method": "mw", "selection": "exhaustive"},
    ),
    _method("Gaussian on b, then HiGHS", PLAIN, "gaussian_rhs", "program", "plain"),
    _method("uniform x", PLAIN, "uniform_x", "program", "plain", runs=1, pure=True),
)
