"""Many replies at once are what each would be alone, wherever its row lies and whoever waits."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from warpsmith.core import InfraError, UsageError
from warpsmith.policy import Sampling
from warpsmith.policy.local.checkpoint import load
from warpsmith.policy.local.decoding import Decoder
from warpsmith.policy.local.drawing import drawing_of
from warpsmith.policy.local.engine import Engine
from warpsmith.policy.local.places import _chunks
from warpsmith.policy.local.plain import Prefix, run
from warpsmith.policy.local.reading import Reader
from warpsmith.policy.local.rows import rows_of
from warpsmith.policy.local.stepping import Stepper
from warpsmith.policy.local.tokens import DecodingConfig

PROMPTS = ([5, 6, 7, 8, 9, 10, 31, 32, 33], [11, 12], [200], [21, 22, 23, 24], [11, 12], [11, 12])
HOT = Sampling(temperature=0.7, max_tokens=20, seed=3)
STOPS = frozenset(range(0, 400, 9))
NARROW = DecodingConfig(max_rows=3, bucket_tokens=8, steps_per_check=4, chunk_tokens=4)


@pytest.fixture
def model(checkpoint):
    """Of one's own: some tests change its weights."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(str(checkpoint)).eval()


@torch.inference_mode()
def plainly(model, prompts=PROMPTS, sampling=HOT, stops=STOPS):
    rows = rows_of(prompts, sampling, 64, stops)
    run(Reader(model), rows, drawing_of(sampling, model.generation_config), Prefix(), lambda: False)
    return [row.output() for row in rows]


def engine_of(model, decoding=NARROW, stops=STOPS):
    engine = Engine(model, stop_ids=stops, context_tokens=64, decoding=decoding)
    assert engine.decoder() is not None
    return engine


def assert_alike(outputs, expected):
    assert [(one.ids, one.is_cut) for one in outputs] == [(one.ids, one.is_cut) for one in expected]
    for one, other in zip(outputs, expected, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@pytest.mark.parametrize(
    "decoding",
    [
        DecodingConfig(),
        NARROW,
        replace(NARROW, max_rows=1),
        replace(NARROW, max_rows=6, steps_per_check=1),
        replace(NARROW, max_rows=5, chunk_tokens=1),
        replace(NARROW, steps_per_check=50, bucket_tokens=1),
    ],
    ids=range(6),
)
def test_wherever_a_row_lies_it_is_drawn_as_by_the_plain_loop(model, decoding):
    expected = plainly(model)
    assert len({len(output.ids) for output in expected}) > 2
    assert_alike(engine_of(model, decoding).generate(PROMPTS, HOT), expected)


def test_top_p_and_greedy_are_as_by_the_plain_loop(model):
    for sampling in (replace(HOT, top_p=0.8), replace(HOT, temperature=0.0)):
        assert_alike(engine_of(model).generate(PROMPTS, sampling), plainly(model, sampling=sampling))


def test_a_prompt_is_read_once_for_all_its_samples(model, monkeypatch):
    read = []
    plain = Reader.read
    monkeypatch.setattr(
        Reader, "read", lambda self, ids, *a, **k: read.append(tuple(ids.shape)) or plain(self, ids, *a, **k)
    )
    engine = engine_of(model, DecodingConfig())
    read.clear()
    engine.generate([list(range(5, 25))] * 8, HOT)
    assert read == [(1, 19)]  # the last token is read by each row's first step


def test_weights_that_changed_in_place_are_seen(model):
    engine = engine_of(model)
    before = engine.generate(PROMPTS, HOT)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.8)
    after = engine.generate(PROMPTS, HOT)
    assert after != before
    assert_alike(after, plainly(model))


def test_what_was_captured_goes_when_weights_move_elsewhere(model):
    engine = engine_of(model)
    engine.generate(PROMPTS, HOT)
    places = engine.decoder()._places
    engine.generate(PROMPTS, HOT)
    assert engine.decoder()._places is places
    weight = model.model.layers[0].mlp.up_proj.weight
    weight.data = weight.data * 2.0
    assert_alike(engine.generate(PROMPTS, HOT), plainly(model))
    assert engine.decoder()._places is not places


def test_more_than_there_was_room_for_gets_more(model):
    engine = engine_of(model)
    engine.generate(PROMPTS[1:3], replace(HOT, max_tokens=2))
    assert_alike(engine.generate(PROMPTS, HOT), plainly(model))
    short = replace(HOT, max_tokens=2)
    assert_alike(engine.generate(PROMPTS, short), plainly(model, sampling=short))


def test_the_caches_bytes_bound_the_rows(model):
    slots = Decoder(Reader(model), STOPS, NARROW)._bytes_per_slot
    assert slots == 2 * 2 * 16 * 4  # layers, keys and values, width of the one head, float32
    engine = engine_of(model, replace(NARROW, cache_bytes=int(2.5 * 32 * slots)))
    assert_alike(engine.generate(PROMPTS, HOT), plainly(model))
    assert engine.decoder()._places._slots.num_rows == 2
    with pytest.raises(InfraError, match="cache_bytes allows 100"):
        engine_of(model, replace(NARROW, cache_bytes=100)).generate(PROMPTS, HOT)


def test_memory_is_given_back_where_that_is_asked_for(model):
    engine = engine_of(model, replace(NARROW, is_kept=False))
    engine.generate(PROMPTS, HOT)
    assert engine.decoder()._places is None
    assert_alike(engine.generate(PROMPTS, HOT), plainly(model))


def test_the_model_attends_afterwards_as_before(model):
    before = model.config._attn_implementation
    engine_of(model).generate(PROMPTS, HOT)
    assert model.config._attn_implementation == before
    broken = engine_of(model)
    with pytest.raises(ZeroDivisionError):
        broken.generate(PROMPTS, HOT, is_late=lambda: 1 / 0)
    assert model.config._attn_implementation == before
    assert_alike(broken.generate(PROMPTS, HOT), plainly(model))


def test_long_prompts_are_read_in_chunks_that_get_shorter(model, monkeypatch):
    monkeypatch.setattr("warpsmith.policy.local.places.LATER_TOKENS", 3)
    assert list(_chunks(20, 10)) == [(0, 10), (10, 13), (13, 16), (16, 19), (19, 20)]
    assert list(_chunks(4, 10)) == [(0, 4)]
    prompts = [list(range(5, 35)), list(range(7, 20))]
    decoding = replace(NARROW, chunk_tokens=8)
    assert_alike(engine_of(model, decoding).generate(prompts, HOT), plainly(model, prompts))


def test_a_device_that_is_full_is_our_failure_and_says_what_to_lower(model, monkeypatch):
    engine = engine_of(model)

    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(Stepper, "_step", full)
    with pytest.raises(InfraError, match="no memory to draw 6 replies at once; lower"):
        engine.generate(PROMPTS, HOT)
    monkeypatch.undo()
    assert_alike(engine.generate(PROMPTS, HOT), plainly(model))


def test_a_sliding_window_goes_by_the_plain_loop_and_it_is_said_why():
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=64,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        use_sliding_window=True,
        sliding_window=4,
        max_window_layers=1,
    )
    model = Qwen2ForCausalLM(config).eval()
    engine = Engine(model, stop_ids=frozenset({2}), context_tokens=64)
    prompts = [list(range(3, 12)), [5]]
    outputs = engine.generate(prompts, HOT)
    assert "sliding_window" in engine.why_plain
    assert_alike(outputs, plainly(model, prompts, stops=frozenset({2})))


def test_a_model_that_says_something_else_by_slots_goes_by_the_plain_loop(model):
    body = model.base_model
    plain = body.forward

    def other(*args, **how):
        out = plain(*args, **how)
        if how.get("position_ids") is not None:
            out.last_hidden_state = out.last_hidden_state + 1.0
        return out

    body.forward = other
    engine = Engine(model, stop_ids=STOPS, context_tokens=64)
    assert engine.decoder() is None
    assert "off by" in engine.why_plain


def test_in_half_precision_it_is_as_by_the_plain_loop(model):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        engine = engine_of(model)
        half = engine.generate([PROMPTS[0]], HOT)
        expected = plainly(model, [PROMPTS[0]])
    kept = engine.decoder()._places._slots._tensors()
    assert {tensor.dtype for tensor in kept} == {torch.bfloat16}
    assert half[0].logprobs[0] == pytest.approx(expected[0].logprobs[0], abs=0.2)
    full = engine.generate([PROMPTS[0]], HOT)
    assert_alike(full, plainly(model, [PROMPTS[0]]))


def test_logits_that_are_no_numbers_are_said_so(model):
    engine = engine_of(model)
    engine.generate(PROMPTS, HOT)
    with torch.no_grad():
        model.model.norm.weight.fill_(float("nan"))
    with pytest.raises(InfraError, match="not finite"):
        engine.generate(PROMPTS, HOT)


@pytest.mark.parametrize("name", ["max_rows", "cache_bytes", "chunk_tokens", "bucket_tokens"])
def test_a_configuration_that_makes_no_sense_is_refused(name):
    with pytest.raises(UsageError, match="1 or more"):
        DecodingConfig(**{name: 0})


# --- graphs: on the CPU a stand-in replays the step that was captured ---


@pytest.fixture
def graphed(monkeypatch):
    """Steppers believe that they can capture. `graphed` counts captures, replays and plain steps."""
    counted = SimpleNamespace(captured=0, replayed=0, plain=0, fails=False)
    made, step = Stepper.__init__, Stepper._step

    def init(self, *args, **how):
        made(self, *args, **how)
        self.why_not = ""

    def plain(self, *args):
        counted.plain += 1
        step(self, *args)

    def captured(self, *args):
        if counted.fails:
            raise RuntimeError("operation not permitted when stream is capturing")
        counted.captured += 1

        def replay():
            counted.replayed += 1
            step(self, *args)

        return SimpleNamespace(replay=replay)

    monkeypatch.setattr(Stepper, "__init__", init)
    monkeypatch.setattr(Stepper, "_step", plain)
    monkeypatch.setattr(Stepper, "_captured", captured)
    return counted


def test_each_width_is_captured_once_and_its_first_step_counts(model, graphed):
    engine = engine_of(model)
    assert_alike(engine.generate(PROMPTS, HOT), plainly(model))
    first = graphed.captured
    assert first == graphed.plain > 1
    assert graphed.replayed > first
    assert_alike(engine.generate(PROMPTS, HOT), plainly(model))
    assert (graphed.captured, graphed.plain) == (first, first)
    assert engine.decoder().num_graphs == first


def test_a_capture_that_fails_is_told_and_costs_speed_alone(model, graphed):
    graphed.fails = True
    engine = engine_of(model)
    assert_alike(engine.generate(PROMPTS, HOT), plainly(model))
    assert engine.decoder().why_not_captured.startswith("RuntimeError: operation not permitted")
    assert graphed.replayed == 0


def test_on_the_cpu_nothing_is_captured(model):
    engine = engine_of(model)
    engine.generate(PROMPTS, HOT)
    assert engine.decoder().why_not_captured == "no GPU"


@pytest.mark.gpu
@pytest.mark.parametrize("is_half", [False, True])
def test_captured_steps_draw_what_plain_ones_draw_and_see_new_weights(checkpoint, is_half):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(str(checkpoint)).to("cuda").eval()
    captured, eager = engine_of(model), engine_of(model, replace(NARROW, is_captured=False))
    for _ in range(2):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=is_half):
            assert_alike(captured.generate(PROMPTS, HOT), eager.generate(PROMPTS, HOT))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(0.9)
    assert captured.decoder().why_not_captured == ""
    assert captured.decoder().num_graphs > 1


@pytest.mark.gpu
def test_a_checkpoint_on_a_gpu_is_decoded(checkpoint):
    model = load(str(checkpoint)).model
    assert model.device.type == "cuda"
    assert engine_of(model).generate(PROMPTS, HOT)
