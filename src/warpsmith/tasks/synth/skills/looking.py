"""Asks a helper in the sandbox what the tensors of a task are."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from warpsmith.core import Command, Completed, Guest, InfraError, Limits
from warpsmith.judge.exchange import exchange, fresh_nonce, start_failure
from warpsmith.sandbox import Sandbox
from warpsmith.tasks.synth.skills.protocol import Answer, Call, Look, Looked, NoLook

HELPER = "warpsmith.tasks.synth.skills.helper"
NURSERY = "warpsmith.tasks.synth.skills.nursery"
START_S = 120.0  # it may have to be started without a nursery
LOOK_S = 20.0
LIMITS = Limits(
    memory_bytes=4 << 30,  # of main memory: nothing is large on the meta device
    processes=64,
    output_bytes=1 << 16,
    file_bytes=1 << 20,
    disk_bytes=1 << 24,
)
GREETING = """import torch
Model = torch.nn.ReLU
get_inputs = lambda: [torch.ones(2)]
get_init_inputs = lambda: []
"""

LookAt = Callable[[str], Looked | NoLook]


@contextmanager
def looking(sandbox: Sandbox) -> Iterator[LookAt]:
    """A helper for the parts of one task: from a source to its tensors.

    Whatever the source does to its process is told as NoLook, and so for those that come after it.
    Raises InfraError if no helper can be started.
    """
    with tempfile.TemporaryDirectory(prefix="warpsmith-skills-") as folder:
        guest = sandbox.start(_command(Path(folder)))
        try:
            first = _asked(guest, GREETING, START_S)
            if isinstance(first, Completed):
                raise start_failure(first, "helper that looks at parts of tasks")
            if not isinstance(first, Looked):
                raise InfraError(f"the helper that looks at parts of tasks does not work: {first}")
            yield lambda source: _told(_asked(guest, source, LOOK_S))
        finally:
            guest.close()


def _command(folder: Path) -> Command:
    return Command(
        argv=(sys.executable, "-P", "-m", HELPER),
        cwd=folder,
        readable=(folder,),
        writable=(folder,),
        nursery=NURSERY,
        limits=LIMITS,
    )


def _asked(guest: Guest, source: str, limit_s: float) -> Looked | NoLook | Completed | None:
    nonce = fresh_nonce()
    answer = exchange(guest, nonce, Call(nonce=nonce, request=Look(source=source)), Answer, limit_s)
    return answer.answer if isinstance(answer, Answer) else answer


def _told(answer: Looked | NoLook | Completed | None) -> Looked | NoLook:
    match answer:
        case Completed(ending=ending):
            return NoLook(why=f"its process ended instead of answering ({ending})")
        case None:
            return NoLook(why="it answered something that is no answer")
        case _:
            return answer
