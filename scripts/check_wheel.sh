#!/usr/bin/env bash
# Build sdist and wheel, install the wheel alone into an empty environment, and use it away from here.
set -euo pipefail

cd "$(dirname "$0")/.."
dist=$PWD/build/dist
rm -rf "$dist"
.venv/bin/python -m build --no-isolation --outdir "$dist" > build/wheel.log 2>&1 || {
  cat build/wheel.log >&2
  exit 1
}

away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
scripts/make_venv.sh "$away/env"
"$away/env/bin/python" -m pip install --quiet --disable-pip-version-check \
  -c requirements.lock "$dist"/*.whl

cd "$away"
env/bin/wgsl-kernels info
env/bin/python -W error - << 'END'
import sys
from importlib.resources import files

import wgsl_kernels as wk

assert "wgpu" not in sys.modules, "importing the package must not load wgpu"
assert (files("wgsl_kernels.shaders") / "unary" / "exp.wesl").is_file(), "no shaders in the wheel"

from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter

for name in ["cpu", "webgpu"] if choose_adapter() else ["cpu"]:
    with wk.use_backend(name):
        assert wk.exp(wk.tensor([0.0, 1.0])).numpy()[0] == 1.0
        assert wk.matmul(wk.ones((3, 5)), wk.ones((5, 2))).tolist() == [[5.0, 5.0]] * 3
        assert wk.sum(wk.ones((70, 3)), axis=0).tolist() == [70.0] * 3
    print(f"{name}: a map, a product and a sum run from the wheel")
END
