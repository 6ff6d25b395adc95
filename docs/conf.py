"""The book: `make docs` builds it into docs/_build/html, offline; warnings are errors."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("MPLBACKEND", "agg")

from sphinx_gallery.scrapers import matplotlib_scraper  # noqa: E402

import assay  # noqa: E402


def whole_figures(*args: object, **kwargs: object) -> str:
    """Figures with what stands below or above their axes."""
    return matplotlib_scraper(*args, bbox_inches="tight", **kwargs)


project = "Assay"
author = "the Assay developers"
copyright = "the Assay developers"
release = version = assay.__version__

extensions = ["myst_parser", "sphinx_design", "sphinx_gallery.gen_gallery", "mathml", "reference", "examples"]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
suppress_warnings = ["config.cache"]
exclude_patterns = ["_build", "gallery", "gallery_made/*.ipynb", "_ext"]
nitpicky = True
highlight_language = "none"
smartquotes = False  # --out is no dash

html_theme = "pydata_sphinx_theme"
html_title = "Assay"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
html_context = {"default_mode": "auto"}

sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["gallery_made"],
    "filename_pattern": r"\.py$",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "image_srcset": [],
    "plot_gallery": True,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "notebook_images": False,
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
    "copyfile_regex": "",
    "reset_modules": ("matplotlib",),
    "image_scrapers": (whole_figures,),
    "thumbnail_size": (400, 300),
}
