import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warpsmith.core import InfraError
from warpsmith.toolchain.store import NotKept, Store, content_key, default_store

KEY = content_key(("a",))

HOLDER = """
import sys, time
from pathlib import Path
from warpsmith.toolchain.store import Store

def make(folder):
    (folder / "half.txt").write_text("half")
    print("making", flush=True)
    time.sleep(60)

Store(Path(sys.argv[1])).fetch(sys.argv[2], make)
"""

BUILDER = """
import sys, time
from pathlib import Path
from warpsmith.toolchain.store import Store

def make(folder):
    with open(sys.argv[3], "a") as log:
        log.write("made\\n")
    time.sleep(0.5)

Store(Path(sys.argv[1])).fetch(sys.argv[2], make)
"""


def hello(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "hello.txt").write_text("hello")
    return {"number": 7}


def never(folder):
    raise AssertionError("was already made")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_what_is_made_once_is_found_again(store):
    first, second = store.fetch(KEY, hello), store.fetch(KEY, never)
    assert (first.is_cached, second.is_cached) == (False, True)
    assert first.folder == second.folder
    assert second.data == {"number": 7}
    assert (second.folder / "sub" / "hello.txt").read_text() == "hello"
    assert [*(store.root / "work").iterdir()] == []


@pytest.mark.parametrize("outcome", [NotKept("slow"), KeyboardInterrupt(), ValueError("bug")])
def test_a_maker_that_raises_leaves_nothing(store, outcome):
    def make(folder):
        (folder / "half.txt").write_text("half")
        raise outcome

    with pytest.raises(type(outcome)):
        store.fetch(KEY, make)
    assert [*(store.root / "work").iterdir()] == []
    assert store.fetch(KEY, hello).is_cached is False


def damage_file(folder):
    (folder / "sub" / "hello.txt").write_text("hellp")


def drop_file(folder):
    (folder / "sub" / "hello.txt").unlink()


def cut_manifest(folder):
    (folder / "entry.json").write_text((folder / "entry.json").read_text()[:20])


def empty_manifest(folder):
    (folder / "entry.json").write_text("")


def other_json(folder):
    (folder / "entry.json").write_text(json.dumps([1]))


@pytest.mark.parametrize("damage", [damage_file, drop_file, cut_manifest, empty_manifest, other_json])
def test_a_damaged_entry_is_made_again(store, damage):
    damage(store.fetch(KEY, hello).folder)
    again = store.fetch(KEY, hello)
    assert again.is_cached is False
    assert (again.folder / "sub" / "hello.txt").read_text() == "hello"
    assert store.fetch(KEY, never).is_cached


def test_a_killed_builder_neither_blocks_nor_shows_its_half(store):
    argv = [sys.executable, "-c", HOLDER, str(store.root), KEY]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "making\n"
        assert not store.root.joinpath("entries").exists()
        holder.send_signal(signal.SIGKILL)
    started = time.monotonic()
    entry = store.fetch(KEY, hello)
    assert time.monotonic() - started < 5
    assert not (entry.folder / "half.txt").exists()


def test_builders_at_the_same_time_build_once(store, tmp_path):
    log = tmp_path / "log.txt"
    argv = [sys.executable, "-c", BUILDER, str(store.root), KEY, str(log)]
    builders = [subprocess.Popen(argv) for _ in range(4)]
    assert [builder.wait(timeout=30) for builder in builders] == [0] * 4
    assert log.read_text() == "made\n"


def test_a_full_disk_says_what_to_do(store):
    def make(folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InfraError, match=r"No space left on device; free some space or set WARPSMITH_CACHE"):
        store.fetch(KEY, make)
    assert [*(store.root / "work").iterdir()] == []


@pytest.fixture
def tiny_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False
    )
    if not mounted or mounted.returncode != 0:
        pytest.skip("only root may mount a disk that is full")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_fills_up_on_the_way_keeps_no_half_entry(tiny_disk):
    def make(folder):
        (folder / "large").write_bytes(bytes(1 << 20))

    store = Store(tiny_disk)
    with pytest.raises(InfraError, match="free some space"):
        store.fetch(KEY, make)
    assert store.fetch(KEY, hello).is_cached is False


@pytest.mark.parametrize("place", ["/proc/store", "/dev/null/store"])
def test_a_store_that_cannot_be_written_says_what_to_do(place):
    with pytest.raises(InfraError, match=r"cannot write the build store .*; set WARPSMITH_CACHE to a folder"):
        Store(Path(place)).fetch(KEY, hello)


def test_a_read_only_store_still_serves_what_it_has(tiny_disk):
    store = Store(tiny_disk)
    store.fetch(KEY, hello)
    subprocess.run(["mount", "-o", "remount,ro", tiny_disk], check=True)
    assert store.fetch(KEY, never).is_cached
    with pytest.raises(InfraError, match=r"Read-only file system; set WARPSMITH_CACHE"):
        store.fetch(content_key(("b",)), hello)


def test_keys_differ_whenever_their_parts_do():
    tuples = [(), ("",), ("", ""), ("ab", "c"), ("a", "bc"), ("abc",), ("a\0b",), ("a", "b")]
    assert len({content_key(parts) for parts in tuples}) == len(tuples)


def test_the_environment_chooses_the_store(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPSMITH_CACHE", str(tmp_path / "mine"))
    assert default_store().root == tmp_path / "mine"
    monkeypatch.delenv("WARPSMITH_CACHE")
    assert default_store().root.name == "builds"
