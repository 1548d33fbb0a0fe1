"""What ``wgsl-kernels check --window`` does: show a kernel's output while its file is watched."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wgsl_kernels.bench.pictures import painted, plane_of
from wgsl_kernels.cli.check import show
from wgsl_kernels.cli.watching import changes_beside
from wgsl_kernels.engine.drivers.backends import use_backend
from wgsl_kernels.engine.environment.errors import ArgumentError
from wgsl_kernels.testing.gradients.evaluation import outputs_of
from wgsl_kernels.testing.inputs import arrays_for, tensors_for
from wgsl_kernels.testing.registered import samples_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from wgsl_kernels.cli.check import CheckOptions
    from wgsl_kernels.cli.watching import WatchSession
    from wgsl_kernels.testing.sample import Sample

Array = np.ndarray[Any, Any]
SIZE = 512
"""Pixels along a side, at first."""
_KEYS = "up, down: choose an attribute; left, right: change it; r: as it was; q: leave"


@dataclass
class Scene:
    """What is shown: the first output that is like an image, of the samples of the file's kernels.

    Attributes:
        session: The file under watch.
        asked: What the check is asked for.
        picture: The output as colours, None before there is one.
        problem: What is wrong with the file as it is, shown over the picture of the last good one.
        seconds: How long the last call took, its result read.
        chosen: The attribute that the keyboard changes.
    """

    session: WatchSession
    asked: CheckOptions
    picture: Array | None = None
    problem: str = ""
    seconds: float = 0.0
    chosen: int = 0
    _shown: Sample | None = None
    _changed: dict[str, Any] = field(default_factory=dict[str, Any])

    def turn(self, to: Console) -> None:
        """Check the file as it is now, and show what it gives."""
        verdict = self.session.turn()
        to.rule(time.strftime("%H:%M:%S"))
        show(to, verdict, "text")
        self.problem = "" if verdict.passed() else "\n".join(map(str, verdict.findings[:3]))
        self.render()

    def render(self) -> None:
        """Run the samples, with the attributes as they are, up to one that is like an image."""
        try:
            for sample in self._samples():
                begin = time.perf_counter()
                plane = self._plane(sample)
                if plane is not None:
                    self.seconds = time.perf_counter() - begin
                    self.picture, self._shown = painted(plane), sample
                    return
        except Exception as error:  # a kernel may raise anything; the window tells
            self.problem = self.problem or f"{type(error).__name__}: {error}"
            return
        self.problem = self.problem or "No output is like an image: want 8 rows and 8 columns."

    def _plane(self, sample: Sample) -> Array | None:
        backend = "webgpu" if "webgpu" in self.asked.backends else "cpu"
        attrs = self.attributes(sample)
        with use_backend(backend):
            xs = tensors_for(arrays_for(sample))
            made = [one.numpy() for one in outputs_of(lambda *x: sample.f(*x, **attrs), xs)]
        return next((one for one in map(plane_of, made) if one is not None), None)

    def attributes(self, sample: Sample) -> dict[str, Any]:
        """Return the attributes of a sample with those that were changed."""
        return {**sample.attrs, **{k: v for k, v in self._changed.items() if k in sample.attrs}}

    def press(self, key: str) -> None:
        """Choose or change an attribute."""
        sample = self._shown
        attrs = {} if sample is None else self.attributes(sample)
        names = [one for one, value in attrs.items() if isinstance(value, (bool, int, float))]
        if not names or sample is None:
            return
        self.chosen += {"ArrowUp": -1, "ArrowDown": 1}.get(key, 0)
        name = names[self.chosen % len(names)]
        if key == "r":
            self._changed.pop(name, None)
        elif key in ("ArrowLeft", "ArrowRight"):
            self._changed[name] = moved(attrs[name], 1 if key == "ArrowRight" else -1)
        self.render()

    def title(self) -> str:
        """Return the window's title: the kernel, its attributes, the time."""
        if self._shown is None:
            return "wgsl-kernels"
        attrs = self.attributes(self._shown)
        shown = ", ".join(f"{name}={_short(value)}" for name, value in attrs.items())
        return f"{self._shown.kernel}({shown})  {1e3 * self.seconds:.1f} ms"

    def _samples(self) -> tuple[Sample, ...]:
        only = self.asked.only
        names = [one for one in self.session.kernels if not only or one in only]
        return tuple(sample for name in names for sample in samples_of(name))


def frame(scene: Scene, width: int, height: int) -> Array:
    """Return what the window shows, [height, width, 4] uint8: the picture, and what is wrong."""
    from PIL import Image, ImageDraw

    canvas = Image.new("RGB", (width, height), (32, 32, 32))
    if scene.picture is not None:
        rows, columns = scene.picture.shape[:2]
        scale = min(width / columns, height / rows)
        size = (max(1, round(columns * scale)), max(1, round(rows * scale)))
        resized = Image.fromarray(scene.picture).resize(size, Image.Resampling.NEAREST)
        canvas.paste(resized, ((width - size[0]) // 2, (height - size[1]) // 2))
    if scene.problem:
        draw = ImageDraw.Draw(canvas, "RGBA")
        lines = [part for line in scene.problem.splitlines() for part in _wrapped(line, width // 7)]
        text = "\n".join(lines[: max(1, height // 15 - 1)])
        bottom = draw.multiline_textbbox((8, 8), text)[3]
        draw.rectangle((0, 0, width, bottom + 8), fill=(120, 0, 20, 220))
        draw.multiline_text((8, 8), text, fill=(255, 255, 255, 255))
    pixels = np.asarray(canvas, np.uint8)
    return np.concatenate([pixels, np.full((height, width, 1), 255, np.uint8)], axis=-1)


def open_window(to: Console, session: WatchSession, asked: CheckOptions) -> Scene:
    """Show a file's output in a window, again at every save, until it is closed.

    Args:
        to: Where verdicts are printed.
        session: The file under watch.
        asked: What the check is asked for.

    Raises:
        ArgumentError: There is no display, or what shows windows is not installed.
    """
    scene = Scene(session, asked)
    canvas, loop = _canvas()
    bitmap = canvas.get_bitmap_context()
    saved, ended = threading.Event(), threading.Event()
    watcher = threading.Thread(target=_note_saves, args=(session, saved, ended), daemon=True)

    def draw() -> None:
        if saved.is_set():
            saved.clear()
            scene.turn(to)
        width, height = (int(one) for one in canvas.get_logical_size())
        bitmap.set_bitmap(frame(scene, width, height))
        canvas.set_title(scene.title())

    def press(event: Mapping[str, str]) -> None:
        if event["key"] == "q":
            canvas.close()
        else:
            scene.press(event["key"])

    scene.turn(to)
    to.print(_KEYS)
    canvas.add_event_handler(press, "key_down")
    canvas.request_draw(draw)
    watcher.start()
    try:
        loop.run()
    finally:
        ended.set()
        watcher.join()
    return scene


def _canvas() -> tuple[Any, Any]:
    """Return a window and the loop that runs it.

    Raises:
        ArgumentError: There is no display, or what shows windows is not installed.
    """
    import warnings

    try:
        with warnings.catch_warnings():  # glfw's errors, of which the exception below speaks
            warnings.simplefilter("ignore")
            import glfw
            import PIL as PIL

            if not glfw.init():  # then it ends the process at the first window
                raise ArgumentError(
                    "check: --window finds no display to open a window on. Use --image FOLDER for "
                    "pictures in files."
                )
        from rendercanvas.glfw import RenderCanvas, loop
    except ImportError as error:
        message = f"check: --window wants pip install 'wgsl-kernels[viewer]': {error}."
        raise ArgumentError(message) from None
    canvas = RenderCanvas(
        size=(SIZE, SIZE), title="wgsl-kernels", update_mode="continuous", max_fps=30
    )
    return canvas, loop


def _note_saves(session: WatchSession, saved: threading.Event, ended: threading.Event) -> None:
    for changed in changes_beside(session.program.path, ended):
        if changed:
            saved.set()


def moved(value: Any, way: int) -> Any:
    """Return the next value of an attribute: a tenth more or less, at least one of a whole one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + way * max(1, abs(value) // 10)
    return value * 1.1**way if value else 0.1 * way


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _wrapped(line: str, width: int) -> list[str]:
    return [line[at : at + width] for at in range(0, max(len(line), 1), max(width, 1))]
