"""The schema is true: requests that it allows, and many that it doesn't, find no server error."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from tests.web.conftest import cookie_of

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

pytestmark = pytest.mark.slow

QUICK = settings(
    max_examples=40,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_no_request_breaks_the_server(client):
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    client.put("/api/ratings/1", json={"rating": 4})
    cookie = {"cookie": "=".join(cookie_of(client))}
    schema = schemathesis.openapi.from_asgi("/openapi.json", client.app)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == 15
    for operation in operations:
        forget = operation.method == "delete" and operation.path == "/api/me"
        for mode in schemathesis.GenerationMode:

            @QUICK
            @given(
                case=operation.as_strategy(generation_mode=mode),
                headers=st.just({}) if forget else st.sampled_from([{}, cookie]),
                item=st.sampled_from([None, "1", "2", "120"]),
            )
            def check(case, headers, item):
                if item is not None and "item" in (case.path_parameters or {}):
                    case.path_parameters["item"] = item
                # which ratings and items there are is known by the data, not by the schema
                case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance])

            try:
                check()
            except Unsatisfiable:  # what takes nothing can't be given something wrong
                assert mode == schemathesis.GenerationMode.NEGATIVE
                assert not operation.body
                assert not operation.query
    assert client.get("/api/me").json()["version"] > 1


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_the_command_line_of_schemathesis_finds_nothing(serving, tmp_path):
    _, address = serving()
    command = [Path(sys.executable).with_name("schemathesis"), "run", f"{address}/openapi.json"]
    command += ["--max-examples", "20", "--seed", "1", "--no-color"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Tested: 15" in done.stdout
