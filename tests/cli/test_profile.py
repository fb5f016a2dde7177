"""`profile`: exit codes, and what it prints; the examiner is a stand-in."""

import pytest

from warpsmith.agent.diagnosis.classifier import classify
from warpsmith.agent.diagnosis.examiner import Examination, Examiner
from warpsmith.agent.diagnosis.figures import Name, Sheet, Source, figure, missing
from warpsmith.agent.diagnosis.ladder import Rung
from warpsmith.agent.diagnosis.trace import KernelTotal
from warpsmith.core import Crashed, NotRunnable, TaskError, Wrong

CPU = ("--device", "cpu", "--sandbox", "process")
HOSTILE = "void k\x1b[31m<1>\n(int)"


@pytest.fixture
def examined(monkeypatch):
    """Replaces what the examiner finds, or makes it raise."""

    def replace(found):
        def examine(self, candidate):
            if isinstance(found, Exception):
                raise found
            return found

        monkeypatch.setattr(Examiner, "__enter__", lambda self: self)
        monkeypatch.setattr(Examiner, "__exit__", lambda self, *_: None)
        monkeypatch.setattr(Examiner, "examine", examine)
        monkeypatch.setattr(Examiner, "environment", lambda self: {"sandbox": "process"})

    return replace


@pytest.fixture
def found(passed):
    def made():
        sheet = Sheet(
            (
                figure(Name.TIME, 300.0, "us", Source.MEASURED),
                figure(Name.TIMES_FLOOR, 3.0, "x", Source.DERIVED),
                figure(Name.CONFLICTS, 93.9, "%", Source.MEASURED, "k, by Nsight Compute"),
                *missing([Name.SYNCS, Name.IDLE], "nsys is not installed", "install Nsight Systems"),
            )
        )
        return Examination(
            verdict=passed(),
            sheet=sheet,
            rungs=(
                Rung(level="system", tool="Nsight Systems", why_not="it is not there", fix="install it"),
                Rung(level="kernel", tool="Nsight Compute"),
            ),
            kernels=(KernelTotal(name=HOSTILE, num_launches=10, total_us=50.0),),
            num_traced_calls=5,
            classified=classify(sheet),
        )

    return made


def test_a_right_program_is_told_what_limits_it_and_one_suggestion(cli, task, program, examined, found):
    examined(found())
    printed = cli("profile", task, program, *CPU)
    assert printed.code == 0
    assert "limited by: memory" in printed.out
    assert printed.out.count("suggestion:") == 1
    assert "bank conflicts, of shared-memory cycles" in printed.out
    assert "not Nsight Systems: it is not there; install it" in printed.out
    assert "in the process sandbox" in printed.out
    assert "nsys is not installed" in printed.out
    assert "cannot see:" in printed.out


def test_a_kernel_s_name_cannot_write_to_the_terminal(cli, task, program, examined, found):
    examined(found())
    printed = cli("profile", task, program, *CPU)
    assert "\x1b[31m" not in printed.out
    assert "void k<1>" in printed.out


def test_as_json_it_is_one_document_with_every_figure_s_source(cli, task, program, examined, found):
    examined(found())
    document = cli("profile", task, program, "--json", *CPU).document
    assert document["command"] == "profile"
    assert document["exit_code"] == 0
    assert document["diagnosis"]["kind"] == "memory"
    assert document["diagnosis"]["evidence"][0]["name"] == Name.CONFLICTS
    sources = {one["name"]: one["source"] for one in document["figures"]}
    assert sources[Name.SYNCS] == "unavailable"
    assert sources[Name.TIME] == "measured"
    assert [one["tool"] for one in document["profilers"]] == ["Nsight Systems", "Nsight Compute"]
    assert document["kernels"][0]["num_launches"] == 10


@pytest.mark.parametrize(
    ("verdict", "code"),
    [
        (Wrong(what="values", message="at [0]"), 3),
        (Crashed(stage="forward", log="ValueError"), 3),
        (NotRunnable(device="cpu", reason="inline PTX"), 6),
    ],
)
def test_what_is_not_right_is_not_profiled(cli, task, program, examined, verdict, code):
    examined(Examination(verdict=verdict))
    printed = cli("profile", task, program, *CPU)
    assert printed.code == code
    assert "limited by" not in printed.out
    assert printed.out.count("suggestion:") == 1
    assert cli("profile", task, program, "--json", *CPU).document["diagnosis"] is None


def test_mistakes_of_the_user_are_usage(cli, task, program, examined, tmp_path):
    examined(TaskError("task: differs between two runs"))
    assert cli("profile", task, program, *CPU).code == 2
    assert cli("profile", task, tmp_path / "nowhere", *CPU).code == 2
    assert cli("profile", task, program, "--device", "tpu").code == 2
    assert cli("profile", task, program, "--sandbox", "none", "--device", "cpu").code == 2
    assert cli("profile").code == 2
