"""Step after step: what every kind of training has in common."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from warpsmith.agent.interrupt import Interrupt
from warpsmith.learn.engines.local.keeping import RunFolder
from warpsmith.learn.engines.local.stage import Stage
from warpsmith.learn.metrics import Metrics, paced
from warpsmith.learn.monitors import Alarm, alarm

Told = Callable[[int, Metrics], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """How a run ended. `final` is what came of it, or None: it was stopped, and has checkpoints alone."""

    folder: Path
    num_steps: int  # all that were taken, in earlier processes too
    history: tuple[Metrics, ...]
    final: Path | None = None
    alarm: Alarm | None = None
    is_interrupted: bool = False
    last_saved: int = 0  # step of the last checkpoint


def train(stage: Stage, folder: Path, tell: Told = lambda _step, _metrics: None) -> Trained:
    """Take the steps that are left, and write what came of it.

    A run that was stopped or killed goes on from its last checkpoint, to the same weights, bit by bit, that
    it would have come to. The first Ctrl-C saves after the current step and ends; the second ends at once. An
    alarm ends it too, and takes away what was saved since it began: the last checkpoint is from before.

    Raises:
        UsageError: the folder holds another run.
        InfraError: the disk refuses, or samples can't be had; what was saved is kept.
    """
    run = RunFolder(folder)
    with closing(run), Interrupt(lambda: None) as interrupt:
        begun = run.begun(stage)
        progress = _Progress(run=run, step=begun, saved=begun, history=run.history())
        return _go_on(stage, progress, interrupt, tell)


@dataclass(slots=True, kw_only=True)
class _Progress:
    """How far a run has come."""

    run: RunFolder
    step: int
    saved: int
    history: list[Metrics]

    def ended(self) -> Trained:
        return Trained(
            folder=self.run.folder,
            num_steps=self.step,
            history=tuple(self.history),
            last_saved=self.saved,
        )


def _go_on(stage: Stage, progress: _Progress, interrupt: Interrupt, tell: Told) -> Trained:
    config, run = stage.config.loop, progress.run
    while progress.step < config.steps:
        step = progress.step = progress.step + 1
        metrics = _timed(stage, step)
        run.told(step, metrics)
        progress.history.append(metrics)
        tell(step, metrics)
        stopped = alarm(progress.history, config.limits)
        if stopped is not None:
            run.forget(stopped.since)
            return replace(progress.ended(), alarm=stopped, last_saved=run.last_step())
        if step % config.save_every == 0 or step == config.steps or interrupt.is_requested:
            run.save(stage, step, config.num_kept)
            progress.saved = step
        if interrupt.is_requested and step < config.steps:
            return replace(progress.ended(), is_interrupted=True)
    return replace(progress.ended(), final=run.finish(stage))


def _timed(stage: Stage, step: int) -> Metrics:
    begun_s = time.monotonic()
    metrics = stage.step(step)
    return metrics | paced(metrics, time.monotonic() - begun_s)
