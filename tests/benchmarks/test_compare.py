"""Two heads take turns on an idle machine, and what is beyond a limit as a whole fails."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.compare import heads
from benchmarks.compare.heads import Head, HeadError
from benchmarks.compare.ratios import Clock, Pair, geometric_mean, ratio, verdict, verdict_on_mean
from benchmarks.compare.rounds import (
    PATIENCE_SECONDS,
    Costs,
    TooBusyError,
    alternate,
    least,
    wait_until_idle,
)
from benchmarks.conductor import check
from benchmarks.items import HOST
from benchmarks.peers.process import PeerProcess

SECONDS = 120.0


def pairs(*ratios: float) -> list[Pair]:
    """Return rounds in which the new head took so many times as long as the old one."""
    return [(2.0 + number, (2.0 + number) * one) for number, one in enumerate(ratios)]


STEADY = pairs(*[1.2] * 9)
WIDE = pairs(1.02, 1.05, 1.08, 1.09, 1.2, 1.3, 1.3, 1.4, 1.5)


def test_a_ratio_is_the_median_of_the_rounds_and_lies_in_its_interval() -> None:
    found = ratio(WIDE)

    assert found.value == pytest.approx(1.2)
    assert 1.02 <= found.low < found.value < found.high <= 1.5
    assert ratio(WIDE) == found
    assert str(ratio(STEADY)) == "1.200 [1.200, 1.200]"


def test_a_row_fails_if_its_interval_lies_beyond_ten_percent() -> None:
    assert verdict("add", {"wall": STEADY, "CPU": STEADY}).failed == ("wall", "CPU")
    assert verdict("add", {"wall": WIDE, "CPU": STEADY}).failed == ("CPU",)
    assert verdict("add", {"CPU": pairs(*[1.09] * 9)}).failed == ()
    assert verdict("add", {"CPU": pairs(*[0.5] * 9)}).failed == ()


def test_one_bad_round_of_nine_changes_no_verdict() -> None:
    assert verdict("add", {"CPU": pairs(*[1.0] * 8, 5.0)}).failed == ()
    assert verdict("add", {"CPU": pairs(*[1.2] * 8, 0.2)}).failed == ("CPU",)


def test_the_processor_time_of_a_first_result_may_grow_by_three_percent() -> None:
    slower = pairs(*[1.05] * 9)

    found = verdict("first-mlp-cold", {"wall": slower, "CPU": slower})

    assert found.failed == ("CPU",)


def test_the_mean_fails_beyond_three_percent_though_each_row_holds() -> None:
    slower: dict[Clock, list[Pair]] = {"CPU": pairs(*[1.05] * 9)}
    same: dict[Clock, list[Pair]] = {"CPU": pairs(*[1.0] * 9)}

    assert verdict_on_mean([slower] * 3).failed == ("CPU",)
    assert verdict_on_mean([slower, same, same]).failed == ()
    assert geometric_mean([pairs(2.0), pairs(8.0)]).value == pytest.approx(4.0)


def two(tmp_path: Path) -> list[Head]:
    """Return two heads of which nothing is run."""
    return [Head(name, name, tmp_path, tmp_path) for name in ("old", "new")]


def test_heads_take_turns_and_who_begins_changes(tmp_path: Path) -> None:
    turns: list[str] = []

    def take(head: Head) -> Costs:
        turns.append(head.name)
        return {"add": {"wall": float(len(turns)), "CPU": 1.0}}

    found = alternate(take, two(tmp_path), 3, lambda: turns.append("wait"))

    order = ["old", "new", "new", "old", "old", "new"]
    assert turns == [word for name in order for word in ("wait", name)]
    assert found["add"]["wall"] == [(2.0, 4.0), (8.0, 6.0), (10.0, 12.0)]
    assert found["add"]["CPU"] == [(1.0, 1.0)] * 3


def test_the_least_of_each_clock_counts() -> None:
    assert least([{"wall": 3.0, "CPU": 1.0}, {"wall": 2.0, "CPU": 4.0}]) == {
        "wall": 2.0,
        "CPU": 1.0,
    }


def waited(cores: Sequence[float], seconds: float) -> list[str]:
    """Return what is said while others use so many cores, one look after the other."""
    said: list[str] = []
    looks, times = iter(cores), iter(seconds * n for n in range(len(cores) + 1))
    wait_until_idle(said.append, lambda: next(looks), lambda: next(times))
    return said


def test_a_measurement_waits_until_others_use_half_a_core_and_says_so() -> None:
    assert waited([0.5], 1.0) == []
    assert waited([1.8, 1.5, 0.2], 1.0) == ["others use 1.8 cores: waiting, 1 s so far"]


def test_a_machine_that_stays_busy_is_given_up() -> None:
    with pytest.raises(TooBusyError, match=r"others use 2.0 cores; gave up after 601 s"):
        waited([2.0] * 9, PATIENCE_SECONDS + 1)


def git(folder: Path, *words: str) -> None:
    """Run git in a folder, as somebody."""
    who = ("-c", "user.name=A", "-c", "user.email=a@b.example")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with one commit, whose package has its shaders at the top."""
    folder = tmp_path / "repository"
    package = folder / "src" / "wgsl_kernels"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (folder / "shaders").mkdir()
    (folder / "shaders" / "exp.wgsl").write_text("// y = e^x\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin")
    monkeypatch.setattr(heads, "WORKTREES", tmp_path / "worktrees")
    monkeypatch.setattr(heads, "ROOT", folder)
    return folder


def test_a_revision_gets_a_worktree_whose_package_is_imported(
    repository: Path, tmp_path: Path
) -> None:
    found = [heads.head(name, "HEAD", tmp_path / name) for name in ("old", "new")]

    assert {one.source for one in found} == {next((tmp_path / "worktrees").iterdir()) / "src"}
    assert (found[0].source / "wgsl_kernels" / "shaders" / "exp.wgsl").is_file()
    assert found[0].label.endswith("Begin")
    assert found[0].environment()["PYTHONPATH"] == str(found[0].source)


def test_what_is_no_revision_and_what_lacks_its_shaders_are_refused(
    repository: Path, tmp_path: Path
) -> None:
    with pytest.raises(HeadError, match="Needed a single revision"):
        heads.head("old", "no-such-branch", tmp_path / "old")
    with pytest.raises(HeadError, match="there is no src/wgsl_kernels/shaders"):
        heads.head("old", str(repository), tmp_path / "old")


@pytest.mark.gpu
def test_a_host_item_gives_the_same_on_both_backends(tmp_path: Path) -> None:
    peers = [PeerProcess(name, {}, tmp_path / name) for name in ("ours", "ours-cpu")]
    for item in HOST.values():
        found = []
        for peer in peers:
            results, _ = peer.prepare(item, tmp_path, SECONDS, tiny=True)
            found.append(results[""])
        check(*found)
    for peer in peers:
        peer.close()
