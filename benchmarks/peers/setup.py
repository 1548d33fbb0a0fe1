"""Set up the peers below build/bench: environments of their own, TensorFlow.js, and a driver.

What is there already is kept. A peer that cannot be set up is named with the reason and left out.
"""

import json
import platform
import shutil
import sys
from collections.abc import Callable, Collection
from pathlib import Path

from benchmarks.peers.driver import Probe, UnavailableError, driver_for, run

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "bench"
LOCK = ROOT / "requirements.lock"
TFJS = HOME / "tfjs"
PROBE = Path(__file__).with_name("probe.mjs")

TORCH = ("torch==2.13.0", "numpy")
TINYGRAD = ("tinygrad==0.14.0", "dawn-python==0.3.0", "numpy")
ONNX_RUNTIME = ("onnxruntime==1.32.0", "onnxruntime-ep-webgpu==0.4.0", "onnx", "numpy")
PYTHON_PEERS = {
    "torch": TORCH,
    "tinygrad": TINYGRAD,
    "ort-cpu": ONNX_RUNTIME,
    "ort": ONNX_RUNTIME,
}
SHARED = {"ort-cpu": "onnxruntime", "ort": "onnxruntime"}
"""Whose environment is not called as the peer is."""
SOFTWARE_ADAPTERS = {"ORT_WEBGPU_EP_ALLOW_SOFTWARE_ADAPTER": "1"}
"""Without this ONNX Runtime's WebGPU provider lists real GPUs alone."""
NODE_PACKAGES = {
    "@tensorflow/tfjs-core": "4.22.0",
    "@tensorflow/tfjs-backend-cpu": "4.22.0",
    "@tensorflow/tfjs-backend-webgpu": "4.22.0",
    "webgpu": "0.6.2",
    "esbuild": "0.28.2",
}
BUNDLE = """\
import '@tensorflow/tfjs-core/dist/register_all_gradients';
import '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops';
import '@tensorflow/tfjs-backend-webgpu';
export * from '@tensorflow/tfjs-core';
"""
"""The Node build of tfjs-core has neither gradients nor chained ops; its ES modules have both."""


def set_up(
    say: Callable[[str], None] = print, peers: Collection[str] = (*PYTHON_PEERS, "tfjs")
) -> tuple[dict[str, str], dict[str, str]]:
    """Set up TensorFlow.js, and those peers that have Python environments of their own.

    Returns:
        The environment variables that name the driver for all peers on WebGPU (empty: the
        system's own), and why each peer that is missing is missing.
    """
    HOME.mkdir(parents=True, exist_ok=True)
    missing = {}
    for name in peers:
        try:
            if name in PYTHON_PEERS:
                _python_environment(name, PYTHON_PEERS[name], say)
            elif name == "tfjs":
                _tensorflow_js(say)
        except UnavailableError as error:
            missing[name] = str(error)
    probes: dict[str, Probe] = {
        "tfjs": (["node", str(PROBE), str(TFJS)], {}),
        "ort": (
            [str(python_of("ort")), "-m", "benchmarks.peers.onnxruntime_peer"],
            SOFTWARE_ADAPTERS,
        ),
    }
    asked = {name: probe for name, probe in probes.items() if name in peers and name not in missing}
    driver, refused = driver_for(asked, HOME / "mesa", say)
    return driver, {**missing, **refused}


def python_of(name: str) -> Path:
    """Return the interpreter of a peer's own environment."""
    return HOME / SHARED.get(name, name) / "bin" / "python"


def dawn_for_python() -> Path | None:
    """Return the library of Dawn that tinygrad loads, if it is installed."""
    suffix = {"linux": "so", "darwin": "dylib"}.get(sys.platform, "dll")
    pattern = f"lib/python*/site-packages/pydawn/lib/*_{platform.machine()}.{suffix}"
    return next((HOME / "tinygrad").glob(pattern), None)


def _python_environment(name: str, packages: tuple[str, ...], say: Callable[[str], None]) -> None:
    own = python_of(name).parents[1]
    stamp = own / ".installed"
    if stamp.is_file() and stamp.read_text() == " ".join(packages):
        return
    say(f"installing {' '.join(packages)} into {own.relative_to(ROOT)}")
    locked = dict(line.split("==") for line in LOCK.read_text().splitlines() if "==" in line)
    run([sys.executable, "-m", "venv", "--clear", str(own)])
    pip = [str(python_of(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, *(f"{one}=={locked[one]}" if one in locked else one for one in packages)])
    stamp.write_text(" ".join(packages))


def _tensorflow_js(say: Callable[[str], None]) -> None:
    for tool in ("node", "npm", "npx"):
        if shutil.which(tool) is None:
            raise UnavailableError(f"{tool} is not installed")
    stamp = TFJS / ".installed"
    wanted = json.dumps(NODE_PACKAGES)
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    say(f"installing TensorFlow.js into {TFJS.relative_to(ROOT)}")
    TFJS.mkdir(exist_ok=True)
    (TFJS / "package.json").write_text(json.dumps({"private": True, "dependencies": NODE_PACKAGES}))
    run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=TFJS)
    (TFJS / "entry.js").write_text(BUNDLE)
    options = ["--bundle", "--platform=node", "--format=cjs", "--main-fields=module,main"]
    options += ["--ignore-annotations", "--outfile=bundle.cjs", "--log-level=error"]
    run(["npx", "esbuild", "entry.js", *options], cwd=TFJS)
    stamp.write_text(wanted)


if __name__ == "__main__":
    variables, left_out = set_up()
    print(json.dumps({"driver": variables, "missing": left_out, "machine": platform.machine()}))
