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
    WALL_S = "wall_s"
    ROLLOUT_S = "rollout_s"


Metrics = dict[Metric, float]
