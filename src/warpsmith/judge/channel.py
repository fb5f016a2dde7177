"""A helper program's side of the conversation: read a request, do it, answer. For oracle and guest alike."""

import os
from collections.abc import Callable
from typing import Protocol, TypeVar

from warpsmith.core.codec import from_json, to_json
from warpsmith.sandbox.environment import ANSWERS_FD, REQUESTS_FD


class Call(Protocol):
    """A request on its way, as `protocol` has one for each program."""

    @property
    def nonce(self) -> str: ...


C = TypeVar("C", bound=Call)


def serve(call: type[C], reply: Callable[[C], object]) -> None:
    """Answer requests until the other side closes."""
    # Taken out of the environment, so that nothing started from here finds them by accident. They stay open
    # until the process has ended, for a pipe that closes earlier looks like something else.
    requests, answers = int(os.environ.pop(REQUESTS_FD)), int(os.environ.pop(ANSWERS_FD))
    with os.fdopen(requests, "rb", closefd=False) as lines:
        for line in lines:
            _write(answers, to_json(reply(from_json(call, line.decode()))).encode() + b"\n")


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
