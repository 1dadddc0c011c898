"""Uses a client of Amplifier that openapi-python-client generated, against a server: `client.py FOLDER URL`."""

import sys
from importlib import import_module

folder, url = sys.argv[1:]
sys.path.insert(0, folder)
models = import_module("generated.models")
client = import_module("generated.client").Client(base_url=url.rstrip("/"))


def call(name, *args, **kwargs):
    """The response of an operation: its status and its body as a model."""
    module = import_module(f"generated.api.default.{name}")
    response = module.sync_detailed(*args, client=client, **kwargs)
    return response.status_code.value, response.parsed


assert call("health")[1].status == "healthy"
status, profiles = call("list_profiles")
profile = profiles.profiles[0].name
assert call("get_profile", profile)[1].name == profile

credentials = models.CreateSessionRequestCredentials(anthropic_api_key="a-key-for-tests-only")
status, session = call("create_session", body=models.CreateSessionRequest(profile=profile, credentials=credentials))
assert (status, session.profile) == (201, profile), session
session_id = session.session_id
status, accepted = call("submit_prompt", session_id, body=models.SubmitPromptRequest(prompt="Say hello"))
assert (status, accepted.status) == (202, "processing"), accepted

assert call("get_session", session_id)[1].session_id == session_id
status, listed = call("list_sessions", limit=5)
assert [entry.session_id for entry in listed.sessions] == [session_id], listed
status, info = call("info")
assert info.capabilities.streaming is True, info
assert call("list_collections")[0] == call("list_agents")[0] == 200

status, failure = call("get_session", "no-such-session")
assert (status, failure.error.code) == (404, models.ErrorResponseErrorCode.SESSION_NOT_FOUND), failure
assert call("delete_session", session_id)[1].status == "stopped"
print("every call got what it should")
