"""Questions and answers with programs that behave, and with programs that don't."""

import time
from pathlib import Path

import pytest

from warpsmith.core import Completed, Ending, InfraError, Limits
from warpsmith.sandbox import channel

ECHO = "for line in requests: answers.write(line.upper())"


def num_open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_guest_answers_every_question(start):
    guest = start(ECHO)
    assert [guest.ask(word, limit_s=20) for word in (b"one", b"", b"three")] == [b"ONE", b"", b"THREE"]


def test_a_large_question_and_a_large_answer_get_through(start):
    guest = start(ECHO)
    question = b"x" * (5 << 20)
    assert guest.ask(question, limit_s=30) == question.upper()


def test_a_guest_outlives_the_wall_limit_of_a_command(start):
    guest = start(ECHO, limits=Limits(wall_s=0.1))
    time.sleep(0.3)
    assert guest.ask(b"still", limit_s=20) == b"STILL"


def test_a_guest_that_exits_before_answering_has_ended(start):
    ended = start("print('bye'); requests.readline(); sys.exit(0)").ask(b"hello", limit_s=20)
    assert isinstance(ended, Completed)
    assert (ended.ending, ended.exit_code, ended.stdout) == (Ending.EXITED, 0, "bye\n")


def test_a_guest_that_never_began_to_listen_has_ended(start):
    guest = start("sys.exit(3)")
    time.sleep(0.3)
    ended = guest.ask(b"x" * (1 << 20), limit_s=20)
    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 3)


def test_a_guest_that_answers_and_exits_has_answered(start):
    guest = start("answers.write(requests.readline()); os._exit(4)")
    assert guest.ask(b"last words", limit_s=20) == b"last words"
    ended = guest.ask(b"more?", limit_s=20)
    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 4)


def test_a_crashed_guest_says_why(start):
    ended = start("requests.readline(); raise RuntimeError('oh dear')").ask(b"hello", limit_s=20)
    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 1)
    assert "oh dear" in ended.stderr


def test_a_signalled_guest_is_told_from_an_exit(start):
    ended = start("requests.readline(); os.kill(os.getpid(), 11)").ask(b"hello", limit_s=20)
    assert (ended.ending, ended.exit_code) == (Ending.SIGNALLED, -11)


def test_a_slow_guest_is_killed_at_the_limit(start):
    guest = start("requests.readline(); time.sleep(60)")
    began = time.monotonic()
    ended = guest.ask(b"hello", limit_s=0.5)
    assert ended.ending is Ending.TIMED_OUT
    assert time.monotonic() - began < 5
    assert guest.ask(b"again", limit_s=20) == ended
    assert guest.close() == ended


def test_a_guest_that_never_reads_is_killed_at_the_limit(start):
    ended = start("time.sleep(60)").ask(b"x" * (1 << 20), limit_s=0.5)
    assert ended.ending is Ending.TIMED_OUT


def test_garbage_is_handed_over_as_it_is(start):
    garbage = bytes(byte for byte in range(256) if byte != ord("\n"))
    guest = start(f"requests.readline(); answers.write({garbage!r} + b'\\n'); time.sleep(60)")
    assert guest.ask(b"hello", limit_s=20) == garbage


def test_an_endless_answer_is_cut_off(start, monkeypatch):
    monkeypatch.setattr(channel, "ANSWER_BYTES", 1 << 20)
    guest = start("requests.readline()\nwhile True: answers.write(b'x' * 65536)")
    ended = guest.ask(b"hello", limit_s=20)
    assert ended.ending is Ending.SIGNALLED
    assert "an answer of more than" in ended.stderr


def test_half_an_answer_is_no_answer(start):
    ended = start("requests.readline(); answers.write(b'half'); os._exit(0)").ask(b"hello", limit_s=20)
    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 0)


def test_an_answer_before_the_question_is_refused(start):
    guest = start("answers.write(b'I know already\\n'); time.sleep(60)")
    time.sleep(0.3)
    ended = guest.ask(b"hello", limit_s=20)
    assert ended.ending is Ending.SIGNALLED
    assert "without being asked" in ended.stderr


def test_a_second_answer_is_refused(start):
    guest = start("requests.readline(); answers.write(b'one\\ntwo\\n'); time.sleep(60)")
    assert guest.ask(b"hello", limit_s=20) == b"one"
    assert "without being asked" in guest.ask(b"hello", limit_s=20).stderr


def test_a_guest_that_hangs_up_but_stays_is_killed(start, monkeypatch):
    monkeypatch.setattr(channel, "FAREWELL_S", 0.3)
    ended = start("requests.readline(); answers.close(); time.sleep(60)").ask(b"hello", limit_s=20)
    assert ended.ending is Ending.SIGNALLED
    assert "closed the pipe" in ended.stderr


def test_a_guest_that_hoards_memory_is_killed(start):
    guest = start(
        "requests.readline(); hoard = bytearray(400 << 20); time.sleep(60)",
        limits=Limits(memory_bytes=100 << 20),
    )
    assert guest.ask(b"hello", limit_s=20).ending is Ending.OUT_OF_MEMORY


def test_a_daemon_of_a_dead_guest_does_not_keep_the_line_open(start):
    guest = start("requests.readline()\nif os.fork() == 0: os.setsid(); time.sleep(60)\nos._exit(5)")
    began = time.monotonic()
    ended = guest.ask(b"hello", limit_s=20)
    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 5)
    assert time.monotonic() - began < 5


def test_standard_output_does_not_block_or_reach_the_line(start):
    guest = start(
        "for line in requests: print('x' * (8 << 20)); answers.write(line)", limits=Limits(output_bytes=1000)
    )
    assert guest.ask(b"hello", limit_s=20) == b"hello"
    assert 1000 <= len(guest.close().stdout) < 1100


def test_closing_a_living_guest_kills_it(start):
    guest = start(ECHO)
    assert guest.ask(b"hello", limit_s=20) == b"HELLO"
    assert guest.close().ending is Ending.SIGNALLED


def test_closing_says_how_a_dead_guest_had_ended(start):
    guest = start("sys.exit(9)")
    time.sleep(0.5)
    assert (guest.close().ending, guest.close().exit_code) == (Ending.EXITED, 9)


def test_guests_are_context_managers(sandbox, python):
    with sandbox.start(python("import time; time.sleep(60)")) as guest:
        pass
    assert guest.close().ending is Ending.SIGNALLED


def test_a_guest_that_cannot_start_is_our_error_and_leaks_nothing(sandbox, python, folder):
    before = num_open_files()
    for _ in range(3):
        with pytest.raises(InfraError):
            sandbox.start(python("", cwd=folder / "gone"))
    assert num_open_files() == before


def test_a_closed_guest_leaks_nothing(sandbox, python):
    before = num_open_files()
    for _ in range(3):
        sandbox.start(python("import time; time.sleep(60)")).close()
    assert num_open_files() == before
