"""Token ids in, token ids and log-probabilities out."""

from itertools import pairwise

import pytest
import torch

from warpsmith.core import InfraError, UsageError
from warpsmith.policy import Sampling
from warpsmith.policy.local.checkpoint import load
from warpsmith.policy.local.drawing import Drawing, check_finite, draw
from warpsmith.policy.local.engine import Engine
from warpsmith.policy.local.plain import Prefix

PROMPTS = ([5, 6, 7, 8, 9, 10], [11, 12], [200], [21, 22, 23, 24])
HOT = Sampling(temperature=0.7, max_tokens=20, seed=3)


@pytest.fixture(scope="module")
def model(checkpoint):
    return load(str(checkpoint)).model


@pytest.fixture(scope="module")
def engine(model):
    return Engine(model, stop_ids=frozenset({2}), context_tokens=64)


def whole_pass(model, prompt, output, temperature):
    """The output's log-probabilities from one pass over everything, without a cache."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[*prompt, *output.ids]])).logits[0]
    drawn = torch.tensor(output.ids)
    logprobs = torch.log_softmax(logits[len(prompt) - 1 : -1].float() / temperature, dim=-1)
    return logprobs.gather(-1, drawn[:, None])[:, 0]


@pytest.mark.parametrize(("temperature", "top_p"), [(0.7, 1.0), (1.0, 0.8), (1.5, 1.0)])
def test_logprobs_are_those_of_a_whole_pass_at_the_temperature_drawn_with(engine, model, temperature, top_p):
    sampling = Sampling(temperature=temperature, top_p=top_p, max_tokens=20, seed=3)
    (output,) = engine.generate([PROMPTS[0]], sampling)
    expected = whole_pass(model, PROMPTS[0], output, temperature)
    torch.testing.assert_close(torch.tensor(output.logprobs), expected, atol=1e-4, rtol=0)


def test_greedy_drawing_takes_the_likeliest_and_tells_its_logprob_at_temperature_one(engine, model):
    (output,) = engine.generate([PROMPTS[0]], Sampling(temperature=0.0, max_tokens=20))
    again, other = (engine.generate([PROMPTS[0]], Sampling(temperature=0.0, seed=seed)) for seed in (1, 2))
    assert again == other
    torch.testing.assert_close(
        torch.tensor(output.logprobs), whole_pass(model, PROMPTS[0], output, 1.0), atol=1e-4, rtol=0
    )


def test_a_batch_gives_what_each_prompt_gives_alone(engine):
    together = engine.generate(PROMPTS, HOT)
    for row, (prompt, output) in enumerate(zip(PROMPTS, together, strict=True)):
        (alone,) = engine.generate([prompt], Sampling(temperature=0.7, max_tokens=20, seed=3 + row))
        assert (alone.ids, alone.is_cut) == (output.ids, output.is_cut)
        assert alone.logprobs == pytest.approx(output.logprobs, abs=5e-5)  # rounding of narrower products


def test_rows_that_end_early_do_not_disturb_the_others(model):
    stops = Engine(model, stop_ids=frozenset(range(0, 400, 7)), context_tokens=64)
    together = stops.generate(PROMPTS * 3, HOT)
    assert len({len(output.ids) for output in together}) > 2
    for row, (prompt, output) in enumerate(zip(PROMPTS * 3, together, strict=True)):
        (alone,) = stops.generate([prompt], Sampling(temperature=0.7, max_tokens=20, seed=3 + row))
        assert alone.ids == output.ids
        assert output.is_cut == (output.ids[-1] % 7 != 0)


def test_a_seed_gives_the_same_again_and_another_seed_does_not(engine):
    first, again = engine.generate([PROMPTS[0]], HOT), engine.generate([PROMPTS[0]], HOT)
    assert first == again
    assert engine.generate([PROMPTS[0]], Sampling(temperature=0.7, max_tokens=20, seed=4)) != first


def test_equal_prompts_of_a_batch_are_drawn_apart(engine):
    one, two = engine.generate([PROMPTS[0]] * 2, HOT)
    assert one.ids != two.ids


def test_reading_on_from_a_prefix_changes_nothing(engine):
    prefix, prompt = Prefix(), list(PROMPTS[0])
    for _ in range(3):
        (kept,) = engine.generate([prompt], HOT, prefix=prefix)
        (fresh,) = engine.generate([prompt], HOT)
        assert kept.ids == fresh.ids
        assert prefix.ids == [*prompt, *kept.ids[:-1]]
        prompt = [*prompt, *kept.ids[:5], 40, 41]  # a part is taken back, and something else follows


def test_a_prompt_that_was_just_read_can_be_read_again(engine):
    prefix = Prefix()
    (first,), (again,) = (engine.generate([PROMPTS[0]], HOT, prefix=prefix) for _ in range(2))
    assert first.ids == again.ids
    assert first.logprobs == pytest.approx(again.logprobs, abs=1e-4)
    assert engine.generate([PROMPTS[1][:1]], HOT, prefix=prefix)


def test_a_reply_ends_with_the_context(engine):
    (output,) = engine.generate([[9] * 60], HOT)
    assert (len(output.ids), output.is_cut) == (4, True)


def test_whoever_is_late_is_cut(engine):
    (output,) = engine.generate([PROMPTS[0]], HOT, is_late=lambda: True, prefix=Prefix())
    assert (len(output.ids), output.is_cut) == (1, True)
    many = engine.generate(PROMPTS, HOT, is_late=lambda: True)
    assert [(len(one.ids), one.is_cut) for one in many] == [(16, True)] * 4  # looked at every 16 steps


def test_a_prompt_without_room_is_told_with_numbers(engine):
    with pytest.raises(InfraError, match="64 tokens of prompt leave no room in a context of 64"):
        engine.generate([[9] * 64], HOT)


@pytest.mark.parametrize(
    ("prompt", "sampling"),
    [
        ([], HOT),
        ([1], Sampling(max_tokens=0)),
        ([1], Sampling(temperature=-1.0)),
        ([1], Sampling(temperature=float("nan"))),
        ([1], Sampling(top_p=0.0)),
        ([1], Sampling(top_p=1.5)),
    ],
)
def test_what_makes_no_sense_is_the_users_mistake(engine, prompt, sampling):
    with pytest.raises(UsageError):
        engine.generate([prompt], sampling)


def test_no_prompts_give_no_outputs(engine):
    assert engine.generate([], HOT) == ()


def test_draws_follow_the_distribution():
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]]))
    chances = torch.linspace(0, 0.999, 1000, dtype=torch.float64)
    counts = _counts(logits, Drawing(temperature=1.0, top_p=1.0), chances)
    assert counts == pytest.approx([500, 300, 150, 50], abs=2)


def test_top_p_keeps_only_the_likeliest():
    logits = torch.log(torch.tensor([[0.05, 0.3, 0.5, 0.15]]))
    chances = torch.linspace(0, 0.999, 1000, dtype=torch.float64)
    counts = _counts(logits, Drawing(temperature=1.0, top_p=0.7), chances)
    assert counts == pytest.approx([0, 375, 625, 0], abs=2)


def test_a_token_that_cannot_be_is_never_drawn():
    logits = torch.tensor([[0.0, 0.0, float("-inf"), float("-inf")]])
    for chance, nearest in pairwise((0.0, 1.0 - 2**-53, 0.5)):
        for top_p in (1.0, 0.999):
            ids, _ = draw(
                logits,
                Drawing(temperature=1.0, top_p=top_p),
                torch.tensor([max(chance, nearest)], dtype=torch.float64),
            )
            assert ids.item() < 2


def test_logits_that_are_no_numbers_are_said_so():
    chance = torch.tensor([0.5], dtype=torch.float64)
    _, logprobs = draw(torch.full((1, 4), float("nan")), Drawing(temperature=1.0, top_p=1.0), chance)
    with pytest.raises(InfraError, match="not finite"):
        check_finite(logprobs)


def _counts(logits, drawing, chances):
    ids, _ = draw(logits.expand(len(chances), -1), drawing, chances)
    return torch.bincount(ids, minlength=logits.shape[-1]).tolist()
