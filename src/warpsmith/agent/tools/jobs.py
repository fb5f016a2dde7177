"""The commands that an episode runs in the background."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from warpsmith.agent.workspace.folder import Refused
from warpsmith.core import Job

MAX_RUNNING = 3
MAX_KEPT = 20  # with those that have ended; what older ones said is forgotten


@dataclass(slots=True)
class Jobs:
    """They end with the episode, when it closes this, and with our process, whatever happens to it."""

    _begun: dict[str, tuple[str, Job]] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def begin(self, command: str, start: Callable[[], Job]) -> str:
        """Its id. Raises Refused if too many run."""
        running = self.running()
        if len(running) >= MAX_RUNNING:
            raise Refused(
                f"{MAX_RUNNING} background jobs run already ({_listed(running)}); "
                "wait for one with bash_output, or end one with kill_bash"
            )
        job = start()
        ended = [name for name in self._begun if name not in running]
        for name in ended[: max(len(self._begun) + 1 - MAX_KEPT, 0)]:
            del self._begun[name]
        name = f"job-{next(self._numbers)}"
        self._begun[name] = (command, job)
        return name

    def get(self, name: str) -> Job:
        """Raises Refused if there is none of that name."""
        if name not in self._begun:
            known = ", ".join(self._begun) or "none; bash with background: true begins one"
            raise Refused(f"there is no job {name!r:.60}; the jobs are {known}")
        return self._begun[name][1]

    def running(self) -> dict[str, str]:
        """Id -> command of those that have not ended."""
        return {name: command for name, (command, job) in self._begun.items() if job.ended() is None}

    def check_quiet(self) -> None:
        """Raises Refused while one runs: it would be timed along with the program, or with its rivals."""
        running = self.running()
        if running:
            raise Refused(
                f"times are taken on a quiet machine, and background jobs run ({_listed(running)}); "
                "wait for them with bash_output, or end them with kill_bash"
            )

    def close(self) -> None:
        """End all of them. They may still be asked what they said."""
        for _, job in self._begun.values():
            job.close()


def _listed(running: dict[str, str]) -> str:
    return "; ".join(f"{name}: {' '.join(command.split())[:60]}" for name, command in running.items())
