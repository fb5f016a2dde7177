"""Which device is judged on, and the figures it comes with."""

import pytest

from warpsmith import device
from warpsmith.core import EnvironmentMissing, UsageError
from warpsmith.device import GPUS, DriverGpu, NoGpu, find_gpus, select_device
from warpsmith.device.peaks import peaks_of

H200 = DriverGpu(
    name="NVIDIA H200",
    uuid="GPU-00000000-0000-0000-0000-000000000000",
    capability=(9, 0),
    num_sms=132,
    l2_bytes=60 << 20,
    memory_bytes=141 * 10**9,
    clock_hz=1.98e9,
    memory_clock_hz=3.201e9,
    memory_bus_bits=6144,
)


@pytest.fixture
def without_gpu(monkeypatch):
    monkeypatch.setattr(device, "find_gpus", lambda: NoGpu("the machine has none"))


@pytest.fixture
def with_h200(monkeypatch):
    monkeypatch.setattr(device, "find_gpus", lambda: (H200,))


def test_without_a_gpu_the_cpu_stands_in_for_an_h200(without_gpu):
    chosen = select_device()
    assert (chosen.kind, chosen.arch, chosen.gpu, chosen.uuid) == ("cpu", "sm_90a", GPUS["h200"], None)


def test_with_a_gpu_it_is_chosen_and_its_own_figures_apply(with_h200):
    chosen = select_device()
    assert (chosen.kind, chosen.arch, chosen.name, chosen.uuid) == (
        "cuda",
        "sm_90a",
        "NVIDIA H200",
        H200.uuid,
    )
    assert chosen.gpu is GPUS["h200"]


def test_the_cpu_can_be_asked_for_though_there_is_a_gpu(with_h200):
    assert select_device("cpu", gpu="a100").arch == "sm_80"
    assert select_device("cpu", arch="sm_89", gpu="a100").arch == "sm_89"


def test_a_gpu_that_is_not_there_is_an_environment_that_lacks_one(without_gpu):
    with pytest.raises(EnvironmentMissing, match=r"the machine has none.*--device cpu"):
        select_device("cuda")


@pytest.mark.parametrize(
    ("arguments", "choices"),
    [({"kind": "tpu"}, "auto, cuda, cpu"), ({"gpu": "v100"}, "h200, h100, a100, rtx4090, l4")],
)
def test_an_unknown_name_is_answered_with_the_choices(arguments, choices):
    with pytest.raises(UsageError, match=choices):
        select_device(**arguments)


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_every_listed_gpu_has_plausible_peaks_and_a_source(gpu):
    assert 1e11 < gpu.dram_bytes_s < 1e13
    assert gpu.fp32_flops <= gpu.tf32_flops < gpu.bf16_flops < 3e15
    assert "NVIDIA" in gpu.source
    assert "assumption" in gpu.source


def test_a_gpu_that_is_not_listed_gets_its_peaks_from_its_clocks():
    gpu = peaks_of(
        DriverGpu(**{field: getattr(H200, field) for field in H200.__slots__} | {"name": "NVIDIA H800"})
    )
    listed = GPUS["h200"]
    for field in ("dram_bytes_s", "fp32_flops", "tf32_flops", "bf16_flops"):
        assert getattr(gpu, field) == pytest.approx(getattr(listed, field), rel=0.1)
    assert "driver" in gpu.source


def test_a_gpu_of_an_unknown_kind_must_be_named():
    fields = {field: getattr(H200, field) for field in H200.__slots__}
    with pytest.raises(EnvironmentMissing, match="--gpu"):
        peaks_of(DriverGpu(**fields | {"name": "NVIDIA X1", "capability": (14, 2)}))


@pytest.mark.gpu
def test_the_driver_tells_what_this_gpu_is():
    found = find_gpus()
    assert not isinstance(found, NoGpu)
    assert found[0].uuid.startswith("GPU-")
    assert found[0].num_sms > 10
    assert found[0].arch.startswith("sm_")
    assert select_device().kind == "cuda"


def test_looking_for_gpus_never_fails():
    found = find_gpus()
    assert isinstance(found, NoGpu) or len(found) > 0
