"""The two heads: a worktree each, and the environment in which processes import its package."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.process import CACHES
from benchmarks.peers.setup import ROOT

WORKTREES = ROOT / "build" / "compare"
SHADERS = Path("src", "wgsl_kernels", "shaders")
FIND = "import wgsl_kernels; print(wgsl_kernels.__file__)"


class HeadError(Exception):
    """What is compared cannot be imported."""


@dataclass(frozen=True)
class Head:
    """One side of the comparison.

    Attributes:
        name: ``"old"`` or ``"new"``.
        label: The commit, in words.
        source: The folder that is on the path of its processes.
        own: A folder for its caches and logs, empty at first.
    """

    name: str
    label: str
    source: Path
    own: Path

    def environment(self, caches: Path | None = None) -> dict[str, str]:
        """Return variables that make a process import this head, with caches below a folder.

        Args:
            caches: By default the head's own folder.
        """
        folder = str(caches or self.own)
        return {"PYTHONPATH": str(self.source), **dict.fromkeys(CACHES, folder)}


def head(name: str, given: str, own: Path) -> Head:
    """Return a head: a folder that holds ``src``, or a revision, whose worktree is made or found.

    Raises:
        HeadError: There is no such revision, or its package, shaders included, is not what a
            process would use.
    """
    folder = Path(given).resolve()
    if not (folder / "src").is_dir():
        folder = _worktree(given)
    if not (folder / SHADERS).is_dir():
        raise HeadError(f"{given}: there is no {SHADERS}")
    own.mkdir()
    one = Head(name, _label(folder), folder / "src", own)
    environment = {**os.environ, **one.environment()}
    found = subprocess.run(
        [sys.executable, "-c", FIND], capture_output=True, text=True, env=environment, check=False
    )
    if not Path(found.stdout.strip()).resolve().is_relative_to(folder):
        where = found.stdout.strip() or found.stderr.strip()
        raise HeadError(f"{given}: wgsl_kernels is imported from elsewhere: {where}")
    return one


def _worktree(revision: str) -> Path:
    commit = _git("rev-parse", "--verify", f"{revision}^{{commit}}")
    folder = WORKTREES / commit[:12]
    if not folder.is_dir():
        _git("worktree", "prune")
        _git("worktree", "add", "--quiet", "--detach", str(folder), commit)
    shaders = folder / SHADERS
    if not shaders.exists() and (folder / "shaders").is_dir():
        shaders.symlink_to(Path("..", "..", "shaders"))  # until bc3de1d an install put them there
    return folder


def _label(folder: Path) -> str:
    """Return the commit of a folder, and whether its files differ from it."""
    commit = _git("log", "-1", "--format=%h %s", folder=folder)
    changed = _git("status", "--porcelain", "--untracked-files=no", "src", folder=folder)
    return f"{commit} (with changes)" if changed else commit


def _git(*words: str, folder: Path | None = None) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder or ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise HeadError(done.stderr.strip())
    return done.stdout.strip()
