"""Where untrusted programs run: a table of kinds, and the choice among them."""

from warpsmith.core import EnvironmentMissing, UsageError
from warpsmith.sandbox.base import Guarantee, Sandbox
from warpsmith.sandbox.bubblewrap import BubblewrapSandbox
from warpsmith.sandbox.docker import DockerSandbox
from warpsmith.sandbox.environment import ANSWERS_FD, REQUESTS_FD
from warpsmith.sandbox.process import ProcessSandbox

__all__ = ["ANSWERS_FD", "REQUESTS_FD", "SANDBOXES", "Guarantee", "Sandbox", "pick"]

SANDBOXES: dict[str, type[Sandbox]] = {  # strongest first
    "bubblewrap": BubblewrapSandbox,
    "docker": DockerSandbox,
    "process": ProcessSandbox,
}


def pick(kind: str = "auto") -> Sandbox:
    """The sandbox of this kind; "auto" is the strongest that works here.

    Raises:
        UsageError: there is no such kind.
        EnvironmentMissing: this machine can't run it; the message says what to do.
    """
    if kind != "auto" and kind not in SANDBOXES:
        raise UsageError(f"unknown sandbox {kind!r}; choose one of auto, {', '.join(SANDBOXES)}")
    reasons = []
    for name in SANDBOXES if kind == "auto" else (kind,):
        reason = SANDBOXES[name].why_unavailable()
        if reason is None:
            return SANDBOXES[name]()
        reasons.append(f"the {name} sandbox cannot run here: {reason}")
    raise EnvironmentMissing("; ".join(reasons))
