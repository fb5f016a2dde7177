"""Episodes of policies that are no students: the builtin one, a model behind an address, a recording."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock

from warpsmith.agent.attempts.parallel import IN_PROCESS, InTurn
from warpsmith.agent.events import Finished
from warpsmith.agent.optimize import OptimizeConfig
from warpsmith.agent.runs.past import past_of
from warpsmith.core import Task, UsageError
from warpsmith.learn.acting.episodes import Opened, Part, played, pools_of
from warpsmith.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Teaching:
    """Each task is worked on by several episodes at once; `made` gives the policy of the so-manieth, from 1.

    An episode whose run has come to its end is not played again, any other is, from its beginning.
    """

    opened: Opened
    config: OptimizeConfig
    made: Callable[[int], Policy]
    samples_per_task: int = 1

    def played(self, tasks: Sequence[Task], folder: Path) -> tuple[Path, ...]:
        """The runs' folders below `folder`, those of one task after those of another.

        Raises InfraError if no judge can be had, TaskError for a task that can't be judged.
        """
        lock = Lock()
        count = self.samples_per_task
        places = [folder / f"{voice:04d}" for voice in range(len(tasks) * count)]
        left = [voice for voice, place in enumerate(places) if not has_ended(place)]
        wanted = sorted({voice // count for voice in left})
        with pools_of([tasks[at] for at in wanted], self.opened) as pools:
            pool_of = dict(zip(wanted, pools, strict=True))
            for voice in left:
                shutil.rmtree(places[voice], ignore_errors=True)
            parts = [
                Part(pool_of[voice // count], self.config, places[voice], partial(self._policy, voice, lock))
                for voice in left
            ]
            played(parts)
        return tuple(places)

    def _policy(self, voice: int, lock: Lock) -> Policy:
        """Those that compute in this process take turns."""
        policy = self.made(voice % self.samples_per_task + 1)
        return InTurn(policy, lock) if policy.name.partition(":")[0] in IN_PROCESS else policy


def has_ended(folder: Path) -> bool:
    """Whether `folder` holds a whole run."""
    try:
        events = past_of(folder).events
    except UsageError:
        return False
    return isinstance(events[-1], Finished)
