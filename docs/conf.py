"""Sphinx configuration: ``sphinx-build -W --keep-going -b html docs docs/_build/html``.

Neither the build nor the pages need a network: MathJax is copied from a package. With
RANKWISE_DOCS_INTERSPHINX=1 names of NumPy, scikit-learn and so on become links, for which their
inventories are downloaded.
"""

import inspect
import os
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

from PIL import Image, ImageOps
from sphinx.addnodes import tabular_col_spec

import rankwise

# An example runs experiments, which are beside the package and not in it.
sys.path.insert(0, str(Path(__file__).parents[1]))

project = "rankwise"
author = "The rankwise developers"
copyright = "The rankwise developers"
version = release = rankwise.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "myst_parser",
    "numpydoc",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "py:obj"
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

# -- Formulas ---------------------------------------------------------------------------------

# One file that draws formulas as SVG: it needs no fonts, and nothing from another host.
MATHJAX = metadata.distribution("sphinx-mathjax-offline").locate_file(
    "sphinx-mathjax-offline/static/mathjax/tex-svg.js"
)
mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}

# -- API reference ----------------------------------------------------------------------------


def public_members(cls):
    """Return the names of a class's own methods and properties, and of scikit-learn's methods."""
    found = {"methods": [], "properties": [], "inherited": []}
    for name in (n for n in dir(cls) if not re.search(r"^_|metadata|_request$", n)):
        if isinstance(inspect.getattr_static(cls, name), property):
            found["properties"].append(name)
        elif inspect.isroutine(value := getattr(cls, name)):
            ours = (getattr(value, "__module__", "") or "").startswith("rankwise")
            found["methods" if ours else "inherited"].append(name)
    return found


PACKAGES = {
    name: package
    for name in rankwise.__all__
    if inspect.ismodule(package := getattr(rankwise, name))
}
autosummary_context = {
    "public_members": {
        f"rankwise.{package}.{name}": public_members(value)
        for package, module in PACKAGES.items()
        for name in module.__all__
        if inspect.isclass(value := getattr(module, name))
    }
}
autodoc_typehints = "none"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False

if os.environ.get("RANKWISE_DOCS_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
    }

# -- Gallery ----------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("rankwise",),
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
}
# A thumbnail shows one panel where all of them would be too small to read: left, top, right and
# bottom as shares of the picture.
PANELS = {
    "aggregation": (0.49, 0, 1, 1),
    "ask_a_model": (0, 0, 0.5, 1),
    "clicks": (0, 0, 0.525, 1),
    "ellipses": (0, 0, 0.355, 1),
    "only_the_top": (0.515, 0, 1, 1),
    "projection": (0, 0.67, 1, 1),
    "trees_or_stumps": (0.52, 0, 1, 1),
    "watch_tonight": (0, 0, 0.51, 1),
    "which_method": (0.57, 0, 1, 1),
}


def cut_thumbnails(app):
    """Make the thumbnails of pictures with several panels from one of them."""
    if not app.config.sphinx_gallery_conf["plot_gallery"]:
        return
    images = Path(app.srcdir) / "gallery" / "images"
    for name, shares in PANELS.items():
        with Image.open(images / f"sphx_glr_plot_{name}_001.png") as picture:
            sizes = picture.width, picture.height, picture.width, picture.height
            panel = picture.crop([round(a * b) for a, b in zip(shares, sizes, strict=True)])
        panel = ImageOps.pad(panel.convert("RGB"), (400, 280), color="white")
        panel.save(images / "thumb" / f"sphx_glr_plot_{name}_thumb.png")


# -- HTML -------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"rankwise {release}"
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["rankwise.css"]
html_show_sourcelink = False
html_show_sphinx = False
# Pages without pages below them: a list of sections would be empty.
ALONE = "index start install howto datasets notation coming_from others_do_better papers"
ALONE += " benchmarks architecture decisions versions genindex py-modindex search"
html_sidebars = {name: [] for name in ALONE.split()}
html_theme_options = {
    "logo": {"text": "rankwise"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def close_blocks(_app, _docname, source):
    """Drop the blank line that ends a doctest before the fence of its block."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


def keep_places(_app, doctree):
    """Give a module's place, which falls on a node that HTML leaves out, to its section."""
    for node in doctree.findall(tabular_col_spec):
        node.parent["ids"] += node["ids"]
        node["ids"] = []


def copy_mathjax(app, exception):
    """Put MathJax beside the other scripts."""
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir) / "_static" / "mathjax"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(MATHJAX, folder / "tex-svg.js")


def setup(app):
    """Connect the hooks above."""
    app.connect("build-finished", copy_mathjax)
    if "sphinx_gallery.gen_gallery" in app.config.extensions:
        app.connect("builder-inited", cut_thumbnails, priority=900)  # once pictures are there
    app.connect("doctree-read", keep_places)
    app.connect("source-read", close_blocks)
