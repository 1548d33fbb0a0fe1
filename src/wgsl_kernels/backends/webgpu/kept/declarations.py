"""Has wgpu-py read its C declarations from a table, where it would parse a header at each start.

wgpu-py hands a header of 2,000 lines to cffi, which parses it in Python, and again with all of its
names for each type that is used first: 0.7 s until a process has opened a device and run a kernel.
cffi can write what it has parsed as a table, from which the same types come without any parsing; so
we keep the table in the user's cache folder, and give wgpu-py's one module that declares, ``_ffi``,
an ``FFI`` made of it. Wherever that does not work out, wgpu-py parses as it always did. See
docs/decisions/0036-declarations-from-a-table.md. C reads a table without looking, so whether it has
the form that cffi writes is checked before.

Source: cffi's ``parse_c_type.h`` and ``recompiler.py``, version 2.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import io
import logging
import marshal
import sys
import threading
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from wgsl_kernels.backends.webgpu.kept.kept_files import KeptFile, cache_folder
from wgsl_kernels.engine.environment.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType

PACKAGE = "wgpu.backends.wgpu_native"
DECLARING = f"{PACKAGE}._ffi"
"""The module of wgpu-py that makes an ``FFI``, gives it the header and opens the library."""

DIGEST = 32  # bytes before the table, of what follows: a damaged file is made again

_logger = logging.getLogger("wgsl_kernels")
_importing = threading.RLock()


def import_wgpu() -> Any:
    """Return wgpu with its native backend, which reads its declarations from a table if it can."""
    import wgpu

    with _importing:
        if DECLARING not in sys.modules:
            finder = _Finder()
            sys.meta_path.insert(0, finder)
            try:
                importlib.import_module(PACKAGE)
            finally:
                sys.meta_path.remove(finder)
    return wgpu


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the one module that declares as ever, and has it run with another ``FFI``."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != DECLARING:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _DeclarationsLoader(fullname, spec.loader.path)
        return spec


class _DeclarationsLoader(importlib.machinery.SourceFileLoader):
    """Runs the module so that ``from cffi import FFI`` gives it ours; nobody else sees that."""

    def exec_module(self, module: ModuleType) -> None:
        code = self.get_code(module.__name__)
        assert code is not None
        before = dict(vars(module))
        try:
            _run(module, code)
        except Exception as error:
            _logger.info("wgpu-py parses its declarations itself: %s", error)
            vars(module).clear()
            vars(module).update(before)
            super().exec_module(module)


def _run(module: ModuleType, code: CodeType) -> None:
    given = {**vars(importlib.import_module("cffi")), "FFI": _Declared}

    def importing(name: str, *others: Any) -> Any:
        return SimpleNamespace(**given) if name == "cffi" else __import__(name, *others)

    vars(module)["__builtins__"] = {**vars(builtins), "__import__": importing}
    exec(code, vars(module))
    vars(module)["__builtins__"] = builtins
    vars(module)["ffi"] = vars(module)["ffi"].made


class _Declared:
    """What `_ffi` takes for cffi's ``FFI``: declared once, it answers as one made of a table."""

    def cdef(self, header: str) -> None:
        self.made = _from_table(header)

    def set_source(self, name: str, source: None) -> None:
        """Do nothing: it says for whom a table would be written."""

    def __getattr__(self, name: str) -> Any:
        if name == "made":
            raise AttributeError(name)
        return getattr(self.made, name)


def _from_table(header: str) -> Any:
    cffi, in_c = map(importlib.import_module, ("cffi", "_cffi_backend"))
    key = hashlib.sha256(f"{cffi.__version__}\n{marshal.version}\n{header}".encode()).hexdigest()
    file = KeptFile(cache_folder(), "declarations", f"{key[:24]}.bin")
    table = _read(file, key)
    if table is None:
        table = _table(header)
        _keep(file, key, table)
    return in_c.FFI("wgpu_native", **table)


def _table(header: str) -> dict[str, Any]:
    """Have cffi parse the header, and return what it would write into a module."""
    parsed = importlib.import_module("cffi").FFI()
    parsed.cdef(header)
    parsed.set_source("wgpu_native", None)
    text = io.StringIO()
    importlib.import_module("cffi.recompiler").make_py_source(parsed, "wgpu_native", text)
    made = ast.parse(text.getvalue()).body[-1]  # ffi = _cffi_backend.FFI(name, key=…)
    if not isinstance(made, ast.Assign) or not isinstance(made.value, ast.Call):
        raise TypeError("cffi writes its tables in another way.")
    return {one.arg or "": ast.literal_eval(one.value) for one in made.value.keywords}


def _read(file: KeptFile, key: str) -> dict[str, Any] | None:
    """Return the table that was kept, or None unless it is whole and of the right form."""
    content = file.read() or b""
    digest, packed = content[:DIGEST], content[DIGEST:]
    if _digest(key, packed) != digest:
        return None
    try:
        table: Any = marshal.loads(packed)
    except (ValueError, EOFError, TypeError):
        return None
    return table if is_table(table) else None


def _keep(file: KeptFile, key: str, table: dict[str, Any]) -> None:
    packed = marshal.dumps(table)
    try:
        file.write(_digest(key, packed) + packed)
    except (OSError, ArgumentError) as error:
        _logger.info("wgpu's declarations are not kept: %s", error)


def _digest(key: str, packed: bytes) -> bytes:
    return hashlib.sha256(key.encode() + packed).digest()


WORD = 4
"""Bytes of an entry: what it is in the last, and an index or a number in the others."""


def is_table(table: Any) -> bool:
    """Say whether every entry is one that cffi writes, and leads to another that is there."""
    lists = ("_globals", "_struct_unions", "_enums", "_typenames")
    if not isinstance(table, dict) or table.keys() != {"_version", "_types", *lists}:
        return False
    parts: list[Any] = [table[name] for name in lists]
    types, version = table["_types"], import_module("cffi.recompiler").VERSION_BASE
    if type(types) is not bytes or len(types) % WORD or not all(type(x) is tuple for x in parts):
        return False
    if type(table["_version"]) is not int or not version <= table["_version"] < version + 256:
        return False
    globals_, structs, enums, names = parts
    words = [types[at : at + WORD] for at in range(0, len(types), WORD)]
    return (
        _are_types(words, len(structs), len(enums), len(names))
        and all(type(one) is bytes and _index(one) < len(words) for one in names)
        and all(type(one) is bytes and _index(one) < len(words) for one in enums)
        and all(_is_struct(one, len(words)) for one in structs)
        and len(globals_) % 2 == 0
        and all(_is_global(one, len(words)) for one in globals_[::2])
        and all(type(one) is int for one in globals_[1::2])
    )


def _are_types(words: list[bytes], structs: int, enums: int, names: int) -> bool:
    ops = import_module("cffi.cffi_opcode")
    most = {
        ops.OP_PRIMITIVE: ops._NUM_PRIM,
        ops.OP_STRUCT_UNION: structs,
        ops.OP_ENUM: enums,
        ops.OP_TYPENAME: names,
        ops.OP_FUNCTION_END: 1 << 24,
    }
    leading = (ops.OP_POINTER, ops.OP_FUNCTION, ops.OP_NOOP, ops.OP_OPEN_ARRAY, ops.OP_ARRAY)
    most |= dict.fromkeys(leading, len(words))
    is_open = is_length = False
    for word in words:
        op = word[-1]
        if is_length:
            is_length = False
            continue
        if op not in most or int.from_bytes(word[:-1]) >= most[op]:
            return False
        is_open = (is_open or op == ops.OP_FUNCTION) and op != ops.OP_FUNCTION_END
        is_length = op == ops.OP_ARRAY
    return bool(words) and not is_open and not is_length


def _index(entry: bytes) -> int:
    return int.from_bytes(entry[:WORD]) if len(entry) > WORD else 1 << 32


def _is_struct(one: Any, count: int) -> bool:
    if type(one) is not tuple or not one or not all(type(part) is bytes for part in one):
        return False
    fields = [int.from_bytes(part[: WORD - 1]) if len(part) > WORD else count for part in one[1:]]
    return _index(one[0]) <= count and all(at < count for at in fields)


def _is_global(one: Any, count: int) -> bool:
    if type(one) is not bytes or len(one) <= WORD:
        return False
    return one[:3] == b"\xff\xff\xff" or int.from_bytes(one[:3]) < count
