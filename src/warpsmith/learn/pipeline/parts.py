"""What a row of stages is made of. Each part has a folder of its name; others begin with what is there."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from warpsmith.agent.budget import Budget
from warpsmith.core import UsageError
from warpsmith.learn.recipes.base import GrpoRecipe, Manner, PpoRecipe, SftRecipe, ValueRecipe
from warpsmith.policy.base import Sampling

BASE = "base"
"""The actor that nothing has been done to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How a student is tried on tasks, outside of training."""

    manner: Manner = Manner.AGENT
    budget: Budget = field(default_factory=Budget)  # of one episode of the agent
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=0.0))
    reward: str = "milestone"
    tries: int = 1  # at each task
    tasks_at_once: int = 4
    limit: int | None = None  # the first so many tasks of the split


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """The builtin policy's episodes on the training tasks, as the base model reads them."""

    name: str
    trial: Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A student's own work on the training tasks."""

    name: str
    actor: str  # the part whose student it is
    trial: Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Imitated:
    """Rejection fine-tuning."""

    name: str
    recipe: SftRecipe
    data: tuple[str, ...]  # parts that left samples
    actor: str = BASE


@dataclass(frozen=True, slots=True, kw_only=True)
class Valued:
    """A critic is fitted, with the body of `actor`."""

    name: str
    recipe: ValueRecipe
    data: tuple[str, ...]
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Practised:
    """PPO. `critic` is a part that left one."""

    name: str
    recipe: PpoRecipe
    actor: str
    critic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrasted:
    """GRPO."""

    name: str
    recipe: GrpoRecipe
    actor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The best student of some parts, and of the checkpoints that they kept, on the validation split."""

    name: str
    among: tuple[str, ...]
    trial: Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Tested:
    """Students on the test split, each held against the first."""

    name: str
    actors: tuple[str, ...]
    trial: Trial


Part = Taught | Drawn | Imitated | Valued | Practised | Contrasted | Chosen | Tested

LEAVES_ACTOR = (Imitated, Practised, Contrasted, Chosen)
LEAVES_CRITIC = (Valued, Practised)
LEAVES_SAMPLES = (Taught, Drawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Parts in order. Raises UsageError if one needs what no earlier one leaves, or two share a name."""

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        twice = next((name for name in names if names.count(name) > 1 or name == BASE), None)
        if twice is not None:
            raise UsageError(f"the name {twice!r} stands for two parts")
        for at, part in enumerate(self.parts):
            for name, kinds in needs(part):
                earlier = [one.name for one in self.parts[:at] if isinstance(one, kinds)]
                if name not in earlier and not (name == BASE and kinds is LEAVES_ACTOR):
                    known = ", ".join(earlier) or "none"
                    raise UsageError(f"{part.name} needs {name!r}, and what comes before it is {known}")


def needs(part: Part) -> Iterator[tuple[str, tuple[type, ...]]]:
    """The names of other parts that it begins with, and which kinds they may be."""
    match part:
        case Taught():
            return
        case Drawn(actor=actor) | Contrasted(actor=actor):
            yield actor, LEAVES_ACTOR
        case Imitated(actor=actor, data=data) | Valued(actor=actor, data=data):
            yield actor, LEAVES_ACTOR
            yield from ((name, LEAVES_SAMPLES) for name in data)
        case Practised(actor=actor, critic=critic):
            yield actor, LEAVES_ACTOR
            yield critic, LEAVES_CRITIC
        case Chosen(among=actors) | Tested(actors=actors):
            yield from ((name, LEAVES_ACTOR) for name in actors)
