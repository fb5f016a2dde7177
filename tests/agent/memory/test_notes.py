"""Notes on disk: what a person accepted is told, and nothing else, however many change them at once."""

import os
import threading
from dataclasses import replace

import pytest

from warpsmith.agent.memory.notes import LOCK, Kept, Unread
from warpsmith.agent.memory.nouns import State
from warpsmith.agent.memory.proposing import proposing
from warpsmith.agent.retrieval import Library
from warpsmith.core import InfraError, Task, UsageError
from warpsmith.core.lock import take


def states(notes):
    return {one.note.note_id: str(one.state) for one in notes.all() if isinstance(one, Kept)}


def test_a_note_is_found_once_it_is_accepted_with_its_source_and_not_before(notes, note):
    library = Library(folder=notes.folder)
    query = "softmax relu fuse the two twice"
    notes.put([note])
    assert "note:" not in str(library.search(query, 5))
    notes.move([note.note_id], State.ACCEPTED)
    found = [one for one in library.search(query, 5) if one.source == f"note:{note.note_id}"]
    assert found
    assert "Fuse the two." in found[0].text
    notes.move([note.note_id[:4]], State.REJECTED)
    assert "note:" not in str(library.search(query, 5))


def test_a_note_comes_back_from_the_disk_as_it_was(notes, note, another):
    notes.put([note, another])
    assert {one.note.note_id: one.note for one in notes.all()} == {n.note_id: n for n in (note, another)}


def test_what_was_rejected_is_not_proposed_again(notes, note):
    notes.put([note])
    notes.move([note.note_id], State.REJECTED)
    notes.put([note])
    assert states(notes) == {note.note_id: "rejected"}


@pytest.mark.parametrize("note_id", ["", "zzz", "../../etc/passwd", "\0"])
def test_an_unknown_id_is_named_and_changes_nothing(notes, note, note_id):
    notes.put([note])
    with pytest.raises(UsageError, match="there is no note"):
        notes.move([note.note_id, note_id], State.ACCEPTED)
    assert states(notes) == {note.note_id: "proposed"}


def test_the_beginning_of_two_ids_is_no_id(notes, note, another):
    twin = replace(another, evidence=replace(another.evidence, candidate_digest="0"))
    for number in range(400):  # until two begin alike
        twin = replace(twin, evidence=replace(twin.evidence, candidate_digest=str(number)))
        if twin.note_id[0] == note.note_id[0]:
            break
    notes.put([note, twin])
    with pytest.raises(UsageError, match="give more of it"):
        notes.find(note.note_id[0])


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"type": "Note"}', "x" * 300_000, "\udcff", "{" * 100_000])
def test_a_file_that_is_no_note_is_passed_over_and_told(notes, note, text):
    notes.put([note])
    notes.move([note.note_id], State.ACCEPTED)
    broken = notes.folder / "notes" / "accepted" / "broken.json"
    broken.write_bytes(text.encode(errors="surrogateescape"))
    assert notes.accepted() == (note,)
    (unread,) = (one for one in notes.all() if isinstance(one, Unread))
    assert unread.path == broken


def test_a_note_under_another_s_name_is_none(notes, note):
    notes.put([note])
    folder = notes.folder / "notes" / "proposed"
    (folder / f"{note.note_id}.json").rename(folder / "accepted0000.json")
    assert isinstance(notes.all()[0], Unread)


def test_who_holds_the_lock_is_named(notes, note):
    notes.folder.mkdir()
    held = take(notes.folder / LOCK, "4711\n")
    with pytest.raises(UsageError, match="process 4711"):
        notes.put([note])
    os.close(held)


def test_many_readers_see_whole_notes_while_one_changes_them(notes, note, another):
    notes.put([note, another])
    seen, ends = [], threading.Event()

    def read():
        while not ends.is_set():
            seen.extend(one for one in notes.all() if isinstance(one, Unread))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(20):
        notes.move([note.note_id], (State.ACCEPTED, State.REJECTED)[number % 2])
    ends.set()
    for reader in readers:
        reader.join()
    assert seen == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_written_is_named(notes, note):
    notes.folder.mkdir(mode=0o500)
    with pytest.raises(InfraError, match="permissions"):
        notes.put([note])


# --- what is proposed ---


TASK = Task(task_id="t", source="", provenance="test")


def new_of(pairs, known=(), held=()):
    found = proposing(pairs, known, held)
    return [note.note_id for note in found.new], [left.why for left in found.left]


def test_another_program_s_note_is_new_and_the_same_is_not(note, another):
    assert new_of([(TASK, note), (TASK, another), (TASK, note)]) == (
        [note.note_id, another.note_id],
        [f"it is known as {note.note_id}"],
    )


def test_what_says_the_same_of_another_run_is_a_near_duplicate(note):
    again = replace(note, evidence=replace(note.evidence, candidate_digest="d3", run="again"))
    assert again.note_id != note.note_id
    assert new_of([(TASK, again)], known=[note]) == ([], [f"it says what {note.note_id} says"])
    elsewhere = replace(again, evidence=replace(again.evidence, gpu="a100"))
    assert new_of([(TASK, elsewhere)], known=[note]) == ([elsewhere.note_id], [])


RENAMED = """import torch
class Model(torch.nn.Module):
    def forward(self, values):
        return torch.softmax(torch.relu(values) * 3, dim=-1)
def get_inputs(): return [torch.randn(4096, 4096)]
def get_init_inputs(): return []
"""


def test_a_benchmark_s_task_gives_no_note_whatever_it_calls_things(runs, note):
    held = Task(task_id="level1/7", source=RENAMED, provenance="elsewhere")
    _, (why,) = new_of([(runs.task, note)], held=[held])
    assert "too close to level1/7 (reference hash" in why
    other = Task(task_id="level1/8", source=RENAMED.replace("softmax", "cumsum"), provenance="elsewhere")
    assert new_of([(runs.task, note)], held=[other])[0] == [note.note_id]


def test_a_task_that_says_it_is_a_benchmark_s_needs_no_benchmark_beside_it(note):
    task = replace(TASK, provenance="KernelBench@1: level1/1_a.py")
    assert new_of([(task, note)]) == ([], ["its task is KernelBench's"])
