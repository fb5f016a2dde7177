"""The names that Nsight Compute is asked for exist, says the host library of CUPTI; it needs no GPU."""

import ctypes
import importlib.util
import os
from pathlib import Path

import pytest

from warpsmith.agent.diagnosis.metrics import LAUNCH, STALLS, all_metrics, cupti_metrics, stall_metric

CHIPS = ("GH100", "GA100", "GB100")
LIBRARY = "libnvperf_host.so"  # comes with CUPTI; CUPTI's own API in front of it wants a driver


class _Scratch(ctypes.Structure):
    """NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize_Params of nvperf_cuda_host.h."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
        ("chip", ctypes.c_char_p),
        ("availability", ctypes.c_void_p),
        ("num_bytes", ctypes.c_size_t),
    )


class _Initialize(ctypes.Structure):
    """NVPW_CUDA_MetricsEvaluator_Initialize_Params."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
        ("scratch", ctypes.c_void_p),
        ("num_bytes", ctypes.c_size_t),
        ("chip", ctypes.c_char_p),
        ("availability", ctypes.c_void_p),
        ("counters", ctypes.c_void_p),
        ("counters_size", ctypes.c_size_t),
        ("evaluator", ctypes.c_void_p),
    )


class _Request(ctypes.Structure):
    """NVPW_MetricEvalRequest of nvperf_host.h."""

    _fields_ = (
        ("index", ctypes.c_size_t),
        ("kind", ctypes.c_uint8),
        ("rollup", ctypes.c_uint8),
        ("submetric", ctypes.c_uint16),
    )


class _Convert(ctypes.Structure):
    """NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest_Params."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("private", ctypes.c_void_p),
        ("evaluator", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("request", ctypes.c_void_p),
        ("request_size", ctypes.c_size_t),
    )


def folders():
    named = [Path(part) for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    found = importlib.util.find_spec("nvidia")
    wheels = [Path(folder) for folder in (found.submodule_search_locations or ())] if found else []
    toolkits = sorted(Path("/usr/local").glob("cuda*/extras/CUPTI/lib64"))
    return [*named, *(lib for wheel in wheels for lib in wheel.glob("*/lib")), *toolkits]


@pytest.fixture(scope="module")
def library():
    paths = [path for folder in folders() if (path := folder / LIBRARY).is_file()]
    if not paths:
        pytest.skip("needs CUPTI: pip install nvidia-cuda-cupti")
    loaded = ctypes.CDLL(str(paths[0]))
    request = (ctypes.c_size_t * 2)(16, 0)
    assert loaded.NVPW_InitializeHost(request) == 0
    return loaded


@pytest.fixture
def exists(library):
    """`exists(chip)` is a function that says whether that chip has a metric."""
    kept = []

    def of(chip):
        scratch = _Scratch(size=ctypes.sizeof(_Scratch), chip=chip.encode())
        assert library.NVPW_CUDA_MetricsEvaluator_CalculateScratchBufferSize(ctypes.byref(scratch)) == 0
        buffer = ctypes.create_string_buffer(scratch.num_bytes)
        kept.append(buffer)
        begun = _Initialize(
            size=ctypes.sizeof(_Initialize),
            scratch=ctypes.addressof(buffer),
            num_bytes=scratch.num_bytes,
            chip=chip.encode(),
        )
        assert library.NVPW_CUDA_MetricsEvaluator_Initialize(ctypes.byref(begun)) == 0

        def has(name):
            found = _Request()
            request = _Convert(
                size=ctypes.sizeof(_Convert),
                evaluator=begun.evaluator,
                name=name.encode(),
                request=ctypes.addressof(found),
                request_size=_Request.submetric.offset + _Request.submetric.size,
            )
            convert = library.NVPW_MetricsEvaluator_ConvertMetricNameToMetricEvalRequest
            return convert(ctypes.byref(request)) == 0

        return has

    return of


@pytest.mark.parametrize("chip", CHIPS)
def test_each_counter_exists_on_the_chip(exists, chip):
    has = exists(chip)
    assert [name for name in cupti_metrics() if not has(name)] == []
    assert not has("sm__no_such_counter.sum")


def test_the_tool_is_asked_for_each_name_once():
    names = all_metrics()
    assert len(set(names)) == len(names) == len(cupti_metrics()) + len(LAUNCH)
    assert all(stall_metric(reason) in names for reason in STALLS)
