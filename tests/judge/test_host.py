"""The host's own part: what an end means, whose word is believed, what is left behind."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from warpsmith.core import (
    Completed,
    Crashed,
    Ending,
    EnvironmentMissing,
    InfraError,
    Rejected,
    TimedOut,
)
from warpsmith.core.codec import from_json, to_json
from warpsmith.judge import JudgeConfig
from warpsmith.judge.clock.baselines import keeping_baselines
from warpsmith.judge.exchange import failure, start_failure
from warpsmith.judge.guest_client import GuestClient
from warpsmith.judge.oracle_client import OracleClient
from warpsmith.judge.protocol import (
    Broken,
    Count,
    Counted,
    GuestCall,
    GuestReply,
    Hello,
    Load,
    Loaded,
    OracleReply,
    Raised,
    Ready,
    Warm,
)
from warpsmith.judge.scratch import PREFIX, Scratch, remove_abandoned


def ended(ending=Ending.EXITED, exit_code=0, stderr=""):
    return Completed(ending=ending, exit_code=exit_code, stdout="", stderr=stderr, wall_s=1.0)


class ScriptedGuest:
    """Answers each request with what `say` makes of its nonce."""

    def __init__(self, say):
        self.say = say
        self.is_closed = False

    def ask(self, request, *, limit_s, is_timed=False):
        return self.say(json.loads(request)["nonce"])

    def close(self):
        self.is_closed = True
        return ended()


def guest(say, tmp_path):
    return GuestClient(ScriptedGuest(say), tmp_path, 1 << 30)


def reply(answer, kind=GuestReply):
    return lambda nonce: to_json(kind(nonce=nonce, answer=answer)).encode()


def ask(client):
    return client.ask(Count(inputs="x"), Counted, stage="forward", limit_s=3.0)


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (ended(exit_code=0), "ended with exit code 0 before answering"),
        (ended(exit_code=3, stderr="last words"), "last words"),
        (ended(Ending.SIGNALLED, -11), "killed by SIGSEGV (an access outside of its memory)"),
        (ended(Ending.SIGNALLED, -6), "killed by SIGABRT"),
        (ended(Ending.SIGNALLED, -200), "killed by signal 200"),
        (ended(Ending.OUT_OF_MEMORY, -9), "limit of 1.0 GiB"),
    ],
)
def test_an_end_instead_of_an_answer_is_a_crash(tmp_path, end, says):
    verdict = ask(guest(lambda _: end, tmp_path))
    assert isinstance(verdict, Crashed)
    assert verdict.stage == "forward"
    assert says in verdict.log


def test_an_answer_that_is_late_is_a_time_out(tmp_path):
    assert ask(guest(lambda _: ended(Ending.TIMED_OUT, -9), tmp_path)) == TimedOut(
        stage="forward", limit_s=3.0
    )


def test_an_exception_is_a_crash_with_its_log(tmp_path):
    assert ask(guest(reply(Raised(log="KeyError: 3")), tmp_path)) == Crashed(
        stage="forward", log="KeyError: 3"
    )


COUNTED = Counted(launches=(), num_launches=1)


@pytest.mark.parametrize(
    "say",
    [
        lambda _: b"not json",
        lambda _: b"{}",
        lambda _: b"\xff\xfe",
        lambda _: b"[" * 100_000,
        lambda _: reply(COUNTED)("another nonce"),
        reply(Loaded()),
        reply(Ready(python="3", torch="2")),
        lambda nonce: json.dumps({"nonce": nonce, "answer": {"type": "Opened"}}).encode(),
        lambda nonce: json.dumps({"nonce": nonce, "answer": 3}).encode(),
    ],
)
def test_words_that_are_no_answer_are_the_candidates_own(tmp_path, say):
    verdict = ask(guest(say, tmp_path))
    assert isinstance(verdict, Rejected)
    assert verdict.rule == "channel"


def test_an_answer_with_its_nonce_is_taken(tmp_path):
    assert ask(guest(reply(COUNTED), tmp_path)) == COUNTED


def test_our_own_failure_inside_a_guest_is_raised(tmp_path):
    with pytest.raises(InfraError, match="disk is full"):
        ask(guest(reply(Broken(reason="disk is full")), tmp_path))


def test_a_guest_is_unspoiled_until_it_is_told_of_a_candidate(tmp_path):
    client = guest(reply(Ready(python="3", torch="2")), tmp_path)
    client.greet(limit_s=1.0)
    assert not client.is_spoiled
    ask(client)
    assert client.is_spoiled


def test_a_program_that_does_not_start_is_never_the_candidates_fault(tmp_path):
    with pytest.raises(InfraError, match="the guest did not start: boom"):
        guest(lambda _: ended(exit_code=1, stderr="trace\nboom\n"), tmp_path).greet(limit_s=1.0)
    missing = start_failure(
        ended(exit_code=1, stderr="ModuleNotFoundError: No module named 'torch'"), "guest"
    )
    assert isinstance(missing, EnvironmentMissing)
    assert "pip install torch" in str(missing)


@pytest.mark.parametrize(
    "say", [lambda _: ended(Ending.SIGNALLED, -9), lambda _: b"{}", reply(Broken(reason="x"), OracleReply)]
)
def test_an_oracle_that_fails_is_ours_to_mend(say):
    with pytest.raises(InfraError):
        OracleClient(ScriptedGuest(say)).ask(Hello(), Ready, limit_s=1.0)


def test_a_request_survives_its_line():
    call = GuestCall(nonce="n", request=Warm(program="eager", warm_up_ms=1.5, flush_bytes=3))
    assert from_json(GuestCall, to_json(call)) == call
    assert b"\n" not in to_json(GuestReply(nonce="n", answer=Raised(log="a\nb"))).encode()


# --- scratch ---


def test_a_scratch_folder_is_private_and_goes_away(tmp_path):
    scratch = Scratch(tmp_path)
    assert scratch.path.stat().st_mode & 0o077 == 0
    (scratch.folder("a/b") / "f").write_text("x")
    scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_removed_and_a_living_ones_is_not(tmp_path):
    living = Scratch(tmp_path)
    dead = tmp_path / f"{PREFIX}dead"
    dead.mkdir()
    (dead / "lock").touch()
    hour_ago = time.time() - 3600
    for folder in (living.path, dead):
        os.utime(folder, (hour_ago, hour_ago))
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [living.path]
    living.close()


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(InfraError, match=r"cannot make a scratch folder in .*missing"):
        Scratch(tmp_path / "missing")


def test_every_setting_changes_the_configs_key():
    assert JudgeConfig().digest == JudgeConfig().digest
    assert JudgeConfig().digest != JudgeConfig(num_inputs=6).digest


def test_where_files_are_kept_is_no_part_of_the_configs_key(tmp_path):
    config = JudgeConfig()
    assert replace(config, scratch=tmp_path).digest == config.digest
    assert keeping_baselines(config, tmp_path).digest == config.digest
    assert keeping_baselines(config, tmp_path).clock.cache == tmp_path
    assert replace(config, clock=replace(config.clock, rounds=16)).digest != config.digest


def test_the_verdict_on_an_end_names_its_stage():
    verdict = failure(ended(exit_code=1), "load", 5.0, None)
    assert verdict.stage == "load"


def test_a_load_request_carries_paths(tmp_path):
    request = Load(
        candidate=tmp_path,
        extension=tmp_path,
        arguments=tmp_path,
        weights=tmp_path,
        inputs=(tmp_path, tmp_path),
        device="cpu",
        makes_on_device=False,
    )
    assert from_json(GuestCall, to_json(GuestCall(nonce="n", request=request))).request == request


def test_the_host_half_runs_without_torch():
    code = "import sys, warpsmith.judge; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
