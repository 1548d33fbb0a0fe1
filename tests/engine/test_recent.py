"""The dictionary that forgets what was not used for longest."""

from __future__ import annotations

from wgsl_kernels.engine.recent import Recent


def test_what_is_used_stays_however_much_comes_and_goes() -> None:
    kept: Recent[int, str] = Recent(4)
    kept.keep(-1, "used")
    for number in range(1000):
        kept.keep(number, str(number))
        assert kept[-1] == "used"
        assert kept.held <= 8


def test_at_least_the_latest_are_there_and_the_others_go_a_few_at_a_time() -> None:
    gone: list[int] = []
    kept: Recent[int, str] = Recent(4, lambda key, _: gone.append(key))
    for number in range(100):
        kept.keep(number, str(number))
    assert kept.held + len(gone) == 100
    assert gone == list(range(len(gone)))
    assert [kept[number] for number in range(96, 100)] == ["96", "97", "98", "99"]
    assert kept[0] is None


def test_the_first_that_is_kept_under_a_key_stays() -> None:
    kept: Recent[str, list[int]] = Recent(2)
    first = kept.keep("a", [1])
    assert kept.keep("a", [2]) is first


def test_what_is_dropped_or_cleared_is_gone_from_both_generations() -> None:
    kept: Recent[int, int] = Recent(4)
    for number in range(7):
        kept.keep(number, number)
    kept.drop(lambda _, value: value % 2 == 1)
    assert [kept[number] for number in range(7)] == [0, None, 2, None, 4, None, 6]
    kept.clear()
    assert kept.held == 0
    assert kept[6] is None
