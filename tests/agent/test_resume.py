"""Going on with a run that was killed, and from any turn of a run: what is kept, what is refused, and why."""

import json
import os
import re
import resource
import shutil
import signal
from dataclasses import replace

import pytest

from warpsmith.agent import (
    Budget,
    Compacted,
    Forked,
    Improved,
    Judged,
    Resumed,
    Said,
    Silent,
    Started,
    TurnEnded,
    in_effect,
    read_events,
)
from warpsmith.agent.optimize import OptimizeConfig, episode
from warpsmith.agent.runs.ledger import LEDGER, ledger_of
from warpsmith.agent.runs.log import read_entries
from warpsmith.agent.runs.past import past_of
from warpsmith.agent.runs.record import Record
from warpsmith.agent.runs.resume import Means, fork, resume
from warpsmith.core import Cost, InfraError, Passed, Role, StopReason, UsageError, Wrong
from warpsmith.device import select_device
from warpsmith.policy import PolicyConfig, Reply, Sampling, Tokens


class Killed(BaseException):
    """In place of a signal: nothing of the run's own may catch it."""


class Run:
    """A run on the fake judge that can be broken off at any event and gone on with."""

    def __init__(self, folder, say, task):
        self.folder, self.say, self.task = folder, say, task
        self.judge = say.Judge()
        self.config = OptimizeConfig(device=select_device("cpu"), sandbox="process")
        self.policy = say.Reciter(*replies(say))
        self.heard = []

    def on_event(self, event):
        self.heard.append(event)
        if self.dies_at(event):
            raise Killed

    dies_at = staticmethod(lambda event: False)

    def start(self, dies_at=None):
        """From the beginning, until `dies_at` says of an event that it is the last; it is on disk."""
        self.dies_at = dies_at or Run.dies_at
        bench = self.say.bench_of(self.judge)
        try:
            with Record.create(self.folder, self.task) as record, bench(self.task, self.config) as held:
                return episode(self.policy, held, self.config, record, self)
        except Killed:
            return None

    def resume(self, policy=None, dies_at=None, budget=None):
        self.dies_at = dies_at or Run.dies_at
        means = Means(policy=policy or self.policy, bench=self.say.bench_of(self.judge))
        try:
            return resume(self.folder, self, means, budget).trajectory
        except Killed:
            return None

    def fork(self, turn, out, policy=None, spec=None):
        means = Means(policy=policy or self.policy, bench=self.say.bench_of(self.judge))
        return fork(self.folder, turn, out, Silent(), spec, means).trajectory

    @property
    def events(self):
        return in_effect(read_events(self.folder))

    def files(self):
        root = self.folder / "workspace"
        return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}


def replies(say):
    """Six turns that write, edit what they know, and judge."""

    def change(old, new):
        edit = say.call("edit", path="model_new.py", old=f"# {old}\n", new=f"# {new}\n")
        return say.reply(edit, say.call("profile"))

    first = say.call("write", path="model_new.py", text="# 100\nx = 1\n")
    kernel = say.call("write", path="kernels/a.cu", text="// a kernel\n")
    return (
        say.reply(first, kernel, say.call("profile")),
        change("100", "90"),
        change("90", "wrong"),
        change("wrong", "70"),
        change("70", "95"),
        say.text("That was all."),
    )


@pytest.fixture
def run(tmp_path, say, task):
    return Run(tmp_path / "run", say, task)


@pytest.fixture
def whole(tmp_path, say, task):
    """The same run without an accident."""
    run = Run(tmp_path / "whole", say, task)
    run.trajectory = run.start()
    return run


def ends_turn(number):
    return lambda event: isinstance(event, TurnEnded) and event.number == number


def nth(kind, number, accept=lambda event: True):
    """Whether an event is the `number`th of its kind."""
    seen = []

    def is_it(event):
        if isinstance(event, kind) and accept(event):
            seen.append(event)
        return len(seen) == number

    return is_it


def is_reply(event):
    return event.message.role is Role.ASSISTANT


MOMENTS = {
    "at the start": lambda: nth(Started, 1),
    "before the first reply": lambda: nth(Said, 2),
    "after the first reply": lambda: nth(Said, 1, is_reply),
    "amid the first turn": lambda: nth(Judged, 1),
    "when a turn had ended": lambda: ends_turn(2),
    "after a reply": lambda: nth(Said, 4, is_reply),
    "after a verdict": lambda: nth(Judged, 4),
    "after an improvement": lambda: nth(Improved, 3),
    "after the last reply": lambda: nth(Said, 6, is_reply),
    "before the final verdict": lambda: ends_turn(6),
    "after the final verdict": lambda: nth(Judged, 1, lambda event: event.tool == "final"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_was_killed_ends_as_it_would_have(run, whole, moment):
    assert run.start(dies_at=MOMENTS[moment]()) is None
    trajectory = run.resume()
    assert words(trajectory) == words(whole.trajectory)
    assert trajectory.best.candidate == whole.trajectory.best.candidate
    assert run.files() == whole.files()
    assert run.policy.asked == [0, 1, 2, 3, 4, 5], "no reply was asked for twice"
    assert (run.folder / "model_new.py").read_text() == (whole.folder / "model_new.py").read_text()
    assert json.loads((run.folder / "verdict.json").read_text())["is_final"]
    assert not (run.folder / ".lock").exists()
    kinds = [type(event).__name__ for event in run.events if not isinstance(event, Resumed)]
    assert kinds == [type(event).__name__ for event in whole.events]


def words(trajectory):
    """All that was said, whatever the calls are numbered."""
    return [
        (turn.reply.text, [(call.tool, call.arguments) for call in turn.reply.tool_calls])
        for turn in trajectory.turns
    ] + [answer.text for turn in trajectory.turns for answer in turn.answers]


def test_killed_again_and_again_it_pays_for_no_reply_twice(run, whole):
    run.start(dies_at=nth(Said, 3, is_reply))
    for number in range(1, 5):
        assert run.resume(dies_at=nth(Said, number)) is None
    assert words(run.resume()) == words(whole.trajectory)
    assert run.policy.asked == [0, 1, 2, 3, 4, 5]
    assert sum(isinstance(event, Resumed) for event in run.events) == 5


def test_what_a_dropped_turn_had_cost_is_counted_and_a_reply_only_once(run, whole):
    run.start(dies_at=nth(Judged, 3))
    trajectory = run.resume()
    assert trajectory.cost.usd == whole.trajectory.cost.usd == 6 * 0.25
    resumed = next(event for event in run.events if isinstance(event, Resumed))
    assert resumed.turn == 2
    assert resumed.lost.usd == 0.0
    assert resumed.lost.wall_s > 0.0, "the tools of the third turn ran twice"


def test_the_time_before_counts_in_the_budget(run):
    run.config = replace(run.config, budget=Budget(max_wall_s=3600.0))
    run.start(dies_at=ends_turn(3))
    log = run.folder / "trajectory.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert 0.0 < lines[-1]["elapsed_s"] < 3600.0
    lines[-1]["elapsed_s"] = 3601.0
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    trajectory = run.resume()
    assert (trajectory.stop, len(trajectory.turns)) == (StopReason.TIME, 3)


def test_a_reply_that_was_paid_for_is_booked_even_if_no_time_is_left_for_it(run):
    run.config = replace(run.config, budget=Budget(max_wall_s=3600.0))
    run.start(dies_at=nth(Said, 3, is_reply))
    log = run.folder / "trajectory.jsonl"
    log.write_text(re.sub(r'"elapsed_s": [0-9.]+', '"elapsed_s": 3601.0', log.read_text()))
    trajectory = run.resume()
    assert (trajectory.stop, len(trajectory.turns)) == (StopReason.TIME, 3)
    assert trajectory.cost.usd == 3 * 0.25
    assert trajectory.turns[2].answers[0].text == "not run: the episode ends (time)"


def test_the_money_before_counts_in_the_budget(run):
    run.config = replace(run.config, budget=Budget(max_usd=1.0))
    run.start(dies_at=ends_turn(3))
    trajectory = run.resume()
    assert (trajectory.stop, len(trajectory.turns)) == (StopReason.MONEY, 4)


def test_patience_before_counts_too(run, say):
    run.config = replace(run.config, budget=Budget(patience=3))
    run.policy = say.Reciter(
        say.reply(say.call("write", path="model_new.py", text="# 100\n"), say.call("profile")),
        *[say.reply(say.call("verify"), say.call("bash", command=f"echo {n}")) for n in range(9)],
    )
    run.start(dies_at=ends_turn(3))
    trajectory = run.resume()
    assert (trajectory.stop, len(trajectory.turns)) == (StopReason.PATIENCE, 4)


def test_a_reply_that_was_cut_is_still_known_to_be(run, say):
    cut = Reply(message=say.text("I would"), cost=Cost(), is_cut=True)
    run.policy = say.Reciter(cut, say.text("Done."))
    run.start(dies_at=nth(Said, 1, is_reply))
    trajectory = run.resume()
    assert len(trajectory.turns) == 2
    assert "cut off" in trajectory.turns[0].answers[0].text


def test_a_finished_run_says_so_and_how_to_go_on(whole):
    with pytest.raises(UsageError, match=r"has finished \(finished\).*runs fork .* --turn 6"):
        whole.resume()
    assert not (whole.folder / ".lock").exists()


def test_a_run_that_reached_a_limit_goes_on_with_a_larger_one_and_keeps_it(run, whole):
    run.config = replace(run.config, budget=Budget(max_turns=2))
    assert run.start().stop is StopReason.TURNS
    with pytest.raises(UsageError, match=r"reached a limit \(turns\); resume it with a larger one"):
        run.resume()
    assert run.resume(budget=Budget(max_turns=4), dies_at=nth(Said, 1, is_reply)) is None
    assert run.resume().stop is StopReason.TURNS
    assert words(run.resume(budget=Budget())) == words(whole.trajectory)
    assert run.policy.asked == [0, 1, 2, 3, 4, 5]


def test_a_run_whose_policy_was_gone_goes_on_when_it_is_back(run, whole, say):
    back = run.policy
    run.policy = say.Reciter(*back.replies[:2], InfraError("HTTP 503"))
    assert run.start().stop is StopReason.POLICY
    run.policy = back
    assert words(run.resume()) == words(whole.trajectory)
    assert json.loads((run.folder / "verdict.json").read_text())["stop"] == "finished"


def test_a_run_that_was_stopped_by_hand_goes_on(run, say):
    run.judge.script = [None, lambda: os.kill(os.getpid(), signal.SIGINT)]
    assert run.start().stop is StopReason.INTERRUPTED
    run.judge.script = []
    assert run.resume().stop is StopReason.FINISHED
    assert run.policy.asked == [0, 1, 2, 3, 4, 5]


def test_a_last_line_that_was_cut_short_is_cut_off(run, whole):
    run.start(dies_at=ends_turn(3))
    log = run.folder / "trajectory.jsonl"
    with log.open("ab") as file:
        file.write(b'{"at": "2026-01-01", "type": "Said", "mess\xff')
    trajectory = run.resume()
    assert words(trajectory) == words(whole.trajectory)
    assert all(json.loads(line) for line in log.read_text().splitlines())


def test_a_paid_reply_that_lacks_only_its_line_end_is_used(run, whole):
    run.start(dies_at=nth(Said, 4, is_reply))
    log = run.folder / "trajectory.jsonl"
    log.write_bytes(log.read_bytes()[:-1])
    assert words(run.resume()) == words(whole.trajectory)
    assert run.policy.asked == [0, 1, 2, 3, 4, 5]


def test_a_blob_that_is_missing_or_changed_is_named_before_anything_is_touched(run):
    run.start(dies_at=ends_turn(3))
    last = [event for event in run.events if isinstance(event, TurnEnded)][-1]
    blob = run.folder / "blobs" / last.files["model_new.py"]
    before = run.files(), (run.folder / "trajectory.jsonl").read_bytes()
    blob.write_text("# 1\n")
    with pytest.raises(UsageError, match=f"{blob.name} has been changed"):
        run.resume()
    blob.unlink()
    with pytest.raises(UsageError, match=f"{blob.name} is missing"):
        run.resume()
    assert (run.files(), (run.folder / "trajectory.jsonl").read_bytes()) == before
    assert run.fork(1, run.folder.with_name("fork")).stop is StopReason.FINISHED


def test_a_changed_task_is_refused(run):
    run.start(dies_at=ends_turn(1))
    (run.folder / "task.py").write_text("class Model: pass\n")
    with pytest.raises(UsageError, match=r"task\.py is not the task that this run began with"):
        run.resume()
    (run.folder / "task.py").unlink()
    with pytest.raises(UsageError, match=r"task\.py cannot be read"):
        run.resume()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, r"another version of warpsmith \(format 99"),
        ({"format": 0}, "another version of warpsmith"),
        ({"budget": 7}, r"another version of warpsmith \(expected Budget"),
        ({"judge": {"type": "JudgeConfig", "limits": {"type": "Odd", "start_s": "soon"}}}, "another version"),
    ],
)
def test_a_run_of_another_version_is_refused(run, change, message):
    run.start(dies_at=ends_turn(1))
    log = run.folder / "trajectory.jsonl"
    first, *rest = log.read_text().splitlines()
    started = json.loads(first)
    started["config"] |= change
    log.write_text("\n".join([json.dumps(started), *rest, ""]))
    with pytest.raises(UsageError, match=message):
        run.resume()


def test_an_event_of_another_version_is_named_by_its_line(run):
    run.start(dies_at=ends_turn(1))
    with (run.folder / "trajectory.jsonl").open("a") as file:
        file.write('{"at": "", "type": "Dreamt"}\n')
    with pytest.raises(UsageError, match=r"line \d+: unknown event 'Dreamt'.*another version"):
        run.resume()


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("Said", {"type": {"type": "Said"}}, "unknown event"),
        ("Said", {"type": []}, "unknown event"),
        ("Said", {"message": None}, r"line \d+: "),
        ("Said", {"cost": "much"}, r"line \d+: "),
        ("Judged", {"verdict": {"type": "Fine"}}, r"line \d+: unknown type 'Fine'"),
        ("TurnEnded", {"number": "one"}, r"line \d+: "),
        ("TurnEnded", {"files": {"../../out": "ab" * 32}}, "leads out of the workspace"),
        ("TurnEnded", {"files": {"out": 7}}, "is no name of a blob"),
    ],
)
def test_a_record_that_was_changed_is_refused_in_one_line(run, kind, change, message):
    run.start(dies_at=ends_turn(1))
    log = run.folder / "trajectory.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    next(line for line in lines if line["type"] == kind).update(change)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UsageError, match=message):
        run.resume()


def test_two_processes_do_not_resume_one_run(run):
    run.start(dies_at=ends_turn(1))

    def meanwhile():
        with pytest.raises(UsageError, match=f"in use by a run with process id {os.getpid()}"):
            resume(run.folder, Silent(), Means(policy=run.policy, bench=run.say.bench_of(run.judge)))

    run.judge.script = [meanwhile]
    assert run.resume().stop is StopReason.FINISHED
    assert not run.judge.script


def test_what_is_no_run_is_not_touched(tmp_path, run):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match="holds no trajectory"):
        resume(tmp_path, Silent())
    (tmp_path / "trajectory.jsonl").write_text("")
    with pytest.raises(UsageError, match="does not begin with the start of a run"):
        resume(tmp_path, Silent())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thesis.tex", "trajectory.jsonl"]


def test_another_device_is_a_fork_and_no_resumption(run):
    run.start(dies_at=ends_turn(2))
    log = run.folder / "trajectory.jsonl"
    log.write_text(log.read_text().replace("CPU standing in for", "NVIDIA", 1))
    with pytest.raises(UsageError, match="times would not compare; fork it instead"):
        run.resume()


def test_the_folder_alone_says_how_to_go_on(run, say, tmp_path, monkeypatch):
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "Never said"}]))
    run.config = replace(run.config, policy=f"scripted:{script}")
    run.start(dies_at=ends_turn(6))
    means = Means(bench=say.bench_of(run.judge))
    assert resume(run.folder, Silent(), means).trajectory.stop is StopReason.FINISHED


def test_a_run_whose_policy_has_no_name_asks_for_one(run, say):
    run.start(dies_at=ends_turn(1))
    with pytest.raises(UsageError, match="by a policy without a name"):
        resume(run.folder, Silent(), Means(bench=say.bench_of(run.judge)))


def test_no_key_is_in_the_folder(run):
    url = "https://me:hunter2@host:8000/v1?api_key=hunter3#hunter4"
    config = PolicyConfig(base_url=url, api_key_env="MY_KEY", sampling=Sampling(temperature=0.5, seed=7))
    run.config = replace(run.config, policy="openai:x", policy_config=config)
    run.start(dies_at=ends_turn(1))
    assert b"hunter" not in b"".join(path.read_bytes() for path in run.folder.glob("*.jsonl"))
    spec = past_of(run.folder).spec
    assert spec.policy_config == replace(config, base_url="https://host:8000/v1")
    assert spec.budget == run.config.budget
    assert spec.judge == run.config.judge


def test_tokens_go_into_a_file_of_their_own(run, say):
    tokens = Tokens(prompt_ids=(1, 2), ids=(3, 0), logprobs=(-0.5, -0.25))
    run.policy = say.Reciter(Reply(message=say.text("Done."), cost=Cost(), tokens=tokens))
    run.start()
    line = json.loads((run.folder / "tokens.jsonl").read_text())
    assert (line["turn"], line["tokens"]["ids"], line["tokens"]["logprobs"]) == (1, [3, 0], [-0.5, -0.25])
    assert "logprobs" not in (run.folder / "trajectory.jsonl").read_text()


def chatty(say):
    """Turns that read a file which fills a third of the window each."""
    fill = "x" * 12_000
    write = say.call("write", path="model_new.py", text="# 100\nx = 1\n")
    reads = [
        say.reply(say.call("write", path=f"notes/{n}.txt", text=fill), say.call("verify")) for n in range(14)
    ]
    return (say.reply(write, say.call("profile")), *reads, say.text("Done."))


def test_a_conversation_that_does_not_fit_is_made_shorter_and_kept_in_the_workspace(run, say):
    run.policy = say.Reciter(*chatty(say), context_tokens=60_000)
    run.policy.respond = by_turn(run.policy)
    trajectory = run.start()
    compacted = [event for event in run.events if isinstance(event, Compacted)]
    assert compacted
    assert compacted[0].num_tokens > 30_000
    assert len(trajectory.turns) == 16, "the trajectory has all of them"
    heard = run.policy.heard[-1]
    assert heard[:2] == run.policy.heard[0]
    assert any("history/" in message.text for message in heard)
    history = [name for name in run.files() if name.startswith("history/")]
    assert history
    assert "x" * 12_000 in run.files()[history[0]] or "profile" in run.files()[history[0]]
    candidate = trajectory.best.candidate
    assert [path for path, _ in candidate.files] == ["model_new.py"], "it is no part of the program"


def by_turn(policy):
    """Its replies by how often it was asked: in a shortened conversation they cannot be counted."""

    def respond(messages, tools):
        policy.heard.append(messages)
        return Reply(message=policy.replies[len(policy.heard) - 1], cost=policy.cost)

    return respond


def test_a_run_killed_around_a_compaction_hears_the_same(run, whole, say):
    run.policy = say.Reciter(*chatty(say), context_tokens=60_000)
    run.policy.respond = by_turn(run.policy)
    run.start(dies_at=nth(Compacted, 1))
    before = run.policy.heard[:]
    run.resume(dies_at=nth(Said, 2))  # the reply after it, and its first answer
    run.resume()
    other = Run(whole.folder.with_name("other"), say, whole.task)
    other.policy = say.Reciter(*chatty(say), context_tokens=60_000)
    other.policy.respond = by_turn(other.policy)
    other.start()
    assert len(run.policy.heard) == len(other.policy.heard)
    assert heard_words(run.policy.heard) == heard_words(other.policy.heard)
    assert len(before) < len(other.policy.heard)
    files, expected = run.files(), other.files()
    assert files.keys() == expected.keys()
    assert all(uncounted(files[name]) == uncounted(expected[name]) for name in files)


def uncounted(text):
    """Without the numbers of the calls, which the stage counts on from test to test."""
    return re.sub(r"call c\d+", "call", text)


def heard_words(heard):
    return [[(message.role, message.text) for message in messages] for messages in heard]


def test_the_ledger_tells_what_was_paid_once(run):
    run.start(dies_at=nth(Judged, 3))
    run.resume()
    lines = [json.loads(line) for line in (run.folder / LEDGER).read_text().splitlines()]
    assert lines == [json.loads(row.to_json()) for row in ledger_of(run.events)]
    assert lines[-1]["total_usd"] == 6 * 0.25


def test_a_run_that_broke_off_on_a_full_disk_goes_on_when_there_is_room(run, whole):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = (whole.folder / "trajectory.jsonl").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size * 2 // 3, hard))
    try:
        with pytest.raises(InfraError, match=r"cannot be written.*what was written before is kept"):
            run.start()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert words(run.resume()) == words(whole.trajectory)


def test_what_a_person_did_to_the_folder_meanwhile_is_mended_where_it_can_be(run, whole):
    run.start(dies_at=ends_turn(3))
    for name in ("workspace", "kernels", "logs"):
        shutil.rmtree(run.folder / name)
    for name in ("verdict.json", "model_new.py"):
        (run.folder / name).write_text("{")
    assert words(run.resume()) == words(whole.trajectory)
    assert (run.folder / "model_new.py").read_text() == (whole.folder / "model_new.py").read_text()
    assert json.loads((run.folder / "verdict.json").read_text())["is_final"]


# --- forks ---


@pytest.mark.parametrize("turn", [1, 2, 3, 4, 5])
def test_a_fork_with_the_same_policy_ends_as_its_parent(whole, tmp_path, turn):
    out = tmp_path / "fork"
    before = {path: path.read_bytes() for path in whole.folder.rglob("*") if path.is_file()}
    whole.policy.asked.clear()
    trajectory = whole.fork(turn, out)
    assert words(trajectory) == words(whole.trajectory)
    assert whole.policy.asked == list(range(turn, 6))
    started, forked, *_ = read_events(out)
    assert isinstance(started, Started)
    assert forked == Forked(parent=str(whole.folder), turn=turn)
    assert {path: path.read_bytes() for path in whole.folder.rglob("*") if path.is_file()} == before
    assert trajectory.cost.usd == 0.25 * (6 - turn), "what its parent spent is the parent's"


def test_a_fork_keeps_when_things_were_said(whole, tmp_path):
    whole.fork(2, tmp_path / "fork")
    told = [entry.at for entry in read_entries(whole.folder)][1:10]
    assert [entry.at for entry in read_entries(tmp_path / "fork")][2:11] == told


@pytest.mark.parametrize("turn", [-1, 0, 7, 10**9])
def test_a_turn_that_does_not_exist_is_refused_with_those_that_do(whole, tmp_path, turn):
    with pytest.raises(UsageError, match=f"has no turn {turn} to fork from; its turns are 1 to 6"):
        whole.fork(turn, tmp_path / "fork")
    assert not (tmp_path / "fork").exists()


def test_a_run_in_which_no_turn_ended_cannot_be_forked(run, tmp_path):
    run.start(dies_at=nth(Said, 3))
    with pytest.raises(UsageError, match="no turn of it has ended"):
        run.fork(1, tmp_path / "fork")


def test_a_fork_from_the_last_turn_is_told_to_go_on(whole, say, tmp_path):
    class Better(say.Reciter):
        name = "better"

    better = say.reply(say.call("write", path="model_new.py", text="# 10\n"), say.call("profile"))
    policy = Better(*[None] * 6, say.reply(say.call("read", path="model_new.py")), better)
    trajectory = whole.fork(6, tmp_path / "fork", policy)
    assert trajectory.best.candidate.text("model_new.py") == "# 10\n"
    assert "go on from here" in policy.heard[0][-1].text
    assert trajectory.best.verdict.timing.candidate.median_us == 10.0


def test_a_fork_of_a_fork_of_an_earlier_turn(whole, say, tmp_path):
    whole.fork(4, tmp_path / "one")
    one = Run(tmp_path / "one", say, whole.task)
    for turn in (2, 4, 5):
        two = tmp_path / f"two-{turn}"
        assert words(one.fork(turn, two)) == words(whole.trajectory)
        assert read_events(two)[1].parent == str(tmp_path / "one")


def test_on_another_device_earlier_times_do_not_count_and_the_best_is_timed_anew(whole, say, tmp_path):
    whole.judge = say.Judge(script=[Passed(accuracy=say.accuracy, timing=say.timing(500.0))])
    spec = replace(past_of(whole.folder).spec, gpu="a100")
    policy = say.Reciter(*[None] * 4, say.text("Enough."))
    trajectory = whole.fork(4, tmp_path / "fork", policy, spec)
    events = read_events(tmp_path / "fork")
    assert events[1].is_elsewhere
    judged = [event for event in events if isinstance(event, Judged)]
    assert [event.tool for event in judged[-2:]] == ["fork", "final"]
    assert trajectory.best.candidate.text("model_new.py").startswith("# 70\n")
    improved = [event.solution.verdict for event in events if isinstance(event, Improved)]
    assert improved[-1].timing.candidate.median_us == 500.0
    assert "another device: CPU standing in for NVIDIA A100" in policy.heard[0][-1].text
    assert past_of(tmp_path / "fork").spec.gpu == "a100"


def test_a_best_that_fails_on_the_other_device_is_not_its_best(whole, say, tmp_path):
    whole.judge = say.Judge(script=[Wrong(what="values", message="another GPU")])
    spec = replace(past_of(whole.folder).spec, gpu="a100")
    trajectory = whole.fork(4, tmp_path / "fork", say.Reciter(*[None] * 4, say.text("Enough.")), spec)
    assert trajectory.best.candidate.text("model_new.py").startswith("# 90\n"), "the next one, timed at last"


def test_a_fork_that_was_killed_is_resumed(whole, say, tmp_path):
    out = tmp_path / "fork"
    means = Means(policy=whole.policy, bench=say.bench_of(whole.judge))
    whole.dies_at = nth(Judged, 1)
    with pytest.raises(Killed):
        fork(whole.folder, 2, out, whole, None, means)
    forked = Run(out, say, whole.task)
    forked.policy = whole.policy
    whole.policy.asked.clear()
    trajectory = forked.resume()
    assert words(trajectory) == words(whole.trajectory)
    assert whole.policy.asked == [3, 4, 5]
    assert trajectory.cost.usd == 0.25 * 4


def test_a_fork_that_was_killed_while_it_was_made_is_refused(whole, say, tmp_path):
    whole.fork(4, tmp_path / "fork")
    log = tmp_path / "fork" / "trajectory.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:9]))
    with pytest.raises(UsageError, match="killed while it was being forked"):
        Run(tmp_path / "fork", say, whole.task).resume()


def test_a_fork_of_a_record_that_was_changed_copies_nothing_else(whole, tmp_path):
    (whole.folder.parent / "secret").write_text("precious")
    log = whole.folder / "trajectory.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    first = next(line for line in lines if line["type"] == "TurnEnded")
    first["files"]["extra"] = "../../secret"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    whole.fork(2, tmp_path / "deep" / "fork")
    assert not list((tmp_path / "deep").rglob("secret"))
    with pytest.raises(UsageError, match="is no name of a blob"):
        whole.fork(1, tmp_path / "other")


def test_a_running_run_can_be_forked(run, tmp_path):
    forks = []

    def now():
        forks.append(run.fork(1, tmp_path / "fork", run.say.Reciter(*replies(run.say))))

    run.judge.script = [None, now]
    run.start()
    assert len(forks[0].turns) == 6


# --- the workspace ---


def test_the_workspace_is_what_it_was_when_the_turn_ended(run, say):
    (outside := run.folder.with_name("outside")).mkdir()
    (outside / "a.cu").write_text("precious")
    commands = (
        "echo echo hi > run.sh; chmod +x run.sh; mkdir -p build; echo o > build/o.txt",
        "printf '\\0' > data; head -c 1100000 /dev/zero | tr '\\0' x > large.txt",
    )
    run.policy = say.Reciter(
        say.reply(
            say.call("write", path="kernels/a.cu", text="// mine\n"),
            *[say.call("bash", command=command) for command in commands],
        ),
        say.reply(
            say.call("bash", command=f"rm -r kernels; ln -s {outside} kernels"),
            say.call("bash", command="rm run.sh; echo > late"),
        ),
        say.text("Done."),
    )
    run.start(dies_at=nth(Said, 8))
    root = run.folder / "workspace"
    assert (root / "kernels").is_symlink()
    assert run.events[-2].message.tool_calls, "the second turn had begun"
    ended = next(event for event in run.events if isinstance(event, TurnEnded))
    assert sorted(ended.files) == ["kernels/a.cu", "run.sh"]
    assert ended.skipped == ("large.txt",)
    run.policy = say.Reciter(None, say.text("Done."))
    # The paid reply is used again; what counts here is what stood there before it.
    seen = []
    run.dies_at = lambda event: isinstance(event, Resumed) and seen.append(state(root))
    resume(run.folder, run, Means(policy=run.policy, bench=say.bench_of(run.judge)))
    assert seen == [{"SKILL.md", "model.py", "kernels/a.cu", "run.sh", "large.txt"}]
    assert (outside / "a.cu").read_text() == "precious"
    assert [path.name for path in outside.iterdir()] == ["a.cu"]


def state(root):
    assert os.access(root / "run.sh", os.X_OK)
    assert not (root / "kernels").is_symlink()
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
