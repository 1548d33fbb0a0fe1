"""Between host and device: 16 MB each way, and a thousand small adds, each on the last sum."""

from typing import Any

from benchmarks.items.item import Draw, Item, Kind, Work

HOSTS: tuple[str, ...] = ("numpy", "torch", "ours-cpu")
ON_HOST: dict[str, str] = dict.fromkeys(HOSTS, "its arrays are on the host")
ONE_BY_ONE = "an add takes it milliseconds when it may not fuse"


def _transfer(draw: Draw, size: int, kind: Kind) -> Work:
    def program(_o: Any, x: Any) -> Any:
        return x

    return Work({"x": draw.normal(size)}, program, kind)


def _small_adds(draw: Draw, size: int, count: int) -> Work:
    def program(o: Any, x: Any, y: Any) -> Any:
        for _ in range(count):
            x = o.add(x, y)
        return x

    return Work({"x": draw.normal(size), "y": draw.normal(size)}, program, "read")


SIZE, SMALL = 1 << 22, 12
ADDS, FEW_ADDS = {"size": 16, "count": 1000}, {"size": 16, "count": 50}
ITEMS = [
    Item(
        "upload-16mb",
        "transfers",
        _transfer,
        {"size": SIZE, "kind": "upload"},
        {"size": SMALL, "kind": "upload"},
        calls=2,
        without=ON_HOST,
    ),
    Item(
        "download-16mb",
        "transfers",
        _transfer,
        {"size": SIZE, "kind": "download"},
        {"size": SMALL, "kind": "download"},
        calls=2,
        without=ON_HOST,
    ),
    Item(
        "1000-adds",
        "transfers",
        _small_adds,
        ADDS,
        FEW_ADDS,
        calls=1,
        without={"tinygrad": "its compiler does not come back from so deep an expression"},
    ),
    Item(
        "1000-adds-unfused",
        "transfers",
        _small_adds,
        ADDS,
        FEW_ADDS,
        calls=1,
        fusion="never",
        without={"tinygrad": ONE_BY_ONE},
    ),
]
