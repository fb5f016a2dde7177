"""What the judge says of candidates, with real kernels on the cpu device; none takes its process with it."""

import pytest

from warpsmith.core import BuildFailed, Candidate, Crashed, Implausible, Passed, Provenance, Rejected, Wrong

CORRECT = """        y = torch.empty_like(x)
        cuda_extension.scaled(x, self.weight, y, x.numel(), x.shape[1])
"""


def test_a_correct_candidate_passes_within_the_tolerance(scaled_judge, scaled):
    verdict = scaled_judge.verify(scaled())
    assert isinstance(verdict, Passed)
    assert verdict.timing is None
    assert verdict.accuracy.has_truth
    assert verdict.accuracy.error <= verdict.accuracy.allowed


def test_its_time_is_modelled_and_called_so(scaled_judge, scaled):
    verdict = scaled_judge.measure(scaled())
    assert isinstance(verdict, Passed)
    timing = verdict.timing
    assert timing is not None
    assert timing.provenance is Provenance.MODELLED
    assert timing.num_launches == 1
    assert timing.against_eager.centre == pytest.approx(2.0, rel=0.1)  # eager: two launches, of 3 us each
    assert timing.against_eager.low == timing.against_eager.high == timing.against_eager.centre


def test_launchers_imported_by_name_are_counted_too(scaled_judge, scaled):
    module = (
        scaled()
        .text("model_new.py")
        .replace("import cuda_extension", "from cuda_extension import scaled as launch")
    )
    verdict = scaled_judge.measure(scaled(module=module.replace("cuda_extension.scaled(", "launch(")))
    assert verdict == scaled_judge.measure(scaled())


def test_work_on_tensors_that_no_launcher_is_given_cannot_be_modelled(scaled_judge, scaled):
    sly = """        y = torch.empty_like(x)
        a, b, c = (tensor.view(-1)[:1] for tensor in (x, self.weight, y))
        cuda_extension.scaled(a, b, c, x.numel(), x.shape[1])
        return y
"""
    verdict = scaled_judge.measure(scaled(sly))  # names one element of each tensor, and reaches all of them
    assert isinstance(verdict, Implausible), verdict
    assert "are given 12 bytes" in verdict.message


def test_what_torch_does_for_a_candidate_is_modelled_too(scaled_judge, scaled):
    copied = CORRECT.replace("(x, self", "(x.clone(), self") + "        return y.clone()\n"
    plain, more = (
        scaled_judge.measure(scaled(text)).timing for text in (CORRECT + "        return y\n", copied)
    )
    assert more.num_launches == plain.num_launches + 2
    assert more.candidate.median_us > 2.5 * plain.candidate.median_us


@pytest.mark.parametrize(
    ("what", "forward", "says"),
    [
        ("values", CORRECT.replace("x.numel()", "x.numel() - 5") + "        return y\n", "never written"),
        ("values", CORRECT.replace("x.shape[1]", "32") + "        return y\n", "worst at ["),
        ("structure", CORRECT + "        return (y,)\n", "a tuple of 1"),
        ("structure", CORRECT + "        return {'y': y}\n", "a dict of y"),
        ("structure", CORRECT + "        return 1.0\n", "must be a tensor"),
        ("structure", CORRECT + "        return None\n", "must be a tensor"),
        ("structure", CORRECT + "        return y[:64]\n", "shape [64, 33], and must have [65, 33]"),
        (
            "structure",
            CORRECT + "        return y.to(torch.float64)\n",
            "dtype float64, and must have float32",
        ),
        ("structure", CORRECT + "        return torch.zeros(1000, 1000)\n", "4000000 bytes"),
        (
            "inputs changed",
            CORRECT + "        cuda_extension.touched(x)\n        return y\n",
            "(x) was written to",
        ),
        (
            "parameters changed",
            CORRECT + "        cuda_extension.touched(self.weight)\n        return y\n",
            "weight",
        ),
    ],
)
def test_a_wrong_answer_is_told_apart(scaled_judge, scaled, what, forward, says):
    verdict = scaled_judge.verify(scaled(forward))
    assert isinstance(verdict, Wrong), verdict
    assert verdict.what == what
    assert says in verdict.message


def test_a_wrong_value_comes_with_its_error_and_what_is_allowed(scaled_judge, scaled):
    kernel = "fmaxf(x[row + col] * weight[col], 0.0f)"
    off_by_a_little = scaled(kernel=scaled().text("kernels/scaled.cu").replace(kernel, f"{kernel} * 1.0001f"))
    verdict = scaled_judge.verify(off_by_a_little)
    assert isinstance(verdict, Wrong)
    assert verdict.error is not None
    assert verdict.allowed is not None
    assert verdict.error > verdict.allowed


STALE = """        if not hasattr(self, "kept"):
            self.kept = torch.empty_like(x)
            cuda_extension.scaled(x, self.weight, self.kept, x.numel(), x.shape[1])
        return self.kept
"""
REUSED = """        if not hasattr(self, "kept"):
            self.kept = torch.empty_like(x)
        cuda_extension.scaled(x, self.weight, self.kept, x.numel(), x.shape[1])
        return self.kept
"""
PREVIOUS = """        y = torch.empty_like(x)
        cuda_extension.scaled(x, self.weight, y, x.numel(), x.shape[1])
        kept = getattr(self, "kept", y)
        self.kept = y
        return kept
"""
FIRST_TIME_ONLY = """        self.calls = getattr(self, "calls", 0) + 1
        y = torch.empty_like(x)
        cuda_extension.scaled(x, self.weight, y, x.numel() if self.calls < 6 else 0, x.shape[1])
        return y
"""


@pytest.mark.parametrize("forward", [STALE, REUSED, PREVIOUS, FIRST_TIME_ONLY])
def test_an_answer_of_another_call_is_wrong(scaled_judge, scaled, forward):
    verdict = scaled_judge.verify(scaled(forward))
    assert isinstance(verdict, Wrong | Crashed), verdict


def test_a_buffer_that_every_call_returns_is_named_as_the_cause(scaled_judge, scaled):
    verdict = scaled_judge.verify(scaled(REUSED))
    assert isinstance(verdict, Wrong)
    assert "overwritten by a later call" in verdict.message


RING = """        if not hasattr(self, "ring"):
            self.ring = [torch.empty_like(x) for _ in range({size})]
        self.ring.append(self.ring.pop(0))
        cuda_extension.scaled(x, self.weight, self.ring[0], x.numel(), x.shape[1])
        return self.ring[0]
"""


@pytest.mark.parametrize("size", [2, 3, 4])
def test_buffers_that_calls_return_in_turn_are_named_as_the_cause(scaled_judge, scaled, size):
    verdict = scaled_judge.verify(scaled(RING.replace("{size}", str(size))))
    assert isinstance(verdict, Wrong)
    assert "overwritten by a later call" in verdict.message


@pytest.mark.parametrize(
    "forward",
    [
        """        kept = self.__dict__.setdefault("kept", {})
        key = KEY
        if key not in kept:
            kept[key] = (x, torch.empty_like(x))
            cuda_extension.scaled(x, self.weight, kept[key][1], x.numel(), x.shape[1])
        return kept[key][1].clone()
""".replace("KEY", key)
        for key in ("id(x)", "(x.data_ptr(), x._version)")
    ],
    ids=["object", "address and version"],
)
def test_a_tensor_that_is_known_again_may_hold_other_numbers(scaled_judge, scaled, forward):
    verdict = scaled_judge.verify(scaled(forward))
    assert isinstance(verdict, Wrong)
    assert "as the clock calls it" in verdict.message


def test_a_program_that_works_only_where_memory_is_poisoned_is_seen(scaled_judge, scaled):
    forward = """        y = torch.empty_like(x)
        is_examined = not float(y[0, 0]) == float(y[0, 0])
        cuda_extension.scaled(x, self.weight, y, x.numel() if is_examined else 5, x.shape[1])
        return y
"""
    verdict = scaled_judge.verify(scaled(forward))
    assert isinstance(verdict, Wrong)
    assert "as the clock calls it" in verdict.message


def test_weights_of_another_name_or_shape_are_listed(scaled_judge, scaled):
    renamed = scaled(module=scaled().text("model_new.py").replace("self.weight", "self.scale"))
    verdict = scaled_judge.verify(renamed)
    assert isinstance(verdict, Wrong)
    assert verdict.what == "weights"
    assert "missing weight; unexpected scale" in verdict.message
    reshaped = scaled(
        module=scaled().text("model_new.py").replace("torch.empty(cols)", "torch.empty(1, cols)")
    )
    assert "weight: [1, 33] instead of [33]" in scaled_judge.verify(reshaped).message


@pytest.mark.parametrize(
    ("forward", "says"),
    [
        (CORRECT + "        return y.no_such_thing\n", "AttributeError"),
        ("        return cuda_extension.scaled(x)\n", "TypeError"),
        (CORRECT.replace("x.numel()", "x.numel(), 1") + "        return y\n", "TypeError"),
        ("        raise ValueError('all is lost')\n", "all is lost"),
    ],
)
def test_an_exception_is_a_crash_with_the_candidates_own_lines(scaled_judge, scaled, forward, says):
    verdict = scaled_judge.verify(scaled(forward))
    assert isinstance(verdict, Crashed)
    assert verdict.stage == "forward"
    assert says in verdict.log
    assert 'File "model_new.py", line' in verdict.log
    assert "session.py" not in verdict.log


def test_a_module_that_cannot_be_constructed_crashes_at_load(scaled_judge, scaled):
    broken = scaled(
        module=scaled().text("model_new.py").replace("torch.empty(cols)", "torch.empty(cols / 0)")
    )
    verdict = scaled_judge.verify(broken)
    assert isinstance(verdict, Crashed)
    assert verdict.stage == "load"
    assert "ZeroDivisionError" in verdict.log


@pytest.mark.parametrize("expression", ["x * self.weight", "x + 1", "-x", "(x > 0).to(x.dtype)", "x.abs()"])
def test_arithmetic_by_torch_is_seen_when_it_runs(scaled_judge, scaled, expression):
    verdict = scaled_judge.verify(scaled(CORRECT + f"        z = {expression}\n        return y\n"))
    assert isinstance(verdict, Rejected)
    assert verdict.rule == "torch-compute"
    assert verdict.where == "model_new.py:14"


def test_a_called_submodule_is_torchs_arithmetic_too(scaled_judge, scaled):
    module = (
        scaled()
        .text("model_new.py")
        .replace("        y = torch.empty_like(x)\n", "        y = torch.empty_like(torch.nn.ReLU()(x))\n")
    )
    assert isinstance(scaled_judge.verify(scaled(module=module)), Rejected)


@pytest.mark.parametrize(
    "forward",
    [
        CORRECT + "        return y.view(-1).view(65, 33).transpose(0, 1).contiguous().t()\n",
        CORRECT.replace("x.numel()", "x.shape[0] * x.shape[1]") + "        return y[:][:, :]\n",
        "        x = x.contiguous().reshape(-1, 33)\n" + CORRECT + "        return y.expand_as(x)\n",
        "        y = torch.zeros(x.shape, dtype=x.dtype, device=x.device)\n"
        + CORRECT.partition("\n")[2]
        + "        return y.clone()\n",
    ],
)
def test_views_and_memory_are_no_arithmetic(scaled_judge, scaled, forward):
    verdict = scaled_judge.verify(scaled(forward))
    assert isinstance(verdict, Passed), verdict


def test_a_build_that_fails_comes_with_the_compilers_words(scaled_judge, scaled):
    broken = scaled(kernel=scaled().text("kernels/scaled.cu").replace("int col =", "int column ="))
    verdict = scaled_judge.verify(broken)
    assert isinstance(verdict, BuildFailed)
    assert scaled_judge.build(broken) == verdict


def test_a_broken_rule_stops_before_the_build(scaled_judge):
    candidate = Candidate.of(
        {"model_new.py": "import ctypes\nclass ModelNew: pass\n", "kernels/a.cu": "nonsense"}
    )
    assert isinstance(scaled_judge.build(candidate), Rejected)
    assert isinstance(scaled_judge.verify(candidate), Rejected)


def test_the_record_says_what_a_verdict_depends_on(scaled_judge):
    environment = scaled_judge.environment()
    assert environment["device"] == "cpu"
    assert environment["judge_config"] == scaled_judge.config.digest
    assert environment["float32_matmul_precision"] == "highest"
