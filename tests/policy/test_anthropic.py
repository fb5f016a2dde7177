"""The Messages API on the wire: blocks, results in one message, a cache, and tokens counted with it."""

import json

import pytest

from warpsmith.core import EnvironmentMissing, Message, Role, ToolCall, ToolSpec, UsageError
from warpsmith.policy import PolicyConfig, Price, Sampling, make_policy
from warpsmith.policy.anthropic import AnthropicPolicy
from warpsmith.policy.endpoint import client

HELLO = (Message(role=Role.SYSTEM, text="you are"), Message(role=Role.USER, text="make it fast"))
COMPILE = ToolSpec(name="compile", description="build it", parameters={"type": "object", "properties": {}})
USAGE = {"input_tokens": 100, "output_tokens": 20}


def message(*content, stop="end_turn", usage=USAGE):
    return {
        "type": "message",
        "role": "assistant",
        "content": list(content),
        "stop_reason": stop,
        "usage": usage,
    }


def text(said):
    return {"type": "text", "text": said}


def use(name="compile", call_id="toolu_1", **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def told(http, *replies, messages=HELLO, tools=(COMPILE,), **options):
    with http.serving(*(http.sends(200, reply) for reply in replies)) as server:
        config = PolicyConfig(base_url=server.url, retry_wait_s=0.001, **options)
        reply = AnthropicPolicy("m", config).respond(messages, tools)
    return reply, server.asked


def test_text_thinking_and_tool_use_become_a_message(http):
    thought = {"type": "thinking", "thinking": "because", "signature": "x"}
    reply, asked = told(http, message(thought, text("I build"), use(path="a.cu"), stop="tool_use"))
    assert (reply.message.text, reply.message.thinking) == ("I build", "because")
    assert [(call.tool, call.arguments) for call in reply.message.tool_calls] == [
        ("compile", {"path": "a.cu"})
    ]
    path, _, sent = asked[0]
    assert path == "/v1/messages"  # also where --base-url ends in /v1
    assert sent["tools"][0] == {
        "name": "compile",
        "description": "build it",
        "input_schema": COMPILE.parameters,
    }
    assert sent["system"][0]["text"] == "you are"
    assert sent["max_tokens"] == 16_384


def test_the_answers_to_a_reply_stand_in_one_message(http):
    calls = (ToolCall(call_id="a", tool="compile"), ToolCall(call_id="b!", tool="compile"))
    talk = (
        *HELLO,
        Message(role=Role.ASSISTANT, text="", tool_calls=calls, thinking="because"),
        Message(role=Role.TOOL, text="one", call_id="a"),
        Message(role=Role.TOOL, text="", call_id="b!"),
        Message(role=Role.USER, text="hurry"),
    )
    _, asked = told(http, message(text("ok")), messages=talk)
    sent = asked[0][2]["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "user"]
    assert [block["type"] for block in sent[1]["content"]] == ["tool_use", "tool_use"]
    assert [block["id"] for block in sent[1]["content"]] == ["a", "b_"]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert sent[2]["content"][1] == {"type": "tool_result", "tool_use_id": "b_", "content": "(nothing)"}
    assert "because" not in json.dumps(sent)


def test_a_lost_answer_is_made_up_for(http):
    talk = (
        *HELLO,
        Message(role=Role.ASSISTANT, text="", tool_calls=(ToolCall(call_id="a", tool="compile"),)),
    )
    _, asked = told(http, message(text("ok")), messages=talk)
    assert asked[0][2]["messages"][-1]["content"][0]["content"] == "(not answered)"


def test_what_came_from_the_cache_counts_as_read_and_costs_less(http):
    usage = {**USAGE, "cache_creation_input_tokens": 1000, "cache_read_input_tokens": 10_000}
    reply, asked = told(
        http,
        message(text("ok"), usage=usage),
        price=Price(prompt_usd=10.0, completion_usd=50.0),
    )
    assert (reply.cost.prompt_tokens, reply.cost.completion_tokens) == (11_100, 20)
    assert reply.cost.usd == pytest.approx((100 + 1250 + 1000) * 10e-6 + 20 * 50e-6)
    assert asked[0][2]["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


@pytest.mark.parametrize("style", ["json", "files"])
def test_the_plain_styles_tell_of_tools_in_the_system_message(http, style):
    said = {
        "json": '{"say": "x", "calls": [{"tool": "compile", "arguments": {}}]}',
        "files": "a.cu\n```\nx\n```",
    }
    reply, asked = told(http, message(text(said[style])), style=style)
    sent = asked[0][2]
    assert "tools" not in sent
    assert "How to answer" in sent["system"][0]["text"]
    assert reply.message.tool_calls


def test_a_reply_at_its_limit_is_cut_and_sampling_is_sent(http):
    sampling = Sampling(temperature=0.5, top_p=0.9, max_tokens=7)
    reply, asked = told(http, message(text("half"), stop="max_tokens"), sampling=sampling)
    assert reply.is_cut
    sent = asked[0][2]
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0.5, 0.9, 7)


def test_a_seed_is_refused_since_it_would_do_nothing():
    with pytest.raises(UsageError, match="no seed"):
        make_policy("anthropic:m", PolicyConfig(base_url="http://localhost", sampling=Sampling(seed=1)))


@pytest.mark.parametrize(
    "content", [[], [None, 7, "x"], [{}], [{"type": "text"}], [use(name=None)], [use(name=7)]]
)
def test_blocks_of_odd_types_are_passed_over(http, content):
    reply, _ = told(http, {"content": content, "usage": "none"})
    assert (reply.message.text, reply.message.tool_calls) == ("", ())


def test_the_vendor_s_endpoint_needs_its_own_key(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(EnvironmentMissing, match="ANTHROPIC_API_KEY is not set"):
        make_policy("anthropic:m")


@pytest.mark.parametrize("package", ["anthropic", "tenacity"])
def test_a_missing_package_names_the_extra(monkeypatch, package):
    monkeypatch.setattr(client, "find_spec", lambda name: None if name == package else object())
    with pytest.raises(EnvironmentMissing, match=rf"{package} .*pip install 'warpsmith\[anthropic\]'"):
        make_policy("anthropic:m", PolicyConfig(base_url="http://localhost"))
