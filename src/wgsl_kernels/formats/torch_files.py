"""Tensors in PyTorch's files, read without executing anything.

``torch.save`` writes a zip archive: a pickle, ``data.pkl``, and the bytes of each storage. A pickle
is a program; only what builds dicts, lists, tuples, numbers, strings and tensors is done here, and
whatever else it wants is refused. See PyTorch, Serialization semantics, and CPython's pickletools.
"""

from __future__ import annotations

import math
import pickletools
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.environment.files import naming_damage
from wgsl_kernels.formats.tensor_header import widened

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Array = np.ndarray[Any, Any]

_BFLOAT16 = "bfloat16"
_STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "BFloat16Storage": _BFLOAT16,
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
_LARGEST_PICKLE = 1 << 28
_MOST_ELEMENTS = 1 << 40


class _PickledName(NamedTuple):
    """A function or class that the pickle names."""

    module: str
    name: str


class _PickledStorage(NamedTuple):
    dtype: str
    values: Array


_MARK = object()


def read_torch_file(path: Path) -> dict[str, Array]:
    """Return the tensors of a file that ``torch.save`` has written, by their paths.

    What dicts and lists are in each other is a path joined by dots. bfloat16 becomes float32.

    Raises:
        ArgumentError: The file is none, is damaged, or its pickle wants anything but tensors,
            dicts, lists, tuples, numbers and strings.
        OSError: The file cannot be read.
    """
    with naming_damage(f"load_weights: {path.name} is damaged"):
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile:
            raise ArgumentError(
                f"load_weights: {path.name} is no zip archive, as torch.save has written them "
                "since PyTorch 1.6; load it there and save it again, or as safetensors."
            ) from None
        with archive:
            return _tensors(_Reader(path.name, archive).value())


def _tensors(value: Any) -> dict[str, Array]:
    found: dict[str, Array] = {}
    open_: list[tuple[str, Any, int]] = [("", value, 0)]
    while open_:
        path, one, depth = open_.pop()
        if isinstance(one, np.ndarray):
            found[path] = one
        elif isinstance(one, (dict, list, tuple)) and depth < 100:
            items = one.items() if isinstance(one, dict) else enumerate(one)
            open_.extend(
                (f"{path}.{name}" if path else str(name), x, depth + 1) for name, x in items
            )
    return found


class _Reader:
    """A machine for the part of pickle's programs that builds tensors."""

    def __init__(self, name: str, archive: zipfile.ZipFile) -> None:
        self._file = name
        self._archive = archive
        members = archive.namelist()
        pickles = [one for one in members if one == "data.pkl" or one.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise ArgumentError(
                f"load_weights: {name} has {len(pickles)} pickles; want one, data.pkl, as "
                "torch.save writes it. (Archives of TorchScript are programs.)"
            )
        self._root = pickles[0][: -len("data.pkl")]
        byteorder = f"{self._root}byteorder"
        if byteorder in members and self._bytes(byteorder, 16) != b"little":
            raise ArgumentError(f"load_weights: {name} is not in little-endian order.")
        self._program = self._bytes(pickles[0], _LARGEST_PICKLE)
        self._storages: dict[str, _PickledStorage] = {}
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def _bytes(self, member: str, largest: int | None) -> bytes:
        """Return a member; one that is compressed could become larger than memory."""
        info = self._archive.getinfo(member)
        if info.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{member} is compressed")
        if largest is not None and info.file_size > largest:
            raise ValueError(f"{member} has {info.file_size} bytes")
        return self._archive.read(member)

    def value(self) -> Any:
        """Return what the program builds."""
        for opcode, argument, _ in pickletools.genops(self._program):
            if opcode.name == "STOP":
                return self._stack.pop()
            step = _STEPS.get(opcode.name)
            if step is None:
                raise self._refused(f"the opcode {opcode.name}")
            step(self, argument)
        raise ValueError("its pickle has no end")

    def _refused(self, what: str) -> ArgumentError:
        return ArgumentError(
            f"load_weights: {self._file} wants {what}, which is not needed for tensors, and "
            "nothing of a file is executed here; save tensors alone: "
            "torch.save(model.state_dict(), path)."
        )

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def nothing(self, _: Any) -> None:
        """Go on."""

    def mark(self, _: Any) -> None:
        self.push(_MARK)

    def to_mark(self) -> list[Any]:
        """Take what is above the last mark, and the mark."""
        for at in range(len(self._stack) - 1, -1, -1):
            if self._stack[at] is _MARK:
                found = self._stack[at + 1 :]
                del self._stack[at:]
                return found
        raise ValueError("its pickle has no mark")

    def last(self, count: int) -> list[Any]:
        """Take the last items."""
        if len(self._stack) < count:
            raise IndexError("its pickle has too short a stack")
        found = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        return found

    def tuple_of(self, count: int | None) -> None:
        """Make a tuple of the last items, or of those after the mark."""
        self.push(tuple(self.to_mark() if count is None else self.last(count)))

    def put(self, place: Any) -> None:
        self._memo[len(self._memo) if place is None else place] = self._stack[-1]

    def get(self, place: Any) -> None:
        self.push(self._memo[place])

    def set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict):
            raise TypeError("its pickle sets items of no dict")
        target.update(zip(items[::2], items[1::2], strict=True))

    def append(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, list):
            raise TypeError("its pickle appends to no list")
        target.extend(items)

    def name(self, text: str) -> None:
        module, _, name = text.partition(" ")
        self.push(_PickledName(module, name))

    def stack_name(self, _: Any) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self.push(_PickledName(str(module), str(name)))

    def build(self, _: Any) -> None:
        """Drop an object's attributes: those of an OrderedDict are versions of modules."""
        self._stack.pop()
        if not isinstance(self._stack[-1], dict):
            raise self._refused("to set attributes")

    def reduce(self, _: Any) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        if function == _PickledName("collections", "OrderedDict"):
            self.push(dict(arguments[0]) if arguments else {})
        elif function == _PickledName("torch._utils", "_rebuild_tensor_v2"):
            self.push(_tensor(*arguments[:4]))
        elif function == _PickledName("torch._utils", "_rebuild_parameter"):
            self.push(arguments[0])
        else:
            named = ".".join(function) if isinstance(function, _PickledName) else repr(function)
            raise self._refused(f"to call {named}")

    def storage(self, _: Any) -> None:
        kind, storage, key, _, count = self._stack.pop()
        dtype = _STORAGES.get(storage.name) if isinstance(storage, _PickledName) else None
        if kind != "storage" or dtype is None:
            raise self._refused(f"the storage {storage}")
        if key not in self._storages:
            data = self._bytes(f"{self._root}data/{key}", None)
            raw = np.frombuffer(data, "<u2" if dtype == _BFLOAT16 else dtype)
            if raw.size < count:
                raise ValueError(f"storage {key} has {raw.size} elements of {count}")
            self._storages[key] = _PickledStorage(dtype, raw)
        self.push(self._storages[key])


def _tensor(storage: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return a tensor: a view of its storage, copied.

    Raises:
        ValueError: It reaches outside.
    """
    if not isinstance(storage, _PickledStorage) or len(shape) != len(strides):
        raise TypeError("a tensor has no storage, or as many strides as axes")
    if min((offset, *shape, *strides), default=0) < 0 or math.prod(shape) > _MOST_ELEMENTS:
        raise ValueError(f"a tensor has shape {shape}, strides {strides} and offset {offset}")
    empty = 0 in shape
    last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if not empty and (last >= storage.values.size or math.prod(shape) > storage.values.size):
        raise ValueError(f"a tensor of shape {shape} reaches outside its storage")
    if empty:
        view = np.empty(shape, storage.values.dtype)
    else:
        width = storage.values.itemsize
        view = np.lib.stride_tricks.as_strided(
            storage.values[offset:], shape, [step * width for step in strides], writeable=False
        )
    if storage.dtype == _BFLOAT16:
        return widened(view)
    return np.array(view)


def _constant(value: Callable[[], Any]) -> Callable[[_Reader, Any], None]:
    return lambda reader, _: reader.push(value())


_STEPS: dict[str, Callable[[_Reader, Any], None]] = {
    **dict.fromkeys(["PROTO", "FRAME"], _Reader.nothing),
    **dict.fromkeys(
        ["BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"],
        lambda reader, value: reader.push(value),
    ),
    "NONE": _constant(lambda: None),
    "NEWTRUE": _constant(lambda: True),
    "NEWFALSE": _constant(lambda: False),
    "EMPTY_DICT": _constant(dict),
    "EMPTY_LIST": _constant(list),
    "EMPTY_TUPLE": _constant(tuple),
    "MARK": _Reader.mark,
    "TUPLE": lambda reader, _: reader.tuple_of(None),
    "TUPLE1": lambda reader, _: reader.tuple_of(1),
    "TUPLE2": lambda reader, _: reader.tuple_of(2),
    "TUPLE3": lambda reader, _: reader.tuple_of(3),
    **dict.fromkeys(["BINPUT", "LONG_BINPUT", "MEMOIZE"], _Reader.put),
    **dict.fromkeys(["BINGET", "LONG_BINGET"], _Reader.get),
    "SETITEM": lambda reader, _: reader.set_items(reader.last(2)),
    "SETITEMS": lambda reader, _: reader.set_items(reader.to_mark()),
    "APPEND": lambda reader, _: reader.append(reader.last(1)),
    "APPENDS": lambda reader, _: reader.append(reader.to_mark()),
    "GLOBAL": _Reader.name,
    "STACK_GLOBAL": _Reader.stack_name,
    "REDUCE": _Reader.reduce,
    "BUILD": _Reader.build,
    "BINPERSID": _Reader.storage,
}
