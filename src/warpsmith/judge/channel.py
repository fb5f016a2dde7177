"""A helper program's side of the conversation: read a request, do it, answer. For oracle and guest alike."""

import os
import select
import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from warpsmith.core.codec import from_json, to_json
from warpsmith.judge.protocol import Time
from warpsmith.sandbox.environment import ANSWERS_FD, REQUESTS_FD

AWAKE_S = 0.02  # after a request to time, for another comes soon


class Call(Protocol):
    """A request on its way, as `protocol` has one for each program."""

    @property
    def nonce(self) -> str: ...

    @property
    def request(self) -> object: ...


C = TypeVar("C", bound=Call)


def serve(call: type[C], reply: Callable[[C], object]) -> None:
    """Answer requests until the other side closes."""
    # Taken out of the environment, so that nothing started from here finds them by accident. They stay open
    # until the process has ended, for a pipe that closes earlier looks like something else.
    requests, answers = int(os.environ.pop(REQUESTS_FD)), int(os.environ.pop(ANSWERS_FD))
    with os.fdopen(requests, "rb", closefd=False) as lines:
        for line in lines:
            asked = from_json(call, line.decode())
            _write(answers, to_json(reply(asked)).encode() + b"\n")
            if isinstance(asked.request, Time):
                _stay_awake(requests)


def _stay_awake(descriptor: int) -> None:
    """Wait for the next request without sleeping: waking up takes a time that scatters."""
    poller, deadline = select.poll(), time.monotonic() + AWAKE_S
    poller.register(descriptor, select.POLLIN)
    while not poller.poll(0) and time.monotonic() < deadline:
        pass


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
