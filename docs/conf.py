"""Sphinx configuration: MyST pages, API pages from the docstrings, tables from the samples."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "wgsl-kernels"
author = "The wgsl-kernels authors"
project_copyright = "2026, The wgsl-kernels authors"
release = version = "0.1.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
extensions += ["sphinx_copybutton", "sphinx_design"]
extensions += ["library_tables", "benchmark_results", "terminal", "floors"]
exclude_patterns = ["_build", "_data", "benchmarks"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = "wgsl-kernels"
html_static_path = ["_static"]
html_css_files = ["site.css"]
copybutton_prompt_text = r"^(>>> |\.\.\. |\$ )"
copybutton_prompt_is_regexp = True
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
