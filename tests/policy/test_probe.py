"""What a probe finds out about endpoints that differ, and that it never raises for what one cannot do."""

import json

import pytest

from warpsmith.core import EnvironmentMissing
from warpsmith.policy import PolicyConfig
from warpsmith.policy.actions import Style
from warpsmith.policy.endpoint.probe import probe, report

LISTED = {"data": [{"id": "m", "max_model_len": 32768}, {"id": "other"}]}


def found_at(http, act, get=None, **options):
    with http.serving(act, get=get) as server:
        config = PolicyConfig(
            base_url=server.url, retry_wait_s=0.001, timeout_s=1.0, max_attempts=2, **options
        )
        return probe(config, "m"), server


def able(http):
    """A server that can do it all."""

    def act(handler, server):
        body = server.asked[-1][2]
        if "tools" in body:
            http.send(handler, 200, http.completion(calls=[("ping", '{"word": "pong"}')]))
            return
        answer = http.completion('{"colour": "blue"}')
        answer["choices"][0]["logprobs"] = {"content": [{"token": "{", "logprob": -0.1}]}
        http.send(handler, 200, answer)

    return act


def test_an_endpoint_that_can_do_all_is_known_after_three_requests(http):
    found, server = found_at(http, able(http), http.sends(200, LISTED))
    assert (found.reachable.has, found.model_there.has) == (True, True)
    assert (found.tools.has, found.json_schema.has, found.logprobs.has, found.usage.has) == (True,) * 4
    assert found.models == ("m", "other")
    assert (found.context_tokens, found.style) == (32768, Style.TOOLS)
    assert (found.prompt_tokens, found.completion_tokens) == (200, 40)
    assert len(server.asked) == 3


def test_the_report_is_plain_lines_that_say_how_each_was_found(http):
    found, server = found_at(http, able(http), http.sends(200, LISTED))
    lines = report(found).splitlines()
    assert server.url in lines[0]
    assert any("tool calls    yes (it called one when asked to)" in line for line in lines)
    assert any("32,768 tokens (max_model_len in the list of models)" in line for line in lines)
    assert lines[-1] == "style         tools"


def test_without_tools_and_with_a_schema_the_style_is_json(http):
    def act(handler, server):
        body = server.asked[-1][2]
        if "tools" in body:
            http.send(handler, 400, {"error": {"message": "m does not support tools"}})
        else:
            http.send(handler, 200, http.completion('{"colour": "red"}'))

    found, _ = found_at(http, act, http.sends(200, LISTED))
    assert (found.tools.has, found.json_schema.has, found.logprobs.has) == (False, True, False)
    assert "does not support tools" in found.tools.how
    assert found.style is Style.JSON


def test_without_either_the_style_is_whole_files(http):
    found, _ = found_at(http, http.sends(200, http.completion("Pong! My favourite is green.", usage=None)))
    assert (found.tools.has, found.json_schema.has, found.usage.has) == (False, False, False)
    assert found.model_there.has
    assert found.style is Style.FILES


def test_log_probs_that_are_refused_do_not_hide_the_schema(http):
    def act(handler, server):
        body = server.asked[-1][2]
        if "logprobs" in body:
            http.send(handler, 400, {"error": {"message": "logprobs: unknown field"}})
        elif "tools" in body:
            http.send(handler, 200, http.completion(calls=[("ping", "{}")]))
        else:
            http.send(handler, 200, http.completion('{"colour": "red"}'))

    found, _ = found_at(http, act)
    assert (found.json_schema.has, found.logprobs.has) == (True, False)


def test_a_call_in_the_text_counts_since_it_is_read(http):
    text = '<tool_call>{"name": "ping", "arguments": {"word": "pong"}}</tool_call>'
    found, _ = found_at(http, http.sends(200, http.completion(text)))
    assert found.tools.has
    assert "into its text" in found.tools.how


def test_a_model_that_only_thinks_within_a_short_reply_is_left_unknown(http):
    found, _ = found_at(http, http.sends(200, http.completion("", reasoning="hm", finish="length")))
    assert found.tools.has is None
    assert found.style is Style.TOOLS


def test_a_model_that_is_not_there_is_named_with_those_that_are(http):
    missing = http.sends(404, {"error": {"message": "no model m"}})
    found, _ = found_at(http, missing, http.sends(200, {"data": [{"id": "other"}]}))
    assert found.model_there.has is False
    assert "other" in report(found)
    assert found.json_schema.has is None


def test_an_endpoint_that_is_not_there_is_a_finding():
    found = probe(PolicyConfig(base_url="http://127.0.0.1:9/v1", retry_wait_s=0.001), "m")
    assert found.reachable.has is False
    assert "start the server" in report(found)


def test_a_key_that_is_refused_is_a_finding(http):
    found, _ = found_at(http, http.sends(401, {}), http.sends(401, {}))
    assert found.reachable.has is False
    assert "refuses the key" in found.reachable.how


def test_a_missing_key_is_said_before_anything_is_asked(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EnvironmentMissing, match="OPENAI_API_KEY"):
        probe(PolicyConfig(), "m")


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/props", {"default_generation_settings": {"n_ctx": 8192}}),
        ("/api/ps", {"models": [{"name": "m:latest", "context_length": 8192}]}),
    ],
)
def test_a_window_that_is_told_beside_the_api_is_found(http, path, data):
    def get(handler, _server):
        known = {"/v1/models": {"data": [{"id": "m"}]}, path: data}
        answer = known.get(handler.path)
        http.send(handler, 404 if answer is None else 200, answer or {})

    found, _ = found_at(http, able(http), get)
    assert (found.context_tokens, found.context_how) == (8192, f"told by {path}")


NONSENSE = [
    "[]",
    "{}",
    "7",
    "null",
    '{"data": 7}',
    '{"data": [7, null, {}]}',
    "{not json",
    '{"models": [[]]}',
    "",
]


@pytest.mark.parametrize("body", NONSENSE)
def test_nonsense_is_a_finding_too(http, body):
    found, _ = found_at(http, http.sends(200, body), http.sends(200, body))
    assert found.tools.has is not True
    assert "style" in report(found)


@pytest.mark.parametrize("status", [400, 402, 403, 404, 413, 422, 429, 500, 503])
def test_no_status_makes_it_raise(http, status):
    found, _ = found_at(http, http.sends(status, {"error": "x"}), http.sends(status, "x"))
    assert not found.tools.has
    assert json.dumps(report(found))
