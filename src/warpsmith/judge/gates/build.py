"""Does it compile?"""

from warpsmith.core import BuildFailed, NotRunnable, Rejected
from warpsmith.judge.trial import Trial
from warpsmith.toolchain import Build


def check(trial: Trial) -> Rejected | BuildFailed | NotRunnable | None:
    match trial.toolchain.build(trial.candidate):
        case Build() as build:
            trial.build = build
            return None
        case failure:
            return failure
