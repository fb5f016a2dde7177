"""Each stage learns what it shall and leaves the rest alone; a run that stopped goes on as if it had not."""

import os
import signal
from dataclasses import replace

import pytest
import torch

from warpsmith.core import InfraError, UsageError
from warpsmith.learn.config import DescentConfig, MemoryConfig, UpdateConfig
from warpsmith.learn.engines.local import critic as critics
from warpsmith.learn.engines.local.grpo import Grpo
from warpsmith.learn.engines.local.keeping import RunFolder
from warpsmith.learn.engines.local.loop import train
from warpsmith.learn.engines.local.ppo import Ppo
from warpsmith.learn.engines.local.sft import Sft
from warpsmith.learn.engines.local.student import student_of
from warpsmith.learn.engines.local.valuation import Valuation
from warpsmith.learn.metrics import CLOCKS, Metric
from warpsmith.learn.monitors import Limits
from warpsmith.learn.order import drawn_for
from warpsmith.learn.recipes import toy
from warpsmith.learn.rewards import Missing, NoReward, Reward
from warpsmith.learn.toy.tuning import Tuning, taught
from warpsmith.learn.trajectory import Span

PATIENT = Limits(patience=100)
"""These students know nothing yet: their replies are cut, which would stop a run."""


def lessons(student, count=32):
    return taught(student.template, count, seed=0)


def weights(model):
    return [parameter.detach().clone() for parameter in model.parameters()]


def is_same(model, before):
    return all(torch.equal(one, other) for one, other in zip(model.parameters(), before, strict=True))


def sft(student, *, loop=None):
    config = toy.sft(steps=4)
    loop = loop or {}
    return Sft(
        student, lessons(student), replace(config, samples_per_step=8, loop=replace(config.loop, **loop))
    )


def value(student, *, loop=None):
    config, loop = toy.value(steps=4), loop or {}
    config = replace(config, samples_per_step=8, loop=replace(config.loop, **loop))
    return Valuation(student, lessons(student), config)


def source(student, **how):
    return Tuning(template=student.template, samples_per_task=2, **how)


def ppo(student, given=None, **changes):
    loop = replace(toy.ppo(steps=4).loop, limits=PATIENT, **changes.pop("loop", {}))
    config = replace(toy.ppo(), loop=loop, **changes)
    return Ppo(student, critics.fresh(student.model), given or source(student), config)


def grpo(student, given=None, **changes):
    loop = replace(toy.grpo(steps=4).loop, limits=PATIENT, **changes.pop("loop", {}))
    return Grpo(student, given or source(student), replace(toy.grpo(), loop=loop, **changes))


STAGES = {"sft": sft, "value": value, "ppo": ppo, "grpo": grpo}


class Altered:
    """A source whose samples are changed before the trainer sees them."""

    def __init__(self, student, change, **how):
        self._source = source(student, **how)
        self._change = change

    def rollouts(self, policy, sampling, step):
        return self._change(self._source.rollouts(policy, sampling, step))


# --- what is learnt ---


def test_imitation_lowers_the_loss_on_drawn_tokens(student):
    stage = sft(student)
    losses = [stage.step(number)[Metric.LOSS] for number in range(1, 9)]
    assert losses[-1] < losses[0] - 1.0


def test_what_a_policy_read_is_not_learnt(student):
    """No gradient reaches the embedding of a token that stands last before no reply."""
    (one, *_) = lessons(student)
    early = replace(one, ids=one.ids[: one.spans[0].end], spans=one.spans[:1])
    stage = Sft(student, [early], toy.sft())
    seen = []
    student.model.lm_head.register_forward_hook(lambda _module, inputs, _out: seen.append(inputs[0].shape[0]))
    metrics = stage.step(1)
    assert seen == [early.num_drawn] * 2  # forward, and again in the backward pass
    assert metrics[Metric.TOKENS] == early.num_drawn


def test_every_sample_is_seen_once_an_epoch(student):
    samples = lessons(student, 10)
    seen = [sample.sample_id for step in (1, 2) for sample in drawn_for(step, samples, 5, seed=3)]
    assert sorted(seen) == sorted(sample.sample_id for sample in samples)
    again = [sample.sample_id for step in (3, 4) for sample in drawn_for(step, samples, 5, seed=3)]
    assert sorted(again) == sorted(seen)
    assert again != seen


def test_fitting_a_critic_leaves_the_actor_as_it_is(student):
    before = weights(student.model)
    stage = value(student)
    losses = [stage.step(number)[Metric.VALUE_LOSS] for number in range(1, 13)]
    assert is_same(student.model, before)
    assert losses[-1] < 0.7 * losses[0]


def test_steps_of_the_critic_alone_leave_the_actor_as_it_is(student):
    before = weights(student.model)
    stage = ppo(student, critic_only_steps=2)
    told = [stage.step(number) for number in (1, 2)]
    assert is_same(student.model, before)
    assert [metrics[Metric.UPDATED] for metrics in told] == [0.0, 0.0]
    assert stage.step(3)[Metric.UPDATED] == 1.0
    assert not is_same(student.model, before)


@pytest.mark.parametrize("make", [ppo, grpo])
def test_samples_without_a_reward_are_left_out_and_counted(student, make):
    lost = NoReward(reason=Missing.INFRA, message="no GPU")

    def change(samples):
        return tuple(replace(s, outcome=lost) if n % 2 else s for n, s in enumerate(samples))

    before = weights(student.model)
    metrics = make(
        student,
        Altered(
            student,
            change,
        ),
    ).step(1)
    assert metrics[Metric.UNREWARDED] == 4.0
    assert metrics[Metric.SAMPLES] == 8.0
    every = make(student, Altered(student, lambda samples: tuple(replace(s, outcome=lost) for s in samples)))
    now = weights(student.model)
    assert every.step(2)[Metric.UPDATED] == 0.0
    assert is_same(student.model, now)
    assert len(before) == len(now)


def test_groups_without_signal_teach_nothing(student):
    same = Reward(value=1.0, parts={})
    before = weights(student.model)
    stage = grpo(student, Altered(student, lambda samples: tuple(replace(s, outcome=same) for s in samples)))
    metrics = stage.step(1)
    assert metrics[Metric.SILENT_GROUPS] == 4.0
    assert metrics[Metric.UPDATED] == 0.0
    assert is_same(student.model, before)


@pytest.mark.slow
def test_the_reference_stays_where_training_began(student):
    alternating = Altered(
        student,
        lambda samples: tuple(
            replace(s, outcome=Reward(value=float(n % 2), parts={})) for n, s in enumerate(samples)
        ),
    )
    update = replace(toy.grpo().update, epochs=1, num_minibatches=1, kl=0.001)
    stage = grpo(student, alternating, update=update)
    first, *_, last = (stage.step(number) for number in range(1, 6))
    assert first[Metric.KL] == pytest.approx(0.0, abs=1e-6)
    assert last[Metric.KL] > 1e-4


@pytest.mark.slow
def test_how_a_batch_is_parted_does_not_matter(base):
    told, ends = [], []
    for micro in (1, 100_000):
        student = student_of(base)
        stage = ppo(student, memory=MemoryConfig(micro_tokens=micro, chunk_tokens=7 if micro == 1 else 1024))
        told.append(stage.step(1))
        ends.append(weights(student.model))
    assert told[0][Metric.GRAD_NORM] == pytest.approx(told[1][Metric.GRAD_NORM], rel=1e-3)
    assert told[0][Metric.VALUE_LOSS] == pytest.approx(told[1][Metric.VALUE_LOSS], rel=1e-4)


def test_a_gradient_that_is_no_number_changes_nothing(student):
    from warpsmith.learn.engines.local.descent import Descent

    before = weights(student.model)
    descent = Descent(student.model, DescentConfig(lr=1.0))
    parameter = next(student.model.parameters())
    loss, norm = descent.step([(parameter * float("nan")).sum()])
    assert loss != loss
    assert norm != norm
    assert is_same(student.model, before)
    assert descent.num_steps == 0


def test_the_rate_rises_over_the_warmup(student):
    from warpsmith.learn.engines.local.descent import Descent

    descent = Descent(student.model, DescentConfig(lr=1.0, warmup_steps=4))
    rates = []
    for _ in range(6):
        rates.append(descent.lr)
        descent.step([next(student.model.parameters()).sum()])
    assert rates == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


# --- going on ---


def ended(stage, network):
    return weights(stage.networks()[network])


@pytest.mark.parametrize(
    "name", ["ppo", *(pytest.param(name, marks=pytest.mark.slow) for name in ("sft", "value", "grpo"))]
)
def test_a_run_that_was_stopped_goes_on_bit_by_bit(base, tmp_path, name):
    whole = STAGES[name](student_of(base))
    straight = train(whole, tmp_path / "whole")
    halves = []

    class Killed(Exception):
        pass

    def kill(step, _metrics):
        if step == 3:
            raise Killed

    with pytest.raises(Killed):
        train(STAGES[name](student_of(base), loop={"save_every": 2}), tmp_path / "half", kill)
    again = STAGES[name](student_of(base), loop={"save_every": 2})
    resumed = train(again, tmp_path / "half", lambda step, _: halves.append(step))
    assert halves == [3, 4]
    for network in whole.networks():
        assert is_same(again.networks()[network], ended(whole, network))
    clocks = CLOCKS
    for one, other in zip(straight.history, resumed.history, strict=True):
        assert {k: v for k, v in one.items() if k not in clocks} == {
            k: v for k, v in other.items() if k not in clocks
        }


def test_a_run_that_has_ended_is_only_written_again(base, tmp_path):
    train(sft(student_of(base)), tmp_path / "run")
    steps = []
    again = train(sft(student_of(base)), tmp_path / "run", lambda step, _: steps.append(step))
    assert steps == []
    assert again.final is not None
    assert again.num_steps == 4


@pytest.mark.slow
def test_what_came_of_a_run_can_be_begun_with(base, tmp_path):
    stage = sft(student_of(base))
    final = train(stage, tmp_path / "run").final
    assert is_same(student_of(final / "actor").model, ended(stage, "actor"))
    critic = train(value(student_of(final / "actor")), tmp_path / "value").final
    assert critics.read(critic / "critic", torch.device("cpu")).config.num_labels == 1


def test_ctrl_c_saves_after_the_step_and_ends(base, tmp_path):
    def press(step, _metrics):
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    stopped = train(sft(student_of(base)), tmp_path / "run", press)
    assert stopped.is_interrupted
    assert stopped.final is None
    assert (stopped.num_steps, stopped.last_saved) == (2, 2)
    assert train(sft(student_of(base)), tmp_path / "run").num_steps == 4


def test_only_the_last_checkpoints_are_kept(base, tmp_path):
    train(sft(student_of(base), loop={"save_every": 1}), tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir()) == ["000003", "000004"]


@pytest.mark.slow
def test_a_folder_with_another_run_is_refused(base, tmp_path):
    train(sft(student_of(base)), tmp_path / "run")
    with pytest.raises(UsageError, match=r"another configuration \(config\.loop\.seed\)"):
        train(sft(student_of(base), loop={"seed": 5}), tmp_path / "run")
    with pytest.raises(UsageError, match="another configuration"):
        train(value(student_of(base)), tmp_path / "run")
    other = Sft(
        student_of(base), lessons(student_of(base), 31), replace(toy.sft(steps=4), samples_per_step=8)
    )
    with pytest.raises(UsageError, match=r"\(data\)"):
        train(other, tmp_path / "run")


def test_a_folder_with_something_else_is_not_touched(base, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"thesis\.txt"):
        train(sft(student_of(base)), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_two_processes_do_not_train_in_one_folder(base, tmp_path):
    def also(_step, _metrics):
        train(sft(student_of(base)), tmp_path / "run")

    with pytest.raises(UsageError, match="in use"):
        train(sft(student_of(base)), tmp_path / "run", also)
    assert not (tmp_path / "run" / ".lock").exists()


def test_a_damaged_checkpoint_is_said(base, tmp_path):
    train(sft(student_of(base)), tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / "000004" / "state.pt").write_bytes(b"not a state")
    with pytest.raises(UsageError, match="damaged"):
        train(sft(student_of(base)), tmp_path / "run")


def test_a_half_written_checkpoint_is_none(base, tmp_path):
    train(sft(student_of(base), loop={"save_every": 2}), tmp_path / "run")
    (tmp_path / "run" / "checkpoints" / ".fresh").mkdir()
    assert RunFolder(tmp_path / "run").last_step() == 4


def test_metrics_without_weights_are_cut_off(base, tmp_path):
    train(sft(student_of(base)), tmp_path / "run")
    metrics = tmp_path / "run" / "metrics.jsonl"
    metrics.write_text(metrics.read_text() + '{"step": 5, "loss": 1.0}\n{"step": 6, "lo')
    again = train(sft(student_of(base)), tmp_path / "run")
    assert len(again.history) == 4


def test_a_disk_that_refuses_is_our_failure(base, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InfraError, match="cannot be written"):
        train(sft(student_of(base)), tmp_path / "file" / "run")


# --- what cannot be learnt from ---


def test_samples_that_do_not_fit_the_model_are_refused(student):
    (one, *_) = lessons(student)
    config = toy.sft()
    with pytest.raises(UsageError, match="another tokenizer"):
        Sft(student, [replace(one, ids=(*one.ids[:-1], 99_999))], config)
    with pytest.raises(UsageError, match="another tokenizer than"):
        Sft(student, [replace(one, tokenizer="0123")], config)
    assert Sft(student, [replace(one, tokenizer=student.vocabulary)], config).data
    with pytest.raises(UsageError, match="the model reads 512"):
        Sft(student, [replace(one, ids=one.ids[:1] * 600, spans=(Span(start=1, end=600),))], config)
    with pytest.raises(UsageError, match="no sample"):
        Sft(student, [], config)
    with pytest.raises(UsageError, match="1 samples have no reward"):
        Valuation(student, [replace(one, outcome=None)], toy.value())


def test_samples_without_their_logprobs_are_refused(student):
    def change(samples):
        return tuple(
            replace(s, spans=tuple(replace(span, logprobs=None) for span in s.spans)) for s in samples
        )

    with pytest.raises(InfraError, match="lacks the log-probabilities"):
        ppo(student, Altered(student, change)).step(1)


def test_a_source_without_samples_is_our_failure(student):
    with pytest.raises(InfraError, match="no samples"):
        ppo(student, Altered(student, lambda samples: ())).step(1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: replace(toy.ppo(), sampling=replace(toy.SAMPLING, temperature=0.0)),
        lambda: replace(toy.grpo(), sampling=replace(toy.SAMPLING, top_p=0.9)),
        lambda: replace(toy.grpo(), sampling=replace(toy.SAMPLING, temperature=None)),
        lambda: replace(toy.ppo(), update=replace(toy.ppo().update, kl=0.1)),
        lambda: UpdateConfig(descent=DescentConfig(lr=0.0)),
        lambda: UpdateConfig(descent=DescentConfig(lr=float("nan"))),
        lambda: UpdateConfig(descent=DescentConfig(lr=1.0), epochs=0),
        lambda: MemoryConfig(precision="fp8"),
        lambda: MemoryConfig(chunk_tokens=0),
        lambda: toy.sft(steps=0),
        lambda: replace(toy.sft(), samples_per_step=0),
        lambda: replace(toy.value(), lam=1.5),
        lambda: replace(toy.ppo(), gamma=float("nan")),
        lambda: replace(toy.ppo(), value_clip=0.0),
        lambda: replace(toy.ppo(), critic_epochs=0),
        lambda: Limits(patience=0),
    ],
    ids=range(16),
)
def test_a_configuration_that_makes_no_sense_is_refused(make):
    with pytest.raises(UsageError):
        make()


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_gpu_learns_what_it_drew(base, precision):
    student = student_of(base)
    assert student.device.type == "cuda"
    memory = MemoryConfig(precision=precision, is_checkpointed=True, chunk_tokens=16)
    metrics = ppo(student, memory=memory).step(1)
    assert metrics[Metric.UPDATED] == 1.0
    assert metrics[Metric.MISMATCH] < (1e-3 if precision == "fp32" else 0.1)
