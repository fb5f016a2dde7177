"""How well a program was made: four dimensions, by rules over facts or by a model that is asked.

`static` is the default. `asked` needs a policy; make one with `AskedRubric(lambda: make_policy(spec))`,
and hold it against the facts with `CheckedRubric(asked, StaticRubric())`.
`calibration` says how far to trust them.
"""

from warpsmith.learn.rubric.asked import AskedRubric
from warpsmith.learn.rubric.base import Dimension, Rubric, Scores, Skill, Work, neutral
from warpsmith.learn.rubric.checked import CheckedRubric
from warpsmith.learn.rubric.levels import LEVELS, levels_text
from warpsmith.learn.rubric.static import StaticRubric

__all__ = [
    "LEVELS",
    "AskedRubric",
    "CheckedRubric",
    "Dimension",
    "Rubric",
    "Scores",
    "Skill",
    "StaticRubric",
    "Work",
    "levels_text",
    "neutral",
]
