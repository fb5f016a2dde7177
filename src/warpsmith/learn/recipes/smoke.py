"""All stages of both papers in miniature: a tiny model, a dozen small tasks, the real judge on CPU cores.

It shows that the stages fit together and that their files are read by the next one; a model of 64 wide
learns a few programs by heart, no CUDA.
"""

from dataclasses import replace

from warpsmith.agent.budget import Budget
from warpsmith.learn.pipeline.parts import (
    Chosen,
    Contrasted,
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
    agentic_ppo_tiny_cpu,
    rft_tiny_cpu,
    rubric_grpo_tiny_cpu,
    value_tiny_cpu,
    warmup_ppo_tiny_cpu,
)
from warpsmith.learn.recipes.base import Manner
from warpsmith.policy.base import Sampling

LESSONS = Trial(manner=Manner.ANSWER, budget=Budget(max_turns=5), tasks_at_once=2, limit=4)
OWN = Trial(
    manner=Manner.ANSWER,
    sampling=Sampling(temperature=0.7, max_tokens=400, seed=0),
    tries=2,
    tasks_at_once=2,
    limit=4,
)
JUDGED = replace(OWN, sampling=Sampling(temperature=0.0, max_tokens=400, seed=0), tries=1)


def pipeline() -> Pipeline:
    return Pipeline(
        parts=(
            Taught(name="lessons", trial=LESSONS),
            Imitated(name="rft", recipe=rft_tiny_cpu.recipe(), data=("lessons",)),
            Drawn(name="rollouts", actor="rft", trial=OWN),
            Valued(name="value", recipe=value_tiny_cpu.recipe(), data=("lessons", "rollouts"), actor="rft"),
            Practised(name="warmup", recipe=warmup_ppo_tiny_cpu.recipe(), actor="rft", critic="value"),
            Practised(name="agentic", recipe=agentic_ppo_tiny_cpu.recipe(), actor="warmup", critic="warmup"),
            Contrasted(name="grpo", recipe=rubric_grpo_tiny_cpu.recipe(), actor="rft"),
            Chosen(name="chosen", among=("rft", "agentic", "grpo"), trial=JUDGED),
            Tested(name="test", actors=("rft", "chosen"), trial=JUDGED),
        )
    )
