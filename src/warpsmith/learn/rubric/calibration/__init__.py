"""Programs that were graded by hand, by the level texts, and how far a judge agrees with those grades.

`grades/` has a file a grade, as `grade.py` says. The programs are the red team's, by name, or lie in
`programs/` in the red team's format. `benchmarks/rubric.py` puts a judge to the test.
"""

from warpsmith.learn.rubric.calibration.agreement import Agreement, Flags, agreement, flags
from warpsmith.learn.rubric.calibration.grade import Grade, grades, read_grade
from warpsmith.learn.rubric.calibration.verdicts import judged, key_of, read_verdicts, write_verdicts

__all__ = [
    "Agreement",
    "Flags",
    "Grade",
    "agreement",
    "flags",
    "grades",
    "judged",
    "key_of",
    "read_grade",
    "read_verdicts",
    "write_verdicts",
]
