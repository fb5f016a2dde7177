"""One task in a worker: what of its audit and of its run becomes its record."""

import pytest

from warpsmith.bench import work
from warpsmith.bench.folder import held
from warpsmith.bench.protocol import Doing, Done, Failed, Interrupted, read_job, read_said, written
from warpsmith.bench.record import Fate
from warpsmith.bench.rows import audit_text, row_data
from warpsmith.bench.run import jobs_of
from warpsmith.core import EnvironmentMissing, InfraError, TaskError
from warpsmith.core.audit import Unaudited
from warpsmith.device import select_device


@pytest.fixture
def job(order):
    asked = order({1: ["passes 50"]})
    with held(asked.path, asked.plan) as folder:
        yield jobs_of(asked, folder)[0]


class Failing:
    def __init__(self, error):
        self.error = error

    def __call__(self, **_):
        return self

    def audit(self, task):
        raise self.error


@pytest.mark.parametrize("error", [InfraError("the oracle died"), TaskError("it raises")])
def test_an_audit_that_fails_does_not_cost_the_task(job, monkeypatch, made, error):
    monkeypatch.setattr(work, "Auditor", Failing(error))
    found = work.audited(job, select_device("cpu"))
    assert isinstance(found, Unaudited)
    record = made.record(1, 1, made.passed(), audit=found)
    assert audit_text(record) == f"not audited: {error}"
    assert not record.is_degenerate


def test_what_is_missing_here_is_told(job, monkeypatch):
    monkeypatch.setattr(work, "Auditor", Failing(EnvironmentMissing("no g++")))
    with pytest.raises(EnvironmentMissing):
        work.audited(job, select_device("cpu"))


def test_a_message_is_one_line_and_is_read_back(job, made):
    assert read_job(written(job)) == job
    messages = (
        Doing(what="profile\nof it"),
        Done(record=made.record(1, 1, made.passed())),
        Failed(reason="a\nb", is_lasting=True),
        Interrupted(),
    )
    for message in messages:
        line = written(message)
        assert line.count("\n") == 1
        assert read_said(line) == message


@pytest.mark.parametrize("line", ["", "hello", "{}", '{"type": "Job"}', '{"type": "Done"}', "[1]"])
def test_what_a_worker_cannot_have_said_is_refused(line):
    with pytest.raises((ValueError, TypeError, KeyError)):
        read_said(line)


def test_ours_keeps_the_audit_that_was_made(job, made):
    record = work.ours(job, "its worker\nprocess ended")
    assert (record.fate, record.reason, record.audit) == (Fate.OURS, "its worker", None)


def test_a_row_of_a_measured_task_has_what_a_program_wants(made):
    row = row_data(made.record(1, 1, made.passed(eager=2.0, compiled=1.0)))
    assert row["times_us"] == {"candidate": 100.0, "eager": 200.0, "compile": 100.0, "floor": 50.0}
    assert (row["is_faster_than_eager"], row["is_faster_than_compile"]) == (True, False)
    assert row["compile_mode"] == "compile"
