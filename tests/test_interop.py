"""Other libraries take tensors, and tensors take what they have."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, cast

import einops.array_api
import joblib
import numpy as np
import opt_einsum
import optree
import pytest
import scipy.optimize
import scipy.special
import scipy.stats
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
from tests.modes import ALL_MODES

import wgsl_kernels as wk
from wgsl_kernels.engine.drivers import fallbacks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BACKENDS = pytest.mark.parametrize("backend", ["cpu", "webgpu"])


@BACKENDS
def test_pictures_and_bytes_come_in(backend: str) -> None:
    values = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    with wk.use_backend(backend):
        for given in (values, Image.fromarray(values)):
            assert wk.tensor(given).dtype == wk.uint8
            assert wk.tensor(given).numpy().tolist() == values.tolist()
            halves = wk.tensor(given, dtype=wk.float32) / 2
            np.testing.assert_array_equal(halves, values / 2)
        back = Image.fromarray(np.asarray(wk.tensor(values)))
    assert np.asarray(back).tolist() == values.tolist()


@BACKENDS
def test_einops_computes_on_tensors(backend: str) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    with wk.use_backend(backend):
        x = wk.tensor(values)
        turned = einops.array_api.rearrange(x, "a b c -> c (a b)")
        largest = einops.array_api.reduce(x, "a b c -> a c", "max")
    assert isinstance(turned, wk.Tensor)
    np.testing.assert_array_equal(turned, values.reshape(6, 4).T)
    np.testing.assert_array_equal(largest, values.max(1))


@BACKENDS
def test_einops_own_functions_compute_on_tensors_and_differentiate(backend: str) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)

    def weighed(x: Any) -> Any:
        turned = einops.rearrange(x, "a (b d) c -> d c (a b)", d=3)
        means = einops.reduce(turned, "d c r -> d c", "mean")
        return (einops.repeat(means, "d c -> d c e", e=2) * [1.0, 2.0]).sum()

    with wk.use_backend(backend):
        x = wk.tensor(values)
        turned = einops.rearrange([x, x], "n a b c -> c (n a b)")
        assert isinstance(turned, wk.Tensor)
        assert turned.tolist() == einops.rearrange([values] * 2, "n a b c -> c (n a b)").tolist()
        assert einops.reduce(x, "a b c -> b", "max").tolist() == values.max((0, 2)).tolist()
        np.testing.assert_allclose(
            einops.einsum(x, x, "a b c, a d c -> b d"), np.einsum("abc,adc->bd", values, values)
        )
        assert weighed(x).item() == pytest.approx(weighed(values))
        np.testing.assert_allclose(wk.grad(weighed)(x), np.full_like(values, 1.5))


@BACKENDS
def test_opt_einsum_contracts_tensors(backend: str) -> None:
    draw = np.random.default_rng(0)
    arrays = [draw.normal(size=shape).astype(np.float32) for shape in ((2, 3), (3, 4), (4, 2))]
    with wk.use_backend(backend):
        found = opt_einsum.contract("ab,bc,ca->a", *map(wk.tensor, arrays))
    assert isinstance(found, wk.Tensor)
    np.testing.assert_allclose(found, np.einsum("ab,bc,ca->a", *arrays), rtol=1e-5)


@BACKENDS
def test_scientific_libraries_read_tensors(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)

    def both(p: np.ndarray) -> tuple[Any, ...]:
        value, slope = wk.value_and_grad(lambda q: wk.sum((q - 1.0) ** 2))(p)
        return value.item(), slope.numpy().astype(np.float64)

    with wk.use_backend(backend):
        x = wk.tensor(draw)
        np.testing.assert_allclose(PCA(2).fit_transform(x), PCA(2).fit_transform(draw), atol=1e-5)
        assert accuracy_score(wk.tensor([1, 0]), wk.tensor([1, 1])) == 0.5
        assert scipy.optimize.minimize(both, np.zeros(3), jac=True).x == pytest.approx([1, 1, 1])
        assert isinstance(scipy.special.erf(x), wk.Tensor)
        tree: Any = {"a": x}
        doubled: Any = optree.tree_map(lambda one: one * 2.0, tree)
        np.testing.assert_array_equal(doubled["a"], draw * 2.0)
        monkeypatch.setattr(fallbacks, "fallbacks", {})
        with pytest.warns(wk.FallbackWarning, match=r"^gamma: .*numpy\(\)"):
            np.testing.assert_allclose(scipy.special.gamma(x), scipy.special.gamma(draw))


def _bowl(w: Any) -> Any:
    return ((w - 1.0) ** 2).sum()


METHODS = ("L-BFGS-B", "BFGS", "CG", "Newton-CG", "SLSQP", "trust-constr", "TNC")


@BACKENDS
@pytest.mark.parametrize("method", METHODS)
def test_scipys_optimizers_take_functions_of_tensors(method: str, backend: str) -> None:
    options = {"eps": 1e-3} if method == "Newton-CG" else {}  # steps that float32 can see
    minimize = scipy.optimize.minimize
    with wk.use_backend(backend):
        both = wk.to_scipy(_bowl)
        found = minimize(both, np.zeros((1, 3)).ravel(), jac=True, method=method, options=options)
        assert found.x == pytest.approx([1, 1, 1], abs=1e-3)
        value, slope = both(np.zeros((3, 1)))
        assert type(value) is float
        assert slope.dtype == np.float64
        assert slope.shape == (3,)
        if method != "SLSQP":  # which takes gradients of float64 alone, NumPy's own too
            jac = wk.grad(_bowl)
            found = minimize(_bowl, np.zeros(3), jac=jac, method=method, options=options)
            assert found.x == pytest.approx([1, 1, 1], abs=1e-3)


def test_to_scipy_passes_further_arguments_on_and_wants_a_function() -> None:
    with wk.use_backend("cpu"):
        assert wk.to_scipy(lambda w, k: (w * k).sum())([1.0, 2.0], 3.0)[0] == 9.0
    with pytest.raises(wk.ArgumentError, match=r"to_scipy: f is .*want a function"):
        wk.to_scipy(cast("Any", 3))


ESTIMATORS: dict[str, Callable[[Any, Any], Any]] = {
    "StandardScaler": lambda x, _: StandardScaler().fit_transform(x),
    "MinMaxScaler": lambda x, _: MinMaxScaler().fit_transform(x),
    "Normalizer": lambda x, _: Normalizer().fit_transform(x),
    "KMeans": lambda x, _: KMeans(2, n_init=cast("Any", 1), random_state=0).fit(x).cluster_centers_,
    "Ridge": lambda x, _: Ridge().fit(x, x[:, 0]).coef_,
    "LogisticRegression": lambda x, y: LogisticRegression().fit(x, y).coef_,
    "ttest_ind": lambda x, _: scipy.stats.ttest_ind(x[:, 0], x[:, 1])[1],
    "skew": lambda x, _: scipy.stats.skew(x[:, 0]),
    "zscore": lambda x, _: scipy.stats.zscore(x),
}


@pytest.mark.filterwarnings("ignore::wgsl_kernels.FallbackWarning")
@BACKENDS
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_and_statistics_take_tensors(name: str, backend: str) -> None:
    use = ESTIMATORS[name]
    draw = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    labels = np.arange(20, dtype=np.int32) % 2
    with wk.use_backend(backend):
        found = use(wk.tensor(draw), wk.tensor(labels))
    np.testing.assert_allclose(np.asarray(found), use(draw, labels), rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore::wgsl_kernels.FallbackWarning")
@BACKENDS
def test_pictures_of_tensors_are_drawn(backend: str) -> None:
    figure = Figure()
    plain = figure.add_subplot(1, 2, 1)
    solid: Any = figure.add_subplot(1, 2, 2, projection="3d")
    with wk.use_backend(backend):
        x = wk.tensor(np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32))
        places, columns = wk.arange(12), [x[:, index] for index in range(3)]
        plain.bar(places, columns[0])
        plain.barh(places, columns[0])
        plain.quiver(*columns, columns[0])
        plain.hist2d(columns[0], columns[1])
        plain.errorbar(places, columns[0], yerr=abs(columns[1]))
        solid.scatter(*columns)
        grid = wk.meshgrid(wk.arange(3).astype(float), places.astype(float))
        solid.plot_surface(*grid, x)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()


STARTING = """
import multiprocessing
import sys
import joblib
import wgsl_kernels as wk
import einops  # after the tensors that it is to know

def trained(state):
    wk.set_backend(state["w"].backend)
    state["opt"].minimize(lambda: wk.sum(state["w"] ** 2.0))
    return state

def doubled(x):
    return x * 2.0

if __name__ == "__main__":
    wk.set_backend("cpu")
    if sys.argv[1] == "joblib":
        given = [wk.tensor([n]) for n in (1.0, 2.0)]
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(doubled)(one) for one in given)
        assert [one.tolist() for one in found] == [[2.0], [4.0]]
        sys.exit()
    assert einops.rearrange(wk.ones((1, 2)), "a b -> b a").shape == (2, 1)
    state = {"w": wk.variable([1.0, 2.0], name="w"), "opt": wk.train.Adam(0.1)}
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        (other,) = pool.map(trained, [state])
    trained(state)
    assert other["w"].tolist() == state["w"].tolist()
"""


# What starts processes is slow; spawn is tried with the copies.
STARTERS = ["forkserver", "joblib"] if ALL_MODES else ["forkserver"]


@pytest.mark.parametrize("starter", STARTERS)
def test_processes_that_others_start_take_tensors_and_optimizers(
    starter: str, tmp_path: Path
) -> None:
    program = tmp_path / "starting.py"
    program.write_text(STARTING)
    command = [sys.executable, "-W", "error", str(program), starter]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=200
    )
    assert run.returncode == 0, run.stderr


DISPATCHING = """
import os
os.environ["SCIPY_ARRAY_API"] = "1"
import numpy as np
import sklearn
import wgsl_kernels as wk
from sklearn.decomposition import PCA

wk.set_backend("cpu")
values = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
with sklearn.config_context(array_api_dispatch=True):
    found = PCA(2, svd_solver="full").fit_transform(wk.tensor(values))
assert isinstance(found, wk.Tensor)
np.testing.assert_allclose(found, PCA(2, svd_solver="full").fit_transform(values), atol=1e-5)
"""

if ALL_MODES:

    def test_scikit_learn_computes_on_tensors(tmp_path: Path) -> None:
        program = tmp_path / "dispatching.py"
        program.write_text(DISPATCHING)
        command = [sys.executable, str(program)]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
        assert run.returncode == 0, run.stderr


def test_joblib_knows_equal_tensors_by_their_values(tmp_path: Path) -> None:
    calls: list[int] = []

    def summed(x: wk.Tensor) -> float:
        calls.append(1)
        return float(x.sum())

    memory = joblib.Memory(tmp_path, verbose=0)
    cached = memory.cache(summed)
    with wk.use_backend("cpu"):
        found = [cached(wk.tensor(values)) for values in ([1.0, 2.0], [1.0, 2.0], [3.0, 4.0])]
    assert found == [3.0, 3.0, 7.0]
    assert len(calls) == 2
