"""The tuning toy as a place for verl's workers: two turns, a made-up verdict, no judge."""

from dataclasses import dataclass

from warpsmith.core import InfraError
from warpsmith.learn.rewards.milestone import Milestone
from warpsmith.learn.toy import tuning
from warpsmith.policy.base import Tokens

NUM_TURNS = 2


@dataclass(frozen=True, kw_only=True)
class ToyPlace:
    broken: str = ""  # our own failure, in the first step's episodes at this task

    def source(self, drawn, student):
        return Episode(drawn=drawn, student=student, is_broken=drawn.task.task_id == self.broken)


@dataclass(frozen=True, kw_only=True)
class Episode:
    drawn: object
    student: object
    is_broken: bool

    def rollouts(self, policy, sampling, step):
        if self.is_broken and step <= 1:
            raise InfraError("the judge was not at home")
        episode = tuning.Episode(self.drawn.task.task_id, 0, self.student.template, Milestone())
        for _ in range(NUM_TURNS):
            prompt = episode.prompt()
            (output,) = policy.generate([prompt], sampling)
            tokens = Tokens(prompt_ids=prompt, ids=output.ids, logprobs=output.logprobs)
            episode.answer(tokens, is_cut=output.is_cut)
        return episode.samples(step)
