"""What is told of each step of training."""

from enum import StrEnum


class Metric(StrEnum):
    """A number a step; shares lie in [0, 1], log-probabilities and entropies are in nats a token."""

    LOSS = "loss"
    VALUE_LOSS = "value_loss"
    GRAD_NORM = "grad_norm"  # before it was cut; of the actor, where there is one
    CRITIC_GRAD_NORM = "critic_grad_norm"
    LR = "lr"
    REWARD = "reward"  # mean over rewarded samples
    REWARD_DEVIATION = "reward_deviation"
    PASS_RATE = "pass_rate"  # share of rewarded samples that earned more than 0
    TRUNCATED = "truncated"  # share of samples that a limit ended
    UNREWARDED = "unrewarded"  # samples that the judge could not tell anything of
    MODELLED = "modelled"  # share of rewards that rest on modelled times
    SAMPLES = "samples"  # that were learnt from
    TOKENS = "tokens"  # drawn, of those samples
    SILENT_GROUPS = "silent_groups"  # of GRPO, that carried no signal
    ENTROPY = "entropy"  # mean over drawn tokens
    EXPLAINED_VARIANCE = "explained_variance"  # absent where returns hardly vary
    MISMATCH = "mismatch"  # mean |log-probability when drawn - the trainer's, before its update|
    CLIPPED = "clipped"  # share of tokens
    DUAL_CLIPPED = "dual_clipped"
    MOVED = "moved"  # mean of old - new log-probability over an update (k1)
    MAX_LOG_RATIO = "max_log_ratio"  # largest |new - old log-probability|
    KL = "kl"  # to the reference model, by k3
    UPDATED = "updated"  # 1 if the actor was changed
    READ = "read"  # tokens of the samples that were learnt from, prompts too, each once
    GENERATED = "generated"  # tokens that were drawn in the step, for whatever became of them
    WALL_S = "wall_s"
    ROLLOUT_S = "rollout_s"  # drawing and judging, which overlap
    GENERATE_S = "generate_s"  # of it, in which tokens were drawn
    UPDATE_S = "update_s"  # all the rest
    ROLLOUT_TOKENS_PER_S = "rollout_tokens_per_s"  # of `generated`
    GENERATE_TOKENS_PER_S = "generate_tokens_per_s"
    UPDATE_TOKENS_PER_S = "update_tokens_per_s"  # of `read`
    IDLE = "idle"  # share of the step in which nothing was drawn or learnt: all waited for the judge


Metrics = dict[Metric, float]

CLOCKS = frozenset(
    {
        Metric.WALL_S,
        Metric.ROLLOUT_S,
        Metric.GENERATE_S,
        Metric.UPDATE_S,
        Metric.ROLLOUT_TOKENS_PER_S,
        Metric.GENERATE_TOKENS_PER_S,
        Metric.UPDATE_TOKENS_PER_S,
        Metric.IDLE,
    }
)
"""What is measured by a clock, and so is another number the next time."""


def paced(metrics: Metrics, wall_s: float) -> Metrics:
    """How fast a step was that took `wall_s` and told `metrics`. A rate over no time is left out."""
    rollout_s, generate_s = metrics.get(Metric.ROLLOUT_S, 0.0), metrics.get(Metric.GENERATE_S, 0.0)
    update_s = max(0.0, wall_s - rollout_s)
    found = {Metric.WALL_S: wall_s, Metric.UPDATE_S: update_s}
    rates = (
        (Metric.ROLLOUT_TOKENS_PER_S, Metric.GENERATED, rollout_s),
        (Metric.GENERATE_TOKENS_PER_S, Metric.GENERATED, generate_s),
        (Metric.UPDATE_TOKENS_PER_S, Metric.READ, update_s),
    )
    found |= {
        rate: metrics[count] / spent for rate, count, spent in rates if count in metrics and spent > 0.0
    }
    if wall_s > 0.0:
        found[Metric.IDLE] = max(0.0, rollout_s - generate_s) / wall_s
    return found
