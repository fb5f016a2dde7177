"""Reads the file that torch.profiler writes (`export_chrome_trace`, Kineto's trace events).

Of an event: `cat` says what it is, `ts` and `dur` are µs, `args` holds a kernel's `grid`, `block`, `registers
per thread`, `shared memory` and `stream`, a copy's `bytes`; a copy's name holds its direction ("Memcpy HtoD
(Pageable -> Device)"). The file was written by a process in which a candidate ran, so nothing in it is taken
for granted.
"""

import json
from collections.abc import Callable
from typing import Any

from warpsmith.agent.diagnosis.trace import (
    CALL,
    Activity,
    ApiCall,
    Copy,
    Direction,
    Fill,
    Kernel,
    Span,
    Trace,
    TraceError,
    trace_of,
)

TOOL = "torch.profiler"
DIRECTIONS = {"HtoD": Direction.TO_DEVICE, "DtoH": Direction.TO_HOST, "DtoD": Direction.WITHIN}


def read(text: str) -> Trace:
    """Raises TraceError if it is no such trace."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"torch.profiler's file is no JSON: {error}") from error
    events = document.get("traceEvents") if isinstance(document, dict) else None
    if not isinstance(events, list):
        raise TraceError("torch.profiler's file holds no traceEvents")
    seen = Activity(ranges=[], kernels=[], copies=[], fills=[], api=[], num_sms=_num_sms(document))
    for event in events:
        if isinstance(event, dict) and event.get("ph") == "X":
            take = TAKERS.get(str(event.get("cat")).lower())
            if take is not None:
                take(seen, event)
    return trace_of(TOOL, seen)


def _take_range(seen: Activity, event: dict[str, Any]) -> None:
    if event.get("name") == CALL:
        seen.ranges.append(Span(start_us=_number(event, "ts"), duration_us=max(_number(event, "dur"), 0.0)))


def _take_kernel(seen: Activity, event: dict[str, Any]) -> None:
    args = _args(event)
    seen.kernels.append(
        Kernel(
            start_us=_number(event, "ts"),
            duration_us=max(_number(event, "dur"), 0.0),
            name=str(event.get("name", "")),
            grid=_triple(args.get("grid")),
            block=_triple(args.get("block")),
            registers=int(_number(args, "registers per thread", 0.0)),
            shared_bytes=int(_number(args, "shared memory", 0.0)),
            stream=int(_number(args, "stream", 0.0)),
        )
    )


def _take_copy(seen: Activity, event: dict[str, Any]) -> None:
    name = str(event.get("name", ""))
    seen.copies.append(
        Copy(
            start_us=_number(event, "ts"),
            duration_us=max(_number(event, "dur"), 0.0),
            direction=next((way for word, way in DIRECTIONS.items() if word in name), Direction.OTHER),
            num_bytes=int(_number(_args(event), "bytes", 0.0)),
        )
    )


def _take_fill(seen: Activity, event: dict[str, Any]) -> None:
    seen.fills.append(
        Fill(
            start_us=_number(event, "ts"),
            duration_us=max(_number(event, "dur"), 0.0),
            num_bytes=int(_number(_args(event), "bytes", 0.0)),
        )
    )


def _take_api(seen: Activity, event: dict[str, Any]) -> None:
    seen.api.append(
        ApiCall(
            start_us=_number(event, "ts"),
            duration_us=max(_number(event, "dur"), 0.0),
            name=str(event.get("name", "")),
        )
    )


TAKERS: dict[str, Callable[[Activity, dict[str, Any]], None]] = {  # by an event's category
    "user_annotation": _take_range,
    "kernel": _take_kernel,
    "gpu_memcpy": _take_copy,
    "gpu_memset": _take_fill,
    "cuda_runtime": _take_api,
    "cuda_driver": _take_api,
}


def _args(event: dict[str, Any]) -> dict[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _number(holder: dict[str, Any], key: str, otherwise: float | None = None) -> float:
    value = holder.get(key, otherwise)
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63:
        return float(value)
    raise TraceError(f"torch.profiler's file has an event whose {key!r} is {str(value)[:40]!r}")


def _triple(value: object) -> tuple[int, int, int]:
    if isinstance(value, list) and len(value) == 3 and all(type(part) is int and part > 0 for part in value):
        return (value[0], value[1], value[2])
    raise TraceError(f"torch.profiler's file has a kernel whose grid or block is {str(value)[:40]!r}")


def _num_sms(document: dict[str, Any]) -> int | None:
    devices = document.get("deviceProperties")
    first = devices[0] if isinstance(devices, list) and devices else None
    count = first.get("numSms") if isinstance(first, dict) else None
    return count if type(count) is int and count > 0 else None
