"""Modelled times and floors."""

from dataclasses import replace

import pytest

from warpsmith.core import Precision
from warpsmith.device import GPUS
from warpsmith.judge.clock.floor import Traffic, best_rate, floor
from warpsmith.judge.clock.model import Launch, Memory, Unit, Work, fused, launch_us, program_us

GPU = replace(
    GPUS["h200"], dram_bytes_s=1e12, fp32_flops=50e12, tf32_flops=300e12, bf16_flops=600e12, launch_us=3.0
)
MB = 1_000_000


def pointwise(reads, writes, num_bytes=0):
    return Launch(name="op", num_bytes=num_bytes, reads=reads, writes=writes)


def test_a_launch_takes_the_longer_of_moving_and_computing():
    assert launch_us(Launch(name="copy", num_bytes=10 * MB), GPU) == pytest.approx(3 + 10)
    product = Launch(name="mm", num_bytes=10 * MB, flops=10**9)
    assert launch_us(product, GPU) == pytest.approx(3 + 20)
    assert launch_us(replace(product, unit=Unit.BF16), GPU) == pytest.approx(3 + 10)


def test_every_kernel_of_a_launchers_call_costs_its_launch():
    assert launch_us(Launch(name="split", num_bytes=0, kernels=4), GPU) == pytest.approx(12)


def test_a_program_is_its_launches_one_after_another():
    launches = [Launch(name="a", num_bytes=MB), Launch(name="b", num_bytes=2 * MB)]
    assert program_us(launches, GPU) == pytest.approx(3 + 1 + 3 + 2)


def test_pointwise_launches_fuse_and_what_flows_between_them_is_not_moved():
    memory = [Memory(num_bytes=100), Memory(num_bytes=100), Memory(num_bytes=100, is_output=True)]
    (only,) = fused([pointwise((0,), (1,), 200), pointwise((1,), (2,), 200)], memory)
    assert only.num_bytes == 200
    assert (only.reads, only.writes) == ((0,), (2,))


def test_what_is_read_after_a_library_call_is_written():
    memory = [Memory(num_bytes=100) for _ in range(4)] + [Memory(num_bytes=100, is_output=True)]
    product = Launch(name="mm", num_bytes=300, flops=7, work=Work.LIBRARY, reads=(2,), writes=(3,))
    before = [pointwise((0,), (1,), 200), pointwise((1,), (2,), 200)]
    after = pointwise((1, 3), (4,), 300)
    first, middle, last = fused([*before, product, after], memory)
    assert first.writes == (1, 2)
    assert middle == product
    assert last == after


def test_fusing_never_makes_a_program_slower():
    memory = [Memory(num_bytes=MB) for _ in range(9)] + [Memory(num_bytes=MB, is_output=True)]
    chain = [pointwise((i, 0), (i + 1,), 3 * MB) for i in range(9)]
    assert program_us(fused(chain, memory), GPU) < program_us(chain, GPU)


def test_nothing_fuses_to_nothing():
    assert fused([], []) == ()


def test_the_floor_is_the_larger_of_bytes_and_flops():
    product = Launch(name="mm", num_bytes=0, flops=2 * 10**9)
    traffic = Traffic(read_bytes=2 * MB, input_bytes=MB, written_bytes=MB)
    found = floor([product], traffic, precision=Precision.REFERENCE, gpu=GPU)
    assert found.bytes_us == pytest.approx(3)
    assert found.flops_us == pytest.approx(10)  # at bf16 / 3
    assert found.us == pytest.approx(10)


def test_writes_that_fit_into_l2_are_not_certain():
    gpu = replace(GPU, l2_bytes=MB)
    traffic = Traffic(read_bytes=9 * MB, input_bytes=2 * MB, written_bytes=3 * MB)
    found = floor([], traffic, precision=Precision.REFERENCE, gpu=gpu)
    assert found.bytes_us == pytest.approx(12)
    assert found.certain_us == pytest.approx(4)


def test_a_floor_is_never_zero():
    traffic = Traffic(read_bytes=0, input_bytes=0, written_bytes=0)
    assert floor([], traffic, precision=Precision.REFERENCE, gpu=GPU).us > 0


@pytest.mark.parametrize(
    ("unit", "precision", "expected"),
    [
        (Unit.FP32, Precision.REFERENCE, 200e12),
        (Unit.FP32, Precision.TF32, 300e12),
        (Unit.TF32, Precision.REFERENCE, 300e12),
        (Unit.BF16, Precision.REFERENCE, 600e12),
    ],
)
def test_the_best_rate_keeps_the_precision(unit, precision, expected):
    assert best_rate(unit, precision, GPU) == expected
