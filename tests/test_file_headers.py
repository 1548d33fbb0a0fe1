"""What a file's header may say, files that change while they are read, and narrow floats."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import wgsl_kernels as wk

if TYPE_CHECKING:
    from pathlib import Path

ONE = {"x": wk.tensor(1.0)}

TRUNCATING = """
import sys, threading
import numpy as np
import wgsl_kernels as wk
path = sys.argv[1]
content = open(path, "rb").read()
done = threading.Event()
def write():
    while not done.is_set():
        with open(path, "wb") as file:  # shortened to nothing first
            file.write(content)
thread = threading.Thread(target=write)
thread.start()
outcomes = []
for _ in range(60):
    try:
        wk.load(path)
        outcomes.append("loaded")
    except wk.ArgumentError as error:
        outcomes.append("raised")
done.set()
thread.join()
print("raised" in outcomes)
"""


def test_a_file_that_is_shortened_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    wk.save(tmp_path / "file", {"x": wk.tensor(np.ones(500_000, np.float32))})
    done = subprocess.run(
        [sys.executable, "-c", TRUNCATING, tmp_path / "file"],
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def written(path: Path, header: str | bytes, data: bytes = b"", length: int | None = None) -> None:
    """Write a file of this header, which need not be true."""
    text = header if isinstance(header, bytes) else header.encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)


def entry(begin: int, end: int, shape: str = "[1]", dtype: str = "F32") -> str:
    """Return what a header says of a tensor."""
    return f'{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}'


HOSTILE: dict[str, tuple[str | bytes, str]] = {
    "overlapping": (f'{{"a":{entry(0, 4)},"b":{entry(2, 6)}}}', "'a' and 'b' overlap"),
    "one in the place of another": (f'{{"a":{entry(0, 4)},"b":{entry(0, 4)}}}', "overlap"),
    "gap": (f'{{"a":{entry(0, 4)},"b":{entry(5, 9)}}}', "'a' and 'b' have a gap"),
    "late": (f'{{"a":{entry(4, 8)}}}', "the header and 'a' have a gap"),
    "twice": (f'{{"a":{entry(0, 4)},"a":{entry(4, 8)}}}', "its header has 'a' twice"),
    "short": (f'{{"a":{entry(0, 3)}}}', "'a' takes 3 bytes; F32 of shape .1. has 4"),
    "of another size": (f'{{"a":{entry(0, 4, dtype="F64")}}}', "'a' takes 4 bytes"),
    "backwards": (f'{{"a":{entry(4, 0)}}}', "data_offsets of 'a'"),
    "below": (f'{{"a":{entry(-4, 0)}}}', "data_offsets of 'a'"),
    "too long": (f'{{"a":{entry(0, 400, "[100]")}}}', "tensors end at byte"),
    "too few": (f'{{"a":{entry(0, 4)}}}', "tensors end at byte"),
    "negative": (f'{{"a":{entry(0, 4, "[-1]")}}}', "the shape of 'a' is no list of lengths"),
    "true": (f'{{"a":{entry(0, 4, "[true]")}}}', "the shape of 'a' is no list"),
    "endless": (f'{{"a":{entry(0, 0, "[0, 99999999999999999999]")}}}', "the shape of 'a'"),
    "another dtype": (f'{{"a":{entry(0, 4, dtype="F8_E4M3")}}}', "'F8_E4M3', which is not read"),
    "half a character": (f'{{"\\ud800":{entry(0, 4)}}}', "half a character"),
    "a list": ("[]", "no JSON object"),
    "nested": ("[" * 100_000, "its header cannot be read"),
    "no text": (b"\xff\xfe", "its header cannot be read"),
    "more": ('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}', "alone"),
    "no metadata": ('{"__metadata__":{"a":1}}', "metadata are no strings"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_header_that_lies_is_refused_in_words(name: str, tmp_path: Path) -> None:
    header, message = HOSTILE[name]
    written(tmp_path / "file", header, bytes(8))
    with pytest.raises(wk.ArgumentError, match=f"load: .*is no readable safetensors.*{message}"):
        wk.load(tmp_path / "file")


def test_a_header_of_another_length_is_refused_before_it_is_read(tmp_path: Path) -> None:
    for length in (3, 9, 2**63, 100_000_001):
        written(tmp_path / "file", "{}", length=length)
        with pytest.raises(wk.ArgumentError, match="is no readable safetensors file: its header"):
            wk.load(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"1234")
    with pytest.raises(wk.ArgumentError, match="it has 4 bytes, fewer than a header"):
        wk.load(tmp_path / "file")


def test_numbers_are_rounded_to_bfloat16_and_back(tmp_path: Path) -> None:
    path, draw = tmp_path / "file", np.random.default_rng(5)
    bits = draw.integers(0, 2**32, 4096, np.uint32)
    bits[:6] = [0x3F808000, 0x3F818000, 0x80000000, 0x7F800000, 0x7F800001, 0xFFFFFFFF]
    x = bits.view(np.float32)
    x[np.isfinite(x) & (np.abs(x) > 3.38e38)] = 1.0
    with wk.use_backend("cpu"):
        wide = np.array([1.0 + 2**-8 + 2**-40, 1.0 + 2**-8, 1.0 + 3 * 2**-8, -0.1])
        given = {"x": wk.tensor(x), "wide": wk.tensor(wide, dtype="float64"), "n": wk.tensor([3])}
        wk.save(path, given, dtype="bfloat16")
        assert path.stat().st_size < 2 * 4096 + 500
        found = wk.load(path)
    got = found["x"].numpy()
    assert np.isnan(got[np.isnan(x)]).all()
    finite = np.isfinite(x)
    near = np.where(finite, x, 0).astype(np.float64)
    below = (bits & 0xFFFF0000).view(np.float32)
    above = ((bits & 0xFFFF0000) + 0x10000).view(np.float32)
    low, high = (np.where(finite, one, 0).astype(np.float64) for one in (below, above))
    is_tie = np.abs(near - low) == np.abs(near - high)
    is_up = np.where(is_tie, bits >> 16 & 1, np.abs(high - near) < np.abs(near - low))
    assert (got[finite] == np.where(is_up, high, low)[finite]).all()
    assert got[3] == np.inf
    assert np.signbit(got[2])
    assert found["wide"].tolist() == [1.0 + 2**-7, 1.0, 1.0 + 2**-6, -0.10009765625]
    assert found["n"].dtype == "int32"
    wk.save(path, {"x": wk.tensor([0.1])}, dtype="float16")
    with wk.use_backend("cpu"):
        assert wk.load(path)["x"].dtype == "float16"
    with pytest.raises(wk.ArgumentError, match="save: 'x' holds 70000, beyond float16"):
        wk.save(path, {"x": wk.tensor([7e4, np.inf])}, dtype="float16")
    odd: Any = "int8"
    with pytest.raises(wk.ArgumentError, match="save: dtype"):
        wk.save(path, ONE, dtype=odd)


def test_bfloat16_of_other_writers_is_read_as_float32(tmp_path: Path) -> None:
    header = f'{{"w":{entry(0, 6, "[3]", "BF16")}}}'
    written(tmp_path / "file", header, bytes.fromhex("803f 0040 c07f"))
    found = wk.load(tmp_path / "file")["w"]
    assert (found.dtype, found.tolist()[:2]) == ("float32", [1.0, 2.0])


def test_names_of_other_formats_and_swapped_arguments_are_told(tmp_path: Path) -> None:
    for suffix, writer in ((".npz", "numpy.savez"), (".PT", "torch.save"), (".h5", "h5py")):
        with pytest.raises(wk.ArgumentError, match=f"save: model.* {writer}.*writes those"):
            wk.save(tmp_path / f"model{suffix}", ONE)
    assert list(tmp_path.iterdir()) == []
    np.savez(tmp_path / "a.npz", x=np.ones(2))
    with pytest.raises(wk.ArgumentError, match=r"numpy\.savez writes files of this name"):
        wk.load(tmp_path / "a.npz")
    swapped: Any = ONE
    path: Any = tmp_path / "file"
    with pytest.raises(wk.ArgumentError, match=r"save: the path is a dict .*swap the two"):
        wk.save(swapped, path)
    with pytest.raises(wk.ArgumentError, match=r"load: the path is a dict .*swap the two"):
        wk.load(swapped, path)
    wk.save(path, ONE)
    for name in ("", "__metadata__", "\ud800"):
        holder = {name: wk.variable(1.0)}
        texts = []
        with pytest.raises(wk.ArgumentError) as error:
            wk.save(path, holder)
        texts.append(str(error.value).partition(": ")[2])
        with pytest.raises(wk.ArgumentError) as error:
            wk.load(path, into=holder)
        texts.append(str(error.value).partition(": ")[2])
        assert texts[0] == texts[1]
    with pytest.raises(wk.ArgumentError, match="save: '' is no path: it is empty"):
        wk.save("", ONE)
    with pytest.raises(wk.ArgumentError, match="load: '' is no path: it is empty"):
        wk.load("")
