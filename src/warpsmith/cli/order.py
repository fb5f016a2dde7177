"""An order understood: who works on what, how often, with what. It is carried out and its outcome told."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from warpsmith.cli.casting import Troupe
from warpsmith.cli.console import Console
from warpsmith.cli.ending import Both, Ended, Tally, conclude
from warpsmith.cli.exit_codes import ExitCode
from warpsmith.cli.writers import Writer, probed

if TYPE_CHECKING:
    from warpsmith.agent.attempts.parallel import Attempts, Maker
    from warpsmith.agent.optimize import OptimizeConfig, Optimized
    from warpsmith.core import Task
    from warpsmith.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """All that was said on a command line. The writers take the attempts in turn; with a troupe they code."""

    task: "Task"
    writers: tuple[Writer, ...]
    troupe: Troupe | None = None
    num_attempts: int
    config: "OptimizeConfig"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Who writes in one attempt."""

    writer: Writer
    policy: "Policy"


def carry_out(console: Console, order: Order) -> ExitCode:
    """Probe, foresee, work, conclude; gives the exit code."""
    from warpsmith.cli.progress import Progress
    from warpsmith.sandbox import pick

    troupe = _probed(console, order.troupe)
    team = None if troupe is None else troupe.spec()
    order = replace(order, troupe=troupe, config=replace(order.config, team=team))
    seats = _seats(console, order)
    console.warn(pick(order.config.sandbox).warning)
    foreseen = _foreseen(console, order, seats)
    tally = Tally()
    with tally.told_at_failure(console), Progress(console) as progress:
        done = _done(order, seats, Both(progress, tally))
    config = order.config
    return conclude(
        console,
        Ended(
            command="optimize",
            task=order.task,
            done=done,
            device=config.device,
            sandbox=config.sandbox,
            facts=foreseen,
        ),
    )


def _seats(console: Console, order: Order) -> list[Seat]:
    """An endpoint is asked once what it can do, however many attempts it makes."""
    from warpsmith.agent.attempts.parallel import seeded

    writers = [probed(console, writer) for writer in order.writers]
    chosen = [writers[index % len(writers)] for index in range(order.num_attempts)]
    numbered = [
        replace(writer, config=seeded(writer.config, number)) for number, writer in enumerate(chosen, start=1)
    ]
    return [Seat(writer=writer, policy=_policy(order, writer)) for writer in numbered]


def _probed(console: Console, troupe: Troupe | None) -> Troupe | None:
    """The others of a team, each asked in the way that its endpoint can answer."""
    if troupe is None:
        return None
    planner, verifier = troupe.planner, troupe.verifier
    return replace(
        troupe,
        planner=None if planner is None else probed(console, planner),
        verifier=None if verifier is None else probed(console, verifier),
    )


def _policy(order: Order, writer: Writer) -> "Policy":
    """One that works alone, or a team whose coder the writer is."""
    from warpsmith.agent.team.cast import cast_of
    from warpsmith.agent.team.spec import Part

    team = order.config.team
    if team is None:
        return writer.policy()
    return cast_of(team, Part(policy=writer.spec, policy_config=writer.config))


def _foreseen(console: Console, order: Order, seats: list[Seat]) -> dict[str, object]:
    """What it may cost, told before anything is spent. Of rules and recordings nothing is foreseen."""
    from warpsmith.agent.estimate import estimate, estimate_text

    models = [seat.writer.model(seat.policy.context_tokens) for seat in seats]
    probes = {seat.writer.spec: seat.writer.probe for seat in seats if seat.writer.probe is not None}
    if not any(model.reads_tokens for model in models):
        return {"probes": probes, "estimate": None}
    found = estimate(order.task, models, order.config.budget)
    console.note(estimate_text(found))
    if order.troupe is not None:
        console.note("  this is the coder's part; what planner and verifier say comes on top")
    return {"probes": probes, "estimate": found}


def _done(order: Order, seats: list[Seat], audience: Both) -> "Optimized | Attempts":
    """One episode, or several side by side."""
    from warpsmith.agent.attempts.parallel import optimize_many
    from warpsmith.agent.optimize import optimize

    if len(seats) > 1:
        return optimize_many(order.task, [_maker(seat) for seat in seats], order.config, audience)
    (seat,) = seats
    config = replace(order.config, policy=seat.writer.spec, policy_config=seat.writer.config)
    return optimize(order.task, seat.policy, config, audience)


def _maker(seat: Seat) -> "Maker":
    from warpsmith.agent.attempts.parallel import Maker

    return Maker(make=lambda: seat.policy, policy=seat.writer.spec, policy_config=seat.writer.config)
