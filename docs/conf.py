"""The documentation site: `python -m sphinx -W docs FOLDER`, with the extra `docs`.

Notebooks, how-to pages and the page about ε run while it is built.
"""

import os
import pathlib
import shutil
import sys
import tempfile

from nbclient import NotebookClient

from dpjax import __version__

DOCS = pathlib.Path(__file__).parent
sys.path.insert(0, str(DOCS / "extensions"))


def copy_notebooks() -> None:
    """Copy the notebooks to where Sphinx looks, the unchanged ones left alone."""
    folder = DOCS / "tutorials"
    folder.mkdir(exist_ok=True)
    wanted = {path.name: path for path in (DOCS.parent / "notebooks").glob("*.ipynb")}
    for old in folder.glob("*.ipynb"):
        if old.name not in wanted:
            old.unlink()
    for name, path in wanted.items():
        copy = folder / name
        if not copy.exists() or copy.read_bytes() != path.read_bytes():
            shutil.copyfile(path, copy)


copy_notebooks()
# pages call `dpjax` of this environment, and `python -m papers` of this checkout, from
# a temporary folder
os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
os.environ["PYTHONPATH"] = str(DOCS.parent)
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("PYTHONWARNINGS", "ignore:IProgress")  # bars as text are fine
# pages share compiled programs, as `dpjax.runtime.cache_compilations` would let them
_programs = tempfile.TemporaryDirectory(prefix="dpjax-docs-")
os.environ["JAX_COMPILATION_CACHE_DIR"] = _programs.name
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
NotebookClient.coalesce_streams.default_value = True  # %%bash prints in pieces

project = "dpjax"
author = "The dpjax authors"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "rooms",
    "signatures",
    "docstrings",
    "command_line",
    "if_there",
]
exclude_patterns = [
    "_build",
    "extensions",
    "reproduction/[!R]*.md",  # the README there has them all
]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_execution_in_temp = True
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_custom_sections = ["Privacy", "Reference"]
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 72
nitpicky = True
nitpick_ignore = [  # what dpjax says of types that nobody makes
    ("py:class", "dpjax.noise.norm_law.NormLaw"),
    ("py:class", "dpjax.statistics.contrast_moments.Numbers"),
    ("py:class", "dpjax.tables.fourier_basis.DownwardClosure"),
    ("py:class", "dpjax.tables.layout.TableLayout"),
]

html_theme = "furo"
html_title = f"dpjax {version}"
html_copy_source = False
html_show_copyright = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_static_path = ["static"]
html_css_files = ["colours.css"]
