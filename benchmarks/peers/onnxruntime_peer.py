"""Models of ONNX in ONNX Runtime: on its CPU provider, or on its provider for WebGPU.

The latter is a plugin, and lists a software adapter only where a variable of the environment says
so (`benchmarks.peers.setup`). Run as a program, this says whether the plugin finds an adapter.
"""

from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from benchmarks.items.item import Draw, Item, Work
from benchmarks.peers.peer import Peer, Running

NAME = "webgpu"
SEVERE = 3
"""Warnings of the library's log are left out, errors are not."""
WRONG_BY_DEFAULT = ("onnx-shufflenet",)
"""What its usual layout, channels last, computes wrongly.

There a vector of channels may reach over two groups of a convolution: results were off by a part of
0.04 in version 0.4 on llvmpipe. With channels first they are right, and that is what is timed.
"""


class OnnxRuntimePeer(Peer):
    """ONNX Runtime, as its manual would have it: a session of defaults.

    Args:
        provider: ``"cpu"`` or ``"webgpu"``.
    """

    def __init__(self, provider: str) -> None:
        self._runtime: Any = import_module("onnxruntime")  # its own environment has it
        self._runtime.set_default_logger_severity(SEVERE)
        self._device: Any = None
        self._versions = {"onnxruntime": version("onnxruntime")}
        if provider == "webgpu":
            plugin: Any = import_module("onnxruntime_ep_webgpu")
            self._versions["onnxruntime-ep-webgpu"] = version("onnxruntime-ep-webgpu")
            self._runtime.register_execution_provider_library(NAME, plugin.get_library_path())
            devices = [
                one for one in self._runtime.get_ep_devices() if one.ep_name == plugin.get_ep_name()
            ]
            if not devices:
                raise NotImplementedError("its WebGPU provider lists no device")
            self._device = devices[0]

    def facts(self) -> dict[str, str]:
        """Return versions."""
        return self._versions

    def start(self, item: Item, work: Work) -> dict[str, Running]:
        """Return a session of the model, given NumPy's arrays and read."""
        options = {"preferredLayout": "NCHW"} if item.name in WRONG_BY_DEFAULT else {}
        run = self.session(str(work.program()), options).run
        given = work.inputs
        return {"": Running(lambda: run(None, given), lambda: None, list)}

    def session(self, model: str | bytes, options: dict[str, str]) -> Any:
        """Return a session of a model, a file or its bytes."""
        settings = self._runtime.SessionOptions()
        settings.log_severity_level = SEVERE
        if self._device is None:
            providers = ["CPUExecutionProvider"]
            return self._runtime.InferenceSession(model, settings, providers=providers)
        settings.add_provider_for_devices([self._device], options)
        return self._runtime.InferenceSession(model, settings)


def main() -> None:
    """Add two numbers on WebGPU."""
    from benchmarks.graphs.operators import operator

    model = operator(Draw("probe"), "add", {"x": (1,), "y": (1,)}).SerializeToString()
    one = np.ones(1, np.float32)
    (y,) = OnnxRuntimePeer("webgpu").session(model, {}).run(None, {"x": one, "y": one})
    if y[0] != 2.0:
        raise SystemExit(f"1 + 1 is {y[0]} on its WebGPU provider")


if __name__ == "__main__":
    main()
