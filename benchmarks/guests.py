"""How long a guest takes to start: forked from a process that has torch imported, or as a Python of its own.

    python -m benchmarks.guests [--device cuda] [--starts N] [--json FILE]

For each sandbox that works here and each way: seconds to the guest's first answer and, on `--device cuda`, to
a CUDA context that works. The two ways take turns. A nursery's first start imports torch and stands apart.
"""

import argparse
import datetime
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from warpsmith.core import Command, Limits
from warpsmith.device.gpus import GPUS
from warpsmith.judge.config import ClockConfig
from warpsmith.judge.guest_client import GuestClient
from warpsmith.judge.programs import NURSERY
from warpsmith.sandbox import SANDBOXES, Sandbox

FORKED, STARTED = "forked", "started"
ROW = "{sandbox:12} {way:10} {stage:16} {median_s:9.3f} {min_s:9.3f} {max_s:9.3f}\n"
LIMIT_S = 300.0


def start(sandbox: Sandbox, way: str, folder: Path, *, gpu: bool) -> dict[str, float]:
    """Seconds since the start, by stage; the end is what closing took."""
    command = Command(
        argv=(sys.executable, "-P", "-m", "warpsmith.judge.guest"),
        cwd=folder,
        writable=(folder,),
        gpu=gpu,
        nursery=NURSERY if way == FORKED else None,
        limits=Limits(processes=64),
    )
    began = time.monotonic()
    process = sandbox.start(command)
    guest = GuestClient(process, folder, None)
    stages = {}
    try:
        guest.greet(limit_s=LIMIT_S)
        stages["first answer"] = time.monotonic() - began
        if gpu:
            guest.prepare(None, flush_bytes=ClockConfig().flush_bytes(GPUS["h200"]), limit_s=LIMIT_S)
            stages["CUDA context"] = time.monotonic() - began
    finally:
        ended = time.monotonic()
        guest.close()
    return stages | {"end": time.monotonic() - ended}


def rows(samples: dict[tuple[str, str], list[dict[str, float]]]) -> Iterator[dict[str, Any]]:
    for (sandbox, way), starts in samples.items():
        for stage in starts[0]:
            times = [one[stage] for one in starts]
            yield {
                "sandbox": sandbox,
                "way": way,
                "stage": stage,
                "median_s": statistics.median(times),
                "min_s": min(times),
                "max_s": max(times),
                "samples_s": times,
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--starts", type=int, default=10, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    gpu = options.device == "cuda"
    samples: dict[tuple[str, str], list[dict[str, float]]] = {}
    first: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("bubblewrap", "process"):
            if not SANDBOXES[kind].is_available():
                sys.stderr.write(f"{kind}: {SANDBOXES[kind].why_unavailable()}\n")
                continue
            sandbox = SANDBOXES[kind]()
            first[kind] = start(sandbox, FORKED, folder, gpu=gpu)["first answer"]
            for _ in range(options.starts):
                for way in (FORKED, STARTED):
                    samples.setdefault((kind, way), []).append(start(sandbox, way, folder, gpu=gpu))
    found = list(rows(samples))
    sys.stdout.write("sandbox      way        stage             median s     min s     max s\n")
    for row in found:
        sys.stdout.write(ROW.format(**row))
    sys.stdout.write(f"the first start of a nursery: {json.dumps(first)}\n")
    if options.json:
        document = {
            "measured": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "device": options.device,
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "first_start_s": first,
            "rows": found,
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
