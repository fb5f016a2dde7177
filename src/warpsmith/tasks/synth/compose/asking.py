"""Composing by a model: what it is asked, and what becomes of its answers.

Whoever knows models passes in a function from a prompt to an answer. An answer may be anything: prose, half a
file, somebody else's homework. It becomes a task's text or a reason why not, and is never executed here.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from warpsmith.core import Task, UsageError
from warpsmith.tasks.synth.base import Made, Seed
from warpsmith.tasks.synth.compose.curricula import classified
from warpsmith.tasks.synth.compose.extraction import extracted
from warpsmith.tasks.synth.compose.inspection import Report, inspected, wrong_with
from warpsmith.tasks.synth.compose.recipe import MAX_OPS

NUM_SHOWN = 5
KEPT_CHARS = 400
"""Of an answer that was no task, for whoever reads the reasons."""

Ask = Callable[[str], str]

PROMPT = """\
Write one PyTorch layer as a task for people who optimise GPU kernels: a whole Python file.

Choose 2 to {max_ops} of these operators and stack them in sequence, each being given the answer of
the one before:
{names}

Each of them alone, at a small size, so that you see how it is called and what numbers it takes:

{examples}

The file:
- imports torch, and nothing but torch, its submodules, math and typing;
- defines `class Model(nn.Module)`; modules and parameters are made in __init__, whose arguments are sizes and
  constants; forward takes tensors and returns one tensor;
- the class's docstring says in one line what it computes;
- uses at most {max_ops} operators; additions, multiplications, residual connections and views are free;
- is deterministic: no dropout, no random numbers in forward, no seeds anywhere;
- really depends on all of its inputs; its output is finite, and neither constant nor equal to an input;
- has its sizes as constants at the top, and `SCALE = 1.0`; get_inputs() multiplies the batch or the number of
  rows by SCALE and keeps it at 2 or more, as in `batch = max(2, int(BATCH * SCALE))`;
- defines `get_init_inputs()`, which returns the list of the constructor's arguments, and `get_inputs()`,
  which returns the list of forward's tensors, made by torch.randn and the like, on no particular device;
- is large: about {num_elements} elements in the largest tensor, less where there are matrix products or
  convolutions, float32.

Answer with the file alone, in one ```python block.
"""

REPAIR = """\
{prompt}
This was answered:

```python
{source}
```

It cannot be used: {fault}. Answer with the whole corrected file alone, in one ```python block.
"""


@runtime_checkable
class HasExample(Protocol):
    """A seed that can show itself."""

    def example(self) -> str:
        """A whole task around it alone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """An answer that has the form of a task. Whether it runs, the filters find out."""

    source: str
    report: Report
    was_repaired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Junk:
    """An answer that is no task, also after it was told why."""

    reason: str
    answer: str  # its beginning


Outcome = Written | Junk


def prompt(seeds: Sequence[Seed], rng: random.Random, *, max_ops: int = MAX_OPS) -> str:
    """What a model is asked, with some of torch's `seeds` shown. Raises UsageError if there are none."""
    stacked = [seed for seed in seeds if seed.provenance.library == "torch"]
    if not stacked:
        raise UsageError("there are no seeds of torch to show to a model; crawl first")
    if not 2 <= max_ops <= MAX_OPS:
        raise UsageError(f"a model is asked for 2 to {MAX_OPS} operators, not {max_ops}")
    shown = rng.sample(stacked, min(NUM_SHOWN, len(stacked)))
    examples = [f"```python\n{seed.example().strip()}\n```" for seed in shown if isinstance(seed, HasExample)]
    return PROMPT.format(
        max_ops=max_ops,
        names="\n".join(f"- {seed.provenance.name} ({seed.kind})" for seed in shown),
        examples="\n\n".join(examples),
        num_elements=f"{rng.choice((128, 192, 256, 384, 512))} million",
    )


def asked(text: str, ask: Ask, seeds: Sequence[Seed], *, max_ops: int = MAX_OPS) -> Outcome:
    """What `ask` answers to the prompt `text`, told once what is wrong. What `ask` raises, goes on."""
    answer = ask(text)
    first = _outcome(answer, seeds, max_ops, was_repaired=False)
    if isinstance(first, Written):
        return first
    source = extracted(answer) or first.answer
    again = ask(REPAIR.format(prompt=text, source=source, fault=first.reason))
    return _outcome(again, seeds, max_ops, was_repaired=True)


def _outcome(answer: str, seeds: Sequence[Seed], max_ops: int, *, was_repaired: bool) -> Outcome:
    source = extracted(answer)
    if source is None:
        return Junk(reason="there is no Python file with a class Model in it", answer=answer[:KEPT_CHARS])
    fault = wrong_with(source)
    if fault is not None:
        return Junk(reason=fault, answer=answer[:KEPT_CHARS])
    report = inspected(source, seeds)
    if not 1 <= len(report.operators) <= max_ops:
        num = len(report.operators)
        return Junk(reason=f"it uses {num} operators; 1 to {max_ops} are wanted", answer=answer[:KEPT_CHARS])
    return Written(source=source, report=report, was_repaired=was_repaired)


def invented(
    seeds: Sequence[Seed], ask: Ask, *, n: int, seed: int = 0, max_ops: int = MAX_OPS
) -> Iterator[Made | Junk]:
    """What becomes of `n` prompts, in order: a task, or why not. An answer that was given before is junk."""
    known: set[str] = set()
    for number in range(n):
        rng = random.Random(f"{seed} {number}")
        outcome = asked(prompt(seeds, rng, max_ops=max_ops), ask, seeds, max_ops=max_ops)
        match outcome:
            case Junk():
                yield outcome
            case Written() if outcome.source in known:
                yield Junk(reason="it was answered before", answer=outcome.source[:KEPT_CHARS])
            case Written():
                known.add(outcome.source)
                yield _made(outcome)


def _made(written: Written) -> Made:
    report = written.report
    depth = len(report.operators)
    task = Task(task_id="", source=written.source, provenance="written by a model from operators of torch")
    return Made(
        task=Task(task_id=f"model{depth}_{task.digest[:12]}", source=task.source, provenance=task.provenance),
        operators=report.operators,
        depth=depth,
        structure=report.structure,
        curriculum=classified(report.kinds),
        source=f"torch#{depth}",
        facts={"repaired": "once"} if written.was_repaired else {},
    )
