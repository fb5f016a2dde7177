"""One trace from two profilers' files; and what no reader believes."""

import json
import sqlite3
from dataclasses import replace

import pytest

from warpsmith.agent.diagnosis import nsys, torch_trace
from warpsmith.agent.diagnosis.trace import CALL, Activity, Direction, Kernel, Span, TraceError, trace_of

KERNEL = "void kernels::scale<float>(float const*, float*, int)"
RANGE = (
    '{"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "warpsmith.call", "dur": 1, "ts": %s}]}'
)


@pytest.fixture(params=["nsys", "torch"])
def trace(request, chrome, nsys_export):
    return nsys.read(nsys_export()) if request.param == "nsys" else torch_trace.read(chrome())


def test_both_readers_tell_the_same(chrome, nsys_export):
    ours, theirs = torch_trace.read(chrome()), nsys.read(nsys_export())
    assert replace(ours, tool="") == replace(theirs, tool="")
    assert (ours.tool, theirs.tool) == (torch_trace.TOOL, nsys.TOOL)


def test_what_lies_between_calls_is_left_out(trace):
    assert trace.num_calls == 2
    assert {kernel.name for kernel in trace.kernels} == {KERNEL, "other"}


def test_a_kernel_comes_with_its_launch(trace):
    kernel = trace.kernels[0]
    assert (kernel.grid, kernel.block) == ((8, 2, 1), (128, 1, 1))
    assert (kernel.num_blocks, kernel.num_threads) == (16, 2048)
    assert (kernel.registers, kernel.shared_bytes, kernel.stream) == (24, 512, 7)
    assert trace.num_sms == 132


def test_the_last_wait_of_a_call_is_our_own(trace):
    assert [wait.name for wait in trace.waits] == ["cudaStreamSynchronize"] * 2
    assert "cudaLaunchKernel" in {call.name for call in trace.api}


def test_copies_to_and_from_the_host_are_told_apart(trace):
    assert [(copy.direction, copy.num_bytes) for copy in trace.crossing] == [(Direction.TO_HOST, 4096)] * 2
    assert [fill.num_bytes for fill in trace.fills] == [64, 64]


def test_busy_and_idle_times_add_up(trace):
    # 10..30 kernel, 40..50 copy, 50..90 kernel, 90..95 fill: of 100 us, 75 busy; of 85, 10 idle.
    assert trace.busy_share == pytest.approx(0.75)
    assert trace.idle_share == pytest.approx(10 / 85)
    assert [gap.duration_us for gap in trace.gaps] == [10.0, 10.0]


def test_totals_are_by_name_and_the_dominant_kernel_is_the_longest_of_the_first(trace):
    assert [(total.name, total.num_launches, total.total_us) for total in trace.totals()] == [
        ("other", 2, 80.0),
        (KERNEL, 2, 40.0),
    ]
    assert trace.dominant().name == "other"


def test_tables_that_were_not_made_hold_nothing(nsys_export):
    trace = nsys.read(nsys_export(copies=False))
    assert trace.crossing == trace.fills == ()
    assert len(trace.kernels) == 4


def kernel(start_us, duration_us, stream=7):
    return Kernel(
        start_us=start_us,
        duration_us=duration_us,
        name="k",
        grid=(1, 1, 1),
        block=(1, 1, 1),
        registers=0,
        shared_bytes=0,
        stream=stream,
    )


def activity(*kernels):
    call = Span(start_us=0.0, duration_us=100.0)
    return Activity(ranges=[call], kernels=[*kernels], copies=[], fills=[], api=[], num_sms=None)


def test_overlapping_streams_are_busy_once():
    trace = trace_of("t", activity(kernel(10, 50), kernel(20, 50, stream=8), kernel(30, 10, stream=9)))
    assert trace.busy_share == pytest.approx(0.6)
    assert trace.idle_share == 0.0


def test_a_call_without_device_work_is_all_idle_and_has_no_gap():
    trace = trace_of("t", activity())
    assert (trace.busy_share, trace.idle_share, trace.gaps, trace.dominant()) == (0.0, 0.0, (), None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"traceEvents": 3}',
        '{"traceEvents": []}',
        "[" * 100_000,
        json.dumps(
            {"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "args": {}}]}
        ),
        json.dumps(
            {"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": CALL, "ts": "1", "dur": 1}]}
        ),
        RANGE % "NaN",
        RANGE % "1e999",
        RANGE % "true",
    ],
)
def test_a_file_that_is_no_trace_of_torch_s_is_refused(text):
    with pytest.raises(TraceError):
        torch_trace.read(text)


def test_events_that_are_no_events_are_passed_over(chrome):
    events = json.loads(chrome())["traceEvents"]
    strange = [3, None, "x", {}, {"ph": "X"}, {"ph": "X", "cat": ["kernel"]}, {"ph": "B", "cat": "kernel"}]
    assert torch_trace.read(chrome(traceEvents=[*strange, *events])).num_calls == 2
    assert torch_trace.read(chrome(deviceProperties=[{"numSms": "many"}])).num_sms is None


def test_a_trace_of_more_calls_than_were_made_is_refused(chrome):
    many = [{"ph": "X", "cat": "user_annotation", "name": CALL, "ts": at, "dur": 1} for at in range(65)]
    with pytest.raises(TraceError, match="65 ranges"):
        torch_trace.read(chrome(traceEvents=many))


@pytest.mark.parametrize("shape", [[0, 1, 1], [-8, 1, 1], [8], [8.5, 1, 1], [True, 1, 1], "8"])
def test_a_kernel_without_a_grid_is_refused(chrome, shape):
    events = json.loads(chrome())["traceEvents"]
    next(one for one in events if one.get("cat") == "kernel")["args"]["grid"] = shape
    with pytest.raises(TraceError, match="grid"):
        torch_trace.read(chrome(traceEvents=events))


def test_a_duration_below_zero_is_none(chrome):
    events = json.loads(chrome())["traceEvents"]
    for one in events:
        if one.get("cat") == "kernel":
            one["dur"] = -5.0
    assert torch_trace.read(chrome(traceEvents=events)).busy_share == pytest.approx(0.15)


def test_a_view_in_the_place_of_a_table_is_not_looked_at(nsys_export):
    path = nsys_export()
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO kept")
        database.execute("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM kept")
    assert nsys.read(path).kernels == ()


def test_a_file_that_is_no_export_is_refused(tmp_path, nsys_export):
    text = tmp_path / "text.sqlite"
    text.write_text("no database " * 100)
    empty = tmp_path / "empty.sqlite"
    sqlite3.connect(empty).close()
    for path in (text, empty, tmp_path / "missing.sqlite"):
        with pytest.raises(TraceError):
            nsys.read(path)
    path = nsys_export()
    with sqlite3.connect(path) as database:
        database.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET gridX = 'wide'")
    with pytest.raises(TraceError, match="cannot be read"):
        nsys.read(path)


@pytest.mark.slow
def test_what_torch_itself_writes_is_read(tmp_path):
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(3):
            with record_function(CALL):
                torch.ones(4).add(1.0)
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = torch_trace.read((tmp_path / "trace.json").read_text())
    assert trace.num_calls == 3
    assert all(call.duration_us > 0 for call in trace.calls)
