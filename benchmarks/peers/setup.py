"""Set up the peers below build/bench: their own environments, TensorFlow.js, and a driver for Dawn.

What is there already is kept. A peer that cannot be set up is named with the reason and left out.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "bench"
LOCK = ROOT / "requirements.lock"
TFJS = HOME / "tfjs"
MESA = HOME / "mesa"
PROBE = Path(__file__).with_name("probe.mjs")

TORCH = ("torch==2.13.0", "numpy")
TINYGRAD = ("tinygrad==0.14.0", "dawn-python==0.3.0", "numpy")
PYTHON_PEERS = {"torch": TORCH, "tinygrad": TINYGRAD}
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


class UnavailableError(Exception):
    """Why a peer cannot be set up here."""


def set_up(
    say: Callable[[str], None] = print, python_peers: Collection[str] = PYTHON_PEERS
) -> tuple[dict[str, str], dict[str, str]]:
    """Set up TensorFlow.js, and those peers that have Python environments of their own.

    Returns:
        The environment variables that name the driver for all peers on WebGPU (empty: the
        system's own), and why each peer that is missing is missing.
    """
    HOME.mkdir(parents=True, exist_ok=True)
    missing = {}
    for name in python_peers:
        try:
            _python_environment(name, PYTHON_PEERS[name], say)
        except UnavailableError as error:
            missing[name] = str(error)
    driver: dict[str, str] = {}
    try:
        _tensorflow_js(say)
        driver = _driver_for_dawn(say)
    except UnavailableError as error:
        missing["tfjs"] = str(error)
    return driver, missing


def python_of(name: str) -> Path:
    """Return the interpreter of a peer's own environment."""
    return HOME / name / "bin" / "python"


def dawn_for_python() -> Path | None:
    """Return the library of Dawn that tinygrad loads, if it is installed."""
    suffix = {"linux": "so", "darwin": "dylib"}.get(sys.platform, "dll")
    pattern = f"lib/python*/site-packages/pydawn/lib/*_{platform.machine()}.{suffix}"
    return next((HOME / "tinygrad").glob(pattern), None)


def _python_environment(name: str, packages: tuple[str, ...], say: Callable[[str], None]) -> None:
    stamp = HOME / name / ".installed"
    if stamp.is_file() and stamp.read_text() == " ".join(packages):
        return
    say(f"installing {' '.join(packages)} into {(HOME / name).relative_to(ROOT)}")
    _run([sys.executable, "-m", "venv", "--clear", str(HOME / name)])
    pip = [str(python_of(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "-c", str(LOCK), *packages])
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
    _run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=TFJS)
    (TFJS / "entry.js").write_text(BUNDLE)
    options = ["--bundle", "--platform=node", "--format=cjs", "--main-fields=module,main"]
    options += ["--ignore-annotations", "--outfile=bundle.cjs", "--log-level=error"]
    _run(["npx", "esbuild", "entry.js", *options], cwd=TFJS)
    stamp.write_text(wanted)


def _driver_for_dawn(say: Callable[[str], None]) -> dict[str, str]:
    """Return what to set so that Dawn finds an adapter: nothing, or Mesa 25 from the backports."""
    if (error := _probe({})) is None:
        return {}
    manifest = MESA / "lvp.json"
    if not manifest.is_file():
        say(f"Dawn refuses this system's driver ({error}); unpacking Mesa 25 for all on WebGPU")
        _unpack_mesa(manifest)
    driver = {"VK_DRIVER_FILES": str(manifest), "VK_ICD_FILENAMES": str(manifest)}
    if (error := _probe(driver)) is not None:
        raise UnavailableError(f"Dawn refuses Mesa 25 from the backports too: {error}")
    return driver


def _probe(driver: dict[str, str]) -> str | None:
    """Return why Dawn finds no adapter, or None."""
    command = ["node", str(PROBE), str(TFJS)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **driver}, check=False
    )
    if done.returncode == 0:
        return None
    return (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]


def _unpack_mesa(manifest: Path) -> None:
    """Unpack, without installing it, the software Vulkan driver of Debian 12's backports.

    Debian 12's own Mesa 22.3 lacks dynamic indexing of arrays of sampled images, which Dawn wants.
    """
    release = Path("/etc/os-release")
    codename = "VERSION_CODENAME=bookworm"
    if not release.is_file() or codename not in release.read_text() or not shutil.which("apt-get"):
        raise UnavailableError(
            "Dawn accepts no driver here, and this is not Debian 12 with backports"
        )
    for folder in ("lists/partial", "cache/archives/partial", "root"):
        (MESA / folder).mkdir(parents=True, exist_ok=True)
    sources = MESA / "backports.sources"
    sources.write_text(
        f"Types: deb\nURIs: {_debian_mirror()}\nSuites: bookworm-backports bookworm\n"
        "Components: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )
    options = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": MESA / "lists",
        "Dir::Cache": MESA / "cache",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-qq", *(word for k, v in options.items() for word in ("-o", f"{k}={v}"))]
    _run([*apt, "update"], cwd=MESA)
    _run([*apt, "download", "mesa-vulkan-drivers/bookworm-backports"], cwd=MESA)
    for package in MESA.glob("*.deb"):
        _run(["dpkg", "-x", str(package), str(MESA / "root")])
    library = next(MESA.glob("root/usr/lib/*/libvulkan_lvp.so"))
    facts = {"api_version": "1.4.305", "library_path": str(library)}
    manifest.write_text(json.dumps({"ICD": facts, "file_format_version": "1.0.0"}))


def _debian_mirror() -> str:
    """Return the address of the mirror that this system already uses."""
    folder = Path("/etc/apt")
    files = [folder / "sources.list", *sorted(folder.glob("sources.list.d/*"))]
    text = "\n".join(file.read_text() for file in files if file.is_file())
    found = re.search(r"https?://\S+/debian/?(?=\s)", text)
    return found[0] if found else "http://deb.debian.org/debian"


def _run(command: list[str], cwd: Path = ROOT) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise UnavailableError(f"{Path(command[0]).name} {command[-1]}: {words}")


if __name__ == "__main__":
    variables, left_out = set_up()
    print(json.dumps({"driver": variables, "missing": left_out, "machine": platform.machine()}))
