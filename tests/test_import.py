"""What importing does not do, and what is missing without the extras."""

import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

from dpjax import plots
from dpjax.data import datasets, sources

WITHOUT_EXTRAS = """
import sys
for name in ("pyarrow", "pandas", "matplotlib", "statsmodels"):
    sys.modules[name] = None
"""

QUIET = """
import jax, random, numpy
before = jax.config.values.copy(), random.getstate(), str(numpy.random.get_state())
import dpjax
assert before == (jax.config.values, random.getstate(), str(numpy.random.get_state()))
"""

BROKEN = """
import sys, types
class Broken(types.ModuleType):
    __path__ = []
    def __getattr__(self, name):
        raise RuntimeError("broken")
for name in ("pyarrow", "matplotlib", "statsmodels"):
    sys.modules[name] = Broken(name)
"""

CORE = """
import dpjax as dp
net = dp.BayesNet.naive_bayes({"t": [0, 1], "x": [0, 1]}, "t")
table = {"t": [0, 1], "x": [1, 1]}
released = dp.release(net, table, epsilon=1, adjacency="add-remove")
dp.posterior(released).predict_proba(table, "t")
"""


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.thorough
def test_the_core_works_without_the_extras():
    assert run(WITHOUT_EXTRAS + CORE) == ""


@pytest.mark.thorough
def test_the_core_works_with_broken_extras():
    assert run(BROKEN + CORE) == ""


SLOW = {"matplotlib", "statsmodels", "pandas", "xarray"}
SLOW |= {"numpyro", "optax", "scipy", "jax.scipy.stats"}
FAST = {"jax", "numpy", "equinox", "tqdm"}
SHOW = "import sys; print(*({} & sys.modules.keys()))\n"
USE = "[getattr(dpjax, name) for name in dpjax.__all__]\n"


@pytest.mark.slow
def test_importing_prints_and_changes_nothing_and_leaves_what_is_slow():
    assert run(QUIET + USE + SHOW.format(SLOW)) == "\n"
    assert run("import dpjax\n" + SHOW.format(SLOW | FAST)) == "\n"


READ = """
import dpjax as dp
records = dp.Schema({"x": ["a", "b"]}).encode("table.csv")
assert records.tolist() == [[0], [1], [0]]
"""


@pytest.mark.slow
def test_reading_a_csv_file_leaves_pandas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("x\na\nb\na\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    assert run(READ + SHOW.format({"pandas", "pyarrow"})) == "pyarrow\n"


LATE = """
import jax
import jax.numpy as jnp
from dpjax import distributions, families
prior = families.conjugate_posterior(families.Bernoulli(), jnp.ones(1), 2)
law = lambda: distributions.TruncatedDirichlet(jnp.ones(3), 0.1)
uses = lambda: prior.distribution().mean, lambda: law().log_prob(jnp.ones(3) / 3)
with jax.checking_leaks():
    inside = [jax.jit(use)() for use in uses]
assert all(jnp.allclose(x, use(), rtol=1e-5) for x, use in zip(inside, uses))
"""


@pytest.mark.slow
def test_packages_that_a_compiled_function_imports_hold_none_of_its_tracers():
    assert run(LATE) == ""


@pytest.mark.parametrize(
    ("module", "wrapped", "use", "extra"),
    [
        (sources.files, "pyarrow", lambda: next(sources.parts("table.csv")), "data"),
        (datasets, "_fair", datasets.fair, "demo"),
        (
            plots.figures,
            "Figure",
            lambda: plots.privacy_utility(
                [], "x.png", majority=0.5, adjacency="", title=""
            ),
            "plots",
        ),
    ],
)
def test_a_missing_package_names_its_extra(module, wrapped, use, extra, monkeypatch):
    monkeypatch.setattr(module, wrapped, None)
    with pytest.raises(ImportError, match=rf'pip install "dpjax\[{extra}\]"'):
        use()


def test_extras_that_messages_name_are_declared():
    root = pathlib.Path(__file__).parents[1]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    sources = [path.read_text() for path in (root / "dpjax").rglob("*.py")]
    named = set(re.findall(r'install "dpjax\[(\w+)\]"', "".join(sources)))
    assert "data" in named
    assert named <= set(extras["optional-dependencies"])
