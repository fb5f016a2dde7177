"""All that verl is told to do: what a recipe says, and what follows from the machines and from its traps."""

from dataclasses import dataclass, replace
from functools import singledispatch
from pathlib import Path
from typing import Any

from warpsmith.learn.config import GrpoConfig, PpoConfig, SftConfig, StageConfig, ValueConfig
from warpsmith.learn.engines.verl.config import EngineConfig
from warpsmith.learn.engines.verl.keys import ACTOR, NO_CLIP, ROLLOUT, Value
from warpsmith.learn.engines.verl.overrides import said

EPISODES, REPLAY = "warpsmith_episodes", "warpsmith_replay"
PLUGIN = "warpsmith.learn.engines.verl.plugin"
KEPT = ("model", "optimizer", "extra", "hf_model")  # the last for whoever reads Hugging Face's files
ENV = "ray_kwargs.ray_init.runtime_env.env_vars"
LOGGERS = ("console", "file", "tensorboard")
TABLE, LOOPS, METRICS, CHECKPOINTS = "train.parquet", "agent.yaml", "metrics.jsonl", "checkpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A run of one of verl's programs."""

    module: str
    overrides: dict[str, Value]
    notes: tuple[str, ...]
    loops: tuple[dict[str, Any], ...] = ()  # that its workers act by, as hydra instantiates them
    is_ray: bool = True  # else one process a GPU, by torchrun


def order_of(recipe: StageConfig, engine: EngineConfig, folder: Path, workplace: dict[str, Any]) -> Order:
    """`workplace` is what episodes need to know (`acting.Post`), as hydra instantiates it.

    Raises UsageError for what verl cannot do.
    """
    told = said(recipe, engine)
    order = _ordered(recipe, engine, folder.absolute(), workplace)
    return replace(order, overrides=order.overrides | told.overrides, notes=(*told.notes, *order.notes))


@singledispatch
def _ordered(recipe: StageConfig, engine: EngineConfig, folder: Path, workplace: dict[str, Any]) -> Order:
    raise NotImplementedError(type(recipe))


@_ordered.register
def _(recipe: PpoConfig, engine: EngineConfig, folder: Path, workplace: dict[str, Any]) -> Order:
    overrides = _reinforced(engine, folder) | _critic(engine) | _drawn(engine)
    return Order(
        module="verl.trainer.main_ppo",
        overrides=overrides,
        notes=_about_critic(engine),
        loops=(_episodes(workplace, recipe.sampling.max_tokens),),
    )


@_ordered.register
def _(recipe: GrpoConfig, engine: EngineConfig, folder: Path, workplace: dict[str, Any]) -> Order:
    overrides = _reinforced(engine, folder) | _drawn(engine)
    overrides |= {"critic.enable": False, f"{ACTOR}.kl_loss_type": "low_var_kl"}
    return Order(
        module="verl.trainer.main_ppo",
        overrides=overrides,
        notes=(),
        loops=(_episodes(workplace, recipe.sampling.max_tokens),),
    )


@_ordered.register
def _(recipe: ValueConfig, engine: EngineConfig, folder: Path, _workplace: dict[str, Any]) -> Order:
    """Recorded samples are drawn again as they were; the actor is loaded, and its turn never comes."""
    overrides = _reinforced(engine, folder) | _critic(engine)
    overrides |= {
        "algorithm.adv_estimator": "gae",
        "algorithm.rollout_correction.bypass_mode": True,
        "critic.cliprange_value": NO_CLIP,
        "trainer.critic_warmup": recipe.loop.steps + 1,
        f"{ROLLOUT}.agent.default_agent_loop": REPLAY,
    }
    note = "verl loads an actor and an engine to draw with beside the critic, and uses neither"
    return Order(
        module="verl.trainer.main_ppo",
        overrides=overrides,
        notes=(note, *_about_critic(engine)),
        loops=({"name": REPLAY, "_target_": f"{PLUGIN}.ReplayLoop"},),
    )


@_ordered.register
def _(_recipe: SftConfig, engine: EngineConfig, folder: Path, _workplace: dict[str, Any]) -> Order:
    overrides: dict[str, Value] = {
        "model.path": str(engine.model),
        "model.use_remove_padding": True,
        "engine.strategy": "fsdp2",
        "engine.ulysses_sequence_parallel_size": engine.sequence_parallel,
        "engine.entropy_from_logits_with_chunking": True,
        "data.train_files": str(folder / TABLE),
        "data.custom_cls.path": f"pkg://{PLUGIN}",
        "data.custom_cls.name": "TokenDataset",
        "data.use_dynamic_bsz": True,
        "data.max_length": engine.context_tokens,
        "checkpoint.save_contents": KEPT,
        "trainer.nnodes": engine.nodes,
        "trainer.n_gpus_per_node": engine.gpus,
    }
    return Order(
        module="verl.trainer.sft_trainer", overrides=overrides | _kept(folder, "sft"), notes=(), is_ray=False
    )


def _kept(folder: Path, name: str) -> dict[str, Value]:
    return {
        "trainer.default_local_dir": str(folder / CHECKPOINTS),
        "trainer.logger": LOGGERS,
        "trainer.project_name": "warpsmith",
        "trainer.experiment_name": name,
        "trainer.test_freq": -1,
    }


def _reinforced(engine: EngineConfig, folder: Path) -> dict[str, Value]:
    """What PPO, GRPO and replay have in common."""
    table, parallel = str(folder / TABLE), engine.sequence_parallel
    return {
        "algorithm.use_kl_in_reward": False,
        "data.train_files": table,
        "data.val_files": table,
        "data.train_batch_size": engine.prompts_per_step,
        "data.max_prompt_length": engine.prompt_tokens,
        "data.max_response_length": engine.response_tokens,
        "data.filter_overlong_prompts": False,  # the agent's loop writes the prompt, and checks it
        "data.truncation": "error",
        "actor_rollout_ref.model.path": str(engine.model),
        "actor_rollout_ref.model.use_remove_padding": True,
        f"{ACTOR}.strategy": "fsdp2",
        f"{ACTOR}.use_dynamic_bsz": True,
        f"{ACTOR}.shuffle": True,
        f"{ACTOR}.entropy_from_logits_with_chunking": True,
        f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size": parallel,
        f"{ACTOR}.checkpoint.save_contents": KEPT,
        f"{ROLLOUT}.name": engine.rollout,
        f"{ROLLOUT}.tensor_model_parallel_size": engine.tensor_parallel,
        f"{ROLLOUT}.calculate_log_probs": True,
        f"{ROLLOUT}.multi_turn.enable": True,
        f"{ROLLOUT}.agent.num_workers": engine.num_workers,
        f"{ROLLOUT}.agent.agent_loop_config_path": str(folder / LOOPS),
        "reward.num_workers": 1,  # samples bring their rewards
        "trainer.nnodes": engine.nodes,
        "trainer.n_gpus_per_node": engine.gpus,
        # A Ray that runs already does not know the script's environment.
        f"+{ENV}.VERL_FILE_LOGGER_PATH": str(folder / METRICS),
        f"+{ENV}.TENSORBOARD_DIR": str(folder / "tensorboard"),
        "trainer.val_before_train": False,
        "trainer.v1.trainer_mode": "sync",
        "trainer.v1.sampler.max_off_policy_strategy": "wait",  # "drop" keeps short and easy episodes
        "trainer.v1.sampler.sync_refill_failed_groups": True,  # what failed by our fault is drawn anew ...
        "trainer.v1.sampler.custom_sampler.path": f"pkg://{PLUGIN}",  # ... but not for ever
        "trainer.v1.sampler.custom_sampler.name": "PatientBuffer",
        **_kept(folder, folder.name),
    }


def _critic(engine: EngineConfig) -> dict[str, Value]:
    return {
        "critic.enable": True,
        "critic.strategy": "fsdp2",
        "critic.model.path": str(engine.critic or engine.model),
        "critic.model.use_remove_padding": True,
        "critic.fsdp.ulysses_sequence_parallel_size": engine.sequence_parallel,
        "critic.ppo_mini_batch_size": engine.prompts_per_step,  # one step over the whole batch
        "critic.ppo_epochs": 1,
        "critic.loss_agg_mode": "token-mean",
        "critic.checkpoint.save_contents": KEPT,
    }


def _about_critic(engine: EngineConfig) -> tuple[str, ...]:
    told = "no critic was given: it begins as the student with a head of random values, not of zeros"
    return () if engine.critic else (told,)


def _drawn(engine: EngineConfig) -> dict[str, Value]:
    return {
        f"{ROLLOUT}.n": engine.samples_per_prompt,
        f"{ROLLOUT}.agent.default_agent_loop": EPISODES,
    }


def _episodes(workplace: dict[str, Any], max_reply_tokens: int) -> dict[str, Any]:
    return {
        "name": EPISODES,
        "_target_": f"{PLUGIN}.EpisodeLoop",
        "max_reply_tokens": max_reply_tokens,
        "workplace": workplace,
    }
