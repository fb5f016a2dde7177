"""Ways of working beside each other: one agent alone, a team, a pair, over the examples and whole programs.

    python -m benchmarks.programs [--device auto|cpu|cuda] [--agents skill,team,pair]
        [--policy builtin|local:DIR|openai:NAME] [--json FILE] [--minutes 10] [--turns 120] [--tokens N]
        [--scale S] [--style auto|tools|json|files] [--sandbox auto] [--out DIR] [TASK …]

TASK is a name in examples/ or examples/programs/; without any, all of both. The policy plays every part, and
the budget is for each run, whoever works in it: turns, tokens and minutes are counted alike for one voice and
for three, setting up and the final measurement apart. A team has 15 iterations of it at most, a pair 10
rounds. FILE is written after each run; one that is there
already is gone on with, if it was made with the same policy, device and budget. Exit code 1 if something of
ours failed.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.programs_table import ROW, Conditions, Table, row, totals

from warpsmith.agent.events import Event, Examined, Judged, Planned, Routed
from warpsmith.agent.optimize import OptimizeConfig, optimize
from warpsmith.agent.team.cast import BUILTIN, Actor, Cast, cast_of
from warpsmith.agent.team.nouns import PAIR_RHYTHM, Kind, Member, Rhythm
from warpsmith.agent.team.spec import RULES, Part, TeamSpec
from warpsmith.core import InfraError, Passed, Solution, UsageError
from warpsmith.core.codec import to_data
from warpsmith.device import Device, select_device
from warpsmith.policy import Policy, PolicyConfig, Sampling, make_policy
from warpsmith.tasks import load_task

EXAMPLES = Path(__file__).parents[1] / "examples"
SKILL = "skill"
AGENTS = (SKILL, *Kind)
MEMBERS = {Kind.TEAM: tuple(Member), Kind.PAIR: (Member.CODER, Member.VERIFIER)}


class Watch:
    """Counts what happens in a run."""

    def __init__(self) -> None:
        self.begun_s = time.monotonic()
        self.first_right_s: float | None = None
        self.last_verdict = "none"
        self.digests: set[str] = set()
        self.num_iterations = self.num_plans = 0
        self.routes: list[str] = []

    def on_event(self, event: Event) -> None:
        match event:
            case Judged(verdict=verdict, digest=digest):
                self.digests.add(digest)
                self.last_verdict = type(verdict).__name__
                if isinstance(verdict, Passed) and self.first_right_s is None:
                    self.first_right_s = round(time.monotonic() - self.begun_s, 1)
            case Examined():
                self.num_iterations += 1
            case Planned(plan=plan) if plan is not None:
                self.num_plans += 1
            case Routed(route=route, rule=rule):
                self.routes.append(f"{route}: {rule}")
            case _:
                pass


class Company:
    """The policy in every part; a model is loaded once, and the builtin plays each part as its own."""

    def __init__(self, name: str, config: PolicyConfig) -> None:
        self._name, self.config = name, config
        self._policy = None if name == BUILTIN else make_policy(name, config)

    def voice(self, agent: str) -> tuple[Policy, TeamSpec | None]:
        """Who works, anew for each run, and how that is recorded."""
        if agent == SKILL:
            return self._policy or make_policy(self._name, self.config), None
        kind = Kind(agent)
        part = Part(policy=self._name, policy_config=self.config)
        spec = TeamSpec(
            kind=kind,
            planner=part,
            verifier=Part(policy=RULES) if self._name == BUILTIN else part,
            rhythm=PAIR_RHYTHM if kind is Kind.PAIR else Rhythm(),
        )
        if self._policy is None:
            return cast_of(spec, part), spec
        actor = Actor(policy=self._policy, config=self.config)
        return Cast(kind, spec.rhythm, dict.fromkeys(MEMBERS[kind], actor)), spec


def worked_on(
    path: Path, agent: str, company: Company, device: Device, conditions: Conditions, out: Path
) -> dict[str, Any]:
    """One run, as it goes into the file. A failure of ours is told in it."""
    watch, begun_s = Watch(), time.monotonic()
    best: Solution | None = None
    record: dict[str, Any] = {"stop": "aborted", "error": None}
    try:
        task = load_task(str(path), scale=conditions.scale, device_kind=device.kind)
        policy, team = company.voice(agent)
        config = OptimizeConfig(
            device=device,
            sandbox=conditions.sandbox,
            budget=conditions.budget,
            folder=_folder(out, path.stem, agent),
            policy=conditions.policy,
            policy_config=company.config,
            team=team,
        )
        done = optimize(task, policy, config, watch)
        best, cost = done.trajectory.best, done.trajectory.cost
        record |= {
            "stop": done.trajectory.stop.value,
            "task_digest": task.digest,
            "num_turns": len(done.trajectory.turns),
            "prompt_tokens": cost.prompt_tokens,
            "completion_tokens": cost.completion_tokens,
            "spent_s": round(cost.wall_s, 1),
            "gpu_s": round(cost.gpu_s, 2),
        }
    except (InfraError, UsageError) as failure:
        record["error"] = f"{type(failure).__name__}: {failure}"
    verdict = None if best is None else best.verdict
    return {
        "verdict": watch.last_verdict if verdict is None else type(verdict).__name__,
        "is_correct": isinstance(verdict, Passed),
        **_times(verdict),
        **record,
        "total_s": round(time.monotonic() - begun_s, 1),
        "first_right_s": watch.first_right_s,
        "num_programs": len(watch.digests),
        "num_iterations": None if agent == SKILL else watch.num_iterations,
        "num_plans": None if agent == SKILL else watch.num_plans,
        "routes": watch.routes,
        "candidate_digest": None if best is None else best.candidate.digest,
    }


def _times(verdict: object) -> dict[str, Any]:
    """Medians in us and ratios, where the program was timed; `provenance` says how."""
    timing = verdict.timing if isinstance(verdict, Passed) else None
    if timing is None:
        return {"provenance": None}
    compiled = timing.against_compile
    return {
        "provenance": timing.provenance.value,
        "candidate_us": timing.candidate.median_us,
        "eager_us": timing.eager.median_us,
        "floor_us": timing.floor_us,
        "against_eager": to_data(timing.against_eager),
        "against_compile": None if compiled is None else to_data(compiled),
        "host_us": timing.host_us,
        "num_launches": timing.num_launches,
    }


def _folder(out: Path, task: str, agent: str) -> Path:
    """A new one: a run that was broken off stays where it is."""
    names = (f"{task}-{agent}{'' if number == 1 else f'-{number}'}" for number in range(1, 10_000))
    return next(out / name for name in names if not (out / name).exists())


def task_paths(names: list[str]) -> list[Path]:
    """The files of these names. Raises UsageError for one that there is not."""
    known = {
        path.stem: path
        for folder in (EXAMPLES, EXAMPLES / "programs")
        for path in sorted(folder.glob("*.py"))
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UsageError(f"no task {unknown[0]!r}; choose of {', '.join(known)}")
    return [known[name] for name in names or known]


def agents_of(text: str) -> tuple[str, ...]:
    """Raises UsageError for a way of working that there is not."""
    chosen = tuple(dict.fromkeys(one.strip() for one in text.split(",")))
    unknown = [one for one in chosen if one not in AGENTS]
    if unknown:
        raise UsageError(f"unknown agent {unknown[0]!r}; choose of {', '.join(AGENTS)}")
    return chosen


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--agents", default=",".join(AGENTS))
    parser.add_argument("--policy", default=BUILTIN)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/programs"))
    parser.add_argument("--scale", type=float, help="of every task's sizes; its own unless given")
    parser.add_argument("--sandbox", default="auto")
    parser.add_argument("--turns", type=int, default=120, help="replies in one run")
    parser.add_argument("--tokens", type=int, help="in one run, prompts and replies together")
    parser.add_argument("--minutes", type=float, default=10.0, help="for one run")
    parser.add_argument("--style", default="auto", help="how a model acts: tools, json or files")
    parser.add_argument("--reply-tokens", type=int, default=2_000)
    parser.add_argument("--temperature", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_intermixed_args()


def _conditions(chosen: argparse.Namespace, device: Device) -> Conditions:
    return Conditions(
        policy=chosen.policy,
        device=device.name,
        scale=chosen.scale,
        sandbox=chosen.sandbox,
        max_turns=chosen.turns,
        max_tokens=chosen.tokens,
        max_minutes=chosen.minutes,
        style=chosen.style,
        reply_tokens=chosen.reply_tokens,
        temperature=chosen.temperature,
        seed=chosen.seed,
    )


def main() -> None:
    """Print the table as it grows; 1 if something of ours failed, 2 for what cannot be asked for."""
    chosen = _arguments()
    try:
        device = select_device(chosen.device)
        paths, agents = task_paths(chosen.tasks), agents_of(chosen.agents)
        conditions = _conditions(chosen, device)
        table = Table(chosen.json, conditions, agents)
        sampling = Sampling(temperature=chosen.temperature, max_tokens=chosen.reply_tokens, seed=chosen.seed)
        config = PolicyConfig(gpu=device.gpu, style=chosen.style, sampling=sampling)
        company = Company(chosen.policy, config)
    except (InfraError, UsageError) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    heads = {name: name for name in ("task", "agent", "verdict", "turns", "tokens", "seconds", "stop")}
    sys.stdout.write(ROW.format(times="time", iterations="iter", programs="progs", **heads))
    for path in paths:
        for agent in agents:
            if not table.has(path.stem, agent):
                table.put(path.stem, agent, worked_on(path, agent, company, device, conditions, chosen.out))
            sys.stdout.write(row(path.stem, agent, table.records[path.stem][agent]))
            sys.stdout.flush()
    sys.stdout.write(f"{json.dumps(totals(table.records, agents), indent=1)}\n")
    failed = [run for runs in table.records.values() for run in runs.values() if run["error"] is not None]
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
