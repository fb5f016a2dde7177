"""All examples through `warpsmith optimize`, as a user runs it: verdicts and times in one table.

    python -m benchmarks.examples [--json FILE] [--minutes M] [--jobs N] [EXAMPLE …] [-- OPTION …]

Several jobs share one GPU in turns: whoever times holds it alone, the others build and wait meanwhile.
Options after `--` go to `warpsmith optimize`, such as `-- --device cpu`. Exit code 1 if one is not correct.
"""

import argparse
import datetime
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"
ROW = "{task:20} {outcome:24} {eager:>11} {compile:>11} {ours:>11}  {ratio:26} {floor:>6}\n"


def optimize(example: str, options: list[str], folder: Path) -> dict[str, Any]:
    """One run's JSON document."""
    command = [sys.executable, "-m", "warpsmith", "optimize", str(EXAMPLES / f"{example}.py")]
    done = subprocess.run(
        [*command, "--json", "--out", str(folder / example), *options], stdout=subprocess.PIPE, check=False
    )
    return dict(json.loads(done.stdout))


def row(example: str, document: dict[str, Any]) -> str:
    """One line of the table."""
    times = document.get("times_us") or {}
    timing = (document.get("verdict") or {}).get("timing") or {}
    ratio = timing.get("against_compile") or timing.get("against_eager")
    is_measured = document.get("provenance") == "measured"
    text = "{centre:.3f}x [{low:.3f}, {high:.3f}]".format(**ratio) if ratio and is_measured else "modelled"
    return ROW.format(
        task=example,
        outcome=(document.get("meaning") or document["error"]).partition(" (")[0][:24],
        eager=_us(times.get("eager")),
        compile=_us(times.get("compile")),
        ours=_us(times.get("candidate")),
        ratio=text if times else "",
        floor=f"{times['candidate'] / times['floor']:.2f}" if times else "",
    )


def _us(time: float | None) -> str:
    return "" if time is None else f"{time:.1f} us"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--minutes", type=float, default=10.0, help="for each example")
    parser.add_argument("--jobs", type=int, default=1, help="examples at a time")
    parser.add_argument("--out", type=Path, default=Path("runs/examples"))
    parser.add_argument("examples", nargs="*")
    own = sys.argv[1:]
    split = own.index("--") if "--" in own else len(own)
    chosen = parser.parse_args(own[:split])
    options = ["--max-minutes", str(chosen.minutes), *own[split + 1 :]]
    names = chosen.examples or sorted(path.stem for path in EXAMPLES.glob("*.py"))
    documents = {}
    heads = {"eager": "eager", "compile": "compile", "ours": "ours"}
    sys.stdout.write(ROW.format(task="task", outcome="", ratio="compile / ours", floor="/floor", **heads))
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for name, document in zip(
            names, pool.map(lambda name: optimize(name, options, chosen.out), names), strict=True
        ):
            documents[name] = document
            sys.stdout.write(row(name, document))
            sys.stdout.flush()
    if chosen.json:
        record = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": " ".join(["python -m benchmarks.examples", *own]),
            "examples": documents,
        }
        chosen.json.write_text(json.dumps(record, indent=1) + "\n")
    sys.exit(any(not document.get("is_correct") for document in documents.values()))


if __name__ == "__main__":
    main()
