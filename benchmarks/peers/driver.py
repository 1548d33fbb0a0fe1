"""The Vulkan driver that all peers on WebGPU run on: the system's, or one that Dawn accepts too.

TensorFlow.js and ONNX Runtime run on Dawn, which wants dynamic indexing of arrays of sampled
images. Debian 12's own Mesa 22.3 lacks that; Mesa 25 of its backports has it, and is unpacked.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
Probe = tuple[list[str], dict[str, str]]
"""A command that ends well where a peer finds an adapter, and further variables for it."""


class UnavailableError(Exception):
    """Why a peer cannot be set up here."""


def driver_for(
    probes: Mapping[str, Probe], folder: Path, say: Callable[[str], None]
) -> tuple[dict[str, str], dict[str, str]]:
    """Find a driver for some peers; another than the system's only where none of them takes that.

    Args:
        probes: How each peer is asked.
        folder: Where a driver is unpacked.
        say: What tells that this is done.

    Returns:
        The variables that name the driver (none: the system's), and why a peer refuses it, by name.
    """
    refused = _refusals(probes, {})
    if len(refused) < len(probes) or not probes:
        return {}, refused
    manifest = folder / "lvp.json"
    try:
        if not manifest.is_file():
            reasons = "; ".join(f"{name}: {why}" for name, why in refused.items())
            say(f"Dawn refuses this system's driver ({reasons}); unpacking Mesa 25 for all")
            _unpack_mesa(folder, manifest)
    except UnavailableError as error:
        return {}, {name: f"{why}; {error}" for name, why in refused.items()}
    driver = {"VK_DRIVER_FILES": str(manifest), "VK_ICD_FILENAMES": str(manifest)}
    still = _refusals(probes, driver)
    said = {name: f"{why}, with Mesa 25 of the backports too" for name, why in still.items()}
    return ({} if len(still) == len(probes) else driver), said


def _refusals(probes: Mapping[str, Probe], driver: Mapping[str, str]) -> dict[str, str]:
    """Return why peers find no adapter."""
    found = {}
    for name, (command, variables) in probes.items():
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **driver, **variables},
            cwd=ROOT,
            check=False,
        )
        if done.returncode:
            words = done.stderr.strip() or f"exit code {done.returncode}"
            found[name] = words.splitlines()[-1]
    return found


def _unpack_mesa(folder: Path, manifest: Path) -> None:
    """Unpack, without installing it, the software Vulkan driver of Debian 12's backports.

    Debian 12's own Mesa 22.3 lacks dynamic indexing of arrays of sampled images, which Dawn wants.
    """
    release = Path("/etc/os-release")
    codename = "VERSION_CODENAME=bookworm"
    if not release.is_file() or codename not in release.read_text() or not shutil.which("apt-get"):
        raise UnavailableError(
            "Dawn accepts no driver here, and this is not Debian 12 with backports"
        )
    for name in ("lists/partial", "cache/archives/partial", "root"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    sources = folder / "backports.sources"
    sources.write_text(
        f"Types: deb\nURIs: {_debian_mirror()}\nSuites: bookworm-backports bookworm\n"
        "Components: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )
    options = {
        "Dir::Etc::sourcelist": sources,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-qq", *(word for k, v in options.items() for word in ("-o", f"{k}={v}"))]
    run([*apt, "update"], cwd=folder)
    run([*apt, "download", "mesa-vulkan-drivers/bookworm-backports"], cwd=folder)
    for package in folder.glob("*.deb"):
        run(["dpkg", "-x", str(package), str(folder / "root")])
    library = next(folder.glob("root/usr/lib/*/libvulkan_lvp.so"))
    facts = {"api_version": "1.4.305", "library_path": str(library)}
    manifest.write_text(json.dumps({"ICD": facts, "file_format_version": "1.0.0"}))


def _debian_mirror() -> str:
    """Return the address of the mirror that this system already uses."""
    folder = Path("/etc/apt")
    files = [folder / "sources.list", *sorted(folder.glob("sources.list.d/*"))]
    text = "\n".join(file.read_text() for file in files if file.is_file())
    found = re.search(r"https?://\S+/debian/?(?=\s)", text)
    return found[0] if found else "http://deb.debian.org/debian"


def run(command: list[str], cwd: Path = ROOT) -> None:
    """Run a command.

    Raises:
        UnavailableError: It failed; the last line that it wrote.
    """
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise UnavailableError(f"{Path(command[0]).name} {command[-1]}: {words}")
