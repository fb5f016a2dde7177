"""The openai policy against a small HTTP server that says what the test tells it to."""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from warpsmith.core import EnvironmentMissing, InfraError, Message, Role, ToolCall, ToolSpec, UsageError
from warpsmith.policy import INVALID_ARGUMENTS, PolicyConfig, Price, make_policy
from warpsmith.policy.actions import read_arguments
from warpsmith.policy.endpoint import client

HELLO = (Message(role=Role.USER, text="make it fast"),)
COMPILE = ToolSpec(name="compile", description="build it", parameters={"type": "object", "properties": {}})
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


@dataclass
class Endpoint:
    """Sends `replies` in turn, (status, body, headers), the last one for ever; keeps what it was asked."""

    url: str
    replies: list
    asked: list = field(default_factory=list)


@contextmanager
def endpoint(*replies):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["content-length"])
            state.asked.append(
                ({k.lower(): v for k, v in self.headers.items()}, json.loads(self.rfile.read(length)))
            )
            status, body, headers = state.replies.pop(0) if len(state.replies) > 1 else state.replies[0]
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Endpoint(url=f"http://127.0.0.1:{server.server_port}/v1", replies=list(replies))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def says(content=None, *, calls=(), usage=USAGE):
    wire = [
        {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(calls)
    ]
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": content, "tool_calls": wire},
    }
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return 200, body | ({"usage": usage} if usage else {}), {}


def fails(status, **headers):
    return status, {"error": {"message": f"this is a {status}"}}, headers


def policy_at(url, **options):
    options = {"style": "tools", **options}  # auto would ask first what the endpoint can do
    config = PolicyConfig(base_url=url, retry_wait_s=0.001, api_key_env="WARPSMITH_TEST_KEY", **options)
    return make_policy("openai:m", config)


def respond(*replies, messages=HELLO, **options):
    with endpoint(*replies) as server:
        return policy_at(server.url, **options).respond(messages, (COMPILE,)), server


def test_text_and_tool_calls_become_a_message():
    reply, server = respond(
        says("building", calls=[("write", '{"path": "a.cu", "text": "x"}'), ("compile", "")])
    )
    assert reply.message.text == "building"
    assert [call.tool for call in reply.message.tool_calls] == ["write", "compile"]
    assert reply.message.tool_calls[0].arguments == {"path": "a.cu", "text": "x"}
    assert reply.message.tool_calls[1].arguments == {}
    assert server.asked[0][1]["tools"][0]["function"]["name"] == "compile"


def test_cost_is_the_endpoint_s_own_count_at_the_given_price():
    reply, _ = respond(says("hi"), price=Price(prompt_usd=10.0, completion_usd=100.0))
    assert (reply.cost.prompt_tokens, reply.cost.completion_tokens) == (100, 20)
    assert reply.cost.usd == pytest.approx(0.003)


def test_tokens_are_guessed_when_the_endpoint_counts_none():
    reply, _ = respond(says("x" * 400, usage=None))
    assert reply.cost.completion_tokens >= 100
    assert reply.cost.prompt_tokens > 0
    assert reply.cost.usd == 0.0


def test_the_whole_conversation_is_sent_in_the_endpoint_s_form():
    call = ToolCall(call_id="c7", tool="compile", arguments={"path": "ü"})
    messages = (
        Message(role=Role.SYSTEM, text="you are"),
        *HELLO,
        Message(role=Role.ASSISTANT, text="", tool_calls=(call,)),
        Message(role=Role.TOOL, text="compiled", call_id="c7"),
    )
    _, server = respond(says("ok"), messages=messages)
    sent = server.asked[0][1]["messages"]
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "tool"]
    assert json.loads(sent[2]["tool_calls"][0]["function"]["arguments"]) == {"path": "ü"}
    assert sent[3]["tool_call_id"] == "c7"


@pytest.mark.parametrize("failure", [fails(429), fails(500), fails(503), (200, {"choices": []}, {})], ids=str)
def test_what_may_pass_is_tried_again(failure):
    reply, server = respond(failure, failure, says("at last"))
    assert reply.message.text == "at last"
    assert len(server.asked) == 3


def test_the_wait_that_the_endpoint_asks_for_is_kept():
    policy = policy_at("http://127.0.0.1:9/v1")
    with endpoint(fails(429, **{"retry-after": "0.2"}), says("ok")) as server:
        policy = policy_at(server.url)
        assert policy.respond(HELLO, ()).cost.wall_s >= 0.2


def test_retries_end():
    with pytest.raises(InfraError, match=r"HTTP 500: .*this is a 500"):
        respond(fails(500), max_attempts=3)


def test_a_request_that_is_wrong_is_not_repeated():
    with endpoint(fails(400)) as server, pytest.raises(InfraError, match="400"):
        policy_at(server.url).respond(HELLO, ())
    assert len(server.asked) == 1


def test_an_unknown_model_is_the_caller_s_mistake():
    with pytest.raises(UsageError, match="no model 'm'"):
        respond(fails(404))


@pytest.mark.parametrize("body", ["{not json", '"a string"', "[]", "{}", '{"choices": null}'])
def test_an_endpoint_that_talks_nonsense_is_an_infra_error(body):
    with pytest.raises(InfraError, match="http://127"):
        respond((200, body, {}), max_attempts=2)


def test_a_slow_endpoint_times_out():
    hold = threading.Event()

    class Slow(BaseHTTPRequestHandler):
        def do_POST(self):
            hold.wait(5)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        policy = policy_at(f"http://127.0.0.1:{server.server_port}/v1", timeout_s=0.1, max_attempts=2)
        with pytest.raises(InfraError, match=r"no reply within 0\.1 s"):
            policy.respond(HELLO, ())
    finally:
        hold.set()
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_refused_connection_says_what_to_do_at_once():
    with endpoint(says("unused")) as server:
        url = server.url
    with pytest.raises(EnvironmentMissing, match=r"no endpoint at .* start the server") as raised:
        policy_at(url).respond(HELLO, ())
    assert "\n" not in str(raised.value)


def test_a_refused_key_names_its_variable_and_not_its_value(monkeypatch):
    monkeypatch.setenv("WARPSMITH_TEST_KEY", "very-secret")
    with endpoint(fails(401)) as server:
        with pytest.raises(EnvironmentMissing, match="WARPSMITH_TEST_KEY") as raised:
            policy_at(server.url).respond(HELLO, ())
        assert server.asked[0][0]["authorization"] == "Bearer very-secret"
    assert "very-secret" not in str(raised.value)


def test_the_default_endpoint_needs_a_key(monkeypatch):
    monkeypatch.delenv("WARPSMITH_TEST_KEY", raising=False)
    with pytest.raises(EnvironmentMissing, match="WARPSMITH_TEST_KEY is not set"):
        make_policy("openai:m", PolicyConfig(api_key_env="WARPSMITH_TEST_KEY"))


@pytest.mark.parametrize("package", ["openai", "tenacity"])
def test_a_missing_package_names_the_extra(monkeypatch, package):
    monkeypatch.setattr(client, "find_spec", lambda name: None if name == package else object())
    with pytest.raises(EnvironmentMissing, match=rf"{package} .*pip install 'warpsmith\[openai\]'"):
        policy_at("http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        (None, {}),
        ("", {}),
        ({"a": 1}, {"a": 1}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"text": "two\nlines"}', {"text": "two\nlines"}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
    ],
)
def test_arguments_are_read_leniently(text, expected):
    assert read_arguments(text) == expected


@pytest.mark.parametrize(
    "text", ['{"path": "a.cu", "text": "int ma', "[1, 2]", "7", "compile please", "(" * 5000]
)
def test_arguments_beyond_repair_become_a_call_that_no_tool_takes(text):
    assert set(read_arguments(text)) == {INVALID_ARGUMENTS}


def test_malformed_arguments_reach_the_loop_as_data():
    reply, _ = respond(says(calls=[("write", '{"path": ')]))
    assert "cut off" in reply.message.tool_calls[0].arguments[INVALID_ARGUMENTS]
