"""Which student is the best, by the validation split alone."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from warpsmith.agent.runs.log import writing
from warpsmith.learn.engines.local.keeping import CHECKPOINTS, FINAL, NUMBERED
from warpsmith.learn.evaluation.standing import Standing

WEIGHTS = ("*.safetensors", "*.safetensors.index.json", "*.bin")
ADAPTER, WHOLE = "adapter_config.json", "config.json"  # of an adapter's folder, and of a whole model's
ACTOR = "actor"


def candidates_of(name: str, run: Path) -> Iterator[tuple[str, Path]]:
    """A training's last student, and those of earlier checkpoints that it kept, made whole beside them.

    A checkpoint has weights alone; what else a model needs is the same for all of a run.
    """
    final = run / FINAL / ACTOR
    places = run / CHECKPOINTS
    kept = (
        sorted(place for place in places.glob("*") if NUMBERED.match(place.name)) if places.is_dir() else []
    )
    for place in kept[:-1]:  # the last one is what came of it
        whole = run / "candidates" / place.name
        if not whole.is_dir():
            left_out = (*WEIGHTS, WHOLE) if (place / ACTOR / ADAPTER).is_file() else WEIGHTS
            fresh = whole.with_name(f".{whole.name}.fresh")
            with writing(whole):
                shutil.rmtree(fresh, ignore_errors=True)
                shutil.copytree(final, fresh, ignore=shutil.ignore_patterns(*left_out))
                shutil.copytree(place / ACTOR, fresh, dirs_exist_ok=True)
                fresh.rename(whole)
        yield f"{name}/{int(place.name)}", whole
    yield name, final


def best_of(found: Mapping[str, Standing]) -> str:
    """By how many pass, then by how many are fast, then by reward; of equals the first."""
    return max(found, key=lambda name: _key(found[name]))


def _key(figures: Standing) -> tuple[float, float, float]:
    fast = figures.modelled_fast or (figures.eager.faster if figures.eager is not None else None)
    reward = figures.reward if figures.reward is not None else float("-inf")
    return figures.passed.value, fast.value if fast is not None else 0.0, reward


def copied(actor: Path, place: Path) -> None:
    """`actor` under another name, whole or not at all; a copy that is there is replaced."""
    fresh = place.with_name(f".{place.name}.fresh")
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.copytree(actor, fresh)
        shutil.rmtree(place, ignore_errors=True)
        fresh.rename(place)
