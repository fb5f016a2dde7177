"""What a policy told of its work. The builtin's own texts are read, so that they stay readable."""

from types import SimpleNamespace

import pytest

from warpsmith.bench.reading import last_verdict, told
from warpsmith.core import Message, Role


def said(*texts):
    return [Message(role=Role.ASSISTANT, text=text) for text in texts]


def test_nothing_said_is_nothing_told():
    found = told([Message(role=Role.USER, text="- a (rows): mul; reads")])
    assert (found.techniques, found.shortcuts, found.declined, found.last_words) == ((), (), "", "")


def test_a_technique_has_the_variant_that_was_chosen_last():
    plan = "I write 1 kernel.\n- norm_gelu (row sweep): mean, rsqrt, gelu; reads 1 MB, writes 1 MB"
    (found,) = told(said(plan, "Done.\n- norm_gelu: float4, 256 threads")).techniques
    assert (found.name, found.recipe, found.operators) == (
        "norm_gelu",
        "row sweep",
        ("mean", "rsqrt", "gelu"),
    )
    assert found.variant == "float4, 256 threads"


def test_a_shortcut_is_kept_once():
    text = (
        "Shortcut: the sum of a product is a product with the weight's column sums\n- shortcut: diag scales"
    )
    assert told(said(text, text)).shortcuts == (
        "the sum of a product is a product with the weight's column sums",
        "diag scales",
    )


def test_the_builtin_s_own_plan_is_read():
    pytest.importorskip("torch")
    from warpsmith.device.gpus import GPUS
    from warpsmith.policy.builtin.explaining import plan_text
    from warpsmith.policy.builtin.graph import Node, Shortcut, Source, Value, View
    from warpsmith.policy.builtin.plan import Plan
    from warpsmith.policy.builtin.recipes.base import Cost, Group

    value = Value(name="x", shape=(4,), dtype="float32", source=Source.INPUT)
    node = Node(op="relu", inputs=(View.whole(value),), outputs=(value,))
    group = Group(
        recipe="elementwise",
        name="relu_2",
        nodes=(node, node),
        inputs=(value,),
        outputs=(value,),
        cost=Cost(traffic_bytes=32, launches=1),
    )

    graph = SimpleNamespace(nodes=(node, node))
    plan = Plan(groups=(group,), shortcuts=(Shortcut.ONE_FACTOR, Shortcut.ONCE))
    read = told(said(plan_text(graph, plan, GPUS["h200"])))
    assert read.shortcuts == (Shortcut.ONE_FACTOR.value, Shortcut.ONCE.value)
    (found,) = read.techniques
    assert (found.name, found.recipe, found.operators) == ("relu_2", "elementwise", ("relu", "relu"))


def test_what_the_builtin_declines_is_read():
    from warpsmith.policy.builtin.recipes.base import Declined

    declined = Declined("aten.convolution", "groups: no recipe yet")
    text = f"I decline this task: no kernel of mine covers {declined}. I have written nothing."
    found = told(said(text))
    assert found.declined == "aten.convolution"
    assert found.last_words == text


def test_the_last_verdict_is_that_of_the_last_tool(made):
    messages = [
        Message(role=Role.TOOL, text="", call_id="1", verdict=made.passed()),
        Message(role=Role.TOOL, text="", call_id="2", verdict=made.wrong),
        *said("I stop."),
    ]
    assert last_verdict(messages) == made.wrong
    assert last_verdict(said("nothing")) is None
