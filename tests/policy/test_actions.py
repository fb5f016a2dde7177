"""What models write, and what is read from it: in each style, whole or broken, and back into messages."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.core import Message, Role, ToolCall, ToolSpec, UsageError
from warpsmith.policy import INVALID_ARGUMENTS
from warpsmith.policy.actions import (
    Style,
    bounded,
    guided,
    instructions,
    parse,
    read_arguments,
    render,
    schema,
    split_thinking,
    with_unique_ids,
    without_loop,
)
from warpsmith.policy.actions.pairing import paired


def tool(name, *required, **optional):
    kinds = {key: {"type": "string"} for key in required} | optional
    parameters = {"type": "object", "properties": kinds, "required": list(required)}
    return ToolSpec(name=name, description=f"to {name}", parameters=parameters)


TOOLS = (
    tool("bash", "command", timeout_s={"type": "number"}),
    tool("write", "path", "text"),
    tool("compile"),
    tool("profile"),
)
READ_A = {"command": "ls"}


def calls_of(message):
    return [(call.tool, call.arguments) for call in message.tool_calls]


def is_broken(message):
    return any(INVALID_ARGUMENTS in call.arguments for call in message.tool_calls)


CALL = '{"name": "bash", "arguments": {"command": "ls"}}'
WRITTEN_CALLS = {
    "Hermes": '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>',
    "without an end": '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}',
    "arguments as text": '<tool_call>{"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}</tool_call>',
    "trailing commas": '<tool_call>{"name": "bash", "arguments": {"command": "ls",},}</tool_call>',
    "Python's quotes": "<tool_call>{'name': 'bash', 'arguments': {'command': 'ls'}}</tool_call>",
    "a fence in the tag": f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>",
    "fenced": 'I look.\n```json\n{"name": "bash", "arguments": {"command": "ls"}}\n```\n',
    "bare": '{"name": "bash", "parameters": {"command": "ls"}}',
    "bare, in prose": 'I look: {"tool": "bash", "args": {"command": "ls"}} and wait.',
    "a list": '[{"name": "bash", "arguments": {"command": "ls"}}]',
    "Mistral": '[TOOL_CALLS][{"name": "bash", "arguments": {"command": "ls"}}]',
    "Llama": '<|python_tag|>{"name": "bash", "parameters": {"command": "ls"}}',
    "Llama's function": '<function=bash>{"command": "ls"}</function>',
    "Qwen's XML": "<tool_call><function=bash><parameter=command>\nls\n</parameter>\n</function></tool_call>",
    "OpenAI's wire form": '{"tool_calls": [{"type": "function", "function": ' + CALL + "}]}",
    "a namespace": '<tool_call>{"name": "functions.bash", "arguments": {"command": "ls"}}</tool_call>',
    "no arguments key": '{"tool": "bash", "command": "ls"}',
    "reasoned before": '<think>\n{"name": "compile"}?\n</think>\n' + CALL,
}


@pytest.mark.parametrize("form", WRITTEN_CALLS)
@pytest.mark.parametrize("style", [Style.TOOLS, Style.JSON])
def test_a_call_is_read_in_each_form_that_models_write(style, form):
    assert calls_of(parse(style, WRITTEN_CALLS[form], TOOLS)) == [("bash", READ_A)]


def test_several_calls_keep_their_order_and_the_words_around_them():
    text = (
        'First.\n<tool_call>{"name": "compile", "arguments": {}}</tool_call>\n'
        '<tool_call>{"name": "profile", "arguments": {}}</tool_call>'
    )
    message = parse(Style.TOOLS, text, TOOLS)
    assert calls_of(message) == [("compile", {}), ("profile", {})]
    assert message.text == "First."
    assert len({call.call_id for call in message.tool_calls}) == 2


def test_a_parameter_in_tags_has_the_type_that_the_tool_asks_for():
    text = (
        "<function=bash><parameter=command>\n007\n</parameter><parameter=timeout_s>7</parameter></function>"
    )
    assert calls_of(parse(Style.TOOLS, text, TOOLS)) == [("bash", {"command": "007", "timeout_s": 7})]


@pytest.mark.parametrize(
    "text",
    [
        "Done: 1.4 times as fast.",
        'The config is {"name": "ModelNew", "width": 3}.',
        "```python\nx = {'a': 1}\n```",
        '```json\n{"threads": 256}\n```',
        "if (i < n) { y[i] = x[i]; }",
        "",
        "[1, 2, 3]",
    ],
)
def test_words_code_and_other_json_are_no_calls(text):
    message = parse(Style.TOOLS, text, TOOLS)
    assert not message.tool_calls
    assert message.text == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "write", "arguments": {"path": "a.cu", "text": "int ma',
        "<tool_call>compile please</tool_call>",
        "<tool_call></tool_call>",
        "<tool_call>\n<function=write>\n<parameter=path>\na.cu\n</parameter>\n<parameter=text>\nint ma",
        "<tool_call>[7]</tool_call>",
    ],
)
def test_a_call_that_is_cut_off_is_never_completed_by_guess(text):
    message = parse(Style.TOOLS, text, TOOLS)
    assert is_broken(message)
    assert message.text == text.strip()  # its writer sees what it wrote


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "write", "arguments": {"path": "a.cu", "text": "printf("hi");"}}',
        'I write:\n{"name": "write", "arguments": {"path": "a.cu", "text": "int ma',
        '{"name": "write", // the file\n "arguments": {"path": "a.cu", "text": ""}}',
    ],
)
def test_a_line_that_begins_as_a_call_and_cannot_be_read_does_not_end_the_conversation(text):
    message = parse(Style.TOOLS, text, TOOLS)
    assert [call.tool for call in message.tool_calls] == ["write"]
    assert is_broken(message)


def test_a_call_may_write_the_tag_that_ends_one():
    text = (
        '<tool_call>\n{"name": "bash", "arguments": {"command": "echo \'</tool_call>\'"}}\n</tool_call>\nSo.'
    )
    message = parse(Style.TOOLS, text, TOOLS)
    assert calls_of(message) == [("bash", {"command": "echo '</tool_call>'"})]
    assert message.text == "So."


def test_a_model_that_calls_tools_in_whole_file_style_is_understood():
    assert calls_of(parse(Style.FILES, f"```json\n{CALL}\n```", TOOLS)) == [("bash", READ_A)]


def test_without_tools_all_is_text():
    text = '{"name": "bash", "arguments": {"command": "ls"}}'
    for style in Style:
        assert parse(style, text, ()) == Message(role=Role.ASSISTANT, text=text)


def test_a_json_reply_says_and_calls():
    text = (
        '{"say": "I look", "calls": [{"tool": "bash", "arguments": {"command": "ls"}}, {"tool": "compile"}]}'
    )
    message = parse(Style.JSON, text, TOOLS)
    assert message.text == "I look"
    assert calls_of(message) == [("bash", READ_A), ("compile", {})]


def test_a_json_reply_without_calls_is_the_end():
    message = parse(Style.JSON, '{"say": "Done.", "calls": []}', TOOLS)
    assert (message.text, message.tool_calls) == ("Done.", ())


@pytest.mark.parametrize(
    "text", ['{"say": "x", "calls": [{"tool": "write", "argu', "```cuda\nint x;\n```", '{"say": "x"', "{}"]
)
def test_a_json_reply_that_is_none_is_a_call_that_no_tool_takes(text):
    message = parse(Style.JSON, text, TOOLS)
    assert is_broken(message)
    assert message.tool_calls[0].tool in {spec.name for spec in TOOLS}
    assert message.text == text


def test_the_schema_of_a_reply_names_each_tool_with_its_arguments():
    choices = schema(TOOLS)["properties"]["calls"]["items"]["anyOf"]
    assert [choice["properties"]["tool"]["enum"] for choice in choices] == [[spec.name] for spec in TOOLS]
    assert choices[1]["properties"]["arguments"]["required"] == ["path", "text"]
    assert schema(())["properties"]["calls"]["items"] == {"type": "object"}


HEADED = {
    "a path above": "kernels/a.cu\n```cuda\nint x;\n```",
    "a heading": "### `kernels/a.cu`\n\n```cuda\nint x;\n```",
    "bold": "**kernels/a.cu**:\n```cpp\nint x;\n```",
    "File:": "File: kernels/a.cu\n```\nint x;\n```",
    "in the fence": "```cuda kernels/a.cu\nint x;\n```",
    "behind a colon": "```cuda:kernels/a.cu\nint x;\n```",
    "as a title": '```cuda title="kernels/a.cu"\nint x;\n```',
    "tildes": "kernels/a.cu\n~~~\nint x;\n~~~",
    "after reasoning": "<think>```\nno\n```</think>kernels/a.cu\n```\nint x;\n```",
}


@pytest.mark.parametrize("form", HEADED)
def test_a_block_with_a_path_is_a_file_that_is_written_and_judged(form):
    message = parse(Style.FILES, HEADED[form], TOOLS)
    assert calls_of(message) == [("write", {"path": "kernels/a.cu", "text": "int x;\n"}), ("profile", {})]


def test_a_path_in_the_first_comment_stays_in_the_file():
    message = parse(Style.FILES, "```cuda\n// kernels/a.cu\nint x;\n```", TOOLS)
    assert calls_of(message)[0] == ("write", {"path": "kernels/a.cu", "text": "// kernels/a.cu\nint x;\n"})


def test_whole_files_are_judged_once_and_the_last_of_a_path_counts():
    first = "Two files.\n\na.cu\n```\nold\n```\n\nmodel_new.py\n```python\npy\n```\n\n"
    text = first + "Better:\n\na.cu\n```\nnew\n```\nSo."
    message = parse(Style.FILES, text, TOOLS)
    assert calls_of(message) == [
        ("write", {"path": "model_new.py", "text": "py\n"}),
        ("write", {"path": "a.cu", "text": "new\n"}),
        ("profile", {}),
    ]
    assert message.text == "Two files.\n\nBetter:\n\nSo."


def test_a_longer_fence_holds_a_shorter_one():
    message = parse(Style.FILES, "a.md\n````\n```\nx\n```\n````", TOOLS)
    assert calls_of(message)[0] == ("write", {"path": "a.md", "text": "```\nx\n```\n"})


def test_a_file_without_an_end_is_not_written():
    message = parse(Style.FILES, "a.cu\n```\nint x;\n```\nb.cu\n```\nint ma", TOOLS)
    assert [call.tool for call in message.tool_calls] == ["write", "write"]  # nothing to judge yet
    assert "no end" in message.tool_calls[1].arguments[INVALID_ARGUMENTS]


def test_a_block_without_a_path_is_told_how_to_name_one():
    message = parse(Style.FILES, "Here:\n```python\nclass ModelNew: ...\n```", TOOLS)
    assert "without a path" in message.tool_calls[0].arguments[INVALID_ARGUMENTS]


def test_prose_is_the_end_in_whole_file_style():
    message = parse(Style.FILES, "model_new.py is as fast as it gets.", TOOLS)
    assert not message.tool_calls


def test_the_file_s_arguments_are_named_as_the_tool_names_them():
    tools = (tool("write", "file_path", "content"), tool("profile"))
    message = parse(Style.FILES, "a.cu\n```\nx\n```", tools)
    assert calls_of(message)[0] == ("write", {"file_path": "a.cu", "content": "x\n"})
    assert "a.cu\n```cuda\nx\n```" in render(Style.FILES, [message])[0]["content"]


SAID = {
    Style.TOOLS: (
        'So.\n<tool_call>\n{"name": "write", "arguments": {"path": "a.cu", "text": "x\\n"}}\n</tool_call>'
    ),
    Style.JSON: '{"say": "So.", "calls": [{"tool": "write", "arguments": {"path": "a.cu", "text": "x\\n"}}]}',
    Style.FILES: "So.\n\na.cu\n```cuda\nx\n```",
}


@pytest.mark.parametrize("style", Style)
def test_what_was_read_is_written_back_as_it_stood(style):
    message = parse(style, SAID[style], TOOLS)
    assert render(style, [message]) == [{"role": "assistant", "content": SAID[style]}]


@pytest.mark.parametrize("style", Style)
def test_a_broken_reply_is_written_back_as_it_was(style):
    broken = {
        Style.TOOLS: "<tool_call>{",
        Style.JSON: '{"say": "x", "calls": [{"to',
        Style.FILES: "a.cu\n```\nint ma",
    }[style]
    assert render(style, [parse(style, broken, TOOLS)])[0]["content"] == broken


@pytest.mark.parametrize("style", Style)
def test_a_conversation_is_told_in_turns_of_three_roles(style):
    call = ToolCall(call_id="1", tool="write", arguments={"path": "a.cu", "text": "```\n"})
    messages = [
        Message(role=Role.SYSTEM, text="you are"),
        Message(role=Role.USER, text="go"),
        Message(role=Role.ASSISTANT, text="", tool_calls=(call,), thinking="hm"),
        Message(role=Role.TOOL, text="wrote a.cu", call_id="1"),
        Message(role=Role.USER, text="hurry"),
    ]
    told = render(style, messages)
    assert [one["role"] for one in told] == ["system", "user", "assistant", "user"]
    assert "wrote a.cu" in told[3]["content"]
    assert told[3]["content"].endswith("hurry")
    assert "hm" not in told[2]["content"]
    assert render(style, messages, feeds_thinking=True)[2]["content"].startswith("<think>\nhm\n</think>")


def test_another_policy_s_calls_can_be_told_in_whole_file_style():
    call = ToolCall(call_id="1", tool="bash", arguments=READ_A)
    (told,) = render(Style.FILES, [Message(role=Role.ASSISTANT, text="", tool_calls=(call,))])
    assert told["content"] == '(called bash {"command": "ls"})'


@pytest.mark.parametrize("style", Style)
def test_the_instructions_follow_the_system_message_or_become_it(style):
    text = instructions(style, TOOLS)
    hello = Message(role=Role.USER, text="go")
    assert (
        guided(style, [Message(role=Role.SYSTEM, text="you are"), hello], TOOLS)[0].text
        == f"you are\n\n{text}"
    )
    assert guided(style, [hello], TOOLS) == (Message(role=Role.SYSTEM, text=text), hello)


@pytest.mark.parametrize("style", [Style.TOOLS, Style.JSON])
def test_the_instructions_name_each_tool_and_argument(style):
    text = instructions(style, TOOLS)
    assert all(word in text for word in ("bash", "write", "compile", "command", "timeout_s", "path"))


def test_the_example_in_the_whole_file_instructions_is_read_as_files():
    message = parse(Style.FILES, instructions(Style.FILES, TOOLS), TOOLS)
    assert [call.arguments.get("path") for call in message.tool_calls[:2]] == [
        "kernels/scale.cu",
        "model_new.py",
    ]


def test_a_style_is_named_auto_is_none_and_others_are_refused():
    assert Style.of("json") is Style.JSON
    assert Style.of("auto") is None
    with pytest.raises(UsageError, match="choose auto, tools, json, files"):
        Style.of("xml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>why</think>so", ("why", "so")),
        ("\n<think>\nwhy\n</think>\n\nso", ("why", "so")),
        ("<think>why", ("why", "")),
        ("why</think>so", ("why", "so")),
        ("<think>a</think><think>b</think>so", ("a\n\nb", "so")),
        ("<thinking>why</thinking>so", ("why", "so")),
        ("[THINK]why[/THINK]so", ("why", "so")),
        ("so <think>this is how it is written</think>", ("", "so <think>this is how it is written</think>")),
        ("so", ("", "so")),
        ("", ("", "")),
    ],
)
def test_reasoning_is_parted_from_the_answer(text, expected):
    assert split_thinking(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "say \\"x\\"",}', {"a": 'say "x"'}),
        ('{"a": [1, 2,],}', {"a": [1, 2]}),
        ('{"a": "x, ]"}', {"a": "x, ]"}),
        ('{"a": "%d\\0 it\\\'s"}', {"a": "%d\\0 it's"}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('  \n{"a": 1}\n ', {"a": 1}),
        ("[]", {}),
    ],
)
def test_the_usual_slips_in_json_are_forgiven(text, expected):
    assert read_arguments(text) == expected


DEEP: dict = {}
for _ in range(3000):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    "given", [DEEP, {"text": "x" * 500_000}, "x" * 500_000, 7, "[1]", {"a": {7}}, "(" * 5000]
)
def test_arguments_that_nobody_could_work_with_say_so(given):
    (reason,) = read_arguments(given).values()
    assert len(reason) < 300


def test_half_a_surrogate_pair_in_an_escape_does_not_get_through():
    text = (
        '<tool_call>{"name": "write", "arguments": {"path": "\\ud800", "text": "\\ud83d\\ude00"}}</tool_call>'
    )
    assert calls_of(parse(Style.TOOLS, text, TOOLS)) == [("write", {"path": "?", "text": "\U0001f600"})]


def test_an_end_that_repeats_itself_is_cut_to_two_rounds():
    text, is_cut = without_loop("Well. " + "I try again.\n" * 3000 + "I try")
    assert is_cut
    assert text.count("I try again.") == 2
    assert "repeats this" in text
    assert without_loop(text) == (text, False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "short " * 20,
        "\n".join(f"{number}: y[{number}] = x[{number}];" for number in range(2000)),
        "a b " * 20_000 + "and so it ends, with something that was not said before",
        "x" * 500,
    ],
)
def test_a_text_that_comes_to_its_end_is_no_loop(text):
    assert without_loop(text) == (text, False)


def test_a_text_of_any_length_is_bounded():
    text, is_cut = bounded(
        "".join(chr(33 + (number * number) % 89) + str(number) for number in range(200_000))
    )
    assert is_cut
    assert len(text) <= 400_000


def test_ids_that_were_used_or_are_missing_are_given_anew():
    before = Message(role=Role.ASSISTANT, text="", tool_calls=(ToolCall(call_id="call_0", tool="bash"),))
    calls = tuple(ToolCall(call_id=name, tool="bash") for name in ("call_0", "", "x", "x"))
    fresh = with_unique_ids(Message(role=Role.ASSISTANT, text="", tool_calls=calls), (before,))
    ids = [call.call_id for call in fresh.tool_calls]
    assert ids[2] == "x"
    assert len({"call_0", "", *ids}) == 6


def test_a_lost_answer_is_made_up_for_and_a_lost_call_too():
    call = ToolCall(call_id="1", tool="bash")
    ask = Message(role=Role.ASSISTANT, text="", tool_calls=(call,))
    answer = Message(role=Role.TOOL, text="ok", call_id="1")
    assert paired([ask, answer]) == [ask, answer]
    lost = Message(role=Role.TOOL, text="(not answered)", call_id="1")
    assert paired([ask]) == [ask, lost]
    (told,) = paired([answer])
    assert told.role is Role.USER
    assert "ok" in told.text


N = 400_000
HOSTILE = {
    "fences": "```a\n" * (N // 5),
    "parameters": "<function=write>" + "<parameter=a>" * (N // 13) + "</function>",
    "quotes": '{"name":"' + '\\"' * (N // 2),
    "braces": "{" * N,
    "names": '{"name":' * (N // 8),
    "blanks in a fence": "```" + " " * N + "`",
    "thoughts": "<think>" * (N // 7),
    "tags": "<tool_call>" * (N // 11),
    "a path": "```\n" + "a." * (N // 2) + "\n```",
    "a fence of folders": "``` " + "a/" * (N // 2) + "\n",
    "commas": "," * N,
    "lists": "<tool_call>" + "[1," * (N // 4),
    "backticks": "`" * N,
    "nulls": "\x00" * N,
    "lines": "\n" * N,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("style", Style)
def test_no_text_takes_long_to_read(style, name):
    began_s = time.process_time()
    render(style, [parse(style, HOSTILE[name], TOOLS)])
    assert time.process_time() - began_s < 5.0


PIECES = st.sampled_from(
    [
        *WRITTEN_CALLS.values(),
        *HEADED.values(),
        *(
            "<tool_call>",
            "</tool_call>",
            "```",
            "~~~~",
            "{",
            "}",
            "[",
            "]",
            '"',
            "'",
            "\\",
            ",",
            ":",
            "\n",
            " ",
        ),
        *(
            "<think>",
            "</think>",
            '{"say":',
            '"calls": [',
            '"name"',
            "a.cu",
            "\ud800",
            "\x00",
            "é",
            "1e999",
            "NaN",
        ),
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from(list(Style)))
def test_no_text_makes_the_reader_raise_and_all_that_is_read_can_be_told(text, style):
    message = parse(style, text, TOOLS)
    message.text.encode()
    assert message.role is Role.ASSISTANT
    assert all(isinstance(call.arguments, dict) for call in message.tool_calls)
    json.dumps([call.arguments for call in message.tool_calls], ensure_ascii=False).encode()
    for other in Style:
        render(other, [message], feeds_thinking=True)[0]["content"].encode()


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=200) | st.lists(PIECES, max_size=8).map("".join))
def test_no_arguments_make_their_reader_raise(text):
    assert isinstance(read_arguments(text), dict)
