"""The report: one HTML file that needs nothing else, for light and dark screens."""

import base64
import io
import platform
from collections.abc import Iterator, Mapping
from html import escape
from importlib.metadata import version
from pathlib import Path
from string import Template

import matplotlib.image
import numpy as np

from findings import Findings
from parity import Check, Parity
from pictures import (
    DIGITS,
    draw_difference,
    draw_losses,
    draw_parity,
    draw_predictions,
    svg,
)

PAGE = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))


def write_report(path: Path, found: Findings) -> None:
    """Write the report to ``path``, making its folder if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PAGE.substitute(_parts(found)), encoding="utf-8")


def _parts(found: Findings) -> Mapping[str, str]:
    packages = [f"{name} {version(name)}" for name in ("wgsl-kernels", "wgpu", "numpy")]
    both = len(found.runs) > 1
    settings = found.settings
    return {
        "adapter": escape(found.adapter),
        "verdict": "; ".join(map(escape, found.failures)) or "All as it should be",
        "verdict_class": "failed" if found.failures else "passed",
        "tiles": "".join(_tiles(found)),
        "losses": svg(draw_losses, found, 9, 3.2),
        "difference": svg(draw_difference, found, 9, 2.8) if both else _alone(),
        "predictions": svg(draw_predictions, found, 9, 4.7),
        "mistakes": "".join(_mistake(found, index) for index in found.mistakes),
        "mistake_count": f"{len(found.mistakes)} of {len(found.digits.test_labels)}",
        "parity": svg(draw_parity, found, 9, 0.27 * len(found.parities) + 1),
        "rows": "".join(_rows(found)),
        "settings": f"{settings.epochs} epochs in batches of {settings.batch}, seed "
        f"{settings.seed}, Adam from {settings.learning_rate:g} to 0",
        "versions": ", ".join([*packages, f"Python {platform.python_version()}"]),
        "seconds": f"{found.seconds:.0f}",
    }


def _alone() -> str:
    return "<p>There is no adapter, so there is nothing to compare the CPU with.</p>"


def _tiles(found: Findings) -> Iterator[str]:
    for run in found.runs:
        caption = f"held-out accuracy, {run.backend}"
        yield _tile(f"{run.accuracy:.2%}", caption, f"{run.pace}.", run.backend)
    passed = sum(one.passed for one in found.parities)
    below = "forward and gradient, each element of every run"
    yield _tile(f"{passed} of {len(found.parities)}", "kernels within tolerance", below, "")


def _tile(figure: str, caption: str, below: str, kind: str) -> str:
    head = f'<div class="tile {kind}"><b>{figure}</b>'
    return f"{head}<span>{caption}</span><small>{below}</small></div>"


def _mistake(found: Findings, index: int) -> str:
    image = found.digits.test_images[index, ..., 0]
    told = "".join(
        f'<br><span class="{run.backend}">{run.backend}</span>: {run.predictions[index]} '
        f"({_certainty(run.logits[index])})"
        for run in found.runs
    )
    label = found.digits.test_labels[index]
    return (
        f'<figure><img alt="a {label}" src="{_png(image)}">'
        f"<figcaption>this is a <b>{label}</b>{told}</figcaption></figure>"
    )


def _certainty(logits: np.ndarray) -> str:
    odds = np.exp(logits - logits.max())
    return f"{odds.max() / odds.sum():.0%}"


def _png(image: np.ndarray) -> str:
    target = io.BytesIO()
    matplotlib.image.imsave(target, image, cmap=DIGITS, format="png")
    return "data:image/png;base64," + base64.b64encode(target.getvalue()).decode()


def _rows(found: Findings) -> Iterator[str]:
    """Yield two table rows per kernel, one per backend, the dearest kernel first."""

    def spent(one: Parity) -> float:
        return sum(of[one.kernel].milliseconds for of in found.costs.values() if one.kernel in of)

    for one in sorted(found.parities, key=spent, reverse=True):
        for index, backend in enumerate(one.forward):
            cells = [
                f'<th rowspan="{len(one.forward)}" scope="rowgroup">{one.kernel}</th>'
                if index == 0
                else "",
                f'<td class="{backend}">{backend}</td>',
                _cost_cells(found, backend, one.kernel),
                _check_cells(one.forward[backend]),
                _check_cells(one.gradient.get(backend)),
                _verdict_cell(one, backend),
            ]
            kind = ' class="first"' if index == 0 else ""
            yield f"<tr{kind}>{''.join(cells)}</tr>\n"


def _cost_cells(found: Findings, backend: str, kernel: str) -> str:
    cost = found.costs[backend].get(kernel)
    if cost is None:
        return "<td>0</td><td></td>"
    spent = f"{cost.milliseconds:.2f}" if cost.milliseconds else "view"
    return f"<td>{cost.calls}</td><td>{spent}</td>"


def _check_cells(check: Check | None) -> str:
    if check is None:
        return '<td colspan="3" class="none">no gradient</td>'
    if not check.error:
        return f'<td>0</td><td class="none">exact</td><td>{_bar(check)}</td>'
    return f"<td>{check.ulp:.3g}</td><td>{_number(check.error)}</td><td>{_bar(check)}</td>"


def _bar(check: Check) -> str:
    share = min(check.used, 1.0)
    return f'<i style="--share:{share:.3f}">{_number(check.allowed)}</i>'


def _number(value: float) -> str:
    return f"{value:.1e}" if value else "0"


def _verdict_cell(one: Parity, backend: str) -> str:
    checks = [one.forward[backend], *filter(None, [one.gradient.get(backend)])]
    passed = all(check.passed for check in checks)
    return f'<td class="{"passed" if passed else "failed"}">{"ok" if passed else "beyond"}</td>'
