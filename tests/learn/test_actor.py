"""What networks say of tokens, and what must not change it."""

from dataclasses import replace

import pytest
import torch

from warpsmith.core import UsageError
from warpsmith.learn.config import MemoryConfig
from warpsmith.learn.engines.local import critic as critics
from warpsmith.learn.engines.local.actor import Actor, in_parts
from warpsmith.learn.engines.local.batch import Batch, parts
from warpsmith.learn.engines.local.critic import Critic
from warpsmith.learn.engines.local.rollout import Voice
from warpsmith.learn.trajectory import Sample, Span
from warpsmith.policy import Sampling

SAMPLES = (
    Sample(
        sample_id="1",
        task_id="t",
        ids=(5, 6, 7, 2, 9, 8, 2),
        spans=(Span(start=2, end=4), Span(start=5, end=7)),
    ),
    Sample(sample_id="2", task_id="t", ids=(5, 9, 2), spans=(Span(start=1, end=3),)),
)


@pytest.fixture
def batch(student):
    return Batch.of(SAMPLES, student.device)


def plainly(student, batch, temperature=1.0):
    """[B, T], from all logits at once."""
    logits = student.model(input_ids=batch.ids).logits.float() / temperature
    told = torch.log_softmax(logits, dim=-1)[:, :-1].gather(-1, batch.ids[:, 1:, None])[..., 0]
    return torch.cat([torch.zeros(len(batch.lengths), 1), told], dim=1) * batch.mask


@pytest.mark.parametrize("chunk", [1, 3, 1000])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_chunks_give_what_all_logits_give(student, batch, chunk, temperature):
    memory = MemoryConfig(chunk_tokens=chunk)
    expected = plainly(student, batch, temperature)
    expected.sum().backward()
    gradients = [parameter.grad.clone() for parameter in student.model.parameters()]
    student.model.zero_grad()
    said = Actor(student.model, memory).said(batch, temperature=temperature)
    said.logprobs.sum().backward()
    assert torch.allclose(said.logprobs, expected, atol=1e-5)
    for parameter, gradient in zip(student.model.parameters(), gradients, strict=True):
        assert torch.allclose(parameter.grad, gradient, atol=1e-4)


def test_entropy_is_that_of_the_distribution(student, batch):
    said = Actor(student.model, MemoryConfig()).said(batch)
    logprobs = torch.log_softmax(student.model(input_ids=batch.ids).logits, dim=-1)
    entropy = -(logprobs.exp() * logprobs).sum(dim=-1)
    assert torch.allclose(said.entropy[:, 1:], entropy[:, :-1] * batch.mask[:, 1:], atol=1e-4)
    assert not said.entropy.requires_grad


def test_what_fills_up_and_who_stands_beside_changes_nothing(student, batch):
    actor, critic = Actor(student.model, MemoryConfig()), Critic(critics.fresh(student.model), MemoryConfig())
    alone = batch.rows([1])
    assert alone.ids.shape == (1, 3)
    assert torch.allclose(actor.said(batch).logprobs[1, :3], actor.said(alone).logprobs[0], atol=1e-5)
    assert torch.allclose(critic.values(batch)[1, :3], critic.values(alone)[0], atol=1e-5)


def test_the_trainer_says_what_the_sampler_said(student):
    """The seam: a token's log-probability when drawn is the trainer's before its update."""
    sampling = Sampling(temperature=0.8, max_tokens=12, seed=3)
    prompts = [(5, 6, 7), (9, 8), (11, 12, 13, 14)]
    outputs = student.engine().generate(prompts, sampling)
    samples = [
        Sample(
            sample_id=str(row),
            task_id="t",
            ids=prompt + output.ids,
            spans=(Span(start=len(prompt), end=len(prompt + output.ids), logprobs=output.logprobs),),
        )
        for row, (prompt, output) in enumerate(zip(prompts, outputs, strict=True))
    ]
    batch = Batch.of(samples, student.device)
    told = torch.zeros_like(batch.mask)
    for row, sample in enumerate(samples):
        told[row, : len(sample.ids)] = torch.tensor(sample.logprobs)
    said = Actor(student.model, MemoryConfig()).said(batch, temperature=0.8)
    assert float((said.logprobs - told).detach().abs().max()) < 1e-4


def test_a_thread_draws_in_the_trainers_precision(student):
    """Autocast holds for one thread: episodes that drew without it would be off from the trainer."""
    from concurrent.futures import ThreadPoolExecutor

    sampling = Sampling(temperature=1.0, max_tokens=8, seed=3)
    memory = MemoryConfig(precision="bf16")
    with ThreadPoolExecutor(1) as pool:
        (half,) = pool.submit(Voice(student, memory).generate, [(5, 6, 7)], sampling).result()
    ids = (5, 6, 7, *half.ids)
    span = Span(start=3, end=len(ids), logprobs=half.logprobs)
    batch = Batch.of([Sample(sample_id="s", task_id="t", ids=ids, spans=(span,))], student.device)
    told = torch.tensor(half.logprobs)

    def apart(precision):
        said = Actor(student.model, MemoryConfig(precision=precision)).said(batch).logprobs[0, 3:].detach()
        return float((said - told).abs().mean())

    assert apart("bf16") < 0.3 * apart("fp32")


def test_passes_in_parts_are_one_pass(student, batch):
    actor = Actor(student.model, MemoryConfig())
    whole = actor.said(batch).logprobs
    split = in_parts(batch, MemoryConfig(micro_tokens=1), lambda part: actor.said(part).logprobs)
    assert torch.allclose(split, whole, atol=1e-5)


def test_checkpointed_layers_give_the_same_gradient(student, batch):
    gradients, calls = [], []
    student.model.model.layers[0].input_layernorm.register_forward_hook(lambda *_: calls.append(1))
    for memory, num_calls in ((MemoryConfig(), 1), (MemoryConfig(is_checkpointed=True), 2)):
        actor = Actor(student.model, memory)
        student.model.zero_grad()
        calls.clear()
        actor.said(batch).logprobs.sum().backward()
        assert len(calls) == num_calls
        gradients.append([parameter.grad.clone() for parameter in student.model.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-6)


def test_half_precision_is_near(student, batch):
    full = Actor(student.model, MemoryConfig()).said(batch).logprobs
    half = Actor(student.model, MemoryConfig(precision="bf16")).said(batch).logprobs
    assert half.dtype is torch.float32
    assert 0.0 < float((full - half).detach().abs().max()) < 0.1


def test_a_fresh_critic_expects_nothing_and_has_the_students_body(student, batch):
    model = critics.fresh(student.model)
    assert float(Critic(model, MemoryConfig()).values(batch).detach().abs().max()) == 0.0
    for one, other in zip(model.base_model.parameters(), student.model.base_model.parameters(), strict=True):
        assert torch.equal(one, other)
        assert one.data_ptr() != other.data_ptr()


def test_a_value_is_of_the_state_before_its_token(student):
    critic = critics.fresh(student.model)
    torch.nn.init.normal_(critic.score.weight)
    one, other = SAMPLES[1], replace(SAMPLES[1], ids=(5, 9, 3))
    values = [Critic(critic, MemoryConfig()).values(Batch.of([s], student.device))[0] for s in (one, other)]
    assert torch.equal(*values)  # the last token differs, and no value has seen it
    assert values[0][0].item() == 0.0
    assert values[0][1].item() != 0.0


def test_a_critic_comes_back_from_disk(student, batch, tmp_path):
    model = critics.fresh(student.model)
    torch.nn.init.normal_(model.score.weight)
    before = Critic(model, MemoryConfig()).values(batch)
    model.save_pretrained(tmp_path / "critic")
    after = Critic(critics.read(tmp_path / "critic", student.device), MemoryConfig()).values(batch)
    assert torch.equal(before, after)


def test_an_actor_is_no_critic(base, student, tmp_path):
    with pytest.raises(UsageError, match="is no critic"):
        critics.read(base, student.device)
    with pytest.raises(UsageError, match="is no critic"):
        critics.read(tmp_path, student.device)


def test_a_model_that_caps_its_logits_is_refused(student):
    plain = student.model.forward

    def capped(**how):
        out = plain(**how)
        out.logits = 5.0 * torch.tanh(out.logits / 5.0) + 1.0
        return out

    student.model.forward = capped
    with pytest.raises(UsageError, match="changes the logits"):
        Actor(student.model, MemoryConfig())


def test_parts_hold_what_fits():
    lengths = [10, 3, 3, 50, 4]
    found = parts(lengths, range(5), 12)
    assert sorted(place for part in found for place in part) == [0, 1, 2, 3, 4]
    assert [3] in found  # longer than fits: alone
    assert all(len(part) * max(lengths[place] for place in part) <= 12 for part in found if part != [3])
    assert parts([], [], 5) == []
