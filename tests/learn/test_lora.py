"""An adapter learns, what it is for stays as it is, and everything that reads models reads adapters."""

import json
from dataclasses import replace

import pytest
import torch

from warpsmith.core import UsageError
from warpsmith.learn.config import LoraConfig, MemoryConfig
from warpsmith.learn.engines.local import critic as critics
from warpsmith.learn.engines.local.actor import Actor
from warpsmith.learn.engines.local.batch import Batch
from warpsmith.learn.engines.local.critic import Critic
from warpsmith.learn.engines.local.grpo import Grpo
from warpsmith.learn.engines.local.loop import train
from warpsmith.learn.engines.local.lora import adapted
from warpsmith.learn.engines.local.ppo import Ppo
from warpsmith.learn.engines.local.reference import Reference
from warpsmith.learn.engines.local.rollout import Voice
from warpsmith.learn.engines.local.sft import Sft
from warpsmith.learn.engines.local.student import student_of, write_student
from warpsmith.learn.engines.local.valuation import Valuation
from warpsmith.learn.metrics import CLOCKS, Metric
from warpsmith.learn.monitors import Limits
from warpsmith.learn.recipes import toy
from warpsmith.learn.rewards import Reward
from warpsmith.learn.toy.tuning import Tuning, taught
from warpsmith.learn.trajectory import Sample, Span
from warpsmith.policy import Sampling
from warpsmith.policy.local import adapter
from warpsmith.policy.local.checkpoint import load
from warpsmith.policy.local.tokens import DecodingConfig

LORA = LoraConfig(rank=4, alpha=8)
IDS = torch.tensor([[5, 6, 7, 2, 9, 8, 2]])


def sft(student, lora=LORA, **changes):
    config = replace(toy.sft(steps=4), samples_per_step=8, lora=lora, **changes)
    config = replace(config, loop=replace(config.loop, save_every=2))
    return Sft(student, taught(student.template, 16, seed=0), config)


class Alternating:
    """Rewards that always differ within a group."""

    def __init__(self, student):
        self._source = Tuning(template=student.template, samples_per_task=2)

    def rollouts(self, policy, sampling, step):
        samples = self._source.rollouts(policy, sampling, step)
        rewards = (Reward(value=float(number % 2), parts={}) for number in range(len(samples)))
        return tuple(replace(s, outcome=r) for s, r in zip(samples, rewards, strict=True))


def grpo(student, lora=LORA):
    config = replace(toy.grpo(steps=4), lora=lora)
    loop = replace(config.loop, save_every=2, limits=Limits(patience=100))
    return Grpo(student, Alternating(student), replace(config, loop=loop))


def ppo(student, lora=LORA):
    config = replace(toy.ppo(steps=4), lora=lora, critic_lora=lora)
    loop = replace(config.loop, save_every=2, limits=Limits(patience=100))
    return Ppo(student, critics.fresh(student.model), Alternating(student), replace(config, loop=loop))


STAGES = {"sft": sft, "grpo": grpo, "ppo": ppo}


def logits(model):
    with torch.no_grad():
        return model.eval()(input_ids=IDS.to(model.device)).logits.cpu()


def frozen(model):
    return [p.detach().clone() for p in model.parameters() if not p.requires_grad]


def stirred(student, seed=1):
    """Its adapter as if it had learnt much."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in adapter.trained(student.model):
            parameter.add_(0.1 * torch.randn_like(parameter))
    return student


def lora_student(base, lora=LORA):
    student = student_of(base)
    adapted(student.model, lora, seed=0, base=student.base)
    return student


@pytest.fixture
def written(base, tmp_path):
    """(a student whose adapter has learnt, the folder that holds the adapter)."""
    student = stirred(lora_student(base))
    write_student(student, tmp_path / "adapter", is_merged=False)
    return student, tmp_path / "adapter"


# --- what learns ---


def test_a_fresh_adapter_changes_nothing_and_only_it_learns(base, student):
    before = logits(student.model)
    stage = sft(student)
    assert torch.equal(logits(student.model), before)
    rest = frozen(student.model)
    losses = [stage.step(number)[Metric.LOSS] for number in range(1, 7)]
    assert losses[-1] < losses[0] - 0.1
    assert all(torch.equal(one, other) for one, other in zip(frozen(student.model), rest, strict=True))
    assert sum(p.numel() for p in adapter.trained(student.model)) < sum(p.numel() for p in rest) / 2


def test_a_seed_gives_the_same_adapter_again_and_leaves_other_chance_alone(base):
    torch.manual_seed(7)
    one, other = (adapter.trained(lora_student(base).model) for _ in range(2))
    drawn = torch.rand(3)
    torch.manual_seed(7)
    assert torch.equal(drawn, torch.rand(3))
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_named_layers_alone_get_an_adapter(base):
    student = lora_student(base, replace(LORA, targets=("q_proj", "v_proj")))
    names = {name.split(".")[4] for name, p in student.model.named_parameters() if p.requires_grad}
    assert names == {"q_proj", "v_proj"}


def test_checkpointed_layers_give_an_adapter_the_same_gradient(base):
    student = stirred(lora_student(base))
    batch = Batch.of(
        [Sample(sample_id="s", task_id="t", ids=(5, 6, 7, 2), spans=(Span(start=2, end=4),))], student.device
    )
    gradients, calls = [], []
    student.model.model.layers[0].input_layernorm.register_forward_hook(lambda *_: calls.append(1))
    for memory in (MemoryConfig(), MemoryConfig(is_checkpointed=True)):
        student.model.zero_grad()
        calls.clear()
        Actor(student.model, memory).said(batch).logprobs.sum().backward()
        gradients.append([parameter.grad.clone() for parameter in adapter.trained(student.model)])
        assert len(calls) == 3 + memory.is_checkpointed  # two of them to look at the head
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, atol=1e-6)
        assert float(one.abs().max()) > 0.0


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_base_in_half_precision_is_drawn_with_as_it_is_trained(base, precision):
    student = stirred(lora_student(base, replace(LORA, base_precision="bf16")))
    assert {p.dtype for p in student.model.parameters() if not p.requires_grad} == {torch.bfloat16}
    assert {p.dtype for p in adapter.trained(student.model)} == {torch.float32}
    assert student.model.model.rotary_emb.inv_freq.dtype is torch.float32
    memory = MemoryConfig(precision=precision)
    voice = Voice(student, memory, DecodingConfig(max_rows=2))
    (output,) = voice.generate([(5, 6, 7)], Sampling(temperature=1.0, max_tokens=8, seed=1))
    assert voice.num_drawn == len(output.ids)
    ids = (5, 6, 7, *output.ids)
    sample = Sample(sample_id="s", task_id="t", ids=ids, spans=(Span(start=3, end=len(ids)),))
    said = Actor(student.model, memory).said(Batch.of([sample], student.device)).logprobs[0, 3:].detach()
    assert float((said - torch.tensor(output.logprobs)).abs().max()) < 0.05


def test_the_reference_is_the_base_and_the_adapter_comes_back_bit_by_bit(base):
    student = lora_student(base)
    actor = Actor(student.model, MemoryConfig())
    reference = Reference(actor, MemoryConfig())
    sample = Sample(sample_id="s", task_id="t", ids=(5, 6, 7, 2), spans=(Span(start=2, end=4),))
    batch = Batch.of([sample], student.device)
    expected = Actor(student_of(base).model, MemoryConfig()).said(batch).logprobs.detach()
    stirred(student)
    learnt = [parameter.detach().clone() for parameter in adapter.trained(student.model)]
    assert torch.allclose(reference.logprobs(batch, 1.0), expected, atol=1e-6)
    assert not torch.allclose(actor.said(batch).logprobs.detach(), expected, atol=1e-3)
    now = adapter.trained(student.model)
    assert all(torch.equal(one, other) for one, other in zip(learnt, now, strict=True))


def test_the_distance_to_the_base_grows_from_nothing(student):
    stage = grpo(student)
    first, *_, last = (stage.step(number)[Metric.KL] for number in range(1, 4))
    assert first == pytest.approx(0.0, abs=0.05)
    assert last > first


def test_a_critics_adapter_and_head_learn_and_its_body_stays(student):
    config = replace(toy.value(), samples_per_step=8, lora=LORA)
    stage = Valuation(student, taught(student.template, 16, seed=0), config)
    model = stage.networks()["critic"]
    rest = frozen(model)
    losses = [stage.step(number)[Metric.VALUE_LOSS] for number in range(1, 9)]
    assert losses[-1] < 0.8 * losses[0]
    assert all(torch.equal(one, other) for one, other in zip(frozen(model), rest, strict=True))


def test_a_critic_begins_with_what_an_adapter_has_learnt(written):
    student, _ = written
    hidden = student.model.base_model(input_ids=IDS).last_hidden_state
    assert torch.allclose(
        critics.fresh(student.model).base_model(input_ids=IDS).last_hidden_state, hidden, atol=1e-5
    )


def test_a_critic_is_written_merged(student, tmp_path):
    config = replace(toy.value(steps=2), samples_per_step=8, lora=LORA)
    stage = Valuation(student, taught(student.template, 16, seed=0), config)
    final = train(stage, tmp_path / "run").final
    sample = taught(student.template, 1, seed=0)
    batch = Batch.of(sample, student.device)
    values = [
        Critic(model, MemoryConfig()).values(batch).detach()
        for model in (stage.networks()["critic"], critics.read(final / "critic", student.device))
    ]
    assert float(values[0].abs().max()) > 0.0
    assert torch.allclose(*values, atol=1e-5)


# --- on disk ---


@pytest.mark.parametrize(
    "name", ["sft", *(pytest.param(name, marks=pytest.mark.slow) for name in ("grpo", "ppo"))]
)
def test_a_run_that_was_stopped_goes_on_bit_by_bit(base, tmp_path, name):
    class Killed(Exception):
        pass

    def kill(step, _metrics):
        if step == 3:
            raise Killed

    whole = STAGES[name](student_of(base))
    straight = train(whole, tmp_path / "whole")
    with pytest.raises(Killed):
        train(STAGES[name](student_of(base)), tmp_path / "half", kill)
    again = STAGES[name](student_of(base))
    resumed = train(again, tmp_path / "half")
    for network, model in whole.networks().items():
        other = again.networks()[network]
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    for one, other in zip(straight.history, resumed.history, strict=True):
        assert {k: v for k, v in one.items() if k not in CLOCKS} == {
            k: v for k, v in other.items() if k not in CLOCKS
        }


def test_a_checkpoint_holds_the_adapter_alone_and_the_end_a_whole_model(base, tmp_path):
    stage = sft(student_of(base))
    final = train(stage, tmp_path / "run").final
    saved = tmp_path / "run" / "checkpoints" / "000004" / "actor"
    assert sorted(path.name for path in saved.iterdir()) == [adapter.CONFIG, adapter.WEIGHTS]
    whole = student_of(final / "actor")
    assert not adapter.is_attached(whole.model)
    assert torch.allclose(logits(whole.model), logits(stage.networks()["actor"]), atol=1e-5)


def test_the_end_may_be_the_adapter_alone_and_can_be_gone_on_with(base, tmp_path):
    lora = replace(LORA, is_merged=False)
    stage = sft(student_of(base), lora)
    final = train(stage, tmp_path / "run").final
    assert not (final / "actor" / "config.json").exists()
    student = student_of(final / "actor")
    assert student.base == base.resolve()
    assert torch.equal(logits(student.model), logits(stage.networks()["actor"]))
    going_on = grpo(student, lora)
    assert going_on.step(1)[Metric.UPDATED] == 1.0
    assert not torch.equal(logits(student.model), logits(stage.networks()["actor"]))


def test_a_policy_reads_an_adapter(written):
    student, folder = written
    assert torch.equal(logits(load(str(folder)).model), logits(student.model))


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_peft_reads_it_too(base, written):
    from peft import PeftModel

    student, folder = written
    assert torch.equal(
        logits(PeftModel.from_pretrained(student_of(base).model, str(folder))), logits(student.model)
    )


def test_merging_leaves_the_model_as_it_is(written, tmp_path):
    student, _ = written
    before = logits(student.model)
    write_student(student, tmp_path / "merged")
    assert torch.equal(logits(student.model), before)
    assert adapter.is_attached(student.model)
    assert torch.allclose(logits(load(str(tmp_path / "merged")).model), before, atol=1e-5)


def test_a_base_that_has_moved_is_found_by_its_link(written, tmp_path):
    student, folder = written
    path = folder / adapter.CONFIG
    path.write_text(json.dumps(json.loads(path.read_text()) | {"base_model_name_or_path": "/nowhere/base"}))
    with pytest.raises(UsageError, match=r"adapter for /nowhere/base, which is not there; link .*/base$"):
        student_of(folder)
    (folder / adapter.BASE_LINK).symlink_to(student.base)
    assert torch.equal(logits(student_of(folder).model), logits(student.model))


# --- what does not fit ---


def test_a_checkpoint_over_another_base_is_refused(base, tmp_path):
    from warpsmith.learn.toy.tiny import write_tiny

    train(sft(student_of(base)), tmp_path / "run")
    other = write_tiny(tmp_path / "other", seed=1, hidden=32)
    with pytest.raises(UsageError, match="another base model"):
        train(sft(student_of(other)), tmp_path / "run")


def test_an_adapter_of_another_size_is_refused(written):
    _, folder = written
    with pytest.raises(UsageError, match="rank 4 and alpha 8, the configuration 2 and 8"):
        sft(student_of(folder), replace(LORA, rank=2))
    with pytest.raises(UsageError, match="is an adapter; train it by one"):
        sft(student_of(folder), None)


def test_layers_that_are_not_there_are_said(student):
    with pytest.raises(UsageError, match="nothing_proj"):
        adapted(student.model, replace(LORA, targets=("nothing_proj",)), seed=0)


def _cut(folder):
    data = (folder / adapter.WEIGHTS).read_bytes()
    (folder / adapter.WEIGHTS).write_bytes(data[: len(data) // 2])


def _shrunk(folder):
    from safetensors.torch import load_file, save_file

    state = load_file(str(folder / adapter.WEIGHTS))
    name = sorted(state)[0]
    save_file(state | {name: state[name][:1].clone()}, str(folder / adapter.WEIGHTS))


def _without_one(folder):
    from safetensors.torch import load_file, save_file

    state = load_file(str(folder / adapter.WEIGHTS))
    state.pop(sorted(state)[0])
    save_file(state, str(folder / adapter.WEIGHTS))


def _configured(folder, **changes):
    path = folder / adapter.CONFIG
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


SPOILT = {
    "cut weights": (_cut, "cannot be read"),
    "no weights": (lambda folder: (folder / adapter.WEIGHTS).unlink(), "cannot be read"),
    "another shape": (_shrunk, "does not fit the model"),
    "a layer less": (_without_one, "does not fit the model"),
    "no json": (lambda folder: (folder / adapter.CONFIG).write_text("{"), "cannot be read"),
    "a list": (lambda folder: (folder / adapter.CONFIG).write_text("[]"), "not an adapter's configuration"),
    "another kind": (lambda folder: _configured(folder, peft_type="IA3"), "an IA3 adapter; LoRA alone"),
    "weights in another form": (lambda folder: _configured(folder, use_dora=True), "use_dora"),
    "no kind": (lambda folder: _configured(folder, peft_type="MAGIC"), "MAGIC adapter"),
    "no rank": (lambda folder: _configured(folder, r=0), "rank|`r`"),
    "its own base": (lambda folder: _configured(folder, base_model_name_or_path="."), "which is not there"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_broken_adapter_is_said(written, name):
    spoil, message = SPOILT[name]
    _, folder = written
    spoil(folder)
    with pytest.raises(UsageError, match=message):
        load(str(folder))


@pytest.mark.parametrize("changes", [{"rank": 0}, {"alpha": 0}, {"base_precision": "fp8"}])
def test_a_configuration_that_makes_no_sense_is_refused(changes):
    with pytest.raises(UsageError):
        LoraConfig(**changes)


@pytest.mark.gpu
@pytest.mark.parametrize("base_precision", ["fp32", "bf16"])
def test_a_gpu_trains_an_adapter_on_what_it_drew(base, base_precision):
    student = student_of(base)
    assert student.device.type == "cuda"
    memory = MemoryConfig(precision="bf16", is_checkpointed=True, chunk_tokens=16)
    lora = replace(LORA, base_precision=base_precision)
    config = replace(toy.grpo(), lora=lora, memory=memory)
    stage = Grpo(student, Alternating(student), config)
    told = [stage.step(number) for number in (1, 2)]
    assert told[1][Metric.UPDATED] == 1.0
    assert all(metrics[Metric.MISMATCH] < 0.1 for metrics in told)
