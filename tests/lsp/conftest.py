"""An editor, which the tests of a file share: a server takes a second to start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lsp.editor import Editor

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    made = Editor(tmp_path_factory.mktemp("shaders"))
    yield made
    written = made.stop()
    made.loop.close()
    assert made.said == []
    assert written == ""
