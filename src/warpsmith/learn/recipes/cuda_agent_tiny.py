"""CUDA Agent's stages with Qwen2.5-Coder-0.5B on one H200: imitation, critic, PPO of one turn, then of six.

The paper warms up by single-turn PPO before it imitates; a model this small passes too rarely for that, so
it imitates first: the builtin policy's episodes, and its own that earned something.
"""

from warpsmith.agent.budget import Budget
from warpsmith.learn.pipeline.parts import (
    BASE,
    Chosen,
    Drawn,
    Imitated,
    Pipeline,
    Practised,
    Taught,
    Tested,
    Trial,
    Valued,
)
from warpsmith.learn.recipes import (
    agentic_ppo_qwen05b_h200,
    rft_qwen05b_h200,
    value_qwen05b_h200,
    warmup_ppo_qwen05b_h200,
)
from warpsmith.learn.recipes.base import Manner
from warpsmith.policy.base import Sampling

HOT = Sampling(temperature=1.0, max_tokens=1_536, seed=0)
SURE = Sampling(temperature=0.0, max_tokens=1_536, seed=0)

LESSONS = Trial(manner=Manner.ANSWER, budget=Budget(max_turns=20), tasks_at_once=8, limit=400)
OWN = Trial(manner=Manner.ANSWER, sampling=HOT, tries=8, tasks_at_once=32)
JUDGED = Trial(manner=Manner.ANSWER, sampling=SURE, tasks_at_once=32)


def pipeline() -> Pipeline:
    return Pipeline(
        parts=(
            Taught(name="lessons", trial=LESSONS),
            Drawn(name="own", actor=BASE, trial=OWN),
            Imitated(name="rft", recipe=rft_qwen05b_h200.recipe(), data=("lessons", "own")),
            Drawn(name="rollouts", actor="rft", trial=OWN),
            Valued(name="value", recipe=value_qwen05b_h200.recipe(), data=("rollouts",), actor="rft"),
            Practised(name="warmup", recipe=warmup_ppo_qwen05b_h200.recipe(), actor="rft", critic="value"),
            Practised(
                name="agentic", recipe=agentic_ppo_qwen05b_h200.recipe(), actor="warmup", critic="warmup"
            ),
            Chosen(name="chosen", among=("rft", "warmup", "agentic"), trial=JUDGED),
            Tested(name="test", actors=(BASE, "rft", "chosen"), trial=JUDGED),
        )
    )
