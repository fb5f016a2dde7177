"""One model through the whole agent over all examples: what it managed, and each way in which a turn failed.

    python -m benchmarks.models POLICY [--json FILE] [--device cpu] [--turns 3] [--reply-tokens 700]
        [--minutes 2] [--style auto|tools|json|files] [--base-url URL] [--context TOKENS] [EXAMPLE …]

POLICY is what `warpsmith optimize --model` takes: local:DIR, openai:NAME, builtin. The budget is for each
example. A small model solves few or none of them; what is looked at is whether the agent has a name for all
it does. Exit code 1 if something of ours failed.
"""

import argparse
import datetime
import json
import platform
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from warpsmith.agent.budget import Budget
from warpsmith.agent.events import Compacted, Event, Finished, Judged, Said
from warpsmith.agent.optimize import OptimizeConfig, optimize
from warpsmith.agent.tools import TOOLS
from warpsmith.core import Cost, InfraError, Message, Role, UsageError, Verdict
from warpsmith.core.codec import to_data
from warpsmith.device import Device, select_device
from warpsmith.policy import INVALID_ARGUMENTS, Policy, PolicyConfig, Sampling, make_policy
from warpsmith.tasks import load_task

EXAMPLES = Path(__file__).parents[1] / "examples"
PACKAGES = ("warpsmith", "torch", "transformers", "openai")
ROW = "{task:20} {verdict:14} {turns:>5} {prompt:>8} {drawn:>7} {speed:>9}  {stop:10} {events}\n"
MISUSED = ("unknown argument", "missing argument", "must be", "must have")
EXCERPT = 300  # characters of a reply that are kept


@dataclass(slots=True, kw_only=True)
class Turn:
    """One reply, and a word for each thing that came of it."""

    cost: Cost
    is_cut: bool
    begins: str
    events: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


class Watch:
    """Listens to an episode and names what happens."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.num_compacted = 0
        self.verdict = "none"  # the last one
        self.reason = ""
        self._calls: dict[str, str] = {}

    def on_event(self, event: Event) -> None:
        match event:
            case Said(message=Message(role=Role.ASSISTANT)):
                self._replied(event)
            case Said(message=Message(role=Role.TOOL)):
                self._answered(event.message)
            case Said(message=Message(role=Role.USER)) if self.turns:
                self.turns[-1].events.append("told to go on")
            case Judged(verdict=verdict):
                self.verdict = type(verdict).__name__
            case Compacted():
                self.num_compacted += 1
            case Finished(reason=reason):
                self.reason = reason
            case _:
                pass

    def _replied(self, said: Said) -> None:
        message = said.message
        turn = Turn(cost=said.cost, is_cut=said.is_cut, begins=message.text[:EXCERPT])
        self.turns.append(turn)
        self._calls = {}
        if said.is_cut:
            turn.events.append("cut at its limit")
        if not message.tool_calls:
            turn.events.append("no tool call" if message.text.strip() else "nothing said")
        for call in message.tool_calls:
            if call.tool not in TOOLS:
                self._calls[call.call_id] = "unknown tool"
            elif INVALID_ARGUMENTS in call.arguments:
                self._calls[call.call_id] = "unreadable call"
            else:
                self._calls[call.call_id] = call.tool

    def _answered(self, message: Message) -> None:
        turn = self.turns[-1]
        turn.answers.append(message.text[:EXCERPT])
        turn.events.append(_named(self._calls.get(message.call_id or "", "?"), message))


def _named(what: str, answer: Message) -> str:
    """What came of a call of the tool `what`, in a few words."""
    if what in ("unknown tool", "unreadable call"):
        return what
    if answer.verdict is not None:
        return f"{what}: {type(answer.verdict).__name__}"
    if answer.text.startswith("not run:"):
        return "not run: the episode ends"
    if answer.text.startswith("error:"):
        is_misused = any(words in answer.text for words in MISUSED)
        return f"{what}: {'bad arguments' if is_misused else 'refused'}"
    return f"{what}: done"


def worked_on(example: str, policy: Policy, device: Device, chosen: argparse.Namespace) -> dict[str, Any]:
    """One example's record. A failure of ours is told in it, and does not end the others."""
    watch, began_s = Watch(), time.monotonic()
    budget = Budget(max_turns=chosen.turns, max_wall_s=chosen.minutes * 60)
    folder = chosen.out / example
    config = OptimizeConfig(
        device=device,
        budget=budget,
        folder=folder,
        policy=chosen.policy,
        policy_config=_policy_config(chosen),
    )
    best: Verdict | None = None
    try:
        done = optimize(
            load_task(str(EXAMPLES / f"{example}.py"), device_kind=device.kind), policy, config, watch
        )
        stop, error = done.trajectory.stop.value, None
        best = None if done.trajectory.best is None else done.trajectory.best.verdict
    except (InfraError, UsageError) as failure:
        stop, error = "aborted", f"{type(failure).__name__}: {failure}"
    return {
        "verdict": watch.verdict if best is None else type(best).__name__,
        "best": None if best is None else to_data(best),
        "stop": stop,
        "reason": watch.reason,
        "error": error,
        "wall_s": round(time.monotonic() - began_s, 1),
        "num_compacted": watch.num_compacted,
        **_sums(watch.turns),
        "turns": [_turn_data(turn) for turn in watch.turns],
    }


def _sums(turns: list[Turn]) -> dict[str, Any]:
    total = sum((turn.cost for turn in turns), Cost())
    return {
        "num_turns": len(turns),
        "prompt_tokens": total.prompt_tokens,
        "completion_tokens": total.completion_tokens,
        "policy_s": round(total.wall_s, 1),
        "tokens_s": round(total.completion_tokens / total.wall_s, 2) if total.wall_s else None,
        "events": dict(Counter(event for turn in turns for event in turn.events).most_common()),
    }


def _turn_data(turn: Turn) -> dict[str, Any]:
    return {
        "prompt_tokens": turn.cost.prompt_tokens,
        "completion_tokens": turn.cost.completion_tokens,
        "wall_s": round(turn.cost.wall_s, 1),
        "is_cut": turn.is_cut,
        "events": turn.events,
        "begins": turn.begins,
        "answers": turn.answers,
    }


def table_of(records: dict[str, dict[str, Any]]) -> dict[str, dict[str, int]]:
    """For each thing that came of a turn: how often, and in how many turns and tasks."""
    turns = [(task, turn) for task, record in records.items() for turn in record["turns"]]
    names = sorted({event for _, turn in turns for event in turn["events"]})
    return {
        name: {
            "times": sum(turn["events"].count(name) for _, turn in turns),
            "turns": sum(name in turn["events"] for _, turn in turns),
            "tasks": len({task for task, turn in turns if name in turn["events"]}),
        }
        for name in names
    }


def _row(example: str, record: dict[str, Any]) -> str:
    return ROW.format(
        task=example,
        verdict=record["verdict"],
        turns=record["num_turns"],
        prompt=record["prompt_tokens"],
        drawn=record["completion_tokens"],
        speed=f"{record['tokens_s']} /s",
        stop=record["stop"],
        events=", ".join(f"{count}x {name}" for name, count in record["events"].items())
        or record["error"]
        or record["reason"],
    )


def _policy_config(chosen: argparse.Namespace) -> PolicyConfig:
    return PolicyConfig(
        base_url=chosen.base_url,
        style=chosen.style,
        context_tokens=chosen.context,
        timeout_s=chosen.reply_minutes * 60,
        sampling=Sampling(temperature=chosen.temperature, max_tokens=chosen.reply_tokens, seed=chosen.seed),
    )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policy")
    parser.add_argument("examples", nargs="*")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/models"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--base-url")
    parser.add_argument("--style", default="auto")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--reply-tokens", type=int, default=700)
    parser.add_argument("--minutes", type=float, default=2.0, help="for each example")
    parser.add_argument("--reply-minutes", type=float, default=10.0, help="for one reply")
    parser.add_argument("--context", type=int, help="tokens; less than the model's own window")
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_intermixed_args()


def main() -> None:
    chosen = _arguments()
    device = select_device(chosen.device)
    names = chosen.examples or sorted(path.stem for path in EXAMPLES.glob("*.py"))
    # One policy for all: its model is read once, and a new task is a new conversation to it.
    policy = make_policy(chosen.policy, _policy_config(chosen))
    heads = {"prompt": "prompt", "drawn": "drawn", "speed": "tokens", "stop": "stop"}
    sys.stdout.write(ROW.format(task="task", verdict="verdict", turns="turns", events="", **heads))
    records: dict[str, dict[str, Any]] = {}
    for name in names:
        records[name] = worked_on(name, policy, device, chosen)
        sys.stdout.write(_row(name, records[name]))
        sys.stdout.flush()
        if chosen.json:
            chosen.json.write_text(json.dumps(_document(policy, device, records), indent=1) + "\n")
    sys.exit(any(record["error"] for record in records.values()))


def _document(policy: Policy, device: Device, records: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python -m benchmarks.models", *sys.argv[1:]]),
        "versions": _versions(),
        "policy": policy.name,
        "style": str(getattr(policy, "style", "")),
        "device": device.name,
        "num_passed": sum(record["verdict"] == "Passed" for record in records.values()),
        "table": table_of(records),
        "examples": records,
    }


if __name__ == "__main__":
    main()
