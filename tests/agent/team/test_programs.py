"""The table that holds ways of working against each other: what is compared, and what is gone on with."""

import pytest
from benchmarks.programs import agents_of, task_paths
from benchmarks.programs_table import Conditions, Table, row, totals

from warpsmith.core import UsageError

CONDITIONS = Conditions(
    policy="builtin",
    device="cpu",
    scale=0.002,
    sandbox="process",
    max_turns=9,
    max_tokens=None,
    max_minutes=1.0,
    style="auto",
    reply_tokens=100,
    temperature=0.7,
    seed=1,
)


def record(centre=None, how="measured", error=None):
    timed = centre is not None
    return {
        "verdict": "Passed" if timed else "Wrong",
        "is_correct": timed,
        "provenance": how if timed else None,
        "candidate_us": 10.0,
        "against_eager": {"centre": centre, "low": centre, "high": centre} if timed else None,
        "num_programs": 1,
        "num_iterations": None,
        "total_s": 1.0,
        "error": error,
        "stop": "finished",
    }


def test_times_are_compared_only_where_every_way_of_working_has_one():
    records = {
        "a": {"skill": record(2.0), "team": record(8.0)},
        "b": {"skill": record(2.0), "team": record()},
        "c": {"skill": record(2.0)},
        "d": {"skill": record(2.0), "team": record(2.0)},
    }
    found = totals(records, ("skill", "team"))
    assert {name: one["mean_eager_over_ours"] for name, one in found.items()} == {
        "skill": pytest.approx(2.0),
        "team": pytest.approx(4.0),
    }
    assert (found["skill"]["num_compared"], found["skill"]["num_correct"]) == (2, 4)
    assert (found["team"]["num_runs"], found["team"]["num_correct"]) == (3, 2)
    assert totals({}, ("skill",))["skill"]["mean_eager_over_ours"] is None


def test_a_modelled_time_is_shown_as_a_time_and_no_speed_up():
    assert "2.00x eager" in row("a", "skill", record(2.0))
    modelled = row("a", "skill", record(2.0, "modelled"))
    assert "10.0 us modelled" in modelled
    assert "eager" not in modelled


def test_a_table_is_gone_on_with_and_what_failed_of_ours_is_tried_again(tmp_path):
    path = tmp_path / "table.json"
    table = Table(path, CONDITIONS, ("skill", "team"))
    table.put("a", "skill", record(2.0))
    table.put("a", "team", record(error="InfraError: gone"))
    again = Table(path, CONDITIONS, ("skill", "team"))
    assert (again.has("a", "skill"), again.has("a", "team"), again.has("b", "skill")) == (True, False, False)
    assert again.records == table.records


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}"])
def test_a_file_of_another_kind_or_of_other_conditions_is_not_written_over(tmp_path, text):
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="name another file"):
        Table(path, CONDITIONS, ("skill",))
    assert path.read_text() == text


def test_all_examples_and_programs_are_known_and_nothing_else():
    assert len(task_paths([])) == 12
    with pytest.raises(UsageError, match="no task 'lstm2'"):
        task_paths(["lstm", "lstm2"])
    assert agents_of("team, skill,team") == ("team", "skill")
    with pytest.raises(UsageError, match="choose of skill, team, pair"):
        agents_of("")
