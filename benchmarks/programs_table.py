"""The table of `benchmarks.programs`: under which conditions it was made, its rows, its sums, its file."""

import datetime
import json
import math
import platform
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from warpsmith.agent.budget import Budget
from warpsmith.core import UsageError
from warpsmith.core.codec import to_data

PACKAGES = ("warpsmith", "torch", "transformers")
ROW = (
    "{task:22} {agent:6} {verdict:12} {times:>19} {iterations:>5} {programs:>5} {turns:>5} {tokens:>9} "
    "{seconds:>7}  {stop}\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What all runs of a table have in common; a table of other conditions is not gone on with."""

    policy: str
    device: str
    scale: float | None
    sandbox: str
    max_turns: int
    max_tokens: int | None
    max_minutes: float
    style: str
    reply_tokens: int
    temperature: float
    seed: int

    @property
    def budget(self) -> Budget:
        return Budget(
            max_turns=self.max_turns, max_tokens=self.max_tokens, max_wall_s=60.0 * self.max_minutes
        )


def totals(records: dict[str, dict[str, dict[str, Any]]], agents: Iterable[str]) -> dict[str, dict[str, Any]]:
    """For each way of working; means of times only over what all of them got right, and were timed on."""
    asked = tuple(agents)
    shared = [
        runs
        for runs in records.values()
        if all(runs.get(agent, {}).get("provenance") is not None for agent in asked)
    ]
    return {
        agent: _total([runs[agent] for runs in records.values() if agent in runs], agent, shared)
        for agent in asked
    }


def _total(mine: list[dict[str, Any]], agent: str, shared: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = [runs[agent]["against_eager"]["centre"] for runs in shared]
    return {
        "num_runs": len(mine),
        "num_correct": sum(run["is_correct"] for run in mine),
        "num_errors": sum(run["error"] is not None for run in mine),
        "num_compared": len(shared),
        "provenance": sorted({str(runs[agent]["provenance"]) for runs in shared}),
        "mean_eager_over_ours": math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None,
        "num_turns": sum(run.get("num_turns", 0) for run in mine),
        "num_programs": sum(run["num_programs"] for run in mine),
        "prompt_tokens": sum(run.get("prompt_tokens", 0) for run in mine),
        "completion_tokens": sum(run.get("completion_tokens", 0) for run in mine),
        "spent_s": round(sum(run.get("spent_s", 0.0) for run in mine), 1),
    }


def row(task: str, agent: str, record: dict[str, Any]) -> str:
    """One line of the table. A modelled time is no speed-up, and is shown as a time."""
    ratio, how = record.get("against_eager"), record["provenance"]
    told = "" if how is None else f"{record['candidate_us']:.1f} us {how}"
    if how == "measured":
        told = f"{ratio['centre']:.2f}x eager" if ratio else told
    return ROW.format(
        task=task,
        agent=agent,
        verdict=record["verdict"],
        times=told,
        iterations="" if record["num_iterations"] is None else record["num_iterations"],
        programs=record["num_programs"],
        turns=record.get("num_turns", ""),
        tokens=record.get("prompt_tokens", 0) + record.get("completion_tokens", 0),
        seconds=f"{record['total_s']:.0f}",
        stop=record["error"] or record["stop"],
    )


class Table:
    """The records so far, on disk after each run."""

    def __init__(self, path: Path | None, conditions: Conditions, agents: tuple[str, ...]) -> None:
        """Raises UsageError if the file holds a table of other conditions."""
        self._path, self._conditions, self._agents = path, conditions, agents
        self.records: dict[str, dict[str, dict[str, Any]]] = {}
        if path is not None and path.exists():
            self.records = self._taken_up(path.read_text())

    def _taken_up(self, text: str) -> dict[str, dict[str, dict[str, Any]]]:
        try:
            before = json.loads(text)
        except ValueError as error:
            raise UsageError(f"{self._path} holds no table ({error}); name another file") from error
        if not isinstance(before, dict) or before.get("conditions") != to_data(self._conditions):
            raise UsageError(f"{self._path} holds a table made under other conditions; name another file")
        return dict(before["records"])

    def has(self, task: str, agent: str) -> bool:
        return self.records.get(task, {}).get(agent, {"error": "none"})["error"] is None

    def put(self, task: str, agent: str, record: dict[str, Any]) -> None:
        self.records.setdefault(task, {})[agent] = record
        if self._path is None:
            return
        new = self._path.with_suffix(".new")
        new.write_text(
            json.dumps(
                {
                    "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                    "command": " ".join(["python -m benchmarks.programs", *sys.argv[1:]]),
                    "versions": _versions(),
                    "conditions": to_data(self._conditions),
                    "totals": totals(self.records, self._agents),
                    "records": self.records,
                },
                indent=1,
            )
            + "\n"
        )
        new.replace(self._path)  # a run that is killed leaves a whole table


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
