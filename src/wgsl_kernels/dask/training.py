"""Training on any number of workers, with the same bits."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from distributed import get_worker
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

import wgsl_kernels as wk
from wgsl_kernels.dask.answers import answer, who_answers, workers_of
from wgsl_kernels.dask.arguments import check_client, check_count, check_seconds
from wgsl_kernels.dask.group import (
    GONE,
    PLUGIN,
    GroupPlugin,
    PeerLost,
    WorkerGroup,
    run_on_workers,
)
from wgsl_kernels.dask.replica import PARTS, Replica, digest_of, tensors_in
from wgsl_kernels.dask.workers import compared, facts
from wgsl_kernels.engine.environment.errors import ArgumentError, WgslKernelsError
from wgsl_kernels.engine.environment.files import path_of, write_whole
from wgsl_kernels.engine.values.attributes import function

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from distributed import Client

RETURN = 30.0
"""Seconds in which nannies bring workers back where none is left, at least."""
DEATHS = 3
"""How often a worker may go before it is left out: its nanny brings it back each time."""
ANSWER = 10.0
"""Seconds in which a worker says how far it is, before it is left out."""


@dataclass(frozen=True)
class FitResult:
    """What `fit` gives.

    Attributes:
        model: The trained model, in this process.
        optimizer: Its optimizer.
        losses: The mean loss of each step that was done here.
        digest: The SHA-256 of weights and optimizer state: equal where the bits are.
        seconds: Where the time of a worker went, the mean over the workers of the last part.
        adapters: What computed, by rank, at the end.
    """

    model: Any
    optimizer: Any
    losses: list[float]
    digest: str
    seconds: dict[str, float]
    adapters: list[str]


def fit(
    client: Client | None,
    make: Callable[[], Any],
    batches: Callable[[int], Any],
    steps: int,
    *,
    micro_batches: int,
    check_every: int = 10,
    save_to: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    step_timeout: float = 60.0,
    gradient_dtype: Literal["float32", "float16"] = "float32",
) -> FitResult:
    """Train a model on all workers of a cluster, each of which has a copy of it.

    The gradient of a step is the mean over ``micro_batches`` of them, whatever the number of
    workers, added along a fixed tree on the host. So weights and optimizer state are equal bit for
    bit for any number of workers of one kind, also where workers go in the middle, and where it is
    resumed by others. Batch statistics are those of a micro-batch. A worker that goes is done
    without; one that the nanny starts again joins at the next check.

    Args:
        client: The client of a cluster, or None to train here.
        make: Returns ``(model, optimizer, loss)``, the same on every worker: variables in dicts,
            lists, tuples or dataclasses; what changes them; a function of one micro-batch that
            returns its loss, a scalar.
        batches: Returns the micro-batches of a step, from 0 on: arrays, or trees of them; the same
            wherever it is called. ``wk.random`` draws in a loss depend on step and micro-batch.
        steps: How many steps are done in the end, those before ``resume`` included.
        micro_batches: How many make a step; at least as many as workers.
        check_every: After how many steps the copies are compared, and the state is kept.
        save_to: A file that has the latest kept state.
        resume: Such a file, of whatever number of workers.
        step_timeout: Seconds after which a worker that says nothing is done without.
        gradient_dtype: In what gradients are sent and added; ``"float16"`` has other bits, the same
            for any number of workers.

    Raises:
        ArgumentError: What ``make`` or ``batches`` return does not fit, there are more workers than
            micro-batches, or workers have other versions.
        WgslKernelsError: Copies differ, or no worker is left.
    """
    if client is not None:
        check_client("fit", client)
    function("fit", "make", make)
    function("fit", "batches", batches)
    check_count("fit", "steps", steps, 0)
    check_count("fit", "micro_batches", micro_batches, 1)
    check_count("fit", "check_every", check_every, 1)
    check_seconds("fit", "step_timeout", step_timeout)
    if gradient_dtype not in ("float32", "float16"):
        raise ArgumentError(f"fit: gradient_dtype is {gradient_dtype!r}; want float32 or float16.")
    target = None if save_to is None else path_of("fit", save_to)
    if target is not None and not target.parent.is_dir():
        raise ArgumentError(f"fit: {target} cannot be written: there is no such folder.")
    plan = _TrainingPlan(
        make, batches, micro_batches, gradient_dtype, uuid.uuid4().hex, step_timeout
    )
    here = Replica(make, gradient_dtype)
    state = None
    if resume is not None:
        here.load(path_of("fit", resume))
        state = here.state()
    run = _Here(plan, here) if client is None else _OnWorkers(plan, client)
    losses: list[float] = []
    first, done = here.step, here.step
    with _progress() as progress:
        task = progress.add_task("steps", total=steps, completed=done, note="")
        while done < steps:
            goal = min(done - done % check_every + check_every, steps)
            found, state = run.until(state, goal)
            del losses[done - first :]
            losses += found
            done = goal
            if target is not None:
                write_whole(target, [state])
            progress.update(task, completed=done, note=run.note(losses))
    state = here.state() if state is None else state
    here.take(state)
    return FitResult(
        here.model, here.optimizer, losses, digest_of(state), run.seconds, run.adapters
    )


@dataclass(frozen=True)
class _TrainingPlan:
    """What every worker needs to know."""

    make: Callable[[], Any]
    batches: Callable[[int], Any]
    micro_batches: int
    gradient_dtype: str
    name: str
    timeout: float


class _Here:
    """Trains in this process."""

    def __init__(self, plan: _TrainingPlan, replica: Replica) -> None:
        self._plan, self._replica = plan, replica
        self.seconds = replica.seconds
        self.adapters = [facts()["adapter"]]

    def until(self, state: bytes | None, goal: int) -> tuple[list[float], bytes]:
        plan = self._plan
        with wk.config.using(deterministic=True):
            losses = self._replica.train(WorkerGroup(0, 1), plan.batches, goal, plan.micro_batches)
        return losses, self._replica.state()

    def note(self, losses: Sequence[float]) -> str:
        return _note(losses, self.seconds)


class _OnWorkers:
    """Trains on workers, and does without those that go."""

    def __init__(self, plan: _TrainingPlan, client: Client) -> None:
        self._plan, self._client = plan, client
        self._left_out: set[str] = set()
        self._deaths: Counter[str] = Counter()
        self._joined: dict[str, str] = {}
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.adapters: list[str] = []

    def until(self, state: bytes | None, goal: int) -> tuple[list[float], bytes]:
        """Train up to a step, from a state; return the losses and the new state.

        Raises:
            WgslKernelsError: Copies differ, or no worker is left.
        """
        while True:
            addresses = self._present()
            nannies = self._nannies()
            self._joined = {one: nannies.get(one, one) for one in addresses}
            try:
                self.adapters = compared(self._client, addresses)
                found = run_on_workers(
                    self._client, _train, self._plan, state, goal,
                    workers=addresses, timeout=self._plan.timeout,
                )  # fmt: skip
            except PeerLost as error:
                if error.why != GONE:
                    self._left_out.add(error.address)
                self._note_death(error.address)
                self._settle()
                continue
            except ArgumentError:  # also of a worker that was gone before its program began
                if self._present() == addresses:
                    raise
                continue
            digests = [one[1] for one in found]
            if len(set(digests)) > 1:
                raise self._differing(addresses, digests)
            times = [one[2] for one in found]
            self.seconds = {part: float(np.mean([one[part] for one in times])) for part in PARTS}
            kept: bytes = found[0][3]
            return found[0][0], kept

    def note(self, losses: Sequence[float]) -> str:
        return f"{_note(losses, self.seconds)}, {len(self.adapters)} workers"

    def _present(self) -> list[str]:
        """Return the workers that take part.

        Raises:
            ArgumentError: They are more than there are micro-batches.
            WgslKernelsError: None is left.
        """
        end = time.monotonic() + max(RETURN, self._plan.timeout)
        while True:
            nannies = self._nannies()
            for gone in self._joined.keys() - nannies.keys():  # several may go at once
                self._note_death(gone)
            known = sorted(nannies)
            often = {one for one, deaths in self._deaths.items() if deaths >= DEATHS}
            found = [one for one in known if not (one in self._left_out or nannies[one] in often)]
            if found:
                break
            if often and often >= {*nannies.values(), *self._deaths}:
                raise WgslKernelsError(
                    f"fit: each of {len(often)} workers died {DEATHS} times; look whether make() "
                    "or a kernel ends its process: fit(None, ...) runs it here."
                )
            if time.monotonic() > end:
                raise WgslKernelsError(f"fit: no worker is left of {len(known)}.")
            time.sleep(0.1)
        if len(found) > self._plan.micro_batches:
            raise ArgumentError(
                f"fit: {len(found)} workers for micro_batches={self._plan.micro_batches}; want at "
                "least one for each."
            )
        return found

    def _note_death(self, address: str) -> None:
        """Count, once, that a worker of this round is gone."""
        nanny = self._joined.pop(address, None)
        if nanny is not None:
            self._deaths[nanny] += 1

    def _nannies(self) -> dict[str, str]:
        """Return by address of a worker what stays when it comes back: its nanny's address."""
        workers = workers_of(self._client)
        return {address: facts.get("nanny") or address for address, facts in workers.items()}

    def _settle(self) -> None:
        """Leave out workers that do not answer."""
        asked = self._present()
        answered = who_answers(self._client, asked, min(ANSWER, self._plan.timeout), answer)
        there = workers_of(self._client)
        self._left_out |= {one for one in asked if one in there and one not in answered}

    def _differing(self, addresses: Sequence[str], digests: Sequence[str]) -> WgslKernelsError:
        """Return the error about copies that differ."""
        at = next(n for n, one in enumerate(digests) if one != digests[0])
        states = [
            self._client.submit(
                _state, self._plan.name, workers=[addresses[n]], pure=False
            ).result()
            for n in (0, at)
        ]
        first, other = map(tensors_in, states)
        name = next(
            (n for n in sorted(first) if first[n].numpy().tobytes() != other[n].numpy().tobytes()),
            "the digest alone",
        )
        return WgslKernelsError(
            f"fit: the copies differ: {name} at {addresses[at]} ({self.adapters[at]}) is not that "
            f"at {addresses[0]} ({self.adapters[0]}). make() and batches() must give the same "
            "everywhere."
        )


def _train(
    group: WorkerGroup, plan: _TrainingPlan, state: bytes | None, goal: int
) -> tuple[Any, ...]:
    """Train on a worker from a state up to a step."""
    kept = _kept()
    replica = kept.get(plan.name)
    if replica is None or (state is None and replica.step):
        kept.clear()  # of trainings before, and of one that begins again
        replica = kept[plan.name] = Replica(plan.make, plan.gradient_dtype)
    if state is not None and digest_of(state) != replica.digest:
        replica.take(state)
    with wk.config.using(deterministic=True):
        losses = replica.train(group, plan.batches, goal, plan.micro_batches)
    found = replica.state()
    replica.digest = digest_of(found)
    return losses, replica.digest, replica.seconds, found if group.rank == 0 else b""


def _state(name: str) -> bytes:
    found: bytes = _kept()[name].state()
    return found


def _kept() -> dict[str, Any]:
    plugin = get_worker().plugins[PLUGIN]
    assert isinstance(plugin, GroupPlugin)
    return plugin.kept


def _note(losses: Sequence[float], seconds: dict[str, float]) -> str:
    spent = ", ".join(f"{part} {one:.1f} s" for part, one in seconds.items())
    return f"loss {losses[-1]:.4g}; {spent}"


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TextColumn("{task.fields[note]}"), transient=True)
