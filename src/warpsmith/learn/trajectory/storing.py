"""Samples in a file, a line of JSON each."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from warpsmith.core import UsageError
from warpsmith.core.codec import from_data, to_json
from warpsmith.learn.trajectory.nouns import Sample


def write_samples(samples: Iterable[Sample], path: Path) -> int:
    """Replace `path` by these; how many there were. A reader sees the old file or the new one.

    Raises UsageError if it cannot be written.
    """
    fresh = path.with_name(f".{path.name}.fresh")
    num_samples = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with fresh.open("w", encoding="utf-8") as file:
            for sample in samples:
                file.write(to_json(sample) + "\n")
                num_samples += 1
        fresh.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written ({error.strerror})") from error
    finally:
        with suppress(OSError):
            fresh.unlink()
    return num_samples


def read_samples(path: Path) -> Iterator[Sample]:
    """One after the other. Raises UsageError, naming the line, for what is no sample."""
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield _sample(line, f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _sample(line: str, where: str) -> Sample:
    try:
        data = json.loads(line)
        _check_numbers(data)
        return from_data(Sample, data)
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError) as error:
        raise UsageError(f"{where}: {error!s:.300}") from error


def _check_numbers(data: object) -> None:
    """What is nearly a whole number would be rounded on the way."""
    if not isinstance(data, dict) or not isinstance(data.get("ids"), list):
        raise ValueError("a sample is an object with a list of `ids`")
    ends = [span.get(name) for span in data.get("spans", ()) for name in ("start", "end")]
    if not all(type(number) is int for number in (*data["ids"], *ends)):
        raise ValueError("`ids`, and `start` and `end` of spans, must be whole numbers")
