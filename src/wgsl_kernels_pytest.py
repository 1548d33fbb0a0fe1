"""The plugin as pytest finds it, in every project: it imports the library where a project asks.

A setting that names files is all that a project writes::

    [tool.pytest.ini_options]
    wgsl_kernels = ["my_ops.py", "more_ops.py"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SETTING = "wgsl_kernels"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting that names the files."""
    words = "Python files that register kernels; each kernel with samples is checked."
    parser.addini(SETTING, words, type="args", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a setting that names a file which is not there.

    Raises:
        pytest.UsageError: It does.
    """
    for one in config.getini(SETTING):
        if not (config.rootpath / one).is_file():
            import pytest

            raise pytest.UsageError(f"{SETTING}: there is no file {config.rootpath / one}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the files that the setting names."""
    named = parent.config.getini(SETTING)
    root = parent.config.rootpath
    if not named or file_path.resolve() not in {(root / one).resolve() for one in named}:
        return None
    from wgsl_kernels.testing.plugin import KernelFile

    collector: KernelFile = KernelFile.from_parent(parent, path=file_path)
    return collector
