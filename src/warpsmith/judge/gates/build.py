"""Does it compile?"""

from warpsmith.core import BuildFailed, NotRunnable
from warpsmith.judge.trial import Trial
from warpsmith.toolchain import Build


def check(trial: Trial) -> BuildFailed | NotRunnable | None:
    match trial.toolchain.build(trial.candidate):
        case Build() as build:
            trial.build = build
            return None
        case failure:
            return failure
