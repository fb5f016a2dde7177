"""Choose a setting for a task, hear how fast it is, choose again; the best counts, as with real programs.

The policy's reply is one letter. One of eight is faster than eager and torch.compile, two are faster than
eager, the rest are right and slow; anything else does not build. Nothing is executed: verdicts are made up,
with times that are marked as modelled, and go through the same reward, the same conversation and the same
tokens as an agent's do.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from warpsmith.agent.events import Sampled
from warpsmith.core import (
    Accuracy,
    BuildFailed,
    Message,
    Passed,
    Provenance,
    Ratio,
    Role,
    Series,
    Timing,
    Verdict,
)
from warpsmith.learn.rewards.base import NoReward, Outcome, Reward, RewardRule
from warpsmith.learn.rewards.milestone import Milestone
from warpsmith.learn.trajectory.drawn import Origin, samples_of
from warpsmith.learn.trajectory.nouns import Sample
from warpsmith.learn.trajectory.templated import Reading, sample_of
from warpsmith.policy.actions import Style
from warpsmith.policy.base import Sampling, Tokens
from warpsmith.policy.local.conversation import Conversation
from warpsmith.policy.local.template import Template
from warpsmith.policy.local.tokens import TokenPolicy

LETTERS = "abcdefgh"
TASKS = ("softmax", "gelu", "norm", "scan")
WORDS = (*TASKS, "tune", "user", "assistant", "system", "fast", "good", "slow", "broken")
STEP = 1_000_003  # between the seeds of steps, and of turns

EAGER_US = 100.0
FAST, GOOD, SLOW = 50.0, 80.0, 120.0  # microseconds; torch.compile takes 75
COMPILE_US = 75.0


def time_us(task: str, letter: str) -> float:
    """How long a setting takes: which are fast differs from task to task."""
    rank = (LETTERS.index(letter) - 2 * TASKS.index(task)) % len(LETTERS)
    return FAST if rank == 0 else GOOD if rank in (3, 5) else SLOW


def verdict_on(task: str, reply: str) -> Verdict:
    """What a judge would say of a reply."""
    if len(reply) != 1 or reply not in LETTERS:
        return BuildFailed(log=f"no setting {reply!r:.20}")
    candidate_us = time_us(task, reply)
    return Passed(
        accuracy=Accuracy(error=0.0, reference_error=0.0, allowed=1e-6), timing=_timing(candidate_us)
    )


def answer_to(verdict: Verdict) -> str:
    """The word that the policy hears."""
    if not isinstance(verdict, Passed) or verdict.timing is None:
        return "broken"
    return {FAST: "fast", GOOD: "good", SLOW: "slow"}[verdict.timing.candidate.median_us]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A source of samples: each task so many times a step, each of so many turns."""

    template: Template
    samples_per_task: int = 16
    num_turns: int = 2
    rule: RewardRule = field(default_factory=Milestone)

    def rollouts(self, policy: TokenPolicy, sampling: Sampling, step: int) -> tuple[Sample, ...]:
        return tuple(
            sample for episode in self.episodes(policy, sampling, step) for sample in episode.samples(step)
        )

    def episodes(self, policy: TokenPolicy, sampling: Sampling, step: int) -> "list[Episode]":
        """Those of a step, played to their end."""
        episodes = [
            Episode(task, number, self.template, self.rule)
            for task in TASKS
            for number in range(self.samples_per_task)
        ]
        seed = (sampling.seed or 0) + step * STEP * STEP
        for turn in range(1, self.num_turns + 1):
            prompts = [episode.prompt() for episode in episodes]
            outputs = policy.generate(prompts, replace(sampling, seed=seed + turn * STEP))
            for episode, prompt, output in zip(episodes, prompts, outputs, strict=True):
                tokens = Tokens(prompt_ids=prompt, ids=output.ids, logprobs=output.logprobs)
                episode.answer(tokens, is_cut=output.is_cut)
        return episodes


class Episode:
    """One conversation, and the best that came of it."""

    def __init__(self, task: str, number: int, template: Template, rule: RewardRule) -> None:
        self.task = task
        self.number = number
        self._template = template
        self._rule = rule
        self._conversation = Conversation(template, Style.TOOLS, feeds_thinking=False)
        self._messages: tuple[Message, ...] = (_asked(task),)
        self._turns: list[Sampled] = []
        self._verdicts: list[Verdict] = []
        self._is_cut = False

    def prompt(self) -> tuple[int, ...]:
        return self._conversation.prompt(self._messages, ()).ids

    def answer(self, tokens: Tokens, *, is_cut: bool) -> None:
        text = self._template.said(tokens.ids if is_cut else tokens.ids[:-1])
        reply = Message(role=Role.ASSISTANT, text=text)
        self._conversation.remember(self._messages, (), reply, tokens.prompt_ids + tokens.ids)
        verdict = verdict_on(self.task, text)
        self._messages = (*self._messages, reply, Message(role=Role.USER, text=answer_to(verdict)))
        self._turns.append(Sampled(turn=len(self._turns) + 1, tokens=tokens))
        self._verdicts.append(verdict)
        self._is_cut = self._is_cut or is_cut

    @property
    def best(self) -> tuple[Verdict, Outcome]:
        """The verdict that earned most, and what that was; of equals the first."""
        outcomes = [(verdict, self._rule.reward(verdict)) for verdict in self._verdicts]
        return max(outcomes, key=lambda pair: pair[1].value if isinstance(pair[1], Reward) else -math.inf)

    def samples(self, step: int) -> tuple[Sample, ...]:
        end = self._template.end_of_turn
        origin = Origin(
            sample_id=f"{step}/{self.task}/{self.number}",
            task_id=self.task,
            group=f"{step}/{self.task}",
            weights=f"{step - 1} updates",
            end_ids=frozenset() if end is None else frozenset((end[0],)),
            outcome=self.best[1],
            is_truncated=self._is_cut,
        )
        return samples_of(self._turns, origin)


def best(outcomes: Sequence[Outcome]) -> Outcome:
    """The reward of a conversation is that of the best program in it."""
    rewards = [outcome for outcome in outcomes if isinstance(outcome, Reward)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, NoReward)]
    return max(rewards, key=lambda reward: reward.value) if rewards else refused[0]


def taught(template: Template, count: int, seed: int, *, num_turns: int = 2) -> tuple[Sample, ...]:
    """Conversations of a teacher who knows the letters, not which are fast, and sometimes gets one wrong."""
    rng = random.Random(f"teacher/{seed}")
    rule = Milestone()
    reading = Reading(template=template, style=Style.TOOLS)
    samples = []
    for number in range(count):
        task = TASKS[number % len(TASKS)]
        messages: tuple[Message, ...] = (_asked(task),)
        verdicts = []
        for _ in range(num_turns):
            said = "tune" if rng.random() < 0.1 else rng.choice(LETTERS)
            verdicts.append(verdict_on(task, said))
            told = Message(role=Role.USER, text=answer_to(verdicts[-1]))
            messages = (*messages, Message(role=Role.ASSISTANT, text=said), told)
        outcome = best([rule.reward(verdict) for verdict in verdicts])
        origin = Origin(sample_id=f"teacher/{number}", task_id=task, outcome=outcome)
        samples.append(sample_of(messages, reading, origin))
    return tuple(samples)


def _asked(task: str) -> Message:
    return Message(role=Role.USER, text=f"tune {task}")


def _timing(candidate_us: float) -> Timing:
    def ratio(baseline_us: float) -> Ratio:
        value = baseline_us / candidate_us
        return Ratio(centre=value, low=value, high=value)

    return Timing(
        provenance=Provenance.MODELLED,
        gpu="toy",
        candidate=Series(name="candidate", samples_us=(candidate_us,)),
        eager=Series(name="eager", samples_us=(EAGER_US,)),
        compile=Series(name="compile", samples_us=(COMPILE_US,)),
        against_eager=ratio(EAGER_US),
        against_compile=ratio(COMPILE_US),
        floor_us=FAST,
    )
