"""Whether a table of C declarations has the form that cffi writes: C reads it without looking.

Source: cffi's ``parse_c_type.h`` and ``recompiler.py``, version 2.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

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
