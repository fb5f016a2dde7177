"""A recipe in verl's words: one table a kind, a row for each of our fields.

A field that verl has no word for is refused where it would change what is learnt, and noted where verl does
otherwise. None is left out: a test walks through all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warpsmith.learn.config import GrpoConfig, PpoConfig, SftConfig, StageConfig, UpdateConfig, ValueConfig
from warpsmith.learn.engines.verl.config import EngineConfig
from warpsmith.learn.losses.groups import Baseline

Value = str | int | float | bool | None | tuple[str, ...]
NO_CLIP = 1e9  # verl has no word for "not at all"; rewards and ratios do not come near

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A recipe, and where it is to run."""

    recipe: Any  # of the kind that a table is for
    engine: EngineConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One of our fields: which of verl's keys say the same, or why none does."""

    ours: str  # a path below the recipe; all fields below it are meant
    theirs: tuple[str, ...] = ()  # with a plus: verl's configuration has no such key before
    value: Callable[[Any, Asked], Value] = lambda value, _: value
    is_possible: Callable[[Any, Asked], bool] = lambda _value, _asked: True
    refusal: str = ""  # why a value that is not possible isn't, and what is
    note: str = ""  # what is otherwise there, whatever the value


def _one(_asked: Asked) -> int:
    return 1


def _updates(asked: Asked) -> int:
    update: UpdateConfig = asked.recipe.update
    return update.epochs * update.num_minibatches


def _criticisms(asked: Asked) -> int:
    return int(asked.recipe.critic_epochs)


def descent_rows(ours: str, theirs: str, per_batch: Callable[[Asked], int] = _one) -> tuple[Row, ...]:
    """AdamW. verl moves its rate once a batch, after the `per_batch` steps that the batch is good for."""

    def warmup(value: int, asked: Asked) -> int:
        return -(-value // per_batch(asked)) or -1

    return (
        Row(ours=f"{ours}.lr", theirs=(f"{theirs}.lr",)),
        Row(ours=f"{ours}.betas", theirs=(f"{theirs}.betas",), value=lambda v, _: tuple(map(str, v))),
        Row(ours=f"{ours}.weight_decay", theirs=(f"{theirs}.weight_decay",)),
        Row(ours=f"{ours}.max_grad_norm", theirs=(f"{theirs}.clip_grad",)),
        Row(ours=f"{ours}.warmup_steps", theirs=(f"{theirs}.lr_warmup_steps",), value=warmup),
    )


def _dtype(precision: str, _asked: Asked) -> str:
    return {"fp32": "float32", "bf16": "bfloat16"}[precision]


def _pass_tokens(micro_tokens: int, asked: Asked) -> int:
    """Here a long sample is a pass of its own, and there the longest one has to fit."""
    return max(micro_tokens, -(-asked.engine.context_tokens // asked.engine.sequence_parallel))


def _minibatch(num_minibatches: int, asked: Asked) -> int:
    asked.engine.check_divides(num_minibatches)
    return asked.engine.prompts_per_step // num_minibatches


NO_ALARMS = Row(
    ours="loop.limits",
    note="no alarm stops the run: the limits of collapse are this package's own; watch verl's metrics",
)
STEPS = Row(ours="loop.steps", theirs=("trainer.total_training_steps", "trainer.total_epochs"))


def _no_adapter(ours: str) -> Row:
    refusal = f"all weights are trained there; set {ours} to None"
    return Row(ours=ours, is_possible=lambda value, _: value is None, refusal=refusal)


ALL_WEIGHTS = _no_adapter("lora")

LOOP = (
    ALL_WEIGHTS,
    STEPS,
    Row(
        ours="loop.seed",
        theirs=(
            "data.seed",
            f"{ACTOR}.data_loader_seed",
            f"{ACTOR}.fsdp_config.seed",
            "critic.data_loader_seed",
            "critic.fsdp.seed",
        ),
    ),
    Row(ours="loop.save_every", theirs=("trainer.save_freq",)),
    Row(ours="loop.num_kept", theirs=("trainer.max_actor_ckpt_to_keep", "trainer.max_critic_ckpt_to_keep")),
    NO_ALARMS,
)

MEMORY = (
    Row(
        ours="memory.micro_tokens",
        theirs=(f"{ACTOR}.ppo_max_token_len_per_gpu", "critic.ppo_max_token_len_per_gpu"),
        value=_pass_tokens,
    ),
    Row(ours="memory.chunk_tokens", theirs=(f"{ACTOR}.entropy_from_logits_chunk_size",)),
    Row(
        ours="memory.is_checkpointed",
        theirs=(
            "actor_rollout_ref.model.enable_gradient_checkpointing",
            "critic.model.enable_gradient_checkpointing",
        ),
    ),
    # `dtype` of an engine says nothing to FSDP; and without the plus, verl's configuration has no such key.
    Row(
        ours="memory.precision",
        theirs=(
            f"+{ACTOR}.fsdp_config.mixed_precision.param_dtype",
            "+actor_rollout_ref.ref.fsdp_config.mixed_precision.param_dtype",
            "+critic.fsdp.mixed_precision.param_dtype",
        ),
    ),
    Row(ours="memory.precision", theirs=(f"{ROLLOUT}.dtype",), value=_dtype),
)

SAMPLING = (
    Row(ours="decoding", note="vLLM and SGLang share out their memory by settings of their own"),
    Row(ours="sampling.temperature", theirs=(f"{ROLLOUT}.temperature",)),
    Row(ours="sampling.top_p", theirs=(f"{ROLLOUT}.top_p",), value=lambda _value, _: 1.0),
    Row(ours="sampling.max_tokens", note="max_tokens bounds one reply, and is told to the agent's loop"),
    Row(
        ours="sampling.seed",
        theirs=(f"{ROLLOUT}.seed",),
        value=lambda value, asked: asked.recipe.loop.seed if value is None else value,
        note="the same seed does not draw the same samples twice: engines batch by what arrives when",
    ),
)

UPDATE = (
    *descent_rows("update.descent", f"{ACTOR}.optim", _updates),
    Row(ours="update.clip.low", theirs=(f"{ACTOR}.clip_ratio_low", f"{ACTOR}.clip_ratio")),
    Row(ours="update.clip.high", theirs=(f"{ACTOR}.clip_ratio_high",)),
    Row(
        ours="update.clip.dual",
        theirs=(f"{ACTOR}.clip_ratio_c",),
        value=lambda value, _: NO_CLIP if value is None else value,
    ),
    Row(ours="update.epochs", theirs=(f"{ACTOR}.ppo_epochs",)),
    Row(ours="update.num_minibatches", theirs=(f"{ACTOR}.ppo_mini_batch_size",), value=_minibatch),
    Row(
        ours="update.is_by_sample",
        theirs=(f"{ACTOR}.loss_agg_mode",),
        value=lambda value, _: "seq-mean-token-mean" if value else "token-mean",
    ),
    Row(ours="update.kl", theirs=(f"{ACTOR}.use_kl_loss",), value=lambda value, _: value > 0.0),
    Row(ours="update.kl", theirs=(f"{ACTOR}.kl_loss_coef",)),
)

PPO = (
    *LOOP,
    _no_adapter("critic_lora"),
    *MEMORY,
    *SAMPLING,
    *UPDATE,
    *descent_rows("critic", "critic.optim", _criticisms),
    Row(ours="gamma", theirs=("algorithm.gamma",)),
    Row(ours="lam", theirs=("algorithm.lam",)),
    Row(
        ours="critic_lam",
        theirs=("algorithm.lam",),
        is_possible=lambda value, asked: value == asked.recipe.lam,
        refusal="there is one lambda for actor and critic; set critic_lam to lam",
    ),
    Row(
        ours="value_clip",
        theirs=("critic.cliprange_value",),
        value=lambda value, _: NO_CLIP if value is None else value,
    ),
    Row(ours="critic_epochs", theirs=("critic.ppo_epochs",)),
    Row(
        ours="critic_only_steps",
        theirs=("trainer.critic_warmup",),
        value=lambda value, _: value + 1 if value else 0,  # its actor learns in the step of that number
    ),
    Row(
        ours="is_whitened",
        theirs=("algorithm.adv_estimator",),
        value=lambda _value, _: "gae",
        is_possible=lambda value, _: value,
        refusal="advantages of GAE are always whitened there; set is_whitened to True",
    ),
)

GRPO = (
    *LOOP,
    *MEMORY,
    *SAMPLING,
    *UPDATE,
    Row(
        ours="baseline",
        theirs=("algorithm.adv_estimator",),
        value=lambda value, _: {Baseline.MEAN: "grpo", Baseline.OTHERS: "rloo"}[value],
        note="groups whose rewards are alike stay in the batch: they teach nothing, and count in its mean",
    ),
    Row(
        ours="by_deviation",
        theirs=("algorithm.norm_adv_by_std_in_grpo",),
        is_possible=lambda value, asked: not value or asked.recipe.baseline is Baseline.MEAN,
        refusal="leave-one-out is never divided by a deviation; set by_deviation to False",
    ),
)

VALUE = (
    *LOOP,
    *MEMORY,
    *descent_rows("descent", "critic.optim"),
    Row(
        ours="samples_per_step",
        theirs=("data.train_batch_size", "critic.ppo_mini_batch_size", f"{ACTOR}.ppo_mini_batch_size"),
        is_possible=lambda value, asked: value % asked.engine.num_replicas == 0,
        refusal="the samples of a step are shared out evenly; make it a multiple of GPUs / sequence_parallel",
    ),
    Row(ours="gamma", theirs=("algorithm.gamma",)),
    Row(ours="lam", theirs=("algorithm.lam",)),
)

SFT = (
    ALL_WEIGHTS,
    STEPS,
    Row(ours="loop.seed", theirs=("trainer.seed", "engine.seed")),
    Row(ours="loop.save_every", theirs=("trainer.save_freq",)),
    Row(ours="loop.num_kept", theirs=("trainer.max_ckpt_to_keep",)),
    NO_ALARMS,
    *descent_rows("descent", "optim"),
    Row(ours="memory.micro_tokens", theirs=("data.max_token_len_per_gpu",), value=_pass_tokens),
    Row(ours="memory.chunk_tokens", theirs=("engine.entropy_from_logits_chunk_size",)),
    Row(ours="memory.is_checkpointed", theirs=("model.enable_gradient_checkpointing",)),
    Row(ours="memory.precision", theirs=("+engine.mixed_precision.param_dtype",)),
    Row(ours="samples_per_step", theirs=("data.train_batch_size",)),
    Row(
        ours="is_by_sample",
        is_possible=lambda value, _: not value,
        refusal="imitation there is a mean over all tokens; set is_by_sample to False",
    ),
)

TABLES: dict[type[StageConfig], tuple[Row, ...]] = {
    SftConfig: SFT,
    ValueConfig: VALUE,
    PpoConfig: PPO,
    GrpoConfig: GRPO,
}
