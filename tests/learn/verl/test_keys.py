"""What a recipe becomes in verl's words: nothing is lost on the way."""

import dataclasses
from dataclasses import replace

import pytest

from warpsmith.core import UsageError
from warpsmith.learn.config import ClipConfig, DescentConfig, LoraConfig
from warpsmith.learn.engines.verl.config import EngineConfig
from warpsmith.learn.engines.verl.keys import TABLES
from warpsmith.learn.engines.verl.overrides import as_arguments, said
from warpsmith.learn.losses.groups import Baseline

ACTOR = "actor_rollout_ref.actor"


def leaves(value, path=""):
    """The paths of all fields that are no objects of ours."""
    if not dataclasses.is_dataclass(value):
        yield path
        return
    for field in dataclasses.fields(value):
        yield from leaves(getattr(value, field.name), f"{path}.{field.name}".lstrip("."))


@pytest.mark.parametrize("kind", ["ppo", "grpo", "value", "sft"])
def test_each_field_of_a_recipe_is_said_refused_or_noted(recipes, kind):
    recipe = getattr(recipes, kind)
    known = {row.ours for row in TABLES[type(recipe)]}
    lost = [
        path for path in leaves(recipe) if not any(path == row or path.startswith(f"{row}.") for row in known)
    ]
    assert lost == []
    assert all(any(path == row or path.startswith(f"{row}.") for path in leaves(recipe)) for row in known)


def test_the_actor_rests_for_as_many_steps_as_were_asked_for(recipes, engine):
    """verl updates it in the step whose number is critic_warmup."""
    for asked, told in ((0, 0), (1, 2), (5, 6)):
        recipe = replace(recipes.ppo, critic_only_steps=asked)
        assert said(recipe, engine).overrides["trainer.critic_warmup"] == told


def test_clips_that_are_off_are_too_wide_to_bite(recipes, engine):
    update = replace(recipes.ppo.update, clip=ClipConfig(low=0.1, high=0.3, dual=None))
    told = said(replace(recipes.ppo, update=update, value_clip=None), engine).overrides
    assert (told[f"{ACTOR}.clip_ratio_low"], told[f"{ACTOR}.clip_ratio_high"]) == (0.1, 0.3)
    assert told[f"{ACTOR}.clip_ratio_c"] == told["critic.cliprange_value"] == 1e9


def test_warmup_counts_batches_there_and_steps_of_the_optimiser_here(recipes, engine):
    told = said(recipes.ppo, engine).overrides
    assert told[f"{ACTOR}.optim.lr_warmup_steps"] == 2  # of 2 * 4 updates each, for 10
    assert told["critic.optim.lr_warmup_steps"] == 10
    still = replace(recipes.value, descent=DescentConfig(lr=1e-5))
    assert said(still, engine).overrides["critic.optim.lr_warmup_steps"] == -1


def test_a_batch_is_parted_as_often_as_the_recipe_says(recipes, engine):
    assert said(recipes.ppo, engine).overrides[f"{ACTOR}.ppo_mini_batch_size"] == 32
    with pytest.raises(UsageError, match="multiple of 32"):
        said(recipes.ppo, replace(engine, prompts_per_step=100))


def test_what_a_pass_holds_is_never_less_than_the_longest_sample(recipes, engine):
    keys = (f"{ACTOR}.ppo_max_token_len_per_gpu", "critic.ppo_max_token_len_per_gpu")
    told = said(recipes.ppo, engine).overrides
    assert [told[key] for key in keys] == [32_768, 32_768]
    told = said(recipes.ppo, replace(engine, sequence_parallel=4, prompts_per_step=1024)).overrides
    assert [told[key] for key in keys] == [16_384, 16_384]


def test_grpo_names_its_baseline(recipes, engine):
    assert said(recipes.grpo, engine).overrides["algorithm.adv_estimator"] == "grpo"
    others = replace(recipes.grpo, baseline=Baseline.OTHERS, by_deviation=False)
    assert said(others, engine).overrides["algorithm.adv_estimator"] == "rloo"
    assert said(recipes.grpo, engine).overrides[f"{ACTOR}.use_kl_loss"] is True


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("ppo", {"critic_lam": 0.95}, "one lambda for actor and critic"),
        ("ppo", {"lora": LoraConfig()}, "set lora to None"),
        ("ppo", {"critic_lora": LoraConfig()}, "set critic_lora to None"),
        ("ppo", {"is_whitened": False}, "always whitened"),
        ("grpo", {"baseline": Baseline.OTHERS}, "by_deviation to False"),
        ("sft", {"is_by_sample": True}, "a mean over all tokens"),
        ("value", {"samples_per_step": 33}, "multiple of GPUs"),
    ],
)
def test_what_verl_cannot_do_is_refused_by_name(recipes, engine, kind, changes, message):
    with pytest.raises(UsageError, match=message):
        said(replace(getattr(recipes, kind), **changes), engine)


def test_what_verl_does_otherwise_is_told(recipes, engine):
    notes = said(recipes.grpo, engine).notes
    assert any("no alarm" in note for note in notes)
    assert any("rewards are alike" in note for note in notes)


def test_arguments_are_what_hydra_reads():
    given = {"a": None, "b": True, "c": 3e-6, "d": "a path/with = signs", "e": ("x", "y"), "f": 2}
    assert list(as_arguments(given)) == [
        "a=null",
        "b=true",
        "c=3e-06",
        "d='a path/with = signs'",
        "e=[x,y]",
        "f=2",
    ]


@pytest.mark.parametrize("path", ["it's", "a\\b", "${oc.env:HOME}", "two\nlines"])
def test_a_path_that_hydra_would_read_otherwise_is_refused(path):
    with pytest.raises(UsageError, match="cannot be said"):
        list(as_arguments({"data.train_files": path}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rollout": "hf"}, "choose one of vllm, sglang"),
        ({"nodes": 0}, "nodes must be 1 or more"),
        ({"response_tokens": -1}, "response_tokens must be 1 or more"),
        ({"tensor_parallel": 3}, "tensor_parallel 3"),
        ({"sequence_parallel": 64}, "sequence_parallel 64"),
    ],
)
def test_machines_that_cannot_be_shared_out_are_refused(tmp_path, changes, message):
    with pytest.raises(UsageError, match=message):
        EngineConfig(**{"model": tmp_path, "nodes": 4, "gpus": 8} | changes)
