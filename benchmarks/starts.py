"""How long a new process of each peer on WebGPU takes to the first output of a model.

From the start of the process on: it imports, opens the device, reads the model, compiles. Cold: the
caches on disk, the driver's and ours, are empty. Again: the process before has filled them.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.items.item import Item
from benchmarks.peers.process import PeerError, PeerProcess

STARTED = ("ours", "ort")
STATES = ("cold", "again")
LONGEST = 300.0


def measure(item: Item, peers: Sequence[PeerProcess], found: dict[str, dict[str, Any]]) -> None:
    """Put ``cold_seconds`` and ``again_seconds`` into what was found of peers, which take turns.

    A peer that was not timed is not started either.
    """
    asked = [one for one in peers if one.name in STARTED and "ms" in found.get(one.name, {})]
    with tempfile.TemporaryDirectory(prefix="bench-") as root:
        for state in STATES:
            for peer in asked:
                folder = Path(root, peer.name)
                folder.mkdir(exist_ok=True)
                try:
                    seconds = peer.first_output(item, folder, LONGEST)
                except PeerError as error:
                    found[peer.name][f"{state}_error"] = str(error)
                    continue
                found[peer.name][f"{state}_seconds"] = round(seconds, 3)
