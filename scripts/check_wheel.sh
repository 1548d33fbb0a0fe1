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

# Where links cannot be, a checkout has small text files in their place: the same files are shipped.
git -c core.symlinks=false checkout-index --all --prefix="$away/plain/"
(cd "$away/plain" && "$OLDPWD/.venv/bin/python" -m build --no-isolation --wheel \
  --outdir "$away/dist") > build/wheel-plain.log 2>&1 || {
  cat build/wheel-plain.log >&2
  exit 1
}
.venv/bin/python - "$dist"/*.whl "$away"/dist/*.whl << 'END'
import sys
import zipfile

shipped, plain = (set(zipfile.ZipFile(one).namelist()) for one in sys.argv[1:])
assert shipped == plain, shipped ^ plain
tops = {one.partition("/")[0] for one in shipped if ".dist-info/" not in one}
assert tops == {"wgsl_kernels", "wgsl_kernels_dask.py", "wgsl_kernels_pytest.py"}, tops
END

scripts/make_venv.sh "$away/env"
"$away/env/bin/python" -m pip install --quiet --disable-pip-version-check \
  -c requirements.lock "$dist"/*.whl

cd "$away"
env/bin/wgsl-kernels info
env/bin/wgsl-kernels new Thrice --form map
env/bin/python -W error - << 'END'
import sys
from importlib.resources import files
from importlib.util import find_spec

import wgsl_kernels as wk

assert "wgpu" not in sys.modules, "importing the package must not load wgpu"
shader = files("wgsl_kernels.shaders") / "elementwise" / "exponential" / "exp.wesl"
assert shader.is_file(), "no shaders in the wheel"
assert find_spec("engine") is None, "the wheel has a package of its own for the engine"

from wgsl_kernels.backends.webgpu.devices.adapters import choose_adapter

for name in ["cpu", "webgpu"] if choose_adapter() else ["cpu"]:
    with wk.use_backend(name):
        assert wk.exp(wk.tensor([0.0, 1.0])).numpy()[0] == 1.0
        assert wk.matmul(wk.ones((3, 5)), wk.ones((5, 2))).tolist() == [[5.0, 5.0]] * 3
        assert wk.sum(wk.ones((70, 3)), axis=0).tolist() == [70.0] * 3
    print(f"{name}: a map, a product and a sum run from the wheel")
END
