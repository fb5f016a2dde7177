"""What is sent to an OpenAI-compatible endpoint in each style, what is kept of a reply, and at which pace."""

import json

import pytest

from warpsmith.core import InfraError, Message, Role, ToolCall, ToolSpec, UsageError
from warpsmith.policy import PolicyConfig, Sampling
from warpsmith.policy.endpoint.asking import Clock, Rate, retry_after_s
from warpsmith.policy.openai import OpenAIPolicy

HELLO = (Message(role=Role.SYSTEM, text="you are"), Message(role=Role.USER, text="make it fast"))
COMPILE = ToolSpec(name="compile", description="build it", parameters={"type": "object", "properties": {}})
CALL = ToolCall(call_id="c1", tool="compile")
TALK = (
    *HELLO,
    Message(role=Role.ASSISTANT, text="", tool_calls=(CALL,), thinking="because"),
    Message(role=Role.TOOL, text="compiled", call_id="c1"),
)


def policy_at(server, *, clock=None, **options):
    options = {"style": "tools", **options}
    return OpenAIPolicy("m", PolicyConfig(base_url=server.url, retry_wait_s=0.001, **options), clock=clock)


def told(http, *replies, messages=HELLO, **options):
    with http.serving(*(http.sends(200, reply) for reply in replies)) as server:
        reply = policy_at(server, **options).respond(messages, (COMPILE,))
    return reply, [body for _, _, body in server.asked]


def test_a_json_style_asks_for_the_schema_and_tells_tools_in_the_system_message(http):
    content = '{"say": "I build", "calls": [{"tool": "compile", "arguments": {}}]}'
    reply, (sent,) = told(http, http.completion(content), messages=TALK, style="json")
    assert "tools" not in sent
    assert "compile" in json.dumps(sent["response_format"]["json_schema"]["schema"])
    assert [one["role"] for one in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert "build it" in sent["messages"][0]["content"]
    assert reply.message.text == "I build"
    assert [call.tool for call in reply.message.tool_calls] == ["compile"]


def test_whole_files_are_asked_for_in_plain_words(http):
    reply, (sent,) = told(http, http.completion("a.cu\n```\nx\n```"), style="files")
    assert not {"tools", "response_format"} & set(sent)
    assert [call.tool for call in reply.message.tool_calls] == ["write", "profile"]


def test_a_schema_that_is_refused_is_done_without(http):
    refusal = http.sends(400, {"error": {"message": "response_format json_schema is not supported"}})
    with http.serving(refusal, http.sends(200, http.completion('{"say": "x", "calls": []}'))) as server:
        policy = policy_at(server, style="json")
        assert policy.respond(HELLO, (COMPILE,)).message.text == "x"
        policy.respond(HELLO, (COMPILE,))
    assert ["response_format" in body for _, _, body in server.asked] == [True, False, False]


def test_a_name_of_the_limit_that_is_refused_is_exchanged(http):
    refusal = http.sends(400, {"error": {"message": "use 'max_completion_tokens' instead"}})
    with http.serving(refusal, http.sends(200, http.completion("x"))) as server:
        policy_at(server).respond(HELLO, ())
    assert "max_completion_tokens" in server.asked[1][2]
    assert "max_tokens" not in server.asked[1][2]


def test_a_limit_that_does_not_fit_beside_the_prompt_is_lowered_before_it_is_refused(http):
    _, (sent,) = told(http, http.completion("x"), context_tokens=4096)
    assert 256 <= sent["max_tokens"] < 4096
    long = (*HELLO, Message(role=Role.USER, text="x" * 50_000))
    _, (sent,) = told(http, http.completion("x"), messages=long, context_tokens=4096)
    assert sent["max_tokens"] == 256


def test_a_limit_that_is_refused_is_lowered_until_it_is_taken(http):
    def act(handler, server):
        if server.asked[-1][2]["max_tokens"] > 4096:
            http.send(handler, 400, {"error": {"message": "max_tokens is too large; at most 4096"}})
        else:
            http.send(handler, 200, http.completion("x"))

    with http.serving(act) as server:
        policy = policy_at(server)
        policy.respond(HELLO, ())
        policy.respond(HELLO, ())
    assert [body["max_tokens"] for _, _, body in server.asked] == [16384, 8192, 4096, 4096]


def test_a_prompt_that_is_too_long_ends_in_one_line(http):
    refusal = http.sends(400, {"error": {"message": "maximum context length is 8192"}})
    with http.serving(refusal) as server, pytest.raises(InfraError, match="maximum context length"):
        policy_at(server).respond(HELLO, ())
    assert len(server.asked) < 9


def test_sampling_is_sent_as_far_as_it_is_chosen(http):
    _, (sent,) = told(http, http.completion("x"))
    assert not {"temperature", "top_p", "seed"} & set(sent)
    chosen = Sampling(temperature=0.0, top_p=0.9, max_tokens=50, seed=7)
    _, (sent,) = told(http, http.completion("x"), sampling=chosen)
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"], sent["seed"]) == (0.0, 0.9, 50, 7)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_in_a_field_is_kept_and_not_said_again(http, field):
    reply, _ = told(http, http.completion("so", **{field: "because"}))
    assert (reply.message.text, reply.message.thinking) == ("so", "because")
    _, (sent,) = told(http, http.completion("so"), messages=TALK)
    assert "because" not in json.dumps(sent)


def test_reasoning_in_the_text_is_kept_apart_beside_tool_calls_too(http):
    reply, _ = told(http, http.completion("<think>because</think>so", calls=[("compile", "{}")]))
    assert (reply.message.text, reply.message.thinking) == ("so", "because")
    assert len(reply.message.tool_calls) == 1


def test_reasoning_is_said_again_in_the_endpoint_s_own_field_if_asked_for(http):
    with http.serving(http.sends(200, http.completion("so", reasoning="x"))) as server:
        policy = policy_at(server, feeds_thinking=True)
        policy.respond(HELLO, (COMPILE,))
        policy.respond(TALK, (COMPILE,))
    assert server.asked[1][2]["messages"][2]["reasoning"] == "because"


def test_reasoning_without_an_answer_is_no_empty_reply(http):
    reply, sent = told(http, http.completion("", reasoning_content="hm", finish="length"))
    assert len(sent) == 1
    assert (reply.message.text, reply.message.thinking, reply.is_cut) == ("", "hm", True)


def test_a_call_written_into_the_text_is_a_call(http):
    reply, _ = told(http, http.completion('<tool_call>{"name": "compile", "arguments": {}}</tool_call>'))
    assert [call.tool for call in reply.message.tool_calls] == ["compile"]


def test_ids_that_a_server_uses_again_are_given_anew(http):
    body = http.completion(calls=[("compile", "{}")])
    body["choices"][0]["message"]["tool_calls"][0]["id"] = "c1"
    reply, _ = told(http, body, messages=TALK)
    assert reply.message.tool_calls[0].call_id != "c1"


def test_a_lost_answer_is_made_up_for_before_it_is_sent(http):
    _, (sent,) = told(http, http.completion("x"), messages=TALK[:-1])
    assert sent["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "content": "(not answered)"}


def test_the_window_is_what_was_chosen_or_the_usual_one(http):
    with http.serving(http.sends(200, http.completion("x"))) as server:
        assert policy_at(server).context_tokens == 131_072
        assert policy_at(server, context_tokens=8192).context_tokens == 8192


class Time:
    """A clock that only sleeping moves."""

    def __init__(self):
        self.now = 100.0
        self.slept = []

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def clock(self):
        return Clock(now_s=lambda: self.now, sleep=self.sleep)


def test_a_rate_spreads_requests_over_the_minute_and_is_shared_by_conversations(http):
    watch = Time()
    clock = watch.clock()
    with http.serving(http.sends(200, http.completion("x"))) as server:
        for _ in range(3):
            policy_at(server, clock=clock, requests_per_minute=30.0).respond(HELLO, ())
    assert watch.slept == [pytest.approx(2.0)] * 2


def test_retries_count_against_the_rate(http):
    watch = Time()
    with http.serving(http.sends(500, {}), http.sends(200, http.completion("x"))) as server:
        policy_at(server, clock=watch.clock(), requests_per_minute=6.0).respond(HELLO, ())
    assert sum(watch.slept) == pytest.approx(10.0)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(http, rate):
    with http.serving(http.sends(200, {})) as server, pytest.raises(UsageError, match="requests per minute"):
        policy_at(server, requests_per_minute=rate)


def test_a_clock_that_is_set_back_is_not_waited_for():
    watch = Time()
    rate = Rate(url="u", per_minute=60.0, clock=watch.clock())
    rate.wait()
    watch.now -= 1e6
    rate.wait()
    assert watch.slept == []


@pytest.mark.parametrize("jump_s", [-1e6, 1e6])
def test_a_clock_that_jumps_neither_hangs_nor_costs_less_than_nothing(http, jump_s):
    ticks = iter([0.0, *(jump_s for _ in range(20))])
    clock = Clock(now_s=lambda: next(ticks), sleep=lambda _s: None)
    with http.serving(http.sends(500, {}), http.sends(200, http.completion("x"))) as server:
        reply = policy_at(server, clock=clock).respond(HELLO, ())
    assert reply.cost.wall_s == max(0.0, jump_s)


@pytest.mark.parametrize(
    ("headers", "expected_s"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "3600"}, 60.0),
        ({"retry-after": "inf"}, 60.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2065 07:28:00 GMT"}, 60.0),
        ({"retry-after": "Wed, 99 Oct 2065 07:28:00 GMT"}, None),
    ],
)
def test_the_wait_that_is_asked_for_is_read_and_bounded(headers, expected_s):
    assert retry_after_s(headers) == expected_s


def test_waits_between_attempts_differ_and_are_bounded(http):
    watch = Time()
    with http.serving(
        http.sends(500, {}), http.sends(500, {}), http.sends(200, http.completion("x"))
    ) as server:
        config = PolicyConfig(base_url=server.url, style="tools", retry_wait_s=2.0)
        OpenAIPolicy("m", config, clock=watch.clock()).respond(HELLO, ())
    assert len(set(watch.slept)) == 2
    assert all(0.0 <= slept <= 60.0 for slept in watch.slept)


def test_auto_asks_what_the_endpoint_can_do_and_counts_it(http):
    said = '{"say": "x", "calls": []}'

    def act(handler, server):
        body = server.asked[-1][2]
        if "tools" in body:
            http.send(handler, 400, {"error": {"message": "m does not support tools"}})
        elif "response_format" in body and "colour" in json.dumps(body):
            http.send(handler, 200, http.completion('{"colour": "red"}'))
        else:
            http.send(handler, 200, http.completion(said))

    listed = http.sends(200, {"data": [{"id": "m", "max_model_len": 4096}]})
    with http.serving(act, get=listed) as server:
        policy = policy_at(server, style="auto")
        first = policy.respond(HELLO, (COMPILE,))
        second = policy.respond(HELLO, (COMPILE,))
    assert policy.context_tokens == 4096
    assert "response_format" in server.asked[-1][2]
    assert first.message.text == "x"
    assert first.cost.prompt_tokens > second.cost.prompt_tokens == 100


def test_auto_falls_back_when_tools_are_refused_later(http):
    refusal = http.sends(400, {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}})
    ping = http.sends(200, http.completion(calls=[("ping", '{"word": "pong"}')]))
    colour = http.sends(200, http.completion('{"colour": "red"}'))
    last = http.sends(200, http.completion('{"say": "x", "calls": []}'))
    with http.serving(ping, colour, refusal, last) as server:
        reply = policy_at(server, style="auto").respond(HELLO, (COMPILE,))
    assert reply.message.text == "x"


def test_a_price_that_was_not_given_is_nothing_for_a_server_of_one_s_own(http):
    reply, _ = told(http, http.completion("x"))
    assert reply.cost.usd == 0.0
