"""A model that one worker trains, and what it knows of the others: the bits of their steps."""

from __future__ import annotations

import hashlib
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import wgsl_kernels as wk
from wgsl_kernels.dask.tree import shares
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.variables import Variable
from wgsl_kernels.engine.trees.structure import replaced
from wgsl_kernels.formats.tensor_files import read
from wgsl_kernels.ops.random.streams import drawing_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wgsl_kernels.dask.group import WorkerGroup
    from wgsl_kernels.dask.tree import Array

PARTS: tuple[str, ...] = ("data", "gradients", "all-reduce", "waiting", "update")
"""What the time of a step goes to; waiting is that for what others send in the all-reduce."""


class Replica:
    """A model, its optimizer and its loss, and how many steps they have done.

    Attributes:
        model: The model.
        optimizer: Its optimizer.
        step: The steps that are done.
        digest: The digest of the state that was last told, empty where it has changed since.
        seconds: Where the time went, by part.
    """

    def __init__(self, make: Callable[[], Any], dtype: str) -> None:
        """Make them.

        Raises:
            ArgumentError: ``make`` returns something else.
        """
        made = make()
        if not isinstance(made, tuple) or len(made) != 3 or not callable(made[2]):
            raise ArgumentError("fit: make() returned no (model, optimizer, loss).")
        self.model, self.optimizer, self._loss = made
        self.step = 0
        self.digest = ""
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._random = wk.random.Generator(0)
        self._dtype = np.dtype(dtype)
        self._variables = trained(self.model)
        self._flat = wk.capture(self._flat_gradient)

    def train(
        self, group: WorkerGroup, batches: Callable[[int], Any], until: int, pieces: int
    ) -> list[float]:
        """Train with the others of a group up to a step; return the loss of each step.

        Raises:
            ArgumentError: ``batches`` gives another number of micro-batches.
            PeerLost: Another worker is gone; no step is half done here.
        """
        self.digest = ""
        bounds = shares(pieces, group.size)
        own = range(bounds[group.rank], bounds[group.rank + 1])
        losses: list[float] = []
        following = self._uploaded(batches, self.step, pieces, own) if self.step < until else []
        while self.step < until:
            ready = following
            with self._timed("gradients"), drawing_from(self._random):
                leaves: list[wk.Tensor] = []
                for at, batch in zip(own, ready, strict=True):
                    self._random.seed(_key(self.step, at))
                    leaves.append(self._flat(batch))
                wk.flush()
            if self.step + 1 < until:  # the device computes meanwhile
                following = self._uploaded(batches, self.step + 1, pieces, own)
            with self._timed("gradients"):
                found = [one.numpy() for one in leaves]
                sent = [one.astype(self._dtype, copy=False) for one in found]
            waited = group.waited
            with self._timed("all-reduce"):
                total = group.all_reduce(sent, pieces=pieces).astype(np.float32)
                loss = total[:1]
                if self._dtype != np.float32:
                    loss = group.all_reduce([one[:1] for one in found], pieces=pieces)
            waited = group.waited - waited
            self.seconds["all-reduce"] -= waited
            self.seconds["waiting"] += waited
            with self._timed("update"):
                self._apply(total * np.float32(1 / pieces))
            losses.append(float(loss[0]) / pieces)
            self.step += 1
        return losses

    def state(self) -> bytes:
        """Return weights, the optimizer's state and the step, as a file of `wk.save`."""
        with _file() as path:
            wk.save(path, self._whole())
            return path.read_bytes()

    def take(self, state: bytes) -> None:
        """Take over what `state` gave, of whatever worker."""
        with _file(state) as path:
            self.load(path)

    def load(self, path: Path) -> None:
        """Take over a file with such a state.

        Raises:
            ArgumentError: It is none, or that of another model.
        """
        self.digest = ""
        step = wk.variable(0, trainable=False, name="step")
        wk.load(path, into={**self._whole(), "step": step})
        found = int(step.numpy())
        if found < 0:
            raise ArgumentError(f"fit: {path} says that {found} steps are done; want at least 0.")
        self.step = found

    def _uploaded(
        self, batches: Callable[[int], Any], step: int, pieces: int, own: range
    ) -> list[Any]:
        """Return this worker's micro-batches of a step; their upload begins.

        Raises:
            ArgumentError: ``batches`` gives another number of them.
        """
        with self._timed("data"):
            given = list(batches(step))
            if len(given) != pieces:
                raise ArgumentError(
                    f"fit: batches({step}) gave {len(given)}; want micro_batches={pieces}."
                )
            return [_on_device(given[at]) for at in own]

    def _whole(self) -> dict[str, Any]:
        step = wk.variable(self.step, trainable=False, name="step")
        return {"model": self.model, "optimizer": self.optimizer, "step": step}

    def _flat_gradient(self, batch: Any) -> wk.Tensor:
        """Return the loss and all gradients of one micro-batch as one tensor."""
        loss, found = wk.variable_grads(lambda: self._loss(batch), self._variables)
        one = next((one for one in self._variables if one not in found), None)
        if one is not None:
            raise ArgumentError(
                f"fit: the loss does not depend on the variable {one.name}, of shape "
                f"{list(one.shape)}; use it, or make it with trainable=False."
            )
        parts = [wk.reshape(wk.astype(loss, "float32"), (1,))]
        parts += [wk.reshape(wk.astype(found[one], "float32"), (-1,)) for one in self._variables]
        return wk.concat(parts)

    def _apply(self, mean: Array) -> None:
        pairs: list[tuple[wk.Tensor, Variable]] = []
        at = 1
        for one in self._variables:
            values = mean[at : at + one.size].reshape(one.shape)
            pairs.append((wk.tensor(values, dtype=one.dtype), one))
            at += one.size
        self.optimizer.apply_gradients(pairs)
        wk.evaluate(self._variables)

    @contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.seconds[part] += time.perf_counter() - begin


def trained(model: Any) -> list[Variable]:
    """Return the trainable variables of a model, each once, in the order of their places.

    Raises:
        ArgumentError: There is none.
    """
    found: list[Variable] = []

    def note(one: wk.Tensor) -> wk.Tensor:
        if isinstance(one, Variable) and one.trainable and all(one is not x for x in found):
            found.append(one)
        return one

    replaced(model, note)
    if not found:
        raise ArgumentError(
            "fit: make() returned a model without trainable variables. "
            "Load a model from a file with trainable=True."
        )
    return found


def digest_of(state: bytes) -> str:
    """Return the SHA-256 of weights and optimizer state: of names, dtypes, shapes and bytes."""
    found = hashlib.sha256()
    for name, one in sorted(tensors_in(state).items()):
        values = one.numpy()
        found.update(f"{name} {one.dtype} {one.shape} ".encode())
        found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()


def tensors_in(state: bytes) -> dict[str, wk.Tensor]:
    """Return the tensors of a state, by name."""
    with _file(state) as path, wk.use_backend("cpu"):
        return dict(read(path).tensors)


@contextmanager
def _file(state: bytes = b"") -> Iterator[Path]:
    """Give a block a file with a state in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.safetensors"
        path.write_bytes(state)
        yield path


def _on_device(batch: Any) -> Any:
    """Return a batch with tensors for its arrays; their upload begins."""
    if isinstance(batch, np.ndarray):
        return wk.tensor(batch)
    if isinstance(batch, (list, tuple)):
        return type(batch)(_on_device(one) for one in batch)
    if isinstance(batch, dict):
        return {name: _on_device(one) for name, one in batch.items()}
    return batch


def _key(step: int, number: int) -> int:
    """Return the seed of a micro-batch, the same wherever it is computed."""
    words = np.random.SeedSequence([step, number]).generate_state(2)
    return int(words[0]) << 32 | int(words[1])
