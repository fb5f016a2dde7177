"""Who writes: what an endpoint can do, what it charges, and what is told of both before a run."""

import json

import pytest

from warpsmith.core import StopReason
from warpsmith.policy.endpoint.probe import Found

CPU = ("--device", "cpu", "--sandbox", "process")
NO = Found(has=False, how="refused: no such thing")
YES = Found(has=True, how="its reply kept to one")


@pytest.fixture
def ask(cli, task, episode, compilers, tmp_path):
    """Runs `optimize` with the model `openai:small`; gives what it printed and the recorded config."""
    compilers()
    episode(None, StopReason.POLICY)

    def invoke(*options):
        printed = cli("optimize", task, "--model", "openai:small", "--out", tmp_path / "run", *CPU, *options)
        path = tmp_path / "run" / "trajectory.jsonl"
        config = json.loads(path.read_text().splitlines()[0])["config"] if path.exists() else None
        return printed, config

    return invoke


def test_an_endpoint_is_asked_what_it_can_do_and_the_answer_is_told(ask, endpoint):
    endpoint(tools=NO, json_schema=YES, context_tokens=32_768)
    printed, config = ask()
    assert "tool calls    no (refused: no such thing)" in printed.err
    assert "Estimate for openai:small" in printed.err
    assert printed.out.startswith("task")
    assert config["policy"] == "openai:small"
    assert (config["policy_config"]["style"], config["policy_config"]["context_tokens"]) == ("json", 32_768)


def test_what_is_said_counts_before_what_was_found(ask, endpoint):
    endpoint(tools=NO, context_tokens=32_768)
    _, config = ask("--style", "tools", "--context-tokens", 8192)
    assert (config["policy_config"]["style"], config["policy_config"]["context_tokens"]) == ("tools", 8192)


def test_no_endpoint_is_the_machine_s_fault_and_costs_no_run(ask, endpoint, tmp_path):
    endpoint(reachable=Found(has=False, how="no endpoint at http://localhost:1/v1; start the server"))
    printed, config = ask()
    assert (printed.code, config) == (6, None)
    assert printed.err.splitlines()[-1].startswith("warpsmith: no endpoint at")
    assert not (tmp_path / "run").exists()


def test_a_model_that_is_not_there_is_named_with_those_that_are(ask, endpoint):
    endpoint(model_there=Found(has=False, how="no model small"), models=("tiny", "huge"))
    printed, _ = ask()
    assert printed.code == 2
    assert "it has tiny, huge" in printed.err


def test_a_cap_on_money_needs_a_price_that_is_known_or_given(ask, endpoint):
    endpoint()
    printed, config = ask("--max-usd", 2)
    assert (printed.code, config) == (2, None)
    assert "--price IN/OUT" in printed.err
    printed, config = ask("--max-usd", 2, "--price", "2.5/10")
    assert config["policy_config"]["price"]["prompt_usd"] == 2.5
    assert config["budget"]["max_usd"] == 2


def test_a_server_of_one_s_own_charges_nothing(ask, endpoint):
    endpoint()
    printed, config = ask("--max-usd", 2, "--base-url", "http://localhost:8000/v1")
    assert printed.code == 5
    assert config is not None
    assert "money: none" in printed.err


def test_how_it_is_asked_is_recorded_and_the_key_is_not(ask, endpoint, monkeypatch, tmp_path):
    endpoint()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    _, config = ask("--temperature", 0.2, "--top-p", 0.9, "--seed", 7, "--max-reply-tokens", 512)
    sampling = config["policy_config"]["sampling"]
    assert [sampling[name] for name in ("temperature", "top_p", "seed", "max_tokens")] == [0.2, 0.9, 7, 512]
    assert not any(
        b"sk-secret" in path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()
    )


def test_rules_cost_nothing_and_nothing_is_foreseen_of_them(cli, task, episode, compilers, passed):
    compilers()
    episode(passed())
    printed = cli("optimize", task, *CPU)
    assert printed.code == 0
    assert "Estimate" not in printed.err


@pytest.mark.parametrize(
    "options",
    [
        "--agent genius",
        "--style prose",
        "--max-usd nan",
        "--max-minutes inf",
        "--max-gpu-seconds nan",
        "--temperature nan",
        "--temperature -1",
        "--top-p 2",
        "--max-reply-tokens 0",
        "--context-tokens 5",
        "--patience 0",
        "--n 0",
        "--price openai:larg=1/2",
        "--price =",
        "--seed -1",
    ],
)
def test_a_mistake_is_usage_one_line_and_costs_no_run(ask, endpoint, options):
    endpoint()
    printed, config = ask(*options.split())
    assert (printed.code, config) == (2, None), printed.err
    assert len(printed.err.splitlines()) == 1
