"""The same numbers as verl's, where it is installed: pip install verl==0.9.1 in an environment of its own."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from warpsmith.learn.losses.advantages import gae, whitened
from warpsmith.learn.losses.divergence import k1, k3
from warpsmith.learn.losses.groups import Baseline, group_advantages
from warpsmith.learn.losses.policy import Clip, policy_loss
from warpsmith.learn.losses.value import value_loss
from warpsmith.learn.losses.weights import Averaging, token_weights

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    core_algos = pytest.importorskip("verl.trainer.ppo.core_algos", exc_type=ImportError)

pytestmark = pytest.mark.filterwarnings("ignore")
SHAPE = (6, 40)


@pytest.fixture(params=range(5))
def case(request):
    """Random tensors with a random mask whose last token is drawn."""
    generator = torch.Generator().manual_seed(request.param)
    mask = (torch.rand(SHAPE, generator=generator) < 0.4).float()
    mask[:, -1] = 1.0
    rewards = torch.zeros(SHAPE)
    rewards[:, -1] = torch.randint(-1, 4, (SHAPE[0],), generator=generator).float()
    one, two, three, four = (torch.randn(SHAPE, generator=generator) for _ in range(4))
    return SimpleNamespace(
        mask=mask, rewards=rewards, logprobs=one - 2, old=two - 2, advantages=three, values=four
    )


@pytest.mark.parametrize("lam", [1.0, 0.95])
@pytest.mark.parametrize("gamma", [1.0, 0.99])
def test_gae(case, lam, gamma):
    theirs, their_returns = core_algos.compute_gae_advantage_return(
        case.rewards, case.values, case.mask, gamma, lam
    )
    ours, our_returns = gae(case.rewards, case.values, case.mask, gamma=gamma, lam=lam)
    assert torch.allclose(our_returns, their_returns * case.mask, atol=1e-5)
    assert torch.allclose(whitened(ours, case.mask), theirs * case.mask, atol=1e-4)


@pytest.mark.parametrize(
    ("averaging", "theirs"), [(Averaging.TOKENS, "token-mean"), (Averaging.SAMPLES, "seq-mean-token-mean")]
)
def test_policy_loss(case, averaging, theirs):
    config = SimpleNamespace(clip_ratio=0.2, clip_ratio_low=0.2, clip_ratio_high=0.28, global_batch_info={})
    config.get = lambda name, default: default
    expected, told = core_algos.compute_policy_loss_vanilla(
        case.old, case.logprobs, case.advantages, case.mask, loss_agg_mode=theirs, config=config
    )
    weights = token_weights(case.mask, averaging)
    found = policy_loss(case.logprobs, case.old, case.advantages, weights, Clip())
    assert float(found.loss) == pytest.approx(float(expected), rel=1e-4, abs=1e-5)
    if averaging is Averaging.TOKENS:
        assert float(found.clipped) == pytest.approx(told["actor/pg_clipfrac"], abs=1e-5)
        assert float(found.dual_clipped) == pytest.approx(told["actor/pg_clipfrac_lower"], abs=1e-5)
        assert float(found.k1) == pytest.approx(told["actor/ppo_kl"], abs=1e-5)


def test_value_loss(case):
    expected, their_share = core_algos.compute_value_loss(
        case.values, case.old, case.logprobs, case.mask, 0.5
    )
    weights = token_weights(case.mask, Averaging.TOKENS)
    found, share = value_loss(case.values, case.logprobs, case.old, weights, clip=0.5)
    assert float(found) == pytest.approx(float(expected), rel=1e-5)
    assert float(share) == pytest.approx(float(their_share), abs=1e-5)


@pytest.mark.parametrize("by_deviation", [True, False])
def test_group_advantages(case, by_deviation):
    groups = ["a", "b", "a", "b", "a", "b"]
    expected, _ = core_algos.compute_grpo_outcome_advantage(
        case.rewards, case.mask, np.array(groups), norm_adv_by_std_in_grpo=by_deviation
    )
    rewards = case.rewards.sum(dim=-1).tolist()
    found = group_advantages(rewards, groups, by_deviation=by_deviation)
    for value, row in zip(found.values, expected[:, -1].tolist(), strict=True):
        assert (0.0 if value is None else value) == pytest.approx(row, abs=1e-4)


def test_leave_one_out(case):
    groups = ["a", "b", "a", "b", "a", "b"]
    expected, _ = core_algos.compute_rloo_outcome_advantage(case.rewards, case.mask, np.array(groups))
    rewards = case.rewards.sum(dim=-1).tolist()
    found = group_advantages(rewards, groups, baseline=Baseline.OTHERS, by_deviation=False)
    for value, row in zip(found.values, expected[:, -1].tolist(), strict=True):
        assert (0.0 if value is None else value) == pytest.approx(row, abs=1e-4)


def test_divergences(case):
    assert torch.equal(
        k1(case.logprobs, case.old), core_algos.kl_penalty_forward(case.logprobs, case.old, "k1")
    )
    theirs = core_algos.kl_penalty_forward(case.logprobs, case.old, "low_var_kl")
    assert torch.allclose(k3(case.logprobs, case.old), theirs)
