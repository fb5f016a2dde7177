"""Episodes side by side: a thread each, and a judge for each task that its episodes share."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread

from warpsmith.agent import Record, Silent
from warpsmith.agent.attempts.pool import JudgePool
from warpsmith.agent.optimize import Bench, OptimizeConfig, episode
from warpsmith.core import InfraError, Task
from warpsmith.policy import Policy

Opened = Callable[[Task], AbstractContextManager[Bench]]
"""`agent.optimize.open_bench`, with a config."""


@contextmanager
def pools_of(tasks: Sequence[Task], opened: Opened) -> Iterator[list[JudgePool]]:
    """A judge for each task, open while this is entered. Raises as `opened`, for the first that fails."""
    with ExitStack() as stack:
        yield [stack.enter_context(JudgePool(_opener(opened, task))) for task in tasks]


def _opener(opened: Opened, task: Task) -> Callable[[], AbstractContextManager[Bench]]:
    return lambda: opened(task)


class Part(Thread):
    """One episode; its policy is made in its own thread, and `left` called when it has no more to say."""

    def __init__(
        self,
        pool: JudgePool,
        config: OptimizeConfig,
        folder: Path,
        policy: Callable[[], Policy],
        left: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name=f"episode {folder.name}", daemon=True)
        self.folder = folder
        self._pool = pool
        self._config = config
        self._policy = policy
        self._left = left
        self._error: BaseException | None = None

    def run(self) -> None:
        bench = replace(self._pool.bench, judge=self._pool.seat())
        try:
            policy = self._policy()
            with Record.create(self.folder, bench.task) as record:
                episode(policy, bench, self._config, record, Silent())
        except InfraError:
            pass  # its record has no end, and its sample no reward
        except BaseException as error:  # noqa: BLE001 - raised by `check`, in the thread that asked for it
            self._error = error
        finally:
            self._left()

    def check(self) -> None:
        """Raise what was no failure of one episode alone."""
        if self._error is not None:
            raise self._error


def played(parts: Sequence[Part]) -> None:
    """Let all of them come to their end. Raises what was no failure of one alone."""
    for part in parts:
        part.start()
    for part in parts:
        part.join()
    for part in parts:
        part.check()
