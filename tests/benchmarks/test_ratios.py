"""Ratios, targets, the table and the pictures are made of the results alone."""

from pathlib import Path

import pytest
from benchmarks import plots, table, targets
from benchmarks.items import ITEMS
from benchmarks.results import (
    RESULTS,
    geometric_mean,
    in_words,
    load,
    path_of,
    save,
    short_name,
    times_faster,
)
from tests.benchmarks.made_up import ADAPTER, results

KEPT = sorted(RESULTS.glob("*.json"))
PAGES = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"


def test_a_ratio_is_the_other_peers_time_over_the_better_of_ours() -> None:
    found = results()

    assert times_faster(found, "matmul-1024", "tfjs") == 5.0
    assert times_faster(found, "matmul-1024", "tfjs", ours="ours") == 4.0
    assert times_faster(found, "chain-10", "limit") == 0.5
    assert times_faster(found, "softmax", "tfjs") is None
    assert times_faster(found, "fft", "tfjs") is None


def test_a_geometric_mean_leaves_out_what_was_not_measured() -> None:
    assert geometric_mean([2.0, None, 8.0]) == pytest.approx(4.0)
    assert geometric_mean([None]) is None


def test_a_target_says_what_was_reached_and_whether_it_is_met() -> None:
    found = {one.target: one for one in targets.lines(results())}

    matmul = found["matmul 1024, against TensorFlow.js"]
    assert (matmul.wanted, matmul.reached, matmul.met) == ("≥ 4×", "5.00×", True)
    chain = found["the chain of ten maps, against TensorFlow.js"]
    assert (chain.reached, chain.met) == ("10.0×", False)
    assert found["softmax, against TensorFlow.js"].met is None
    limit = found["every item, of the raw limit's speed"]
    assert (limit.reached, limit.met) == ("0.50× (chain-10)", False)


def test_a_replay_may_take_seventy_microseconds_and_two_for_each_dispatch() -> None:
    def met(us: float) -> bool | None:
        host = {"map_us": 4.0, "taped_us": 7.0, "other_us": 9.0, "replays": {"12": 60.0, "36": us}}
        found = {one.target: one.met for one in targets.lines(results(host_cost=host))}
        assert found["an eager map, forcing included: the calling thread's time"]
        assert not found["an eager map under a tape: the calling thread's time"]
        return found["a captured replay"]

    assert met(142.0)
    assert not met(142.1)


def test_a_real_gpu_is_held_to_its_own_ceilings() -> None:
    found = results(ceilings={"copy_gb_per_s": 300.0, "fma_gflop_per_s": 1000.0})
    found["adapter"] = {**ADAPTER, "type": "DiscreteGPU"}
    found["items"] |= {"add-16m": {"ours": {"ms": 1.0}}, "matmul-4096": {"captured": {"ms": 500.0}}}

    lines = {one.target: one for one in targets.lines(found)}

    copied = lines["64 MB and more, of the device's copy bandwidth"]
    assert (copied.reached, copied.met) == ("0.67× (add-16m)", False)
    assert lines["matmul 4096, of the device's multiply-adds"].reached == "0.27×"
    assert lines["conv 3x3, of our matmul's rate"].met is None


@pytest.mark.parametrize(
    ("number", "text"), [(0.0456, "0.046"), (1.234, "1.23"), (12.34, "12.3"), (1234.5, "1,234")]
)
def test_numbers_are_shown_with_the_digits_that_count(number: float, text: str) -> None:
    assert targets.in_digits(number) == text


def test_the_table_has_a_row_per_item_and_names_what_is_left_out() -> None:
    text = table.markdown(results())

    assert "Sample (of nothing) through Vulkan, driver 1.0" in text
    assert "tinygrad is left out: it is not installed." in text
    assert "| chain-10 | 3.00 | 20.0 | **2.00** | – | 1.00 | 10.0× | 0.50× |" in text
    assert "| softmax | 1.00 | 16.0 | fails | – | – |  |  |" in text


def test_the_readme_shows_the_means_and_their_number_of_items() -> None:
    shown = list(table.figures(results(host_cost={"map_us": 4.25})))

    assert (
        "| of the speed of the best raw WGSL that we know, geometric mean of 2 items | 0.69× |"
        in shown
    )
    assert "| an eager map: the calling thread's time | 4.2 µs |" in shown


def test_results_are_kept_in_a_file_named_after_the_adapter(tmp_path: Path) -> None:
    assert path_of(ADAPTER).name == "sample-of-nothing-vulkan.json"
    assert short_name(ADAPTER) == "Sample through Vulkan"
    assert in_words(ADAPTER) == "Sample (of nothing) through Vulkan, driver 1.0"
    save(tmp_path / "one.json", results())
    assert load(tmp_path / "one.json") == results()
    assert load(tmp_path / "none.json") == {}


def test_pictures_are_drawn_of_what_was_measured(tmp_path: Path) -> None:
    drawn = plots.draw(results(), tmp_path, "sample")

    assert [path.name for path, _ in drawn] == ["sample-tfjs.svg", "sample-limit.svg"]
    assert all(path.read_text().startswith("<?xml") for path, _ in drawn)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_the_page_of_an_adapter_says_what_its_results_say(path: Path) -> None:
    assert (PAGES / f"{path.stem}.md").read_text(encoding="utf-8") == table.markdown(load(path))


def test_a_scan_is_shown_beside_a_loop() -> None:
    ms = {"scan values": 2.0, "loop values": 3.0, "scan gradient": 4.0, "loop gradient": 10.0}
    shown = list(table.measures(results(recurrence={"steps": 32, "ms": ms, "peak_bytes": {}})))

    assert "| an LSTM of 32 steps by scan, its values: of a loop's speed | 1.50× |" in shown
    assert "| an LSTM of 32 steps by scan, its gradient: of a loop's speed | 2.50× |" in shown


def test_a_new_process_may_take_as_long_as_tensorflow_js_and_if_warm_as_opening_too() -> None:
    def met(state: str, ours: float, **peers: float) -> tuple[str, bool | None]:
        samples = {"ours": ours, "opening": 0.5, **peers}
        one = {name: {"seconds": s, "cpu_seconds": s} for name, s in samples.items()}
        found = results(first_result={"mlp": {state: one}})
        line = next(one for one in targets.lines(found) if "third step of the mlp" in one.target)
        assert any("third step of the mlp" in one for one in table.measures(found))
        return line.wanted, line.met

    assert met("cold", 4.0, tfjs=4.0) == ("≤ 4.0 s", True)
    assert met("cold", 4.1, tfjs=4.0) == ("≤ 4.0 s", False)
    assert met("warm", 1.5, tfjs=1.0) == ("≤ 1.5 s", True)
    assert met("warm", 1.6, tfjs=1.0) == ("≤ 1.5 s", False)
    assert met("warm", 1.6) == ("", None)


def test_the_summary_shows_well_known_items_that_were_measured(tmp_path: Path) -> None:
    drawn = plots.draw_summary(results(), tmp_path, "sample")

    assert drawn is not None
    assert drawn.name == "sample-summary.svg"
    assert set(plots.WELL_KNOWN) <= set(ITEMS)
