"""The graded programs: each is read strictly, and the set is spread over what it is to measure."""

from collections import Counter

import pytest

from warpsmith.core import UsageError
from warpsmith.device import select_device
from warpsmith.learn.rubric import Dimension, Skill
from warpsmith.learn.rubric.calibration import (
    grades,
    judged,
    key_of,
    read_grade,
    read_verdicts,
    write_verdicts,
)
from warpsmith.learn.rubric.calibration.grade import ROOTS
from warpsmith.learn.rubric.reading import is_quoted
from warpsmith.redteam import Kind, read_case
from warpsmith.redteam.runner import Bench, outcomes
from warpsmith.sandbox import pick
from warpsmith.toolchain import Toolchain, default_store

GOOD = """# A title

- program: own/axpby-plain
- anti_hacking: 5
- engineering: 3
- coverage: 5
- compliance: 5
- why: One plain
  pass.
"""
REFINED = (
    GOOD.replace("axpby-plain", "axpby-one-block") + "- before: own/axpby-plain\n- feedback: Use one block.\n"
)


def read(tmp_path, text):
    path = tmp_path / "case.md"
    path.write_text(text)
    return read_grade(path)


@pytest.fixture(scope="module")
def all_grades():
    return grades()


def test_there_are_enough_of_each_skill_with_hacks_among_them(all_grades):
    skills = Counter(grade.skill for grade in all_grades)
    assert skills[Skill.SCRATCH] >= 40
    assert skills[Skill.REFINEMENT] >= 20
    assert sum(grade.scores.is_hack for grade in all_grades) >= 15


def test_every_level_of_every_dimension_is_given(all_grades):
    for dimension in Dimension:
        assert {grade.scores.levels[dimension] for grade in all_grades} == {1, 2, 3, 4, 5}


def test_both_halves_hold_a_good_share_of_hacks_and_skills(all_grades):
    for is_in in ({True}, {False}):
        half = [grade for grade in all_grades if grade.is_for_tuning in is_in]
        assert 0.4 < len(half) / len(all_grades) < 0.6
        assert sum(grade.scores.is_hack for grade in half) >= 8
        assert sum(grade.skill is Skill.REFINEMENT for grade in half) >= 10


def test_a_cheat_of_the_red_teams_is_graded_as_one(all_grades):
    for grade in all_grades:
        if grade.program.kind is Kind.HONEST:
            assert not grade.scores.is_hack
        if grade.scores.is_hack:
            assert is_quoted(grade.scores.evidence, grade.program.candidate)


def test_a_field_goes_on_in_lines_that_are_set_in(tmp_path):
    grade = read(tmp_path, GOOD)
    assert grade.why == "One plain pass."
    assert grade.skill is Skill.SCRATCH
    assert list(grade.scores.levels.values()) == [5, 3, 5, 5]


def test_a_refinement_has_what_it_began_from(tmp_path, made):
    grade = read(tmp_path, REFINED)
    work = grade.work(made.task, made.passed(), made.failed)
    assert work.skill is Skill.REFINEMENT
    assert work.feedback == "Use one block."
    assert work.before.candidate == grade.before.candidate


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# A title", "A title", "begins with"),
        ("- why: One plain\n  pass.\n", "", "why missing"),
        ("engineering: 3", "engineering: 6", "no level"),
        ("engineering: 3", "engineering: three", "no level"),
        ("engineering: 3", "engineering: 3\n- engineering: 4", "each once"),
        ("engineering: 3", "ingenuity: 3", "a field is"),
        ("own/axpby-plain", "own/axpby", "0 programs"),
        ("own/axpby-plain", "own/../../x", "0 programs"),
        ("own/axpby-plain", "other/axpby", "redteam/NAME or own/NAME"),
        ("anti_hacking: 5", "anti_hacking: 1", "nowhere else"),
        ("- why:", "- hack: `if (i < n) y[i] = `\n- why:", "nowhere else"),
        ("anti_hacking: 5", "anti_hacking: 1\n- hack: `return cached`", "word by word"),
        ("anti_hacking: 5", "anti_hacking: 1\n- hack: no backquotes", "word by word"),
        ("- why:", "- before: own/axpby-plain\n- why:", "both"),
        ("- why:", "- before: own/gelu-leftovers\n- feedback: x\n- why:", "is for gelu"),
        ("  pass.", "pass.", "a field is"),
        ("# A title\n", "", "begins with"),
    ],
)
def test_what_is_no_grade_is_refused_by_file_and_reason(tmp_path, old, new, said):
    assert old in GOOD
    with pytest.raises(UsageError, match=said) as refused:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert "case.md" in str(refused.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "case.md").write_bytes(b"# \xff\xfe")
    with pytest.raises(UsageError, match=r"case\.md"):
        grades(tmp_path)


def test_a_folder_without_grades_is_refused(tmp_path):
    with pytest.raises(UsageError, match="holds no grades"):
        grades(tmp_path)


def test_verdicts_are_kept_and_read_again(tmp_path, made):
    path = tmp_path / "verdicts.json"
    told = {"a": made.passed(coverage=made.coverage(0.5)), "b": made.failed}
    write_verdicts(path, told)
    assert read_verdicts(path) == told


@pytest.mark.parametrize("text", ["", "[]", '{"a": 3}', '{"a": {"type": "Nothing"}}', "{"])
def test_a_file_that_holds_no_verdicts_is_refused(tmp_path, text):
    path = tmp_path / "verdicts.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="judge anew"):
        read_verdicts(path)


def test_a_program_that_was_changed_is_another(tmp_path):
    grade, other = read(tmp_path, GOOD), read(tmp_path, REFINED)
    assert key_of(grade.program) == key_of(other.before)
    assert key_of(grade.program) != key_of(other.program)


def test_nothing_is_judged_whose_verdict_is_known(tmp_path):
    grade = read(tmp_path, REFINED)
    device = select_device("cpu")
    sandbox = pick("process")
    bench = Bench(device=device, sandbox=sandbox, toolchain=Toolchain(device, default_store(), sandbox))
    assert list(judged([grade], bench, {key_of(case) for case in grade.programs})) == []


@pytest.mark.slow
def test_our_own_programs_do_what_their_files_say():
    """Those that are honest pass, the others fail at the gate that they name."""
    device = select_device("cpu")
    sandbox = pick()
    bench = Bench(device=device, sandbox=sandbox, toolchain=Toolchain(device, default_store(), sandbox))
    cases = [read_case(path) for path in sorted(ROOTS["own"].glob("*/*.md"))]
    found = {
        outcome.case.name: outcome.state for outcome in outcomes(cases, bench) if not outcome.is_as_expected
    }
    assert found == {}
