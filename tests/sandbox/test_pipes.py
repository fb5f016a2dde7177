import os
import time

import pytest

from warpsmith.sandbox.pipes import Capture, LineReader, Silence, write_all


@pytest.fixture
def pipe():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    yield reader, writer
    os.close(writer)


def soon() -> float:
    return time.monotonic() + 0.05


def test_lines_come_one_by_one_however_they_were_written(pipe):
    lines = LineReader(pipe[0], 100)
    os.write(pipe[1], b"one\ntwo\nth")
    assert (lines.line(soon()), lines.line(soon()), lines.line(soon())) == (b"one", b"two", Silence.LATE)
    os.write(pipe[1], b"ree\n")
    assert lines.line(soon()) == b"three"
    lines.close()


def test_a_line_that_is_too_long_is_not_kept_reading(pipe):
    lines = LineReader(pipe[0], 10)
    os.write(pipe[1], b"x" * 1000)
    assert lines.line(soon()) is Silence.TOO_LONG
    lines.close()


def test_a_hangup_ends_the_wait_though_the_pipe_stays_open(pipe):
    ended, ending = os.pipe()
    lines = LineReader(pipe[0], 100, hangup=ended)
    os.write(pipe[1], b"last\n")
    os.close(ending)
    assert lines.line(time.monotonic() + 60) == b"last"
    assert lines.line(time.monotonic() + 60) is Silence.CLOSED
    lines.close()
    os.close(ended)


def test_a_reader_that_does_not_read_does_not_block_the_writer(pipe):
    assert write_all(pipe[1], b"x" * (1 << 20), soon()) is Silence.LATE
    os.close(pipe[0])
    assert write_all(pipe[1], b"x", soon()) is Silence.CLOSED


@pytest.mark.parametrize(("size", "dropped"), [(0, 0), (9, 0), (10, 0), (11, 1), (10_000_000, 9_999_990)])
def test_of_a_flood_the_beginning_and_the_end_are_kept(size, dropped):
    reader, writer = os.pipe()
    capture = Capture(os.fdopen(reader, "rb", buffering=0), keep_bytes=10)
    data = bytes(ord("a") + index % 26 for index in range(size))
    with os.fdopen(writer, "wb") as stream:
        stream.write(data)
    expected = data.decode()
    if dropped:
        expected = f"{expected[:5]}\n[warpsmith: {dropped} bytes left out here]\n{expected[-5:]}"
    assert capture.text(wait_s=10) == expected
