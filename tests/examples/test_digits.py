"""The demo trains on both backends, judges every kernel, and writes a report that stands alone."""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

import pytest
from matplotlib.image import imread
from tests.examples.program import EXAMPLES, output_of

# Where the loaders of Vulkan and OpenGL look for drivers; there are none in these places.
NO_DRIVERS = {
    "VK_DRIVER_FILES": "/nonexistent.json",
    "VK_ICD_FILENAMES": "/nonexistent.json",
    "__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent.json",
    "LIBGL_DRIVERS_PATH": "/nonexistent",
}
folder = functools.cache(lambda: Path(mkdtemp()))


@functools.cache
def printed(by: str) -> str:
    arguments = ("--output", folder() / f"{by}.html", "--picture", folder() / f"{by}.png")
    environment = NO_DRIVERS if by == "cpu" else {}
    return output_of("digits/run.py", "--quick", *arguments, environment=environment)


def report(by: str) -> str:
    printed(by)
    return (folder() / f"{by}.html").read_text(encoding="utf-8")


@pytest.mark.gpu
def test_both_backends_learn_and_every_kernel_is_within_its_tolerance() -> None:
    rows = re.findall(r"^ +([A-Z]\w+)…? .* (ok|beyond) *$", printed("both"), re.MULTILINE)

    assert {"Squareplus", "Conv2D", "BatchMatMul", "MaxPoolGrad", "Sqrt"} <= {
        row[0] for row in rows
    }
    assert {verdict for _, verdict in rows} == {"ok"}
    for backend in ("cpu", "webgpu"):
        assert re.search(rf"^{backend} +\d\d\.\d\d% of the held-out", printed("both"), re.MULTILINE)


@pytest.mark.gpu
def test_the_report_names_the_adapter_and_shows_tables_and_pictures() -> None:
    page = report("both")

    assert printed("both").splitlines()[0].split(" through ")[0] in page
    assert page.count("<svg") == 4  # losses, their difference, predictions, parity
    assert page.count("data:image/png;base64,") > 1  # the digits, and each mistake
    kernels = re.findall(r'<th rowspan="2" scope="rowgroup">(\w+)</th>', page)
    assert "Squareplus" in kernels
    assert page.count('<td class="passed">ok</td>') == 2 * len(kernels)


@pytest.mark.gpu
def test_the_report_needs_nothing_from_elsewhere() -> None:
    page = report("both")

    links = re.findall(r'(?:src|href|data|action)\s*=\s*"([^"]*)"', page)
    links += re.findall(r"url\(\s*['\"]?([^'\")]*)", page)
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"<script|<link|<iframe|@import", page)


@pytest.mark.gpu
def test_the_first_step_is_told_apart_from_a_steady_one() -> None:
    for backend, compiling in (("cpu", ""), ("webgpu", ", with compiling")):
        pace = rf"(\d+) steps in (\S+) s: the first (\S+) s{compiling}, then (\S+) ms each"
        on_screen = re.search(rf"^{backend} .* right$\s+{pace}", printed("both"), re.MULTILINE)
        assert on_screen is not None
        steps, _, first, steady = map(float, on_screen.groups())
        assert steps > 1
        assert min(first, steady) > 0
        assert re.search(rf"accuracy, {backend}</span><small>{pace}\.</small>", report("both"))


@pytest.mark.gpu
def test_the_overview_shows_all_pictures() -> None:
    printed("both")
    picture = imread(folder() / "both.png")[..., :3]

    assert picture.shape == (860, 1200, 3)
    quarters = [
        part for half in (picture[:430], picture[430:]) for part in (half[:, :600], half[:, 600:])
    ]
    assert all(part.std() > 0.05 for part in quarters)


def test_without_an_adapter_the_cpu_trains_alone_and_the_demo_says_so() -> None:
    page = report("cpu")

    assert printed("cpu").startswith("No WebGPU adapter was found: the CPU trains alone")
    assert "No WebGPU adapter was found" in page
    assert "webgpu</td>" not in page
    assert '<td class="failed">' not in page


def test_too_little_training_fails_and_says_what_was_wanted() -> None:
    arguments = ("--epochs", "1", "--output", str(folder() / "weak.html"))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "digits/run.py"), *arguments],
        env={**os.environ, **NO_DRIVERS},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert done.returncode == 1, done.stderr
    assert re.search(
        r"failed: cpu gets \d+\.\d\d% of the held-out digits right; want 97%", done.stdout
    )
    assert "want 97%" in (folder() / "weak.html").read_text(encoding="utf-8")
