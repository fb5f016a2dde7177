"""StitchCUDA's GRPO with Qwen2.5-Coder-0.5B on one H200: by rubric and rule, and by rule alone beside it."""

from dataclasses import replace

from warpsmith.learn.pipeline.parts import BASE, Chosen, Contrasted, Drawn, Imitated, Pipeline, Taught, Tested
from warpsmith.learn.recipes import rft_qwen05b_h200, rubric_grpo_qwen05b_h200
from warpsmith.learn.recipes.base import GrpoRecipe
from warpsmith.learn.recipes.cuda_agent_tiny import JUDGED, LESSONS, OWN


def pipeline() -> Pipeline:
    by_rubric = rubric_grpo_qwen05b_h200.recipe()
    by_rule = GrpoRecipe(stage=by_rubric.stage, work=replace(by_rubric.work, reward="kevin"))
    return Pipeline(
        parts=(
            Taught(name="lessons", trial=LESSONS),
            Drawn(name="own", actor=BASE, trial=OWN),
            Imitated(name="rft", recipe=rft_qwen05b_h200.recipe(), data=("lessons", "own")),
            Contrasted(name="rubric", recipe=by_rubric, actor="rft"),
            Contrasted(name="rule", recipe=by_rule, actor="rft"),
            Chosen(name="chosen", among=("rft", "rubric", "rule"), trial=JUDGED),
            Tested(name="test", actors=(BASE, "rft", "rubric", "rule", "chosen"), trial=JUDGED),
        )
    )
