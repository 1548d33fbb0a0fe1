"""Element by element: adds, a broadcast, a chain of ten."""

from typing import Any

from benchmarks.items.item import Draw, Item, Work

MEGA = 1 << 20


def _add(draw: Draw, x: tuple[int, ...], y: tuple[int, ...]) -> Work:
    def program(o: Any, x: Any, y: Any) -> Any:
        return o.add(x, y)

    return Work({"x": draw.normal(*x), "y": draw.normal(*y)}, program)


def _multiply(draw: Draw, x: tuple[int, ...], y: tuple[int, ...]) -> Work:
    def program(o: Any, x: Any, y: Any) -> Any:
        return o.multiply(x, y)

    return Work({"x": draw.normal(*x), "y": draw.normal(*y)}, program)


def _chain(draw: Draw, size: int) -> Work:
    def program(o: Any, x: Any) -> Any:
        t = o.multiply(x, 0.5)
        t = o.add(t, 1.0)
        t = o.multiply(t, x)
        t = o.sqrt(o.abs(t))
        t = o.subtract(t, 0.25)
        t = o.relu(t)
        t = o.multiply(t, t)
        return o.exp(o.negative(t))

    return Work({"x": draw.normal(size)}, program)


def _pair(x: tuple[int, ...], y: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {"x": x, "y": y}


SMALL = _pair((12,), (12,))
ITEMS = [
    Item("add-1m", "maps", _add, _pair((MEGA,), (MEGA,)), SMALL, calls=20),
    Item("add-16m", "maps", _add, _pair((16 * MEGA,), (16 * MEGA,)), SMALL, calls=2),
    Item("multiply-1m", "maps", _multiply, _pair((MEGA,), (MEGA,)), SMALL, calls=20),
    Item("multiply-16m", "maps", _multiply, _pair((16 * MEGA,), (16 * MEGA,)), SMALL, calls=2),
    Item(
        "add-broadcast", "maps", _add, _pair((1024, 1024), (1024,)), _pair((3, 8), (8,)), calls=20
    ),
    Item("chain-10", "maps", _chain, {"size": MEGA}, {"size": 12}, calls=8),
]
