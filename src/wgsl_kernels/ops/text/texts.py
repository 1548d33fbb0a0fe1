"""Strings matched, joined into n-grams and hashed, on the cpu backend only."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wgsl_kernels.backends.cpu.fingerprint import fingerprint
from wgsl_kernels.backends.cpu.kernel import Array, cpu_kernel
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.engine.execution.run import run, run_many
from wgsl_kernels.engine.registry.gradients import no_gradient
from wgsl_kernels.engine.registry.public_names import public
from wgsl_kernels.engine.registry.signature import signature
from wgsl_kernels.engine.values.shapes import require_dtype, require_rank
from wgsl_kernels.wgsl.errors.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wgsl_kernels.engine.tensors.tensor import Tensor, TensorLike
    from wgsl_kernels.engine.values.spec import Spec

BECAUSE = "its inputs are strings"


@public()
class NGrams(NamedTuple):
    """N-grams of rows of different lengths, and where the rows begin."""

    n_grams: Tensor
    n_grams_splits: Tensor


@public(tfjs="string.staticRegexReplace")
def static_regex_replace(
    input: TensorLike, pattern: str, rewrite: str, *, replace_global: bool = True
) -> Tensor:
    """Return strings with what matches ``pattern`` replaced.

    Args:
        input: Strings, any shape.
        pattern: A regular expression, as JavaScript or Python has it.
        rewrite: What comes in its place, as JavaScript has it: ``$1`` is the first group, ``$&``
            the match, ``$$`` a dollar.
        replace_global: Whether all matches are replaced, or the first one.

    Raises:
        ArgumentError: ``pattern`` is no regular expression.

    Example:
        >>> static_regex_replace(["a b", "c"], "([a-z])", "<$1>").tolist()
        ['<a> <b>', '<c>']
    """
    attrs = {"pattern": pattern, "rewrite": rewrite, "replace_global": replace_global}
    return run("StaticRegexReplace", input, **attrs)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(re.sub(r"\(\?<(?![=!])", "(?P<", pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise ArgumentError(
            f"StaticRegexReplace: pattern is {shown(pattern)}; want a regular expression ({error})."
        ) from None


@signature("StaticRegexReplace")
def _regex_signature(
    x: Spec, /, *, pattern: str, rewrite: str, replace_global: bool = True
) -> Spec:
    del rewrite, replace_global
    require_dtype("StaticRegexReplace", "x", x, "string")
    _compiled(pattern)
    return x


def _text(element: str | bytes) -> str:
    """Return an element as a text; what is not UTF-8 is kept in surrogates."""
    return element.decode("utf-8", "surrogateescape") if isinstance(element, bytes) else element


def _element(text: str) -> str | bytes:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape")
    return text


_PLACEHOLDER = re.compile(r"\$(?:(\$)|(&)|(\d\d?)|<([^>]*)>)")


def _rewritten(match: re.Match[str], rewrite: str) -> str:
    def part(found: re.Match[str]) -> str:
        dollar, whole, number, name = found.groups()
        if dollar:
            return "$"
        if whole:
            return match[0]
        groups = match.re.groups
        if number:
            if 1 <= int(number) <= groups:
                return match[int(number)] or ""
            if 1 <= int(number[0]) <= groups:
                return (match[int(number[0])] or "") + number[1:]
            return found[0]
        return (match.groupdict().get(name) or "") if match.groupdict() else found[0]

    return _PLACEHOLDER.sub(part, rewrite)


@cpu_kernel("StaticRegexReplace")
def _regex_cpu(x: Array, *, pattern: str, rewrite: str, replace_global: bool) -> Array:
    compiled, limit = _compiled(pattern), 0 if replace_global else 1
    y = np.empty(x.shape, object)
    for place, text in np.ndenumerate(x):
        found = compiled.sub(lambda match: _rewritten(match, rewrite), _text(text), limit)
        y[place] = _element(found)
    return y


no_gradient("StaticRegexReplace", because=BECAUSE)


@public(tfjs="string.stringNGrams")
def string_n_grams(
    data: TensorLike,
    data_splits: TensorLike,
    *,
    separator: str,
    n_gram_widths: Sequence[int],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> NGrams:
    """Return the n-grams of rows of strings, joined.

    Args:
        data: Strings, [values].
        data_splits: int32, where each row begins and the last one ends; 0 first, never falling.
        separator: What comes between the strings of an n-gram.
        n_gram_widths: How many strings an n-gram has; several widths one after the other.
        left_pad: What comes before a row.
        right_pad: What comes after it.
        pad_width: How often, below the width; -1 is one less than each width.
        preserve_short_sequences: Whether a row that is too short for any n-gram gives one of all
            its strings.

    Returns:
        The n-grams, and where each row of them begins.

    Raises:
        ArgumentError: The splits are none of ``data``, or a width is below 1.

    Example:
        >>> pads = {"left_pad": "", "right_pad": "", "pad_width": 0}
        >>> found = string_n_grams(["a", "b", "c"], [0, 3], separator=" ", n_gram_widths=[2],
        ...                        preserve_short_sequences=False, **pads)
        >>> found.n_grams.tolist()
        ['a b', 'b c']
    """
    return NGrams(
        *run_many(
            "StringNGrams",
            data,
            data_splits,
            separator=separator,
            n_gram_widths=n_gram_widths,
            left_pad=left_pad,
            right_pad=right_pad,
            pad_width=pad_width,
            preserve_short_sequences=preserve_short_sequences,
        )
    )


@signature("StringNGrams")
def _n_grams_signature(
    data: Spec,
    data_splits: Spec,
    /,
    *,
    separator: str,
    n_gram_widths: Sequence[int],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> dict[str, Spec]:
    del separator, left_pad, right_pad, preserve_short_sequences
    require_dtype("StringNGrams", "data", data, "string")
    require_rank("StringNGrams", "data", data, 1)
    require_dtype("StringNGrams", "data_splits", data_splits, "int32")
    require_rank("StringNGrams", "data_splits", data_splits, 1)
    if not n_gram_widths or min(n_gram_widths) < 1 or max(n_gram_widths) > _WIDEST:
        raise ArgumentError(
            f"StringNGrams: n_gram_widths is {shown(n_gram_widths)}; want some in [1, {_WIDEST}]."
        )
    if pad_width < -1:
        raise ArgumentError(f"StringNGrams: pad_width is {pad_width}; want at least -1.")
    return {"n_grams": data.like(shape=(None,)), "n_grams_splits": data_splits}


_WIDEST = 1 << 16


def _check_splits(splits: Array, count: int) -> None:
    wrong = splits.size and (splits[0] != 0 or (np.diff(splits) < 0).any() or splits[-1] != count)
    if wrong or (count and not splits.size):
        raise ArgumentError(
            f"StringNGrams: data_splits is {splits.tolist()[:16]}; want numbers from 0 to {count}, "
            "how many strings there are, that never fall."
        )


@cpu_kernel("StringNGrams")
def _n_grams_cpu(
    data: Array,
    data_splits: Array,
    *,
    separator: str,
    n_gram_widths: Sequence[int],
    left_pad: str,
    right_pad: str,
    pad_width: int,
    preserve_short_sequences: bool,
) -> tuple[Array, Array]:
    _check_splits(data_splits, data.size)
    texts = [_text(one) for one in data]
    found: list[str] = []
    ends = [0]
    for begin, end in itertools.pairwise(data_splits.tolist()):
        row = texts[begin:end]
        grams: list[str] = []
        for width in n_gram_widths:
            pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            padded = [left_pad] * pad + row + [right_pad] * pad
            grams += _joined(padded, width, separator)
        if preserve_short_sequences and not grams and row:
            pad = max(pad_width, 0)
            grams = [separator.join([left_pad] * pad + row + [right_pad] * pad)]
        found += grams
        ends.append(len(found))
    y = np.empty(len(found), object)
    y[:] = [_element(one) for one in found]
    return y, np.array(ends[: max(data_splits.size, 0)], np.int32)


def _joined(row: list[str], width: int, separator: str) -> Iterator[str]:
    for first in range(len(row) - width + 1):
        yield separator.join(row[first : first + width])


no_gradient("StringNGrams", because=BECAUSE)


@public(tfjs="string.stringToHashBucketFast")
def string_to_hash_bucket_fast(input: TensorLike, num_buckets: int) -> Tensor:
    """Return for each string the number of its bucket: FarmHash's fingerprint modulo the count.

    Args:
        input: Strings, any shape.
        num_buckets: At least 1.

    Returns:
        int32, in [0, num_buckets).

    Raises:
        ArgumentError: ``num_buckets`` is not in [1, 2^31).

    Example:
        >>> string_to_hash_bucket_fast(["a", "b"], 10).tolist()
        [9, 2]
    """
    return run("StringToHashBucketFast", input, num_buckets=num_buckets)


@signature("StringToHashBucketFast")
def _hash_signature(input: Spec, /, *, num_buckets: int) -> Spec:
    require_dtype("StringToHashBucketFast", "input", input, "string")
    if not 0 < num_buckets < 1 << 31:
        raise ArgumentError(
            f"StringToHashBucketFast: num_buckets is {num_buckets}; want it in [1, 2^31)."
        )
    return input.like(dtype="int32")


@cpu_kernel("StringToHashBucketFast")
def _hash_cpu(input: Array, *, num_buckets: int) -> Array:
    y = np.empty(input.shape, np.int32)
    for place, text in np.ndenumerate(input):
        y[place] = fingerprint(text.encode() if isinstance(text, str) else text) % num_buckets
    return y


no_gradient("StringToHashBucketFast", because=BECAUSE)
