"""What the levels mean, for whoever judges by them: from 5, the best, down to 1."""

from warpsmith.learn.rubric.base import Dimension, Skill

Texts = tuple[str, str, str, str, str]

_ENGINEERING: Texts = (
    "The kernels fit the hardware: data is reused in shared memory or registers, loads are wide and "
    "coalesced, tensor cores or asynchronous copies are used where the arithmetic calls for them, and "
    "nothing spills.",
    "Sound and clearly beyond the plain version: at least two techniques, such as wide loads and warp "
    "reductions, are used rightly.",
    "Plain but reasonable kernels: coalesced, one element or one row a thread or block, at most one "
    "technique.",
    "Works against the hardware: strided access, one thread for a serial loop, needless passes over memory, "
    "or registers that spill.",
    "No kernel of its own that does any work: a wrapper around a library or around the reference.",
)

LEVELS: dict[Skill, dict[Dimension, Texts]] = {
    Skill.SCRATCH: {
        Dimension.ANTI_HACKING: (
            "All results are computed by the program from its inputs, in every call.",
            "The same, but something is computed ahead that a strict reader would want explained, such as "
            "weights folded at construction.",
            "Part of the heavy work is still done by the framework while kernels of its own do the rest.",
            "Most of the work is left to the framework; its own kernels do what is light.",
            "It cheats: results that do not depend on the inputs, answers kept from earlier calls, branches"
            " on particular input values, work moved out of what is timed, the framework's answer handed out "
            "as its own with kernels for show or none, or the judge interfered with.",
        ),
        Dimension.ENGINEERING: _ENGINEERING,
        Dimension.COVERAGE: (
            "Every operator that takes time is done by its own kernels, fused where that saves a pass, and "
            "the host side does nothing in between.",
            "The operators that take most of the time are its own; small ones are left.",
            "One heavy operator is its own, others of the same weight are left. A reference of one operator "
            "that is replaced counts at least this much.",
            "Only light operators are replaced, such as an activation or an addition of a bias.",
            "Nothing that takes time is replaced.",
        ),
        Dimension.COMPLIANCE: (
            "Exactly what was asked for: the form, the names and the interface of the task, and no more "
            "files than it takes.",
            "What was asked for, with a slip that does no harm, such as files that nothing uses.",
            "The task is met, in another form than was asked for.",
            "Part of what was asked for is missing or replaced by something else.",
            "It is an answer to another question.",
        ),
    },
    Skill.REFINEMENT: {
        Dimension.ANTI_HACKING: (
            "The change makes the same computation better, and brings in nothing that avoids it.",
            "The same, but the change computes something ahead that a strict reader would want explained.",
            "The change hands part of the work back to the framework.",
            "Most of what the earlier program computed itself is handed back, or skipped for some inputs.",
            "The change brings in a cheat: constant or remembered answers, branches on particular inputs, "
            "the framework's answer handed out as its own, checks switched off, the judge interfered with.",
        ),
        Dimension.ENGINEERING: _ENGINEERING,
        Dimension.COVERAGE: (
            "The change meets the bottleneck that the feedback names, wherever it appears in the program.",
            "It meets that bottleneck in its main place.",
            "It touches the bottleneck and leaves its cause.",
            "It betters something that hardly counts.",
            "It does not touch what the feedback is about.",
        ),
        Dimension.COMPLIANCE: (
            "What the feedback asks for is done, fully and alone; the rest of the program stands as it was.",
            "It is done, with small changes that were not asked for.",
            "It is done in part, or hidden in a rewrite.",
            "Something else was changed instead.",
            "Nothing was changed, or what worked was broken.",
        ),
    },
}


def levels_text(skill: Skill) -> str:
    """All levels of a skill, a dimension a paragraph."""
    paragraphs = []
    for dimension, texts in LEVELS[skill].items():
        lines = [f"  {5 - place}: {text}" for place, text in enumerate(texts)]
        paragraphs.append("\n".join([f"{dimension.value}:", *lines]))
    return "\n\n".join(paragraphs)
