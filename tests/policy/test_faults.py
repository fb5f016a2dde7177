"""Whatever an endpoint does, a policy gives a reply or raises an error of ours in one line, and in time."""

import gzip
import json
import threading
import time

import pytest

from warpsmith.core import EnvironmentMissing, InfraError, Message, Role, ToolCall, ToolSpec, UsageError
from warpsmith.policy import INVALID_ARGUMENTS, PolicyConfig, Sampling, make_policy
from warpsmith.policy.actions import MAX_CHARACTERS
from warpsmith.policy.base import Reply

HELLO = (Message(role=Role.SYSTEM, text="you are"), Message(role=Role.USER, text="make it fast"))
WRITE = ToolSpec(
    name="write",
    description="write a file",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
        "required": ["path", "text"],
        "additionalProperties": False,
    },
)
TIMEOUT_S = 0.4  # for those that never answer
PATIENT_S = 3.0  # for the others: the machine may be busy
SLOW = ("headers that drip", "a body that drips", "silence", "a body without end")
WATCHDOG_S = 20.0

KINDS = [("openai", "tools"), ("openai", "json"), ("anthropic", "tools"), ("anthropic", "json")]


def body(kind, text="", **extra):
    """A reply that says `text`, as this kind of endpoint sends it."""
    if kind == "openai":
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 100, "completion_tokens": 20}
        return {"choices": [choice], "usage": usage, **extra}
    usage = {"input_tokens": 100, "output_tokens": 20}
    content = [{"type": "text", "text": text}]
    return {"content": content, "stop_reason": "end_turn", "usage": usage, **extra}


def good(kind, style):
    call = {"path": "a.cu", "text": "int x;"}
    if style == "json":
        return body(kind, json.dumps({"say": "so", "calls": [{"tool": "write", "arguments": call}]}))
    if kind == "anthropic":
        return body(kind, content=[{"type": "tool_use", "id": "t1", "name": "write", "input": call}])
    function = {"name": "write", "arguments": json.dumps(call)}
    message = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": function}]}
    return body(kind, choices=[{"finish_reason": "stop", "message": message}])


def status(code, **headers):
    def act(kind, handler, _server, http):
        http.send(handler, code, {"error": {"message": f"this is a {code}\nin two lines"}}, headers)

    return act


def raw(data):
    """Bytes on the connection, which then breaks."""

    def act(_kind, handler, _server, _http):
        handler.wfile.write(data)
        handler.close_connection = True

    return act


def says(make):
    return lambda kind, handler, _server, http: http.send(handler, 200, make(kind))


def drips_headers(_kind, handler, server, _http):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-slow: ")
    while not server.gone.wait(0.05):
        handler.wfile.write(b"a")


def drips_body(_kind, handler, server, _http):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
    while not server.gone.wait(0.05):
        handler.wfile.write(b" ")


def never_ends(_kind, handler, server, _http):
    handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
    while not server.gone.is_set():
        handler.wfile.write(b" " * 65536)


def hangs(_kind, _handler, server, _http):
    server.gone.wait(WATCHDOG_S)


def bomb(_kind, handler, _server, http):
    headers = {"content-encoding": "gzip"}
    http.send(handler, 200, gzip.compress(b" " * 50_000_000, 9), headers)


PASSING = {  # these may pass: once, then a good reply
    "429": status(429),
    "429, wait a moment": status(429, **{"retry-after": "0.05"}),
    "429, wait nan": status(429, **{"retry-after": "nan"}),
    "429, wait less than nothing": status(429, **{"retry-after": "-5"}),
    "429, wait until a date that is past": status(429, **{"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}),
    "429, wait for nonsense": status(429, **{"retry-after": "a while"}),
    "500": status(500),
    "503": status(503),
    "529": status(529),
    "invalid JSON": raw(
        b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n{"a":'
    ),
    "a page": raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>"),
    "an empty body": raw(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
    "bytes that are no text": raw(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n\xff\xfe\xfa\x00"),
    "dropped before the answer": raw(b""),
    "dropped within the answer": raw(b'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"choices": ['),
    "no HTTP": raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "JSON a million deep": says(lambda _kind: '{"choices":' + "[" * 1_000_000),
    "no choices": says(lambda _kind: {}),
    "no list": says(lambda _kind: {"choices": None, "content": None}),
    "an error with status 200": says(lambda _kind: {"error": {"message": "overloaded"}}),
    "an empty reply": says(lambda kind: body(kind, "")),
    "a reply of blanks": says(lambda kind: body(kind, " \n ")),
    "headers that drip": drips_headers,
    "a body that drips": drips_body,
    "a body without end": never_ends,
    "silence": hangs,
    "a small body that unfolds to 50 MB": bomb,
}

LASTING = {  # these stay: an error that says what to do
    "400": (status(400), InfraError),
    "401": (status(401), EnvironmentMissing),
    "402": (status(402), EnvironmentMissing),
    "403": (status(403), EnvironmentMissing),
    "404": (status(404), UsageError),
    "413": (status(413), InfraError),
    "422": (status(422), InfraError),
    "a redirect": (status(307, location="http://127.0.0.1:9/"), UsageError),
}


def asked(kind, style, http, *acts, attempts=2, timeout_s=PATIENT_S, **options):
    """What the policy gave or raised, and the server; fails if it took too long."""

    def bound(act):
        return lambda handler, server: act(kind, handler, server, http)

    outcome = []
    with http.serving(*map(bound, acts)) as server:
        config = PolicyConfig(
            base_url=server.url,
            style=style,
            timeout_s=timeout_s,
            max_attempts=attempts,
            retry_wait_s=0.001,
            api_key_env="WARPSMITH_TEST_KEY",
            **options,
        )
        policy = make_policy(f"{kind}:m", config)

        def ask():
            try:
                outcome.append(policy.respond(HELLO, (WRITE,)))
            except BaseException as error:  # noqa: BLE001 (the test looks at it)
                outcome.append(error)

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(WATCHDOG_S)
    assert outcome, "it hangs"
    return outcome[0], server


def time_of(fault):
    return TIMEOUT_S if fault in SLOW else PATIENT_S


def check_line(error):
    assert isinstance(error, InfraError | UsageError), repr(error)
    assert "\n" not in str(error)
    assert 0 < len(str(error)) < 700


@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize(("kind", "style"), KINDS)
def test_what_passes_is_recovered_from(http, kind, style, fault):
    good_act = says(lambda kind: good(kind, style))
    reply, _ = asked(kind, style, http, PASSING[fault], good_act, attempts=4, timeout_s=time_of(fault))
    assert isinstance(reply, Reply), repr(reply)
    assert [call.arguments for call in reply.message.tool_calls] == [{"path": "a.cu", "text": "int x;"}]
    assert reply.cost.wall_s >= 0.0


@pytest.mark.parametrize("fault", [fault for fault in PASSING if "reply" not in fault])
@pytest.mark.parametrize(("kind", "style"), [KINDS[0], KINDS[3]])
def test_what_does_not_pass_ends_in_one_line(http, kind, style, fault):
    error, _ = asked(kind, style, http, PASSING[fault], timeout_s=time_of(fault))
    assert isinstance(error, InfraError), repr(error)
    check_line(error)


@pytest.mark.parametrize("fault", LASTING)
@pytest.mark.parametrize(("kind", "style"), KINDS)
def test_what_will_not_pass_is_said_at_once(http, kind, style, fault):
    act, expected = LASTING[fault]
    error, server = asked(kind, style, http, act, attempts=3)
    assert isinstance(error, expected), repr(error)
    check_line(error)
    assert len(server.asked) == 1


@pytest.mark.parametrize(("kind", "style"), KINDS)
def test_a_reply_that_stays_empty_is_given_as_it_is_and_all_are_paid_for(http, kind, style):
    reply, server = asked(kind, style, http, says(lambda kind: body(kind, "")))
    assert reply.message.text == ""
    assert not reply.message.tool_calls
    assert len(server.asked) == 3
    assert reply.cost.prompt_tokens == 300


@pytest.mark.parametrize(("kind", "style"), KINDS)
def test_a_reply_of_two_megabytes_is_cut_with_a_note(http, kind, style):
    words = " ".join(str(number) for number in range(330_000))
    reply, _ = asked(kind, style, http, says(lambda kind: body(kind, words)))
    assert reply.is_cut
    assert len(reply.message.text) <= MAX_CHARACTERS
    assert f"the reply has {len(words)} characters" in reply.message.text


@pytest.mark.parametrize(("kind", "style"), KINDS)
def test_a_reply_that_repeats_itself_is_cut(http, kind, style):
    reply, _ = asked(kind, style, http, says(lambda kind: body(kind, "Well, " + "I try again. " * 9000)))
    assert reply.is_cut
    assert len(reply.message.text) < 200
    assert reply.message.text.startswith("Well, I try again.")


@pytest.mark.parametrize(("kind", "style"), KINDS)
def test_half_a_surrogate_pair_does_not_get_into_a_message(http, kind, style):
    reply, _ = asked(kind, style, http, says(lambda kind: body(kind, "so \ud800 so")))
    reply.message.text.encode()


def test_half_a_surrogate_pair_does_not_get_into_a_tool_s_arguments(http):
    function = {"name": "write", "arguments": '{"path": "a", "text": "\\ud800"}'}
    message = {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]}
    reply, _ = asked("openai", "tools", http, says(lambda k: body(k, choices=[{"message": message}])))
    reply.message.tool_calls[0].arguments["text"].encode()


@pytest.mark.parametrize(("kind", "style"), KINDS)
def test_half_a_surrogate_pair_in_a_tool_s_answer_is_no_reason_to_stop(http, kind, style):
    call = ToolCall(call_id="c", tool="write", arguments={"path": "a", "text": "x"})
    talk = (
        Message(role=Role.SYSTEM, text="be \ud800"),
        Message(role=Role.USER, text="go \ud800"),
        Message(role=Role.ASSISTANT, text="\ud800", tool_calls=(call,)),
        Message(role=Role.TOOL, text="found \ud800", call_id="c"),
    )
    with http.serving(http.sends(200, good(kind, style))) as server:
        policy = make_policy(f"{kind}:m", PolicyConfig(base_url=server.url, style=style))
        assert policy.respond(talk, (WRITE,)).message.tool_calls


MESSAGES = [
    {"content": 7},
    {"content": {"a": 1}},
    {"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}, 7, None]},
    {"content": "x", "tool_calls": "none"},
    {"content": "x", "tool_calls": [None, 7, {}, {"function": None}, {"function": {"name": 7}}]},
    {"content": "x", "tool_calls": [{"function": {"name": "write", "arguments": 7}}]},
    {"content": "x", "tool_calls": [{"function": {"name": "write", "arguments": [1]}}]},
    {"content": "x", "tool_calls": [{"id": ["c"], "function": {"name": "write", "arguments": None}}]},
    {"content": "x", "tool_calls": [{"function": {"name": "write", "arguments": {"path": 1}}}]},
    {"content": None, "function_call": {"name": "write", "arguments": "{}"}},
    {"content": None, "refusal": "I will not."},
    {"content": "x", "reasoning_content": 7, "reasoning": ["y"]},
]


@pytest.mark.parametrize("message", MESSAGES, ids=str)
@pytest.mark.parametrize("style", ["tools", "json", "files"])
def test_a_message_of_odd_types_is_read_as_far_as_it_goes(http, style, message):
    reply, _ = asked("openai", style, http, says(lambda k: body(k, choices=[{"message": message}])))
    assert isinstance(reply, Reply), repr(reply)


USAGES = [None, 7, {}, {"prompt_tokens": -1}, {"prompt_tokens": 1e30}, {"input_tokens": "many"}, {"a": True}]


@pytest.mark.parametrize("usage", USAGES, ids=str)
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_count_of_tokens_that_is_none_is_replaced_by_a_guess(http, kind, usage):
    reply, _ = asked(kind, "tools", http, says(lambda kind: body(kind, "hello " * 50, usage=usage)))
    assert 0 < reply.cost.prompt_tokens < 1000
    assert 0 < reply.cost.completion_tokens < 1000


def test_arguments_too_long_for_a_call_are_refused_in_it(http):
    function = {"name": "write", "arguments": json.dumps({"path": "a", "text": "x" * 2_000_000})}
    message = {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]}
    reply, _ = asked("openai", "tools", http, says(lambda k: body(k, choices=[{"message": message}])))
    (call,) = reply.message.tool_calls
    assert "2000" in call.arguments[INVALID_ARGUMENTS]
    assert len(call.arguments[INVALID_ARGUMENTS]) < 200


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_an_answer_without_end_takes_neither_memory_nor_time(http, kind):
    began_s = time.monotonic()
    error, _ = asked(kind, "tools", http, never_ends, attempts=1, timeout_s=TIMEOUT_S)
    check_line(error)
    assert time.monotonic() - began_s < 3.0


def test_a_key_that_a_server_says_again_is_not_passed_on(http, monkeypatch):
    monkeypatch.setenv("WARPSMITH_TEST_KEY", "very-secret")
    error, _ = asked(
        "openai",
        "tools",
        http,
        lambda _kind, handler, _server, http: http.send(
            handler, 400, {"error": {"message": "no very-secret"}}
        ),
    )
    assert "very-secret" not in str(error)


@pytest.mark.parametrize("key", ["two\nlines", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_said_without_its_value(monkeypatch, key):
    monkeypatch.setenv("WARPSMITH_TEST_KEY", key)
    with pytest.raises(EnvironmentMissing, match="WARPSMITH_TEST_KEY") as raised:
        make_policy("openai:m", PolicyConfig(api_key_env="WARPSMITH_TEST_KEY"))
    assert key not in str(raised.value)


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://x/v1", "http://", "http://[x", "http://a b", "http://x:0z"]
)
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_an_address_that_is_none_is_a_usage_error_with_an_example(kind, url):
    with pytest.raises(UsageError, match="http://localhost:8000/v1"):
        make_policy(f"{kind}:m", PolicyConfig(base_url=url))


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_nobody_listening_is_said_at_once(kind):
    policy = make_policy(f"{kind}:m", PolicyConfig(base_url="http://127.0.0.1:9/v1", style="tools"))
    with pytest.raises(EnvironmentMissing, match="start the server"):
        policy.respond(HELLO, ())


def test_a_style_that_is_none_names_the_choices():
    with pytest.raises(UsageError, match="auto, tools, json, files"):
        make_policy("openai:m", PolicyConfig(base_url="http://127.0.0.1:9/v1", style="xml"))


def test_an_account_without_credit_is_not_asked_again(http):
    said = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    error, server = asked(
        "openai",
        "tools",
        http,
        lambda _kind, handler, _server, http: http.send(handler, 429, said),
        attempts=4,
    )
    assert isinstance(error, EnvironmentMissing)
    assert len(server.asked) == 1


def test_a_limit_of_tokens_is_sent_and_what_reaches_it_is_marked(http):
    choice = {"finish_reason": "length", "message": {"content": "half a"}}
    reply, server = asked(
        "openai", "tools", http, says(lambda k: body(k, choices=[choice])), sampling=Sampling(max_tokens=7)
    )
    assert reply.is_cut
    assert server.asked[0][2]["max_tokens"] == 7
