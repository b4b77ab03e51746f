"""The pages ask no other host for anything."""

import importlib.util
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["user_guide/support_vectors.md", "theory/pairs.md"]


@pytest.fixture
def check_hosts():
    spec = importlib.util.spec_from_file_location("check_hosts", ROOT / "docs" / "check_hosts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "a.html",
            '<script src="https://cdn.example/x.js"></script>',
            ["https://cdn.example/x.js"],
        ),
        ("a.html", '<script src="_static/x.js"></script>', []),
        ("a.html", '<a href="https://example.org">there</a>', []),
        ("a.html", '<link rel="stylesheet" href="//cdn.example/x.css">', ["//cdn.example/x.css"]),
        (
            "a.html",
            '<link rel="preconnect" href="https://fonts.example">',
            ["https://fonts.example"],
        ),
        ("a.html", '<link rel="canonical" href="https://example.org/a">', []),
        ("a.html", '<img srcset="a.png, https://cdn.example/b.png 2x">', None),
        ("a.html", "<style>@import 'https://cdn.example/x.css';</style>", None),
        ("a.html", '<p style="background: url(//cdn.example/x.png)">', ["//cdn.example/x.png"]),
        ("a.html", "<code>@import 'https://cdn.example/x.css';</code>", []),
        ("a.css", "a { src: url('https://cdn.example/x.woff2') }", ["https://cdn.example/x.woff2"]),
        ("a.css", "a { src: url(../fonts/x.woff2) }", []),
    ],
)
def test_what_is_loaded_from_another_host_is_found(check_hosts, tmp_path, name, text, found):
    (tmp_path / name).write_text(text)
    lines = check_hosts.foreign(tmp_path)
    if found is None:
        assert len(lines) == 1
    else:
        assert lines == [f"{name}: {one}" for one in found]


@pytest.mark.slow
def test_pages_with_formulas_load_nothing_from_another_host(check_hosts, tmp_path):
    try:
        metadata.distribution("sphinx-mathjax-offline")
    except metadata.PackageNotFoundError:
        pytest.skip("sphinx-mathjax-offline is not installed: make setup installs it")
    source, built = tmp_path / "docs", tmp_path / "html"
    source.mkdir()
    for name in ("conf.py", "_static", "_templates", "reference.md"):
        path = ROOT / "docs" / name
        copy = shutil.copytree if path.is_dir() else shutil.copyfile
        copy(path, source / name)
    for name in PAGES:
        (source / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / "docs" / name, source / name)
    listed = "\n".join(name.removesuffix(".md") for name in PAGES)
    (source / "index.md").write_text(f"# Some pages\n\n```{{toctree}}\n{listed}\n```\n")
    # the settings of the site, without the reference and the gallery, which take minutes
    kept = "sphinx.ext.mathjax,sphinx_copybutton,myst_parser"
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", "-D", f"extensions={kept}"]
    command += ["-D", "exclude_patterns=reference.md"]
    done = subprocess.run(
        [*command, str(source), str(built)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    page = (built / "theory" / "pairs.html").read_text(encoding="utf-8")
    assert "mathjax/tex-svg.js" in page
    assert 'class="math' in page
    assert (built / "_static" / "mathjax" / "tex-svg.js").stat().st_size > 1_000_000
    assert check_hosts.foreign(built) == []
