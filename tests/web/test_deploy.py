"""The files of ``deploy``, read without an engine: syntax, names that agree, no secret in them."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankwise.cli._commands import rankwise
from rankwise.web import _guard

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
if not DEPLOY.is_dir():
    pytest.skip("the wheel has no folder deploy", allow_module_level=True)

INSTRUCTIONS = {"FROM", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"}
INSTRUCTIONS |= {"ENTRYPOINT", "WORKDIR", "ARG"}


def instructions():
    """Return the instructions of the Dockerfile as (name, arguments)."""
    lines = [
        line
        for line in (DEPLOY / "Dockerfile").read_text("utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    ]
    whole = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(line.split(None, 1)[0], line.split(None, 1)[1].strip()) for line in whole]


def options():
    """Return the options of ``rankwise serve``."""
    return CliRunner().invoke(rankwise, ["serve", "--help"]).output


def test_the_dockerfile():
    found = instructions()
    names = [name for name, _ in found]
    assert set(names) <= INSTRUCTIONS
    assert names[0] == "FROM"
    last = dict(found)
    assert int(last["USER"]) > 0  # a number, so that Kubernetes can see that it is not root
    assert f"--uid {last['USER']} " in last["RUN"] or f"chown {last['USER']} " in last["RUN"]
    entry = json.loads(last["ENTRYPOINT"])
    assert entry[:2] == ["rankwise", "serve"]
    for option in entry[2:]:
        assert not option.startswith("--") or option in options()
    extras = re.search(r"\[(.*)\]", next(text for name, text in found if name == "RUN"))[1]
    metadata = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(f"\n{extra} = [" in metadata for extra in extras.split(","))
    check = json.loads(last["HEALTHCHECK"].partition("CMD ")[2])
    compile(check[2], "HEALTHCHECK", "exec")
    assert f":{last['EXPOSE']}/readyz" in check[2]
    for name, text in found:
        if name == "RUN":
            shlex.split(text)


def test_the_image_has_what_builds_the_package_and_nothing_else():
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    assert "*" in lines
    kept = {line[1:] for line in lines if line.startswith("!")}
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    project = metadata["project"]
    assert kept == {"src", "pyproject.toml", project["readme"], *project["license-files"]}
    assert all((ROOT / name).exists() for name in kept)
    assert metadata["tool"]["hatch"]["version"]["path"].startswith("src/")


def test_the_compose_file():
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    found = yaml.safe_load(text)
    services = found["services"]
    assert set(services) == {"database", "app", "proxy"}
    for service in services.values():
        assert ("image" in service) != ("build" in service)
        for other, how in service.get("depends_on", {}).items():
            assert other in services
            assert how == {"condition": "service_healthy"}
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in found["volumes"] or (DEPLOY / source).is_file()
    build = services["app"]["build"]
    assert (DEPLOY / build["context"]).resolve() == ROOT
    assert (ROOT / build["dockerfile"]).is_file()
    environment = services["app"]["environment"]
    assert environment["RANKWISE_DATABASE"].startswith("postgresql://")
    assert "@database/" in environment["RANKWISE_DATABASE"]
    assert _guard._KEY_VARIABLE in environment
    for option in services["app"]["command"]:
        assert not option.startswith("--") or option in options()
    for name in ("POSTGRES_PASSWORD", "RANKWISE_SECRET"):  # from outside, and refused if missing
        assert f"${{{name}:?" in text
    assert "ports" not in services["app"]
    assert "ports" not in services["database"]


def blocks(text):
    """Return the directives of nginx with the blocks that they stand in; raise if one is open."""
    found, path = [], []
    text = re.sub(r"#.*", "", text)
    for part in re.findall(r"[^;{}]+[;{]|\}", text):
        if part == "}":
            path.pop()
        elif part.endswith("{"):
            path.append(" ".join(part[:-1].split()))
        else:
            found.append((tuple(path), *part[:-1].split(None, 1)))
    assert not path
    assert not re.sub(r"[^;{}]+[;{]|\}", "", text).strip()
    return found


def test_the_proxy():
    found = blocks((DEPLOY / "nginx.conf").read_text("utf-8"))
    root = {(name, value) for path, name, value in found if path == ("server", "location /")}
    headers = {value for name, value in root if name == "proxy_set_header"}
    assert {"Host $http_host", "X-Forwarded-Proto $scheme"} <= headers
    assert "X-Forwarded-For $remote_addr" in headers
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    target = re.fullmatch(r"http://(\w+):(\d+)", dict(root)["proxy_pass"])
    assert target[1] in compose["services"]
    assert target[2] == dict(instructions())["EXPOSE"]
    closed = next(path for path, name, _ in found if name == "deny")
    for page in ("metrics", "readyz", "healthz"):
        assert page in closed[-1]
    sizes = dict(found_of(found, "server"))
    assert sizes["client_max_body_size"] == "64k"


def found_of(found, *path):
    """Return the directives of one block."""
    return [(name, value) for block, name, value in found if block == path]


def test_the_guide_shows_the_same_host():
    text = (ROOT / "docs" / "user_guide" / "service.md").read_text("utf-8")
    assert "proxy_set_header Host $http_host;" in text
    assert "Host $host;" not in text
