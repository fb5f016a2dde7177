"""Profilers' files, made by hand after their public descriptions."""

import json
import sqlite3

import pytest

from warpsmith.agent.diagnosis.metrics import Counter, all_metrics, stall_metric
from warpsmith.agent.diagnosis.trace import CALL

KERNEL = "void kernels::scale<float>(float const*, float*, int)"
SETTINGS = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size")
HEADINGS = (*SETTINGS, "Grid Size", "Device", "CC")


def event(category, name, start_us, duration_us, **args):
    return {"ph": "X", "cat": category, "name": name, "ts": start_us, "dur": duration_us, "args": args}


def kernel_event(name, start_us, duration_us, **args):
    defaults = {"grid": [8, 2, 1], "block": [128, 1, 1], "registers per thread": 24, "shared memory": 512}
    return event("kernel", name, start_us, duration_us, **{**defaults, "stream": 7, **args})


# Two calls of 100 us. In each a kernel of 20, a wait, a copy to the host of 10, a kernel of 40, our own wait.
# Between them, and before, a cache flush that is none of the program's.
CHROME = {
    "deviceProperties": [{"id": 0, "name": "a GPU", "numSms": 132}],
    "traceEvents": [
        {"ph": "M", "name": "process_name", "args": {"name": "python"}},
        *(
            one
            for start in (1000.0, 2000.0)
            for one in (
                kernel_event("flush", start - 100, 50.0),
                event("cuda_runtime", "cudaDeviceSynchronize", start - 60, 20.0),
                event("user_annotation", CALL, start, 100.0),
                event("gpu_user_annotation", CALL, start + 10, 80.0),
                event("cpu_op", "aten::empty", start + 1, 2.0),
                event("cuda_runtime", "cudaLaunchKernel", start + 3, 4.0),
                kernel_event(KERNEL, start + 10, 20.0),
                event("cuda_runtime", "cudaStreamSynchronize", start + 12, 20.0),
                event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", start + 40, 10.0, bytes=4096),
                kernel_event("other", start + 50, 40.0, grid=[3, 1, 1]),
                event("gpu_memset", "Memset (Device)", start + 90, 5.0, bytes=64),
                event("cuda_runtime", "cudaDeviceSynchronize", start + 60, 38.0),
            )
        ),
    ],
}


@pytest.fixture
def chrome():
    """torch.profiler's file as text, with `changes` to the document."""
    return lambda **changes: json.dumps({**CHROME, **changes})


NSYS_TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, text TEXT, textId INTEGER);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, smCount INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, correlationId INTEGER, nameId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, streamId INTEGER, correlationId INTEGER,
  demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER,
  blockY INTEGER, blockZ INTEGER, registersPerThread INTEGER, staticSharedMemory INTEGER,
  dynamicSharedMemory INTEGER);
"""
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
NSYS_COPIES = """
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, bytes INTEGER, copyKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, bytes INTEGER);
"""


@pytest.fixture
def nsys_export(tmp_path):
    """The same two calls as Nsight Systems exports them; without `copies` those tables are not made."""

    def write(*, copies=True):
        path = tmp_path / "report.sqlite"
        texts = (KERNEL, "flush", "other", CALL, "cudaLaunchKernel_v7000", "cudaStreamSynchronize_v3020")
        database = sqlite3.connect(path)
        database.executescript(NSYS_TABLES + (NSYS_COPIES if copies else ""))
        database.execute("INSERT INTO TARGET_INFO_GPU VALUES (0, 'a GPU', 132)")
        database.executemany(
            "INSERT INTO StringIds VALUES (?, ?)", enumerate((*texts, "cudaDeviceSynchronize_v3020"))
        )
        for start in (1_000_000, 2_000_000):
            kernel = f"INSERT INTO {KERNELS} VALUES (?, ?, 7, 1, ?, ?, ?, ?, 1, 128, 1, 1, 24, 512, 0)"
            for name, begin, length, x, y in ((1, -100, 50, 8, 2), (0, 10, 20, 8, 2), (2, 50, 40, 3, 1)):
                begun = start + 1000 * begin
                database.execute(kernel, (begun, begun + 1000 * length, name, name, x, y))
            for name, begin, length in ((6, -60, 20), (4, 3, 4), (5, 12, 20), (6, 60, 38)):
                begun = start + 1000 * begin
                database.execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 1, ?)",
                    (begun, begun + 1000 * length, name),
                )
            text, text_id = (CALL, None) if start == 1_000_000 else (None, 3)
            database.execute(
                "INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?)", (start, start + 100_000, text, text_id)
            )
            if copies:
                copied = (start + 40_000, start + 50_000, 4096, 2)
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?)", copied)
                filled = (start + 90_000, start + 95_000, 64)
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?, ?, ?)", filled)
        database.commit()
        database.close()
        return path

    return write


VALUES = {
    Counter.TIME: "12,345",
    Counter.SM: "12.50",
    Counter.MEMORY: "35.00",
    Counter.BYTES_READ: "10,240,000",
    Counter.BYTES_WRITTEN: "2,560,000",
    Counter.USED_LOADED: "12.50",
    Counter.SECTORS_LOADED: "32",
    Counter.OCCUPANCY: "88.2",
    Counter.CONFLICTS_LOADED: "31,000",
    Counter.CONFLICTS_STORED: "0",
    Counter.WAVEFRONTS_LOADED: "32,000",
    Counter.WAVEFRONTS_STORED: "1,000",
    Counter.LOCAL: "50",
    Counter.INSTRUCTIONS: "1,000",
    Counter.TENSOR: "n/a",
    stall_metric("long_scoreboard"): "9.5",
    stall_metric("wait"): "1.5",
    "launch__occupancy_limit_registers": "2",
    "launch__occupancy_limit_shared_mem": "16",
    "launch__occupancy_limit_warps": "8",
    "launch__occupancy_limit_blocks": "32",
}


def ncu_line(number, values):
    cells = (str(number), "42", "python", "host", KERNEL, "1", "7", "(128, 1, 1)", "(8, 2, 1)", "0", "9.0")
    return ",".join(f'"{cell}"' for cell in (*cells, *(values.get(name, "0") for name in all_metrics())))


@pytest.fixture
def ncu_log():
    """Nsight Compute's raw page as CSV, a line a launch; `values` are those of each."""

    def text(*values):
        headings = ",".join(f'"{name}"' for name in (*HEADINGS, *all_metrics()))
        units = ",".join('""' for _ in HEADINGS) + "," + ",".join('"%"' for _ in all_metrics())
        lines = [ncu_line(number, {**VALUES, **given}) for number, given in enumerate(values or ({},))]
        said = "the program's own words\n==PROF== Connected to process 42\n==PROF== Profiling: 100%"
        return "\n".join((said, headings, units, *lines, ""))

    return text
