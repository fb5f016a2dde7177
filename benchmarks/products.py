"""How fast and how exact an fp32 matrix product is when tensor cores compute it from parts.

    python -m benchmarks.products [--json FILE]

Needs a GPU. Each operand is split into a high part and remainders (TF32 or bfloat16); the products of the
parts are added with fp32 accumulation, small ones first. Errors are against float64, largest over root mean
square.
"""

import argparse
import datetime
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

SIZES = ((4096, 4096, 4096), (8192, 4096, 16384), (16384, 4096, 4096))  # M, K, N


def tf32_parts(x: Tensor) -> tuple[Tensor, Tensor]:
    """High part with 10 mantissa bits, by truncation, and the remainder."""
    high = (x.view(torch.int32) & ~0x1FFF).view(torch.float32)
    return high, x - high


def bf16_parts(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Three parts of 8 mantissa bits each."""
    high = x.bfloat16()
    rest = x - high.float()
    middle = rest.bfloat16()
    return high, middle, (rest - middle.float()).bfloat16()


def products(a: Tensor, b: Tensor) -> dict[str, Callable[[], Tensor]]:
    """Every way of computing a @ b.T, by name; a is [M, K], b is [N, K], both fp32."""
    a_high, a_low = tf32_parts(a)
    b_high, b_low = tf32_parts(b)
    a1, a2, a3 = bf16_parts(a)
    b1, b2, b3 = bf16_parts(b)
    tf32_a, tf32_b = torch.cat([a_low, a_high, a_high], 1), torch.cat([b_high, b_low, b_high], 1)
    three_a, three_b = torch.cat([a2, a1, a1], 1), torch.cat([b1, b2, b1], 1)
    six_a, six_b = torch.cat([a3, a1, a2, a2, a1, a1], 1), torch.cat([b1, b3, b2, b1, b2, b1], 1)

    def with_tf32(left: Tensor, right: Tensor) -> Tensor:
        torch.backends.cuda.matmul.allow_tf32 = True
        result = left @ right.T
        torch.backends.cuda.matmul.allow_tf32 = False
        return result

    return {
        "fp32": lambda: a @ b.T,
        "tf32": lambda: with_tf32(a, b),
        "3 x tf32": lambda: with_tf32(tf32_a, tf32_b),
        "3 x bf16": lambda: torch.mm(three_a, three_b.T, out_dtype=torch.float32),
        "6 x bf16": lambda: torch.mm(six_a, six_b.T, out_dtype=torch.float32),
    }


def milliseconds(call: Callable[[], Tensor], repeats: int = 20) -> float:
    for _ in range(3):
        call()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(repeats):
        call()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / repeats


def measure(m: int, k: int, n: int) -> list[dict[str, Any]]:
    a, b = torch.randn(m, k, device="cuda"), torch.randn(n, k, device="cuda")
    truth = a.double() @ b.double().T
    scale = truth.square().mean().sqrt()
    rows: list[dict[str, Any]] = []
    for name, call in products(a, b).items():
        error = float((call().double() - truth).abs().max() / scale)
        rows.append({"m": m, "k": k, "n": n, "product": name, "ms": milliseconds(call), "error": error})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [row for size in SIZES for row in measure(*size)]
    for row in rows:
        sys.stdout.write("{m:6} {k:6} {n:6}  {product:9} {ms:8.3f} ms  error {error:.1e}\n".format(**row))
    if options.json:
        record = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": "python -m benchmarks.products",
            "gpu": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "rows": rows,
        }
        options.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
