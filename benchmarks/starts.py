"""How long a new process of each peer on WebGPU takes to the first output of a model.

From the start of the process on: it imports, opens the device, reads the model, compiles. Cold: the
caches on disk, the driver's and ours, are empty. Again: the process before has filled them.
Python's bytecode is there from the start, as it is where an installer has written it.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.items.item import Item
from benchmarks.peers.process import PeerError, PeerProcess

STARTED = ("ours", "ort")
STATES = ("cold", "again")
BYTECODE = "bytecode"
"""The first start of each peer, which is not timed: it writes that."""
LONGEST = 300.0


class Starts:
    """New processes, in turns.

    Args:
        bytecode: A folder for Python's bytecode.
    """

    def __init__(self, bytecode: Path) -> None:
        self._variables = {"PYTHONPYCACHEPREFIX": str(bytecode), "PYTHONDONTWRITEBYTECODE": ""}
        self._wrote: set[str] = set()

    def measure(
        self, item: Item, peers: Sequence[PeerProcess], found: dict[str, dict[str, Any]]
    ) -> None:
        """Put ``cold_seconds`` and ``again_seconds`` into what was found of the peers.

        A peer that was not timed is not started either.
        """
        asked = [one for one in peers if one.name in STARTED and "ms" in found.get(one.name, {})]
        with tempfile.TemporaryDirectory(prefix="bench-") as root:
            for state in (BYTECODE, *STATES):
                for peer in asked:
                    if state == BYTECODE and peer.name in self._wrote:
                        continue
                    folder = Path(root, BYTECODE if state == BYTECODE else peer.name)
                    try:
                        seconds = self._seconds(peer, item, folder)
                    except PeerError as error:
                        found[peer.name]["start_error"] = str(error)
                        continue
                    if state == BYTECODE:
                        self._wrote.add(peer.name)
                    else:
                        found[peer.name][f"{state}_seconds"] = round(seconds, 3)

    def _seconds(self, peer: PeerProcess, item: Item, caches: Path) -> float:
        caches.mkdir(exist_ok=True)
        return peer.first_output(item, caches, self._variables, LONGEST)
