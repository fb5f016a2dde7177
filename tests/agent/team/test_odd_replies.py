"""Whatever the parts say, in any order: the run ends within its iterations, and its record can be forked."""

import json
import random
from dataclasses import replace

import pytest

from warpsmith.agent.team.nouns import Kind, Rhythm
from warpsmith.core import StopReason

ODD = (
    "",
    "\ud800 half of a pair",
    "x" * 500_000,
    "{" * 3_000,
    "null",
    "[[[[]]]]",
    "```json\n```",
    "<think>without an end",
    '{"sub_tasks": {"a": 1}}',
    '{"sub_tasks": [null, 3]}',
    '{"sub_tasks": [{"what": "a", "name": "\\ud800"}]}',
    '{"sub_tasks": [{"what": "ok", "target": 1e999}]}',
    '{"suggestion": {"a": {"b": {"c": []}}}}',
    '{"suggestion": 7}',
    json.dumps(
        {"sub_tasks": [{"name": "n" * 9_000, "what": "w" * 9_000, "contract": {"shapes": ["a"] * 999}}]}
    ),
)
WORDS = ("100", "300", "290", "wrong", "broken", "80")


def line(dice, say):
    """Words that are no answer, calls that are none, and now and then a program."""
    sabotage = "rm -rf kernels model_new.py; ln -s /etc/passwd model_new.py"
    replies = (
        *(ODD[dice.randrange(len(ODD))] for _ in range(3)),
        say.reply(say.call("read", path="model.py")),
        say.reply(say.call("nonsense", a=1), say.call("write", path="../x", text="y")),
        say.reply(say.call("write", path="model_new.py", text="# 100\n# \ud800\n")),
        say.reply(say.call("bash", command=sabotage)),
        say.reply(say.call("profile")),
        *(say.reply(say.program(dice.choice(WORDS))) for _ in range(3)),
    )
    return dice.choice(replies)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_run_of_odd_replies_ends_and_can_be_forked(team, say, tmp_path, seed):
    dice = random.Random(seed)
    team.kind = dice.choice(list(Kind))
    team.rhythm = replace(
        Rhythm(),
        max_iterations=dice.randint(1, 6),
        max_replans=dice.randint(0, 3),
        coder_turns=dice.randint(1, 4),
        other_turns=dice.randint(1, 3),
    )
    parts = ["coder", *(["planner"] if team.kind is Kind.TEAM else []), *dice.sample(["verifier"], seed % 2)]
    team.of(**{name: [line(dice, say) for _ in range(12)] for name in parts})
    trajectory = team.start()
    assert trajectory.stop is StopReason.FINISHED
    assert team.story()[-1] == "next: stop"
    assert sum(step.startswith("tested") for step in team.story()) <= team.rhythm.max_iterations
    turn = dice.randint(1, len(trajectory.turns))
    assert team.fork(turn, tmp_path / "fork").stop is StopReason.FINISHED
