"""How training goes: one frozen object for each stage. Recipes fill them in."""

from dataclasses import dataclass, field

from warpsmith.core import UsageError
from warpsmith.learn.losses.groups import Baseline
from warpsmith.learn.monitors import Limits
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.tokens import DecodingConfig

PRECISIONS = ("fp32", "bf16")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopConfig:
    """How long, and what is kept."""

    steps: int
    seed: int = 0  # all chance of a step follows from it and the step's number
    save_every: int = 20  # steps; the last one is saved too
    num_kept: int = 2  # checkpoints, the latest
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if min(self.steps, self.save_every, self.num_kept) < 1:
            raise UsageError("steps, save_every and num_kept must be 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class DescentConfig:
    """AdamW."""

    lr: float
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    warmup_steps: int = 0  # over which the rate rises from 0

    def __post_init__(self) -> None:
        if not self.lr > 0.0 or not self.max_grad_norm > 0.0 or self.warmup_steps < 0:
            raise UsageError("lr and max_grad_norm must be above 0, and warmup_steps 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig:
    """What fits at once. None of it changes what is computed, but for rounding."""

    micro_tokens: int = 16_384  # of one pass, filling included; a longer sample is a pass of its own
    chunk_tokens: int = 1_024  # whose logits exist at once: [chunk, V] in float32
    is_checkpointed: bool = False  # layers are computed again in the backward pass
    precision: str = "fp32"  # "bf16": products in bfloat16, weights and sums in float32

    def __post_init__(self) -> None:
        _check_precision(self.precision)
        if min(self.micro_tokens, self.chunk_tokens) < 1:
            raise UsageError("micro_tokens and chunk_tokens must be 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraConfig:
    """A low-rank adapter (arXiv 2106.09685) is trained, and what it is for stays as it is.

    Bytes a parameter: all weights trained take 16 (float32: 4 the weight, 4 its gradient, 8 AdamW's two
    moments; as ZeRO counts, arXiv 1910.02054 section 3.1, without its copy in half precision). Frozen ones
    take 4, or 2 in bfloat16, and an adapter 16 for each of its rank x (inputs + outputs) weights a layer. Of
    0.5B parameters (Qwen2.5: 24 layers, 22,912 inputs and outputs each) that is 8 GB against 1 GB + 70 MB at
    rank 8; of 7B, 112 GB against 14 GB and some. What layers compute for the backward pass comes on top;
    `MemoryConfig.is_checkpointed` leaves each layer's input alone of it.

    No dropout: the log-probabilities would be others than were drawn with.
    """

    rank: int = 8
    alpha: int = 16  # what the adapter adds is scaled by alpha / rank
    targets: tuple[str, ...] = ()  # names of layers, as "q_proj"; none: all linear ones but the head
    base_precision: str = "fp32"  # of the frozen weights; "bf16" rounds them
    is_merged: bool = True  # what is written at the end is a whole model, else the adapter alone

    def __post_init__(self) -> None:
        if min(self.rank, self.alpha) < 1:
            raise UsageError("an adapter's rank and alpha must be 1 or more")
        _check_precision(self.base_precision)


@dataclass(frozen=True, slots=True, kw_only=True)
class SftConfig:
    """Imitation of what was drawn or taught, on its own tokens alone."""

    loop: LoopConfig
    descent: DescentConfig
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    lora: LoraConfig | None = None
    samples_per_step: int = 32
    is_by_sample: bool = False  # each sample counts the same, not each token

    def __post_init__(self) -> None:
        _check_counts(samples_per_step=self.samples_per_step)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueConfig:
    """A critic of its own is fitted to what recorded samples earned; no actor is touched."""

    loop: LoopConfig
    descent: DescentConfig
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    lora: LoraConfig | None = None  # of the critic, whose head is trained whole; it is written merged
    samples_per_step: int = 32
    gamma: float = 1.0
    lam: float = 1.0  # 1: the target is the return itself; below, what the critic says now mixes in

    def __post_init__(self) -> None:
        _check_counts(samples_per_step=self.samples_per_step)
        _check_shares(gamma=self.gamma, lam=self.lam)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipConfig:
    """Bounds of the surrogate: see `losses.policy.Clip`."""

    low: float = 0.2
    high: float = 0.28
    dual: float | None = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateConfig:
    """How an actor learns from one batch of samples, whatever its advantages are."""

    descent: DescentConfig
    clip: ClipConfig = field(default_factory=ClipConfig)
    epochs: int = 1
    num_minibatches: int = 1  # steps of the optimiser in an epoch
    is_by_sample: bool = False
    kl: float = 0.0  # weight of the divergence (k3) from the model that training began with

    def __post_init__(self) -> None:
        if min(self.epochs, self.num_minibatches) < 1 or not self.kl >= 0.0:
            raise UsageError("epochs and num_minibatches must be 1 or more, and kl 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class PpoConfig:
    """Proximal policy optimisation with a critic.

    `lam` below 1 loses a reward at the end within 1 / (1 - lam) tokens: leave it at 1 for long samples.
    """

    loop: LoopConfig
    update: UpdateConfig
    critic: DescentConfig
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=1.0))
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    lora: LoraConfig | None = None
    critic_lora: LoraConfig | None = None  # its head is trained whole; it is written merged
    gamma: float = 1.0
    lam: float = 1.0  # of the actor's advantages
    critic_lam: float = 1.0  # of the critic's targets
    value_clip: float | None = 0.5
    critic_epochs: int = 1
    critic_only_steps: int = 0  # at the start, in which the actor stays as it is
    is_whitened: bool = True  # advantages of a batch have mean 0 and deviation 1

    def __post_init__(self) -> None:
        check_drawn(self.sampling)
        _check_counts(critic_epochs=self.critic_epochs)
        _check_shares(gamma=self.gamma, lam=self.lam, critic_lam=self.critic_lam)
        if self.value_clip is not None and not self.value_clip > 0.0:
            raise UsageError(f"value_clip must be above 0, or None for no clip, not {self.value_clip:g}")
        if self.update.kl > 0.0:
            raise UsageError("PPO here has no reference model; set update.kl to 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpoConfig:
    """Advantages from groups of samples with the same prompt; no critic."""

    loop: LoopConfig
    update: UpdateConfig
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=1.0))
    decoding: DecodingConfig = field(default_factory=DecodingConfig)
    lora: LoraConfig | None = None
    baseline: Baseline = Baseline.MEAN
    by_deviation: bool = True

    def __post_init__(self) -> None:
        check_drawn(self.sampling)


def check_drawn(sampling: Sampling) -> None:
    """Raises UsageError for what cannot be learnt from."""
    if sampling.temperature is None or not sampling.temperature > 0.0:
        raise UsageError("samples to learn from need a temperature above 0 that is written down")
    if sampling.top_p is not None and sampling.top_p < 1.0:
        raise UsageError(
            "top_p below 1 draws from another distribution than the one that is learnt; leave it out"
        )


def _check_precision(name: str) -> None:
    if name not in PRECISIONS:
        raise UsageError(f"unknown precision {name!r}; choose one of {', '.join(PRECISIONS)}")


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise UsageError(f"{name} must be 1 or more, not {count}")


def _check_shares(**shares: float) -> None:
    for name, share in shares.items():
        if not 0.0 <= share <= 1.0:
            raise UsageError(f"{name} lies in [0, 1], not {share:g}")


StageConfig = SftConfig | ValueConfig | PpoConfig | GrpoConfig
