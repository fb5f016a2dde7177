"""Commands in the foreground and in the background."""

import time
from contextlib import contextmanager

import pytest

from warpsmith.agent.tools import Context
from warpsmith.agent.tools.jobs import MAX_KEPT, MAX_RUNNING
from warpsmith.agent.workspace.folder import PROTECTED, Workspace
from warpsmith.core import Completed, Ending


def wait_until(is_so):
    give_up = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.05)


@pytest.mark.parametrize(
    "command",
    [
        "echo x > model.py",
        "rm -f model.py",
        "mv model.py gone.py",
        "rm -f model.py; ln -s SKILL.md model.py",
        "rm -f model.py; mkdir -p model.py/sub; touch model.py/sub/x",
        "chmod 777 model.py; truncate -s 0 model.py",
        "rm -rf ./* .[!.]*",
        "chmod 0 .",
    ],
)
def test_a_protected_file_survives_the_shell(any_bench, command):
    any_bench.say("bash", command=command)
    for name in PROTECTED:
        assert not (any_bench.root / name).is_symlink()
    assert (any_bench.root / "model.py").read_text() == any_bench.task.source
    assert (any_bench.root / "SKILL.md").read_text().startswith("# Make")


@pytest.mark.parametrize("in_background", [False, True])
def test_the_policy_is_told_that_a_protected_file_was_put_back(bench, in_background):
    """In a sandbox where it can be changed at all."""
    later = "sleep 1;" if in_background else ""  # not before the call that starts it is answered
    command = f"{later} echo changed > model.py; rm SKILL.md"
    text = bench.say("bash", command=command, background=in_background)
    if in_background:
        text = bench.say("bash_output", job="job-1", wait_s=20)
    assert text.endswith(
        "note: SKILL.md had been changed; it is restored\nnote: model.py had been changed; it is restored"
    )
    assert "note" not in bench.say("bash", command="true")


def test_a_job_that_changes_the_reference_is_noticed_by_any_tool(bench):
    bench.say("bash", command="sleep 0.3; echo changed > model.py; touch done", background=True)
    wait_until((bench.root / "done").exists)
    assert bench.say("glob", pattern="*.md") == "SKILL.md\nnote: model.py had been changed; it is restored"


def test_the_shell_tells_how_a_command_ended(bench):
    texts = [
        bench.say("bash", command="pwd; echo oops >&2; exit 3"),
        bench.say("bash", command="kill -SEGV $$"),
        bench.say("bash", command="sleep 30", timeout_s=0.5),
    ]
    assert texts[0].startswith("exit code 3, ")
    assert texts[0].endswith(f"{bench.root}\nstderr:\noops")
    assert texts[1].startswith("killed by signal 11")
    assert texts[2].startswith("killed at its time limit")


def test_each_command_is_a_new_shell(bench):
    bench.say("bash", command="cd kernels; export X=1; f() { :; }")
    assert bench.say("bash", command="pwd; echo [$X]; f").splitlines()[1:3] == [str(bench.root), "[]"]


def test_a_huge_output_keeps_its_head_and_tail(bench):
    text = bench.say("bash", command="echo first; seq 1 300000; echo last")
    assert len(text) < 6_200
    assert "\nfirst\n" in text
    assert "characters left out" in text
    assert text.endswith("last")


def test_a_shell_does_not_see_how_it_is_judged(any_bench):
    text = any_bench.say(
        "bash", command="python -c 'import warpsmith.judge' 2>&1; ls -R ${PYTHONPATH##*:}/warpsmith"
    )
    if any_bench.workspace.shell.protected:  # files are hidden in this kind
        assert "No module named 'warpsmith.judge'" in text
        assert "judge.py" not in text
    assert "exit code 0" in any_bench.say("bash", command="python -c 'import json, psutil, numpy'")


# In the background


def test_a_job_is_begun_heard_and_killed(any_bench):
    bench = any_bench
    command = "echo one; echo oops >&2; while [ ! -e go ]; do sleep 0.05; done; echo two; sleep 60"
    assert bench.say("bash", command=command, background=True).startswith("job-1 has begun; bash_output")
    wait_until(lambda: bench.context.jobs.get("job-1")._tree.stderr.after(0)[1])
    assert bench.say("bash_output", job="job-1") == "job-1 still runs\none\nstderr:\noops"
    assert bench.say("bash_output", job="job-1") == "job-1 still runs; nothing new was written"
    bench.say("bash", command="touch go")
    wait_until(lambda: bench.context.jobs.get("job-1")._tree.stdout.after(0)[1] > 4)
    killed = bench.say("kill_bash", job="job-1").splitlines()
    assert killed[0].startswith("job-1 is ended: killed by signal 9, ")
    assert killed[1:] == ["two"]
    assert bench.say("kill_bash", job="job-1").startswith("job-1 had ended before: killed by signal 9")
    assert "has ended: killed by signal 9" in bench.say("bash_output", job="job-1")


def test_a_job_can_be_waited_for(bench):
    bench.say("bash", command="sleep 0.3; echo done; exit 3", background=True)
    text = bench.say("bash_output", job="job-1", wait_s=30)
    assert text.startswith("job-1 has ended: exit code 3, ")
    assert text.endswith("done")


def test_waiting_ends_when_the_wait_is_over(bench):
    bench.say("bash", command="sleep 60", background=True)
    begun = time.monotonic()
    assert bench.say("bash_output", job="job-1", wait_s=0.3).startswith("job-1 still runs")
    assert 0.3 <= time.monotonic() - begun < 5


def test_a_job_ends_at_its_limit_and_the_policy_hears_why(bench):
    bench.say("bash", command="echo begun; sleep 60", background=True, timeout_s=0.5)
    text = bench.say("bash_output", job="job-1", wait_s=30)
    assert text.startswith("job-1 has ended: killed at its time limit")
    assert "begun" in text
    assert "killed after 0.5 s" in text


def test_only_a_few_jobs_run_at_once(bench):
    for number in range(MAX_RUNNING):
        bench.say("bash", command=f"sleep 6{number}", background=True)
    text = bench.say("bash", command="echo more", background=True)
    assert text.startswith(
        f"error: {MAX_RUNNING} background jobs run already (job-1: sleep 60; job-2: sleep 61"
    )
    assert "kill_bash" in text
    bench.say("kill_bash", job="job-2")
    assert bench.say("bash", command="echo more", background=True).startswith("job-4 has begun")


def test_of_many_jobs_the_oldest_are_forgotten(bench):
    """Each keeps what it said, and there may be thousands."""
    for _ in range(MAX_KEPT + 2):
        bench.say("bash", command="true", background=True)
        wait_until(lambda: not bench.context.jobs.running())
    assert "there is no job 'job-2'; the jobs are job-3, job-4" in bench.say("bash_output", job="job-2")
    assert bench.say("bash_output", job=f"job-{MAX_KEPT + 2}").startswith("job-22 has ended")


def test_a_job_that_is_not_there_is_answered_with_those_that_are(bench):
    bench.say("bash", command="true", background=True)
    assert "there is no job 'job-7'; the jobs are job-1" in bench.say("bash_output", job="job-7")


def test_nothing_is_timed_while_a_job_runs(bench):
    bench.say("write", path="model_new.py", text="x = 1\n")
    bench.say("bash", command="while true; do :; done", background=True)
    assert bench.say("profile").startswith(
        "error: times are taken on a quiet machine, and background jobs run (job-1: while true; do :; done)"
    )
    assert bench.say("verify").startswith("Correct")
    bench.say("kill_bash", job="job-1")
    assert bench.say("profile").startswith("Correct")
    assert [question for question, _ in bench.judge.asked] == ["verify", "measure"]


def test_a_job_that_ended_by_itself_disturbs_nobody(bench):
    bench.say("write", path="model_new.py", text="x = 1\n")
    bench.say("bash", command="true", background=True)
    wait_until(lambda: not bench.context.jobs.running())
    assert bench.say("profile").startswith("Correct")


def test_no_job_outlives_its_episode(any_bench):
    bench = any_bench
    for _ in range(2):
        bench.say(
            "bash",
            command="(setsid sleep 60 &) ; while true; do echo x >> alive; sleep 0.02; done",
            background=True,
        )
    wait_until((bench.root / "alive").exists)
    bench.context.close()
    size = (bench.root / "alive").stat().st_size
    time.sleep(0.3)
    assert (bench.root / "alive").stat().st_size == size
    assert not bench.context.jobs.running()
    bench.context.close()


def test_a_job_has_no_gpu_and_a_share_of_what_a_command_has(bench):
    shell = bench.workspace.shell
    command, job = shell.command("x", 5), shell.command("x", 5, in_background=True)
    assert job.limits.memory_bytes * 4 <= command.limits.memory_bytes
    assert job.limits.processes * 4 <= command.limits.processes
    assert (job.cwd, job.hidden, job.writable) == (command.cwd, command.hidden, command.writable)
    assert not job.gpu


@pytest.mark.parametrize("has_gpu", [False, True])
def test_a_command_with_a_gpu_waits_for_its_turn_and_a_job_has_none(tmp_path, task, has_gpu):
    class Notes:
        def run(self, command):
            held.append(len(taken))
            return Completed(ending=Ending.EXITED, exit_code=0, stdout="", stderr="", wall_s=0.0)

        begin = run
        covers = ()

    @contextmanager
    def turn():
        taken.append(1)
        yield

    taken, held = [], []
    workspace = Workspace.create(tmp_path / "work", task, Notes(), has_gpu=has_gpu, turn=turn)
    workspace.run("x", 1)
    workspace.begin("x", 1)
    assert held == [int(has_gpu)] * 2
    assert len(taken) == int(has_gpu)


def test_a_context_is_made_of_three_things(bench):
    context = Context(workspace=bench.workspace, judge=bench.judge, keep_log=lambda digest, log: None)
    assert context.todo == ()
    context.close()
