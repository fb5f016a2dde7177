"""The formulas, against values worked out by hand."""

import math

import pytest
import torch

from warpsmith.core import UsageError
from warpsmith.learn.losses.advantages import gae, whitened
from warpsmith.learn.losses.divergence import estimator, k1, k3
from warpsmith.learn.losses.imitation import cross_entropy
from warpsmith.learn.losses.policy import Clip, policy_loss
from warpsmith.learn.losses.value import explained_variance, value_loss
from warpsmith.learn.losses.weights import Averaging, token_weights


def rows(*values):
    return torch.tensor(values, dtype=torch.float32)


def log(*ratios):
    return rows(ratios).log()


# --- advantages ---


def test_gae_by_hand():
    """Three drawn tokens, values 1, 2, 0.5, reward 3 at the end; gamma 0.9, lambda 0.8."""
    rewards, values, mask = rows([0, 0, 3]), rows([1, 2, 0.5]), rows([1, 1, 1])
    last = 3 - 0.5
    middle = (0.9 * 0.5 - 2) + 0.72 * last
    first = (0.9 * 2 - 1) + 0.72 * middle
    advantages, returns = gae(rewards, values, mask, gamma=0.9, lam=0.8)
    assert advantages[0].tolist() == pytest.approx([first, middle, last])
    assert returns[0].tolist() == pytest.approx([first + 1, middle + 2, 3.0])


def test_a_tools_words_are_no_steps_in_time():
    """What stands between drawn tokens, however long and whatever its values, changes nothing."""
    short = gae(rows([0, 0, 3]), rows([1, 2, 0.5]), rows([1, 1, 1]), gamma=0.99, lam=0.9)
    long = gae(
        rows([0, 0, 0, 0, 0, 3]),
        rows([1, math.nan, -50, 2, math.inf, 0.5]),
        rows([1, 0, 0, 1, 0, 1]),
        gamma=0.99,
        lam=0.9,
    )
    for one, other in zip(short, long, strict=True):
        assert other[0, [0, 3, 5]].tolist() == pytest.approx(one[0].tolist())


def test_the_sign_before_a_tool_call_is_the_rewards():
    """Three turns of 20 tokens with 200 of a tool's between, V = 2.5 and a reward of 3."""
    mask = torch.cat([rows([1] * 20 + [0] * 200), rows([1] * 20 + [0] * 200), rows([1] * 20)], dim=1)
    rewards = torch.zeros_like(mask)
    rewards[0, -1] = 3.0
    for lam, expected in ((1.0, 0.5), (0.99, 0.276), (0.95, 0.024)):
        advantages, _ = gae(rewards, torch.full_like(mask, 2.5) * mask, mask, lam=lam)
        assert float(advantages[0, 0]) == pytest.approx(expected, abs=5e-4)
        assert float(advantages[0, 30]) == 0.0


def test_with_gamma_and_lambda_1_the_return_is_the_reward():
    values = torch.randn(4, 50)
    mask = (torch.rand(4, 50) < 0.4).float()
    mask[:, -1] = 1
    rewards = torch.zeros(4, 50)
    rewards[:, -1] = rows([-1, 1, 2, 3])[0]
    _, returns = gae(rewards, values, mask)
    assert torch.allclose(returns, rewards[:, -1:] * mask, atol=1e-5)


def test_a_reward_on_a_tools_token_is_refused():
    with pytest.raises(UsageError, match="no policy drew"):
        gae(rows([0, 0, 3]), rows([0, 0, 0]), rows([1, 1, 0]))


def test_a_sample_without_drawn_tokens_has_no_advantage():
    advantages, returns = gae(rows([0, 0]), rows([4, 5]), rows([0, 0]))
    assert advantages.tolist() == returns.tolist() == [[0.0, 0.0]]


def test_whitened_advantages_have_mean_0_and_deviation_1():
    mask = rows([1, 1, 0, 1])
    found = whitened(rows([1, 2, 100, 3]), mask)
    assert found[0].tolist() == pytest.approx([-1.0, 0.0, 0.0, 1.0])
    assert whitened(rows([2, 2, 7, 2]), mask).tolist() == [[0.0, 0.0, 0.0, 0.0]]
    assert whitened(rows([2, 5]), rows([1, 0])).tolist() == [[2.0, 0.0]]


# --- weights ---


def test_tokens_or_samples_count_alike():
    mask = rows([1, 1, 1, 0], [1, 0, 0, 0])
    assert token_weights(mask, Averaging.TOKENS).tolist() == [[0.25, 0.25, 0.25, 0], [0.25, 0, 0, 0]]
    third = 1 / 6
    by_sample = token_weights(mask, Averaging.SAMPLES)
    assert by_sample[0].tolist() == pytest.approx([third, third, third, 0])
    assert by_sample[1].tolist() == [0.5, 0, 0, 0]


@pytest.mark.parametrize("averaging", Averaging)
def test_weights_sum_to_1_also_beside_an_empty_sample(averaging):
    weights = token_weights(rows([1, 1, 0], [0, 0, 0], [1, 0, 1]), averaging)
    assert float(weights.sum()) == pytest.approx(1.0)
    assert float(token_weights(rows([0, 0]), averaging).sum()) == 0.0


# --- the policy ---

CLIP = Clip(low=0.2, high=0.28, dual=3.0)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.0, 2.0, -2.0, -2.0),
        (1.2, 2.0, -2.4, -2.4),  # within the bounds; d loss / d log p = -A ratio
        (1.5, 2.0, -2.56, 0.0),  # above 1.28: no more to gain
        (0.5, 2.0, -1.0, -1.0),  # worse than before: the whole gradient
        (0.5, -2.0, 1.6, 0.0),  # under 0.8: no more to gain
        (1.5, -2.0, 3.0, 3.0),
        (5.0, -2.0, 6.0, 0.0),  # the dual clip: at most 3 times the advantage
    ],
)
def test_the_surrogate_by_hand(ratio, advantage, loss, slope):
    logprobs = log(ratio).requires_grad_()
    found = policy_loss(logprobs, torch.zeros(1, 1), rows([advantage]), rows([1]), CLIP)
    found.loss.backward()
    assert float(found.loss.detach()) == pytest.approx(loss, rel=1e-5)
    assert float(logprobs.grad) == pytest.approx(slope, rel=1e-5)


def test_what_was_clipped_is_counted():
    logprobs, advantages = log(1.5, 1.0, 5.0, 1.0), rows([1, 1, -1, -1])
    weights = token_weights(torch.ones(1, 4), Averaging.TOKENS)
    found = policy_loss(logprobs, torch.zeros(1, 4), advantages, weights, CLIP)
    assert float(found.clipped) == 0.25
    assert float(found.dual_clipped) == 0.25
    assert float(found.max_log_ratio) == pytest.approx(math.log(5))
    assert float(found.k1) == pytest.approx(-(math.log(1.5) + math.log(5)) / 4)


def test_without_the_dual_clip_a_ratio_costs_in_full():
    found = policy_loss(log(5.0), torch.zeros(1, 1), rows([-2]), rows([1]), Clip(dual=None))
    assert float(found.loss) == pytest.approx(10.0)


def test_a_token_off_the_mask_gives_neither_value_nor_gradient():
    logprobs = rows([0.0, math.nan, 5.0]).requires_grad_()
    old, advantages = rows([0.0, math.inf, -5.0]), rows([1.0, math.nan, 1e30])
    found = policy_loss(logprobs, old, advantages, rows([1, 0, 0]), CLIP)
    found.loss.backward()
    assert float(found.loss.detach()) == -1.0
    assert logprobs.grad.tolist() == [[-1.0, 0.0, 0.0]]


def test_a_token_that_is_no_number_is_not_hidden():
    found = policy_loss(rows([math.nan]), rows([0.0]), rows([1.0]), rows([1]), CLIP)
    assert math.isnan(float(found.loss))


@pytest.mark.parametrize(
    "bounds", [{"low": 0.0}, {"low": 1.0}, {"high": 0.0}, {"dual": 1.0}, {"low": math.nan}]
)
def test_bounds_that_make_no_sense_are_refused(bounds):
    with pytest.raises(UsageError):
        Clip(**bounds)


# --- values ---


def test_the_value_loss_by_hand():
    values, old, returns = rows([1.0, 3.0]), rows([1.0, 1.0]), rows([2.0, 3.0])
    half = torch.full((1, 2), 0.5)
    plain, _ = value_loss(values, old, returns, half)
    assert float(plain) == pytest.approx(0.5 * 0.5 * 1.0)
    clipped, share = value_loss(values, old, returns, half, clip=0.5)
    assert float(clipped) == pytest.approx(0.5 * 0.5 * (1.0 + 1.5**2))  # 3 is cut to 1.5
    assert float(share) == 0.5


def test_a_value_beyond_its_clip_has_no_gradient():
    values = rows([3.0]).requires_grad_()
    value_loss(values, rows([1.0]), rows([3.5]), rows([1]), clip=0.5)[0].backward()
    assert float(values.grad) == 0.0


def test_values_off_the_mask_are_not_looked_at():
    values = rows([1.0, math.nan]).requires_grad_()
    loss, _ = value_loss(values, rows([0.0, math.nan]), rows([2.0, math.inf]), rows([1, 0]), clip=5.0)
    loss.backward()
    assert float(loss.detach()) == 0.5
    assert values.grad.tolist() == [[-1.0, 0.0]]


def test_explained_variance_is_that_of_the_returns():
    returns, mask = rows([1, 2, 3, 9]), rows([1, 1, 1, 0])
    assert explained_variance(returns, returns, mask) == 1.0
    assert explained_variance(rows([5, 5, 5, 5]), returns, mask) == 0.0
    assert explained_variance(-returns, returns, mask) == pytest.approx(-3.0)


def test_explained_variance_of_equal_returns_says_nothing():
    """With all returns 3 the quotient fell to -500 for a good critic."""
    assert explained_variance(rows([2.9, 3.1, 3.0]), rows([3, 3, 3]), rows([1, 1, 1])) is None
    assert explained_variance(rows([1.0]), rows([2.0]), rows([1])) is None


# --- imitation and divergence ---


def test_cross_entropy_is_over_drawn_tokens():
    logprobs = rows([-1.0, math.nan, -3.0]).requires_grad_()
    loss = cross_entropy(logprobs, token_weights(rows([1, 0, 1]), Averaging.TOKENS))
    loss.backward()
    assert float(loss.detach()) == 2.0
    assert logprobs.grad.tolist() == [[-0.5, 0.0, -0.5]]


def test_divergences_by_hand():
    p, q = log(0.5, 0.2), log(0.25, 0.4)
    assert k1(p, q)[0].tolist() == pytest.approx([math.log(2), -math.log(2)])
    assert k3(p, q)[0].tolist() == pytest.approx([0.5 - math.log(0.5) - 1, 2 - math.log(2) - 1])


def test_both_estimate_the_divergence():
    generator = torch.Generator().manual_seed(0)
    p, q = torch.tensor([0.7, 0.2, 0.1]), torch.tensor([0.4, 0.4, 0.2])
    drawn = torch.multinomial(p, 200_000, replacement=True, generator=generator)
    truth = float((p * (p / q).log()).sum())
    for name in ("k1", "k3"):
        told = estimator(name)(p.log()[drawn], q.log()[drawn])
        assert float(told.mean()) == pytest.approx(truth, abs=0.005)


def test_k3_is_cut_where_it_explodes():
    assert float(k3(rows([-100.0]), rows([0.0]))) == 10.0
    with pytest.raises(UsageError, match="k1, k3"):
        estimator("k2")
