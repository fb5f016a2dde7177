"""Which curves are drawn together, and how: a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from warpsmith.learn.curves.reading import TrainingRun
from warpsmith.learn.metrics import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One picture. With several metrics each has a style of line; each run has a colour."""

    title: str
    metrics: tuple[str, ...]
    unit: str = ""
    about: str = ""  # a sentence for who looks at it
    is_log: bool = False
    limits: tuple[float, float] | None = None  # of the axis, where they are known


PANELS = (
    Panel(
        title="Reward",
        metrics=(Metric.REWARD, Metric.REWARD_DEVIATION),
        unit="reward",
        about="Mean and standard deviation over the samples of a step that have a reward.",
    ),
    Panel(
        title="Pass rate",
        metrics=(Metric.PASS_RATE, Metric.TRUNCATED, Metric.MODELLED),
        unit="share",
        about="Samples that earned more than 0, those that a limit ended, and rewards on modelled times.",
        limits=(0.0, 1.0),
    ),
    Panel(title="Losses", metrics=(Metric.LOSS, Metric.VALUE_LOSS), about="Of the actor and of the critic."),
    Panel(
        title="Gradients",
        metrics=(Metric.GRAD_NORM, Metric.CRITIC_GRAD_NORM),
        unit="norm before it is cut",
        is_log=True,
    ),
    Panel(
        title="Explained variance",
        metrics=(Metric.EXPLAINED_VARIANCE,),
        about="1 is a perfect critic, 0 is as good as a constant; absent where returns hardly vary.",
    ),
    Panel(title="Entropy", metrics=(Metric.ENTROPY,), unit="nats a token"),
    Panel(
        title="Clipped tokens",
        metrics=(Metric.CLIPPED, Metric.DUAL_CLIPPED),
        unit="share",
        limits=(0.0, 1.0),
    ),
    Panel(
        title="How far an update moves",
        metrics=(Metric.MAX_LOG_RATIO, Metric.MOVED),
        unit="nats",
        about="The largest change of a token's log-probability in an update, and the mean.",
    ),
    Panel(
        title="Rollout against trainer",
        metrics=(Metric.MISMATCH,),
        unit="nats a token",
        about="Mean difference of log-probabilities when drawn and as the trainer computes them.",
        is_log=True,
    ),
    Panel(title="KL to the reference", metrics=(Metric.KL,), unit="nats a token"),
    Panel(
        title="Samples",
        metrics=(Metric.SAMPLES, Metric.UNREWARDED, Metric.SILENT_GROUPS),
        unit="a step",
        about="Silent groups have equal rewards: nothing can be learnt from them.",
    ),
    Panel(title="Tokens drawn a sample", metrics=("tokens_per_sample",), unit="tokens"),
    Panel(title="Learning rate", metrics=(Metric.LR,), is_log=True),
    Panel(
        title="Time",
        metrics=(Metric.WALL_S, Metric.ROLLOUT_S, Metric.GENERATE_S, Metric.UPDATE_S),
        unit="seconds a step",
        about="All of a step, the part that draws and judges samples, of it the drawing, and the learning.",
    ),
    Panel(
        title="Speed",
        metrics=(Metric.ROLLOUT_TOKENS_PER_S, Metric.GENERATE_TOKENS_PER_S, Metric.UPDATE_TOKENS_PER_S),
        unit="tokens a second",
        is_log=True,
    ),
    Panel(
        title="Waiting for the judge",
        metrics=(Metric.IDLE,),
        unit="share of the step",
        limits=(0.0, 1.0),
    ),
    Panel(title="Tokens a step", metrics=(Metric.TOKENS, Metric.GENERATED, Metric.READ), unit="tokens"),
)
KNOWN = frozenset(name for panel in PANELS for name in panel.metrics) | {Metric.UPDATED}


def panels_for(runs: Sequence[TrainingRun]) -> tuple[Panel, ...]:
    """Those that some run has a point for; a metric that no panel knows gets one of its own, by its name."""
    names = {name for run in runs for name in all_series(run)}
    others = tuple(Panel(title=name, metrics=(name,)) for name in sorted(names - KNOWN))
    return tuple(panel for panel in (*PANELS, *others) if names.intersection(panel.metrics))


def all_series(run: TrainingRun) -> dict[str, tuple[tuple[int, float], ...]]:
    """The run's series, and the one that is computed from two of them."""
    found = dict(run.series)
    tokens, samples = dict(run.series.get(Metric.TOKENS, ())), dict(run.series.get(Metric.SAMPLES, ()))
    if tokens:
        found["tokens_per_sample"] = tuple(
            (step, value / samples[step]) for step, value in tokens.items() if samples.get(step)
        )
    return {name: points for name, points in found.items() if points}
