"""Samples from the folders that runs of the agent left behind."""

from dataclasses import dataclass, replace
from pathlib import Path

from warpsmith.agent.events import Compacted, Event, Handed, Said
from warpsmith.agent.runs.past import Past, past_of
from warpsmith.agent.tools import SPECS
from warpsmith.core import UsageError
from warpsmith.learn.grading import Grading
from warpsmith.learn.trajectory.drawn import Origin, samples_of, turns_in
from warpsmith.learn.trajectory.nouns import Sample
from warpsmith.learn.trajectory.templated import Reading, sample_of
from warpsmith.policy.local.template import Template


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """How runs are turned into samples for a student."""

    template: Template
    grading: Grading
    tokenizer: str = ""
    weights: str = ""  # that drew them, where a local model did

    def drawn_in(self, folder: Path) -> tuple[Sample, ...]:
        """What a local model drew in a run, token by token. Raises UsageError if it has no tokens."""
        past = past_of(folder)
        turns = turns_in(folder)
        return samples_of((turn for turn in turns if turn.turn <= past.num_turns), self._origin(past))

    def taught_in(self, folder: Path) -> Sample:
        """What any other policy said in a run, as the student would read it.

        Raises UsageError if the run was compacted or a team's, so that no one text holds all that was read.
        """
        past = past_of(folder)
        if any(isinstance(event, Compacted | Handed) for event in past.events):
            raise UsageError(f"{folder} was compacted or a team's; what was read is not in one piece")
        messages = tuple(event.message for event in past.events if isinstance(event, Said))
        return sample_of(messages, Reading.of(self.template, SPECS), replace(self._origin(past), weights=""))

    def _origin(self, past: Past) -> Origin:
        events: tuple[Event, ...] = past.events
        graded = self.grading.of_episode(past.task, events)
        end = self.template.end_of_turn
        return Origin(
            sample_id=str(past.folder),
            task_id=past.task.task_id,
            group=past.task.digest,
            tokenizer=self.tokenizer,
            weights=self.weights,
            end_ids=frozenset() if end is None else frozenset((end[0],)),
            is_truncated=graded.is_truncated,
            outcome=graded.outcome,
        )
