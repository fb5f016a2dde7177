"""What a small student answers in one turn before it is taught, and what one step of teaching takes.

    python -m benchmarks.demonstrations base STORE.parquet MODEL [--served URL] [--n-tasks 24] [--json FILE]
    python -m benchmarks.demonstrations step SAMPLES.jsonl MODEL [--n-samples 2] [--json FILE]

`base`: one reply a task at temperature 0.7, judged on the cpu device, where times are modelled; pass rate
with its interval, what became of the replies, lengths of prompts, and how fast it went. `step`: seconds of a
step of imitation on the first samples. Both use as many threads as torch is given (OMP_NUM_THREADS). With
`--served` it is a llama.cpp server that draws, with the same tokenizer: some times faster on a CPU.
"""

import argparse
import datetime
import json
import math
import os
import statistics
import sys
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from warpsmith.agent.optimize import OptimizeConfig, open_bench
from warpsmith.device import select_device
from warpsmith.learn.acting.suites import tasks_of
from warpsmith.learn.answering import Answering, Court, question_of_task
from warpsmith.learn.answering.answered import Round
from warpsmith.learn.answering.fate import GOOD, UNKNOWN
from warpsmith.learn.config import DescentConfig, LoopConfig, SftConfig
from warpsmith.learn.demonstrations.reader import Reader
from warpsmith.learn.engines.local.sft import Sft
from warpsmith.learn.engines.local.student import student_of
from warpsmith.learn.evaluation.intervals import rate
from warpsmith.learn.grading import Grading
from warpsmith.learn.recipes.base import Suite
from warpsmith.learn.rewards import Milestone
from warpsmith.learn.trajectory import read_samples
from warpsmith.policy.base import Sampling
from warpsmith.policy.local.tokens import TokenOutput, TokenPolicy

CONTEXT_TOKENS = 4_096


class Served:
    """A TokenPolicy over llama.cpp's /completion, which takes and gives ids. It tells no probabilities."""

    def __init__(self, url: str, num_parallel: int = 8) -> None:
        self._url = f"{url.rstrip('/')}/completion"
        self._num_parallel = num_parallel

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling) -> tuple[TokenOutput, ...]:
        with ThreadPoolExecutor(self._num_parallel) as executor:
            rows = [(row, prompt, sampling) for row, prompt in enumerate(prompts)]
            return tuple(executor.map(lambda row: self._drawn(*row), rows))

    def _drawn(self, row: int, prompt: Sequence[int], sampling: Sampling) -> TokenOutput:
        wish = {
            "prompt": list(prompt),
            "n_predict": sampling.max_tokens,
            "temperature": sampling.temperature,
            "top_k": 0,
            "top_p": 1.0,
            "min_p": 0.0,
            "seed": (sampling.seed or 0) + row & 0x7FFFFFFF,
            "return_tokens": True,
            "cache_prompt": True,
        }
        request = urllib.request.Request(
            self._url, json.dumps(wish).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=3_600) as answer:
            said = json.load(answer)
        ids, is_cut = tuple(said["tokens"]), said["stop_type"] == "limit"
        return TokenOutput(ids=ids, logprobs=(math.nan,) * len(ids), is_cut=is_cut)


def base(chosen: argparse.Namespace) -> dict[str, Any]:
    """One reply to each task."""
    reader = Reader.of(chosen.model)
    if chosen.served:
        policy: TokenPolicy = Served(chosen.served)
    else:
        policy = student_of(chosen.model).engine()
    config = OptimizeConfig(device=select_device("cpu"))
    tasks = tasks_of(Suite(store=chosen.store, split=chosen.split, limit=chosen.n_tasks), "cpu")
    source = Answering(
        questions=[question_of_task(task) for task in tasks],
        template=reader.template,
        context_tokens=CONTEXT_TOKENS,
        court=Court(opened=lambda task: open_bench(task, config), num_open=2),
        grading=Grading(rule=Milestone()),
        questions_per_step=len(tasks),
        samples_per_question=1,
    )
    sampling = Sampling(temperature=0.7, max_tokens=chosen.max_tokens, seed=chosen.seed)
    return told(source.round(policy, sampling, 1))


def told(done: Round) -> dict[str, Any]:
    """What is known of a round."""
    known = [one for one in done.answered if one.fate not in UNKNOWN]
    return {
        "num_tasks": len(done.answered),
        "passed": interval([float(one.fate in GOOD) for one in known]),
        "exports_right_name_or_better": sum(one.fate.value not in BEFORE_BUILD for one in done.answered),
        "fates": {fate.value: count for fate, count in done.histogram.items()},
        "prompt_tokens": quantiles([len(one.reply.prompt_ids) for one in done.answered]),
        "reply_tokens": quantiles([len(one.reply.output.ids) for one in done.answered]),
        "drawing_s": round(done.drawing_s, 1),
        "judging_s": round(done.judging_s, 1),
        **{name: round(value, 2) for name, value in done.throughput.items()},
    }


BEFORE_BUILD = ("no file", "cut", "no module", "bad file", "refused", "wrong export name")


def interval(shares: list[float]) -> dict[str, float]:
    """A mean with its interval of 95 %."""
    found = rate(shares)
    return {"value": found.value, "low": found.low, "high": found.high, "num": found.num_tasks}


def quantiles(counts: list[int]) -> dict[str, float]:
    """Smallest, quartiles and largest."""
    cuts = statistics.quantiles(counts, n=4, method="inclusive") if len(counts) > 1 else [counts[0]] * 3
    return {"min": min(counts), "q25": cuts[0], "median": cuts[1], "q75": cuts[2], "max": max(counts)}


def step(chosen: argparse.Namespace) -> dict[str, Any]:
    """Seconds of the second of two steps: the first one also gets memory."""
    student = student_of(chosen.model)
    samples = list(read_samples(chosen.samples))[: chosen.n_samples]
    stage = Sft(
        student,
        samples,
        SftConfig(loop=LoopConfig(steps=2), descent=DescentConfig(lr=1e-5), samples_per_step=len(samples)),
    )
    seconds = []
    for number in (1, 2):
        began = time.monotonic()
        stage.step(number)
        seconds.append(time.monotonic() - began)
    return {
        "num_samples": len(samples),
        "num_tokens": sum(len(sample.ids) for sample in samples),
        "step_s": [round(value, 1) for value in seconds],
    }


def command(arguments: list[str]) -> str:
    """As it was called, but for where files lie on this machine."""
    shown = [Path(one).name if "/" in one and "://" not in one else one for one in arguments]
    return " ".join(["python -m benchmarks.demonstrations", *shown])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    asks = verbs.add_parser("base")
    asks.add_argument("store", type=Path)
    asks.add_argument("model", type=Path)
    asks.add_argument("--served", default="", help="such as http://127.0.0.1:8080")
    asks.add_argument("--split", default="test")
    asks.add_argument("--n-tasks", type=int, default=24)
    asks.add_argument("--max-tokens", type=int, default=700)
    asks.add_argument("--seed", type=int, default=0)
    asks.set_defaults(measured=base)
    teaches = verbs.add_parser("step")
    teaches.add_argument("samples", type=Path)
    teaches.add_argument("model", type=Path)
    teaches.add_argument("--n-samples", type=int, default=2)
    teaches.set_defaults(measured=step)
    for verb in (asks, teaches):
        verb.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    record = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": command(sys.argv[1:]),
        "torch": torch.__version__,
        "num_threads": torch.get_num_threads(),
        "num_cores": os.cpu_count(),
        "load": [round(value, 1) for value in os.getloadavg()],
        **chosen.measured(chosen),
    }
    text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    sys.stdout.write(text)
    if chosen.json:
        chosen.json.write_text(text)


if __name__ == "__main__":
    main()
