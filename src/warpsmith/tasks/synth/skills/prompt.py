"""What a model is asked to practise a skill: text to put before it, with nothing of the answer in it."""

from typing import assert_never

from warpsmith.core import Candidate
from warpsmith.tasks.synth.skills.skill import Kind, Lesson, Skill, SubTask

FROM_SCRATCH = """\
Write CUDA for one step of a larger PyTorch model: {name}.

The reference, whose class Model a program with the class ModelNew is to replace:

```python
{source}```

`get_inputs` makes what the steps before this one give; it is not part of the work. The files below are to be
filled in: the launcher's signature, the tensors and their sizes are a contract that other steps rely on.
Results are compared with float64: the largest error may be {times:g} times the reference's own.

{files}
Answer with every file in full, each after a line that names it.
"""

AFTER_FEEDBACK = """\
{wish}

The reference, whose class Model the program's ModelNew replaces:

```python
{source}```

The program:

{files}
What the judge says of it:

{feedback}

Answer with every file of the program in full, each after a line that names it.
"""

WISHES = {
    Kind.REPAIR: "This CUDA program is wrong. Find the one cause that matters most, and repair it.",
    Kind.OPTIMISE: "This CUDA program is right. Name what costs most of its time, and make it faster.",
}


def prompt(skill: Skill) -> str:
    """The whole question."""
    match skill:
        case SubTask():
            return FROM_SCRATCH.format(
                name=skill.name,
                source=skill.task.source,
                times=skill.task.tolerance.times_reference,
                files=files_text(skill.template),
            )
        case Lesson():
            return AFTER_FEEDBACK.format(
                wish=WISHES[skill.kind],
                source=skill.task.source,
                files=files_text(skill.before),
                feedback=skill.feedback.strip(),
            )
        case _:
            assert_never(skill)


def files_text(candidate: Candidate) -> str:
    """Every file after its name, in a fence that no line of it can close."""
    parts = []
    for path, text in candidate.files:
        fence = "```"
        while fence in text:
            fence += "`"
        language = "python" if path.endswith(".py") else "cuda"
        parts.append(f"{path}\n{fence}{language}\n{text.rstrip()}\n{fence}\n")
    return "\n".join(parts)
