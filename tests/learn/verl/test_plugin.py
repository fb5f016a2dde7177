"""What verl's workers are handed, where verl is installed."""

import importlib
import math
import warnings
from dataclasses import replace

import pytest

from warpsmith.core import InfraError
from warpsmith.learn.engines.verl.rows import sample_rows, write_table
from warpsmith.learn.rewards.base import Missing, NoReward, Reward

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("verl.trainer.ppo.v1.replay_buffer", exc_type=ImportError)
    plugin = importlib.import_module("warpsmith.learn.engines.verl.plugin")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def test_a_sample_is_handed_over_token_by_token(sample):
    output = plugin.output_of(sample, 8, 5)
    assert output.prompt_ids + output.response_ids == list(sample.ids)
    assert output.prompt_ids == [5, 6, 7]
    assert output.response_mask == [1, 1, 0, 1, 1]
    assert output.response_logprobs == [-0.5, -1.0, 0.0, -0.25, -2.0]
    assert output.reward_score == 3.0
    assert output.extra_fields["min_global_steps"] == output.extra_fields["max_global_steps"] == 4
    assert output.as_dict()["rm_scores"].tolist() == [0.0, 0.0, 0.0, 0.0, 3.0]


def test_a_teachers_words_have_no_probabilities_and_nobody_asks(sample):
    spans = tuple(replace(span, logprobs=None) for span in sample.spans)
    assert plugin.output_of(replace(sample, spans=spans), 8, 1).response_logprobs == [0.0] * 5


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (None, "was not judged"),
        (NoReward(reason=Missing.INFRA, message="the judge died"), "the judge died"),
        (Reward(value=math.nan, parts={}), "has the reward nan"),
    ],
)
def test_what_has_no_reward_becomes_none(sample, outcome, message):
    with pytest.raises(InfraError, match=message):
        plugin.output_of(replace(sample, outcome=outcome), 8, 1)


def test_a_sample_that_is_too_long_is_no_sample(sample):
    with pytest.raises(InfraError, match="8 tokens, more than 7"):
        plugin.output_of(sample, 7, 1)


def test_patience_ends_when_a_step_has_failed_as_often_as_it_has_prompts():
    asked = []
    buffer = plugin.PatientBuffer(
        refill_fn=asked.append,
        trainer_mode="sync",
        trainer_config={},
        max_off_policy_threshold=8,
        max_off_policy_strategy="wait",
        sampler_kwargs={},
    )
    buffer._left = 4
    buffer.refill_fn(3)
    buffer.refill_fn(1)
    with pytest.raises(InfraError, match="more episodes of one step failed"):
        buffer.refill_fn(1)
    assert asked == [3, 1]


def test_what_is_imitated_are_the_drawn_tokens(sample, engine, tmp_path):
    write_table(sample_rows([sample], engine, needs_reward=False), tmp_path / "t.parquet", at_least=1)
    (row,) = plugin.TokenDataset(str(tmp_path / "t.parquet"), {"max_length": 8}, tokenizer=None)
    assert row["input_ids"].tolist() == list(sample.ids)
    assert row["loss_mask"].tolist() == [0, 0, 0, 1, 1, 0, 1, 1]
    with pytest.raises(InfraError, match="more than 7"):
        plugin.TokenDataset(str(tmp_path / "t.parquet"), {"max_length": 7})
