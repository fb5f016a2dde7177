"""What every test shares: GPU tests are skipped where there is none, and counted."""

import ctypes

import pytest


def has_gpu() -> bool:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def pytest_collection_modifyitems(config, items):
    if has_gpu():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU"))


def pytest_terminal_summary(terminalreporter):
    # A module that was skipped as a whole has a report of another kind, without keywords.
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", ())
        if "gpu" in getattr(report, "keywords", ())
    ]
    if skipped:
        terminalreporter.write_line(f"{len(skipped)} tests need an NVIDIA GPU; run them with: make gpu")
