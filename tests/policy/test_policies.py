"""The table of policies, and the scripted one."""

import json
import subprocess
import sys

import pytest

from warpsmith.core import Cost, InfraError, Message, Role, ToolCall, UsageError
from warpsmith.policy import POLICIES, make_policy
from warpsmith.policy.scripted import ScriptedPolicy

HELLO = (Message(role=Role.USER, text="go"),)
CALL = ToolCall(call_id="1", tool="compile")


def test_replies_come_in_order_and_then_the_script_ends():
    policy = ScriptedPolicy(
        [Message(role=Role.ASSISTANT, text="one", tool_calls=(CALL,))], cost=Cost(usd=0.5)
    )
    first = policy.respond(HELLO, ())
    last = policy.respond((*HELLO, first.message), ())
    assert (first.message.text, first.message.tool_calls, first.cost.usd) == ("one", (CALL,), 0.5)
    assert not last.message.tool_calls
    assert policy.heard == [HELLO, (*HELLO, first.message)]


def test_a_script_goes_on_where_the_conversation_is():
    replies = [Message(role=Role.ASSISTANT, text=text) for text in ("one", "two")]
    begun = (*HELLO, replies[0])
    assert ScriptedPolicy(replies).respond(begun, ()).message.text == "two"


def test_a_script_can_be_a_file(tmp_path):
    path = tmp_path / "script.json"
    path.write_text(
        json.dumps(
            [{"text": "hi", "tool_calls": [{"call_id": "1", "tool": "read", "arguments": {"path": "a"}}]}]
        )
    )
    reply = make_policy(f"scripted:{path}").respond(HELLO, ())
    assert reply.message.tool_calls[0].arguments == {"path": "a"}


@pytest.mark.parametrize("text", ["", "7", '["hi"]', '[{"text": 1}]', '[{"tool_calls": [{}]}]'])
def test_a_file_that_is_no_script_is_refused(tmp_path, text):
    path = tmp_path / "script.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="no JSON list of messages"):
        make_policy(f"scripted:{path}")


def test_an_empty_conversation_is_our_failure():
    with pytest.raises(InfraError):
        ScriptedPolicy([]).respond((), ())


@pytest.mark.parametrize("spec", ["gpt", "", "open-ai:x", ":x"])
def test_an_unknown_kind_names_the_choices(spec):
    with pytest.raises(UsageError) as raised:
        make_policy(spec)
    assert all(kind in str(raised.value) for kind in POLICIES)


@pytest.mark.parametrize(
    "spec", ["openai", "openai:", "anthropic", "local", "replay:", "scripted", "builtin:x"]
)
def test_a_kind_with_a_wrong_argument_says_how_to_write_it(spec):
    with pytest.raises(UsageError, match="write "):
        make_policy(spec)


def test_importing_the_room_imports_nothing_heavy():
    heavy = "{'torch', 'transformers', 'openai', 'anthropic', 'tenacity', 'httpx', 'httpx2'}"
    rooms = "openai, anthropic, endpoint.probe, prices, replay, actions, local"
    imports = "; ".join(f"import warpsmith.policy.{room}" for room in rooms.split(", "))
    code = f"import sys; {imports}; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
