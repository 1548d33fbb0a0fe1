"""How deep a text may be: compilers recurse, and one that runs out of stack ends the process.

Measured with naga 29 and Mesa 22.3 on a stack of 8 MiB, the least that crashed: 1,700 nested calls;
2,700 nested parentheses, array types or indices; 4,300 else-ifs; 11,000 operands or prefixes in a
row; 17,500 constants, aliases or structs that each take the next. A list of 66,000 lost the device.
Pipelines are compiled on a stack of 32 MiB, whatever the calling thread has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wgsl_kernels.wgsl.errors.errors import ShaderError

if TYPE_CHECKING:
    from wgsl_kernels.wgsl.syntax.places import Text
    from wgsl_kernels.wgsl.syntax.tokens import Tokens

LEVELS = 500
"""Parentheses, calls, indices, template lists, accesses and prefixes around one operand."""
OPERANDS = 1000
"""Operands of one expression, parentheses included; an argument is an expression of its own."""
ELSE_IFS = 500
BRACES = 127
"""Braces in braces. Source: WebGPU Shading Language, section 2.4, limits."""
TYPES = 100
"""Template lists in template lists, and structs in structs."""
COMMENTS = 500
"""Block comments in block comments."""
LIST = 16_000
"""What stands between the commas of one list."""
DECLARATIONS = 1000
"""Declarations of which each needs the next."""
CALLS = 10_000
"""Calls that one call of a function comes to, with those inside of what it calls: compilers write
each of them out."""
STATEMENTS = 4096
"""Statements of one function, blocks and those inside of them included; see ``specialize``."""
WORD = 1000
"""Characters of one name or number."""
SELECTORS = 1023
"""Selectors of one switch. Source: WebGPU Shading Language, section 2.4, limits."""

_DEADLY = "which compilers do not survive."
_NAMES = "Give parts of it names with let."
_DEEP = f"this is nested more than {LEVELS} levels deep, {_DEADLY} {_NAMES}"
_LONG = f"this expression has more than {OPERANDS} operands, {_DEADLY} {_NAMES}"
_ELSE = f"more than {ELSE_IFS} else-ifs end here, {_DEADLY} Use switch."
_BRACE = f"this is braced more than {BRACES} levels deep, which WGSL does not allow."
_TYPE = f"this type is nested more than {TYPES} levels deep, {_DEADLY}"
_LIST = f"this list is longer than {LIST}, {_DEADLY} Bind it as a tensor."
_STATEMENTS = (
    f"this function has more than {STATEMENTS} statements, which take compilers minutes. "
    "Write a loop, or call functions."
)
_WORD = f"this is longer than {WORD} characters. Write a shorter one."
_CASES = (
    f"this switch has more than {SELECTORS} case selectors, which WGSL does not allow. "
    "Bind what they choose as a tensor."
)

_OPEN, _CLOSE, _OPERATOR, _PREFIX, _ACCESS, _COMMA, _END, _BRACE_OPEN, _BRACE_CLOSE = range(9)
_ROLES = {
    **dict.fromkeys(["(", "["], _OPEN),
    **dict.fromkeys([")", "]"], _CLOSE),
    **dict.fromkeys(["||", "|", "^", "==", "!=", "<", ">", "<=", ">=", "<<", ">>"], _OPERATOR),
    **dict.fromkeys(["+", "/", "%"], _OPERATOR),
    **dict.fromkeys(["-", "!", "~", "*", "&", "&&"], _PREFIX),  # or an operator, behind an operand
    **dict.fromkeys([";", ":", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="], _END),
    **dict.fromkeys(["<<=", ">>="], _END),
    ".": _ACCESS,
    ",": _COMMA,
    "{": _BRACE_OPEN,
    "}": _BRACE_CLOSE,
}


@dataclass(slots=True)
class _BracketFrame:
    """What is known of the text between two brackets.

    Attributes:
        base: The levels around it.
        types: The template lists around it.
        levels: Prefixes before the operand at hand, and accesses behind it.
        operators: Operators since the last comma.
        most: The most operators between two commas.
        commas: How many commas there were.
        else_ifs: How long the chain of else-ifs is that has just gone on.
    """

    base: int = 0
    types: int = 0
    levels: int = 0
    operators: int = 0
    most: int = 0
    commas: int = 0
    else_ifs: int = 0


def check_depth(source: Text, tokens: Tokens, template: str) -> None:
    """Refuse text that is deeper than the limits, in time linear in its length.

    Args:
        source: The text.
        tokens: Its tokens; a bracket that closes nothing does not count.
        template: The kind of the tokens that open and close template lists.

    Raises:
        ShaderError: The message shows the place where a limit is passed.
    """
    kinds, texts = tokens.kinds, tokens.texts
    frame = _BracketFrame()
    outer: list[_BracketFrame] = []
    braces = 0
    behind_operand = False
    message = ""
    for at, text in enumerate(texts):
        role = _ROLES.get(text)
        if kinds[at] is template:
            role = _OPEN if text == "<" else _CLOSE
        if role is None:
            behind_operand = kinds[at] in ("name", "number") or text in ("true", "false")
            continue
        if role == _PREFIX and behind_operand:
            role = _OPERATOR
        if role == _OPEN:
            level = frame.base + frame.levels + 1
            frame.levels += behind_operand and text == "["
            outer.append(frame)
            frame = _BracketFrame(level, frame.types + (text == "<"))
            message = _TYPE if frame.types > TYPES else message
        elif role == _CLOSE:
            most = max(frame.most, frame.operators)
            frame = outer.pop() if outer else frame
            frame.operators += most
        elif role == _OPERATOR:
            frame.operators += 1
            frame.levels = 0
        elif role == _PREFIX:
            frame.levels += len(text)
        elif role == _ACCESS:
            frame.levels += 1
        elif role == _COMMA:
            frame.most = max(frame.most, frame.operators)
            frame.operators = frame.levels = 0
            frame.commas += 1
            message = _LIST if frame.commas >= LIST else message
        elif role == _END:
            frame.levels = frame.operators = frame.most = 0
            frame.commas = 0 if text == ";" else frame.commas  # behind a colon a list goes on
        elif role == _BRACE_OPEN:
            braces += 1
            outer.append(frame)
            frame = _BracketFrame()
            message = _BRACE if braces > BRACES else message
        else:
            braces -= 1
            frame = outer.pop() if outer else frame
            goes_on = texts[at + 1 : at + 3] == ["else", "if"]
            frame.else_ifs = frame.else_ifs + 1 if goes_on else 0
            frame.levels = frame.operators = frame.most = 0
            message = _ELSE if frame.else_ifs > ELSE_IFS else message
        behind_operand = role == _CLOSE
        if frame.base + frame.levels > LEVELS:
            message = _DEEP
        elif frame.operators >= OPERANDS:
            message = _LONG
        if message:
            raise ShaderError(source.point(message, tokens.begins[at]))


def check_counts(source: Text, tokens: Tokens) -> None:
    """Refuse names and numbers, switches and functions that are too long.

    Raises:
        ShaderError: The message shows the first word, selector or statement too many.
    """
    _check_words(source, tokens)
    _check_selectors(source, tokens)
    _check_statements(source, tokens)


def _check_words(source: Text, tokens: Tokens) -> None:
    if max(map(len, tokens.texts)) > WORD:
        at = next(at for at, text in enumerate(tokens.texts) if len(text) > WORD)
        raise ShaderError(source.point(_WORD, tokens.begins[at]))


def _check_selectors(source: Text, tokens: Tokens) -> None:
    texts = tokens.texts
    if texts.count("case") + texts.count(",") <= SELECTORS:
        return
    counts = [0]
    in_case = False
    for at, text in enumerate(texts):
        if text == "case":
            counts[-1] += 1
            in_case = True
        elif text == "," and in_case:
            counts[-1] += texts[at + 1] not in (":", "{")
        elif text in (":", "{"):
            in_case = False
        if text == "{":
            counts.append(0)
        elif text == "}" and len(counts) > 1:
            counts.pop()
        if counts[-1] > SELECTORS:
            raise ShaderError(source.point(_CASES, tokens.begins[at]))


def _check_statements(source: Text, tokens: Tokens) -> None:
    texts = tokens.texts
    if texts.count(";") + texts.count("{") <= STATEMENTS:
        return
    braces = statements = 0
    for at, text in enumerate(texts):
        if text == "{":
            statements = statements + 1 if braces else 0
            braces += 1
        elif text == "}":
            braces = max(braces - 1, 0)
        else:
            statements += text == ";"
        if braces and statements > STATEMENTS:
            raise ShaderError(source.point(_STATEMENTS, tokens.begins[at]))
