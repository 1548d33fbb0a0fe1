"""The driver's known defects are still there; a test that fails here brings good news."""

from datetime import date

import pytest

from wgsl_kernels.testing.quirks import QUIRKS, measure, quirks_at_hand


@pytest.mark.gpu
def test_each_known_defect_of_this_adapter_is_still_there() -> None:
    expected = {quirk.what: quirk.wrong for quirk in quirks_at_hand()}

    assert {quirk.what: measure(quirk) for quirk in quirks_at_hand()} == expected


def test_a_row_of_defects_says_when_what_and_where() -> None:
    for quirk in QUIRKS:
        assert date.fromisoformat(quirk.since).year >= 2025
        assert quirk.wrong != quirk.right
        assert quirk.adapter + quirk.backend
        assert quirk.link.startswith("https://")
