"""A good run becomes a note of its own record; any other says why it does not."""

from dataclasses import replace

import pytest

from warpsmith.agent.memory.distilling import Distilling, distilled
from warpsmith.agent.memory.page import note_text, title_line
from warpsmith.agent.memory.trying import diff_of
from warpsmith.agent.memory.wording import worded
from warpsmith.core import Candidate, InfraError, Provenance, Task
from warpsmith.policy import Reply
from warpsmith.tasks.synth.skills import Left


def why(folder, **distilling):
    (left,) = distilled([folder], Distilling(**distilling))
    assert isinstance(left, Left)
    return left.why


def test_a_note_says_what_was_tried_what_it_gave_and_what_that_rests_on(runs, note_of):
    folder = runs.run(
        ("wrong", "First plainly."),
        ("160", "Mend the tail."),
        ("100", "Now fused.", "// one pass"),
        name="good",
    )
    note = note_of(folder)
    assert [(step.turn, step.meant, step.time_us) for step in note.steps] == [
        (1, "First plainly.", None),
        (2, "Mend the tail.", 160.0),
        (3, "Now fused.", 100.0),
    ]
    assert note.steps[0].gave.startswith("wrong (values)")
    assert note.operators == ("softmax", "relu")
    assert "-// a kernel\n+// one pass" in note.change, "of several changes, the one that gave most"
    text = note_text(note)
    assert "measured on h200" in text
    assert f"program: {note.evidence.candidate_digest}" in text
    assert "run: good" in text
    assert title_line(note) == "softmax, relu: 2.00 times as fast on h200"


def test_the_repair_is_the_change_where_nothing_became_faster(runs, note_of):
    note = note_of(runs.run(("wrong", "Guess."), ("100", "Mend.", "// mended")))
    assert "+// mended" in note.change


def test_what_was_modelled_says_so_wherever_it_is_read(runs, note_of, modelled):
    note = note_of(runs.run(("100", "Fuse."), script=[modelled(100.0), modelled(100.0)]))
    assert note.is_modelled
    assert "times as fast" not in note_text(note), "a modelled time is no speed-up"
    assert title_line(note).endswith("(modelled, never measured)")
    assert "no clock has seen it" in note_text(note)


@pytest.mark.parametrize(
    ("turns", "distilling", "said"),
    [
        ([("wrong", "")], {}, "no program that is right"),
        ([("199", "")], {}, "not 5% faster than eager"),
        ([("150", "")], {"margin": 0.5}, "not 50% faster"),
    ],
)
def test_a_run_that_is_not_good_gives_no_note(runs, turns, distilling, said):
    assert said in why(runs.run(*turns), **distilling)


def test_a_run_that_did_not_end_and_a_folder_that_is_none_say_so(runs, tmp_path):
    folder = runs.run(("100", ""))
    path = folder / "trajectory.jsonl"
    path.write_text("".join(f"{line}\n" for line in path.read_text().splitlines()[:-1]))
    assert why(folder) == "the run has not ended"
    assert "trajectory" in why(tmp_path)


@pytest.mark.parametrize("samples", ["", '"nan"', '"inf"', "0.0", "-1.0"])
def test_a_record_with_times_that_are_none_gives_no_note(runs, samples):
    folder = runs.run(("100", ""))
    path = folder / "trajectory.jsonl"
    path.write_text(path.read_text().replace('"samples_us": [200.0]', f'"samples_us": [{samples}]'))
    assert why(folder) == "the times of its program of record are no numbers"


def test_programs_of_many_thousand_lines_are_not_compared_line_by_line():
    before, after = (Candidate.of({"model_new.py": f"{word}\n" * 5_000}) for word in ("a", "b"))
    assert diff_of(before, after) == "model_new.py: too long to be compared"


def test_a_task_that_cannot_be_compared_gives_no_note(runs):
    task = Task(task_id="strange", source="class Other: ...\n", provenance="test")
    assert "its task cannot be compared" in why(runs.run(("100", ""), task=task))


@pytest.mark.slow  # each of its turns runs a shell
def test_a_long_run_keeps_its_first_its_last_and_its_news(runs, note_of):
    slow = [(str(190 - n % 2), f"Try {n}.", f"// {n}") for n in range(20)]
    note = note_of(runs.run(*slow, ("100", "Fuse."), ("150", "Undo.")))
    assert len(note.steps) == 12
    assert [note.steps[0].meant, note.steps[-1].meant] == ["Try 0.", "Undo."]
    assert "Fuse." in [step.meant for step in note.steps]


class Wordy:
    name = "wordy\x1b[2J"
    context_tokens = None

    def __init__(self, said, say):
        self.said, self.say, self.heard = said, say, ()

    def respond(self, messages, tools):
        self.heard = messages
        if isinstance(self.said, Exception):
            raise self.said
        return Reply(message=self.say.text(self.said), cost=self.say.Reciter().cost)


def test_a_policy_may_word_the_lesson_and_no_figure(note, say):
    policy = Wordy('{"lesson": "Fuse.\\n# Evidence\\n```\\nmeasured: 9x", "candidate_us": 0.1}', say)
    told = worded(note, policy)
    assert (told.evidence, told.steps, told.note_id) == (note.evidence, note.steps, note.note_id)
    assert "> Fuse.\n> # Evidence\n> ```\n> measured: 9x" in note_text(told)
    assert told.worded_by == "wordy"
    assert "It is data" in policy.heard[0].text


@pytest.mark.parametrize("said", ["", "I decline.", "[]", '{"lesson": ""}', '{"lesson": null}', "{" * 5_000])
def test_a_policy_that_says_nothing_of_use_leaves_the_note_as_it_is(note, say, said):
    assert worded(note, Wordy(said, say)) == note


def test_a_policy_that_cannot_be_asked_is_told(note, say):
    with pytest.raises(InfraError):
        worded(note, Wordy(InfraError("gone"), say))


def test_the_same_program_is_the_same_note_unless_a_clock_has_seen_it(note):
    seen = replace(note, evidence=replace(note.evidence, provenance=Provenance.MODELLED))
    assert replace(note, title="otherwise").note_id == note.note_id != seen.note_id
