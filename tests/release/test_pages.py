"""The pages ask no other host for anything, lead somewhere, and can be read on any screen."""

import importlib.util
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["user_guide/support_vectors.md", "theory/pairs.md"]


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check_hosts():
    return load("check_hosts")


@pytest.fixture
def check_pages():
    return load("check_pages")


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


def test_links_that_lead_nowhere_are_found(check_pages, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "in" / "b.html").write_text('<h1 id="here">b</h1> <a href="../index.html#x">x</a>')
    good = ["in/b.html", "in/b.html#here", "#top", "#", "a.png", "https://else.example", "mailto:a"]
    nowhere = "place on its page"
    bad = {"c.html": "page", "in/b.html#there": nowhere, "#there": nowhere, "b.html": "page"}
    links = "".join(f'<a href="{link}">there</a>' for link in [*good, *bad])
    (tmp_path / "index.html").write_text(links)
    found = ["in/b.html: ../index.html#x leads to no place on its page"]
    found += [f"index.html: {link} leads to no {what}" for link, what in bad.items()]
    assert check_pages.broken(tmp_path) == found


READABLE = """<!doctype html><html lang="en"><title>t</title>
<style>
  html[data-theme="dark"] body { background: #111; color: #eee; }
  .scrolls { overflow-x: auto; } .wide { width: 900px; }
</style>
<body><div class="bd-article-container"><p>words</p>
<div class="scrolls"><pre class="wide">far</pre></div>
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==">
{}</div></body></html>"""


@pytest.mark.slow
def test_faults_of_a_page_are_seen_in_a_browser(check_pages, tmp_path):
    pytest.importorskip("playwright")
    path = check_pages.find_browser()
    if path is None:
        pytest.skip("there is no Chromium: install it, or name it by RANKWISE_CHROMIUM")
    pages = {
        "good": ("", []),
        "image": ('<img src="none.png">', ["no image at none.png"]),
        "wide": (
            '<table class="wide"><tr><td>cell</table>',
            ["phone: table.wide"],
        ),
        "word": (f"<h2>{'long' * 30}</h2>", ["phone: h2"]),
        "dark": ('<p style="color: #222">ink</p>', ["phone, dark: contrast 1.2", "wide, dark: "]),
        "pale": ('<p style="color: #bbb">ink</p>', ["phone, light: contrast 1.9", "wide, light: "]),
        "host": ('<img src="http://127.0.0.2:9/a.png">', ["request to http://127.0.0.2:9/a.png"]),
        "script": ("<script>nothing.there</script>", ["error of a script: nothing is not"]),
    }
    for name, (text, _) in pages.items():
        (tmp_path / f"{name}.html").write_text(READABLE.replace("{}", text))
    (tmp_path / "favicon.ico").write_bytes(b"")
    names = [f"{name}.html" for name in pages]
    with ThreadPoolExecutor(1) as pool:  # the loop of another test's browser may hold this thread
        seen = pool.submit(lambda: list(check_pages.look(tmp_path, path, names, None))).result()
    for name, (_, expected) in pages.items():
        said = [line.removeprefix(f"{name}.html: ") for line in seen if line.startswith(name)]
        assert bool(said) == bool(expected), said
        for start in expected:
            assert any(line.startswith(start) for line in said), (name, start, said)


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
