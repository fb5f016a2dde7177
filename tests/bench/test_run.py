"""A bench over real worker processes, with stand-ins for policy and judge."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from warpsmith.bench.crew import Crew
from warpsmith.bench.folder import held, read
from warpsmith.bench.record import Fate
from warpsmith.bench.results import Results
from warpsmith.bench.run import jobs_of, run_bench
from warpsmith.bench.schedule import Pace, Schedule
from warpsmith.core import Passed, StopReason, UsageError, Wrong

FATES = {1: ["passes 50", "wrong", "declines"], 2: ["refused", "passes 98"]}


def by_key(ran):
    return {record.name.key: record for record in ran.kept.records}


def test_every_task_gets_a_record_of_what_befell_it(order, watched):
    ran = run_bench(order(FATES, workers=2), watched())
    found = by_key(ran)
    assert list(found) == ["level1-001", "level1-002", "level1-003", "level2-001", "level2-002"]
    assert isinstance(found["level1-001"].verdict, Passed)
    assert isinstance(found["level1-002"].verdict, Wrong)
    assert found["level1-003"].told.declined == "aten.conv"
    assert found["level1-003"].reason.startswith("I decline this task")
    assert found["level2-001"].fate is Fate.REFUSED
    assert found["level2-001"].is_degenerate
    assert "zeros would pass" in found["level2-001"].reason
    assert ran.ending.num_left == 0
    technique = found["level1-001"].told.techniques[0]
    assert (technique.recipe, technique.operators, technique.variant) == (
        "elementwise",
        ("add", "relu"),
        "float4",
    )
    assert found["level1-001"].cost.gpu_s > 0 or found["level1-001"].cost.wall_s > 0
    line = next(line for line in Results.of(ran.kept).lines if line.name == "overall")
    assert (line.num_done, line.passed.count, line.eager.faster.count) == (5, 2, 1)


@pytest.mark.slow
def test_a_worker_that_dies_costs_one_task_which_is_tried_again(order, watched):
    seen = watched()
    ran = run_bench(
        order({1: ["dies once 50", "passes 50", "fails once 50", "dies", "breaks"]}, workers=2), seen
    )
    found = by_key(ran)
    assert [record.fate for record in found.values()].count(Fate.OURS) == 2
    assert found["level1-004"].fate is Fate.OURS
    assert "signal 9" in found["level1-004"].reason
    assert "KeyError" in found["level1-005"].reason
    assert {key for key, _ in seen.again} == {"level1-001", "level1-003", "level1-004", "level1-005"}
    assert found["level1-002"].num_tries == 1
    assert (found["level1-001"].fate, found["level1-001"].num_tries) == (Fate.JUDGED, 2)


@pytest.mark.slow
def test_what_failed_for_us_is_tried_again_by_the_next_bench(order, watched):
    asked = order({1: ["fails", "passes 50"]})
    run_bench(asked, watched())
    again = watched()
    run_bench(asked, again)
    assert again.begun == ["level1-001", "level1-001"]


def test_a_finished_task_is_never_begun_again(order, watched):
    asked = order({1: ["passes 50", "wrong"]})
    run_bench(asked, watched())
    before = {path: path.stat().st_mtime_ns for path in (asked.path / "records").iterdir()}
    again = watched()
    ran = run_bench(asked, again)
    assert again.begun == []
    assert ran.ending.num_left == 0
    assert before == {path: path.stat().st_mtime_ns for path in (asked.path / "records").iterdir()}


@pytest.mark.slow
def test_a_damaged_record_is_done_again_from_its_finished_run(order, watched):
    asked = order({1: ["passes 50", "wrong"]})
    first = run_bench(asked, watched())
    (asked.path / "records" / "level1-001.json").write_text('{"name": {')
    assert len(read(asked.path).damaged) == 1
    ran = run_bench(asked, watched())
    assert ran.kept.damaged == ()
    was, now = (replace(by_key(one)["level1-001"], at="") for one in (first, ran))
    assert was == now


def test_no_time_is_no_work(order, watched):
    seen = watched()
    ran = run_bench(order({1: ["passes 50", "wrong"]}, max_s=0.0), seen)
    assert ran.ending.is_out_of_time
    assert (ran.ending.num_left, seen.begun) == (2, [])


def scheduled(asked, seen, grace_s):
    """A bench whose time is up once a task is done and the next one is being measured."""
    up_s = []

    def clock():
        if not up_s and seen.done and "profile" in seen.doing[-3:]:
            up_s.append(time.monotonic())
        return time.monotonic() - up_s[0] + 50.0 if up_s else 0.0

    pace = Pace(deadline_s=50.0, clock=clock, grace_s=grace_s)
    with held(asked.path, asked.plan) as folder:
        jobs = jobs_of(asked, folder)
        with Crew(folder=folder, size=1, command=asked.command) as crew:
            return Schedule(jobs, folder, crew, seen, pace).run()


@pytest.mark.slow
def test_time_that_is_up_ends_it_with_what_is_done(order, watched):
    asked = order({1: ["passes 50", "long"]})
    seen = watched()
    ending = scheduled(asked, seen, grace_s=60.0)
    assert ending.is_out_of_time
    assert (seen.done, seen.left) == (["level1-001"], ["level1-002"])
    assert not (asked.path / "records" / "level1-002.json").exists()
    later = run_bench(asked, watched())
    assert by_key(later)["level1-002"].num_turns == 61
    assert by_key(later)["level1-002"].stop is StopReason.FINISHED
    assert not list((asked.path / "tasks").glob("*.aside-*"))


@pytest.mark.slow
def test_what_does_not_come_to_an_end_in_time_is_killed_and_left(order, watched):
    asked = order({1: ["passes 50", "hangs"]})
    seen = watched()
    ending = scheduled(asked, seen, grace_s=1.0)
    assert (ending.num_left, seen.left) == (1, ["level1-002"])
    assert not (asked.path / "records" / "level1-002.json").exists()


@pytest.mark.slow
def test_a_run_that_was_tampered_with_is_begun_anew(order, watched):
    asked = order({1: ["long"]})
    run_bench(asked, watched(lambda seen: os.kill(os.getpid(), signal.SIGINT) if _is_amid(seen) else None))
    (asked.path / "tasks" / "level1-001" / "task.py").write_text("another")
    seen = watched()
    ran = run_bench(asked, seen)
    assert by_key(ran)["level1-001"].num_tries == 2
    assert "not the task that this run began with" in seen.again[0][1]
    assert [path.name for path in (asked.path / "tasks").glob("*.aside-*")] == ["level1-001.aside-1"]


def _is_amid(seen):
    return "ending" not in seen.doing and any(what.startswith("profile:") for what in seen.doing)


def test_ctrl_c_lets_the_step_be_finished(order, watched):
    asked = order({1: ["long"]})
    seen = watched(lambda seen: os.kill(os.getpid(), signal.SIGINT) if _is_amid(seen) else None)
    ran = run_bench(asked, seen)
    assert ran.ending.is_interrupted
    assert seen.left == ["level1-001"]


def test_two_benches_do_not_share_a_folder(order, watched):
    asked = order({1: ["passes 50"]})

    def second(seen):
        if not refused:
            with pytest.raises(UsageError, match=f"in use by a bench with process id {os.getpid()}"):
                run_bench(asked, watched())
            refused.append(True)

    refused = []
    run_bench(asked, watched(second))
    assert refused


@pytest.mark.slow
def test_a_later_bench_may_add_tasks(order, watched, tmp_path):
    run_bench(order({1: ["passes 50"]}), watched())
    ran = run_bench(order({1: ["passes 50"], 2: ["wrong"]}), watched())
    assert [name.key for name in ran.kept.plan.names] == ["level1-001", "level2-001"]
    assert len(ran.kept.records) == 2


def test_what_is_wrong_for_all_tasks_stops_it_at_once(order, watched):
    asked = order({1: ["passes 50", "passes 50"]})
    with pytest.raises(UsageError, match="this bench is on H200"):
        run_bench(replace(asked, plan=replace(asked.plan, device="H200")), watched())


def test_a_folder_of_something_else_is_left_alone(order, watched):
    asked = order({1: ["passes 50"]})
    asked.path.mkdir()
    (asked.path / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        run_bench(asked, watched())
    assert [path.name for path in asked.path.iterdir()] == ["thesis.txt"]


DRIVER = """
import pickle, sys
from warpsmith.bench.run import jobs_of, run_bench
from warpsmith.bench.schedule import Pace, Schedule
sys.path.insert(0, sys.argv[2])
import conftest
run_bench(pickle.load(open(sys.argv[1], "rb")), conftest.Watched())
"""


@pytest.mark.slow
def test_a_killed_bench_goes_on_where_it_was(order, watched, tmp_path):
    """kill -9 again and again: no task is done twice, none is lost, its orphans end and leave no lock."""
    import pickle

    asked = order({1: ["passes 50", "long", "wrong", "passes 40", "declines", "passes 60"]}, workers=2)
    (tmp_path / "order").write_bytes(pickle.dumps(asked))
    (tmp_path / "driver.py").write_text(DRIVER)
    command = [sys.executable, tmp_path / "driver.py", tmp_path / "order", Path(__file__).parent]
    records = asked.path / "records"
    stamps = {}
    for life_s in (1.5, 2.5, 2.5, 3.5):
        process = subprocess.Popen(command)
        time.sleep(life_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for path in records.glob("*.json"):
            json.loads(path.read_text())
            assert stamps.setdefault(path, path.stat().st_mtime_ns) == path.stat().st_mtime_ns
    ran = run_bench(asked, watched())
    assert len(ran.kept.records) == 6
    assert {record.fate for record in ran.kept.records} == {Fate.JUDGED}
    assert by_key(ran)["level1-002"].num_turns == 61
    assert all(stamps[path] == path.stat().st_mtime_ns for path in stamps)
