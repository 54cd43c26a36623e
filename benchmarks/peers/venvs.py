"""An environment for each peer, of registry packages only: `python -m benchmarks.peers.venvs [NAME ...]`.

Each lies in .benchmarks/peers/NAME. What could not be installed is written into NAME.failed there, which the
measurements and the page repeat.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv

from benchmarks.peers.peers import PEERS, ROOT, Peer

__all__ = ["current", "failure", "main", "without_places"]


def installed(peer: Peer) -> dict[str, str]:
    """The versions of the peer and of what does its work; empty if it is not there."""
    if not (peer.folder / ".installed").exists():
        return {}
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    names = (peer.package, *peer.shown)
    told = subprocess.run([peer.python, "-c", code, *names], capture_output=True, text=True, check=True)
    return dict(zip(names, told.stdout.split(), strict=True))


def failure(peer: Peer) -> str:
    """Why the peer is not there, in one line."""
    path = peer.folder.with_suffix(".failed")
    return path.read_text() if path.exists() else ""


def recipe(peer: Peer) -> str:
    return "\n".join(" ".join(words) for words in peer.install)


def current(peer: Peer) -> bool:
    """Whether it is installed as `peers` says."""
    sign = peer.folder / ".installed"
    return sign.exists() and sign.read_text() == recipe(peer)


def make(peer: Peer) -> bool:
    """Install it anew; whether that worked."""
    sign, failed = peer.folder / ".installed", peer.folder.with_suffix(".failed")
    failed.unlink(missing_ok=True)
    venv.create(peer.folder, clear=True, with_pip=True)
    for words in peer.install:
        command = [peer.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            failed.write_text(without_places((errors or ["pip failed"])[-1]))
            return False
    sign.write_text(recipe(peer))
    return True


def without_places(line: str) -> str:
    """A line of somebody's output, without addresses and folders.

    >>> without_places("ERROR: no such file /home/me/x of https://host/simple")
    'ERROR: no such file ... of ...'
    """
    return re.sub(r"\w+://\S+|(?<![\w.])/[\w.+/-]+", "...", line.strip())[:200]


def main(names: list[str]) -> int:
    """Make those that are named, or all, as far as they are not there; 2 if there is none of that name.

    What cannot be made is no failure: the measurements go on without it, and say so.
    """
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        print(
            f"bench-peers: no peer is called {unknown[0]}: choose from {', '.join(PEERS)}.", file=sys.stderr
        )
        return 2
    for name in names or PEERS:
        peer = PEERS[name]
        if current(peer):
            continue
        print(f"bench-peers: installing {name} into {peer.folder.relative_to(ROOT)}", flush=True)
        told = installed(peer) if make(peer) else {"not installed:": failure(peer)}
        print("  ", ", ".join(f"{k} {v}" for k, v in told.items()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
