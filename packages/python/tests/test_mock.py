"""The example of the README, and what else the plugin promises."""

import json
import urllib.error
import urllib.request

import pytest
import wirecert

CREDENTIALS = {"anthropic_api_key": "any"}


def post(url: str, body: dict, **headers: str) -> dict:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def test_a_client_creates_a_session(wirecert_mock):
    server = wirecert_mock("amplifier-server")
    session = post(server.url + "sessions", {"profile": "dev", "credentials": CREDENTIALS})
    assert [known["session_id"] for known in server.steer("state")["sessions"]] == [session["session_id"]]


def test_a_server_refuses_on_command(wirecert_mock):
    server = wirecert_mock("amplifier-server")
    server.steer("refuse", code="RATE_LIMITED", times=1)
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(server.url + "sessions", {"profile": "dev", "credentials": CREDENTIALS})
    assert refused.value.code == 429


def test_a_script_is_a_file_or_its_content(wirecert_mock):
    script = {"wirecert": 1, "keys": {"valid": ["only-this"]}}
    server = wirecert_mock("amplifier-server", script=script)
    with pytest.raises(urllib.error.HTTPError):
        post(server.url + "sessions", {"profile": "dev", "credentials": CREDENTIALS})


def test_an_editor_has_a_lockfile_and_a_token(wirecert_mock):
    editor = wirecert_mock("amp-server", token="a-secret")
    assert json.loads(editor.lockfile.read_text())["port"] == editor.port
    assert editor.token == "a-secret"
    (editor.trace_file.parent / "a.txt").write_text("text\n")
    editor.steer("open", path=str(editor.trace_file.parent / "a.txt"))


def test_the_traffic_can_be_looked_at(wirecert_mock):
    server = wirecert_mock("amplifier-server")
    post(server.url + "sessions", {"profile": "dev", "credentials": CREDENTIALS})
    server.stop()
    assert any(event["kind"] == "message" for event in server.trace())


def test_a_refused_command_says_why(wirecert_mock):
    server = wirecert_mock("amplifier-server")
    with pytest.raises(wirecert.MockError, match="swich"):
        server.steer("swich", name="no-pong")


def test_a_mock_that_cannot_start_says_why():
    with pytest.raises(wirecert.MockError, match="no-such-flaw"):
        wirecert.mock("amplifier-server", flaws=["no-such-flaw"])


def test_what_is_wrong_on_purpose_is_not_judged(wirecert_mock):
    server = wirecert_mock("amplifier-server", judge=False)
    with pytest.raises(urllib.error.HTTPError):
        post(server.url + "sessions", {"profile": 5})
    violated = {finding.requirement.split("/", 2)[2] for finding in server.stop().violations()}
    assert violated == {"create/client-profile", "create/client-credentials"}


def test_a_violation_fails_the_test(pytester):
    pytester.makepyfile(
        """
        import urllib.request

        def test_a_client(wirecert_mock):
            server = wirecert_mock("amplifier-server")
            body = b'{"profile": "dev", "credentials": {"anthropic_api_key": "any"}}'
            urllib.request.urlopen(urllib.request.Request(server.url + "sessions", body, {"Content-Type": "text/plain"}))
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*must amplifier/2025-12-09/http/client-content-type: *", "*expected*application/json*"])
