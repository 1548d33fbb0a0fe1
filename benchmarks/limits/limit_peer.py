"""The best raw WGSL we know for an item, as a peer: of its variants the quickest are timed."""

from collections.abc import Callable

from benchmarks.items.item import Array, Item, Work
from benchmarks.limits import images, indexing, maps, matrix, reductions, rows, training, transfers
from benchmarks.limits.raw import Builder, Limit, Raw, UnfitError
from benchmarks.peers.peer import Peer, Running

VARIANTS: dict[str, dict[str, Builder]] = {}
for family in (images, indexing, maps, matrix, reductions, rows, training):
    VARIANTS |= family.VARIANTS
TRANSFERS: dict[str, dict[str, Callable[[Raw, Work], Running]]] = transfers.VARIANTS

KEPT = 3
"""So many variants, the quickest of a first look, are timed along with the peers."""
LOOKS = 3
FAR = 3.0


class LimitPeer(Peer):
    """Raw WGSL through wgpu, nothing between."""

    def __init__(self) -> None:
        self._raw = Raw()

    def facts(self) -> dict[str, str]:
        """Return the adapter."""
        return {"adapter": self._raw.info["device"], "driver": self._raw.info["description"]}

    def start(self, item: Item, work: Work) -> dict[str, Running]:
        """Return the quickest variants; the conductor checks their results."""
        self._raw.drop()
        arrays = {**work.inputs, **work.variables}
        found = {name: make(self._raw, work) for name, make in TRANSFERS.get(item.name, {}).items()}
        for name, build in VARIANTS.get(item.name, {}).items():
            try:
                limit = build(self._raw, arrays)
            except UnfitError:
                continue
            found[name] = self._running(limit, read=work.kind == "read")
        if not found:
            raise NotImplementedError("no raw WGSL")
        if work.kind == "training":
            return found  # a look would train
        return {name: found[name] for name in _quickest(found, item.calls)}

    def _running(self, limit: Limit, *, read: bool) -> Running:
        raw = self._raw

        def call() -> Limit:
            raw.record(limit.dispatches)
            if read:
                raw.read(limit.outputs[0])
            return limit

        def fetch(limit: Limit) -> list[Array]:
            return [raw.read(one) for one in limit.outputs]

        return Running(call, raw.wait, fetch)


def _quickest(found: dict[str, Running], calls: int) -> list[str]:
    """Return the names of the best variants; those far behind at first get no second look."""
    if len(found) == 1:
        return list(found)
    for one in found.values():
        one.time(1)  # the driver compiles
    least = {name: one.time(1).ms for name, one in found.items()}
    near = list(found)
    for _ in range(LOOKS):
        near = [name for name in found if least[name] <= FAR * min(least.values())]
        for name in near:
            least[name] = min(least[name], found[name].time(calls).ms)
    return sorted(near, key=lambda name: least[name])[:KEPT]
