"""What a student is asked in one turn, in as few words as it takes: small models lose the thread of more."""

from dataclasses import dataclass, replace

from warpsmith.core import Message, Role, Solution, Task
from warpsmith.policy.actions import Style
from warpsmith.policy.local.conversation import Conversation
from warpsmith.policy.local.template import Template
from warpsmith.tasks.synth.skills import Lesson, Skill, prompt

FORM = """\
You write CUDA. Each extern "C" function in a .cu file becomes a function of the Python module cuda_extension:
pass tensors for pointers and numbers for numbers, in the same order, under the same name, without the stream.

Rules:
- class ModelNew has the same __init__ arguments, parameters and forward arguments as Model.
- All arithmetic happens in the kernels. forward only allocates (torch.empty, torch.empty_like), reads shapes
  and calls cuda_extension.
- Inputs stay unchanged. float stays float. Launch on the stream, return cudaGetLastError().
- Answer with whole files only, each in a fenced block with its path on the line above.
"""

EXAMPLE = """\

Example, for y = x * weight:

kernels/scale.cu
```cuda
#include <cuda_runtime.h>

__global__ void scale_kernel(const float* x, const float* weight, float* y, int size, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) y[i] = x[i] * weight[i % width];
}

extern "C" int scale(const float* x, const float* weight, float* y, int size, int width,
                     cudaStream_t stream) {
    scale_kernel<<<(size + 255) / 256, 256, 0, stream>>>(x, weight, y, size, width);
    return cudaGetLastError();
}
```

model_new.py
```python
import cuda_extension
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x):
        y = torch.empty_like(x)
        cuda_extension.scale(x, self.weight, y, x.numel(), x.shape[-1])
        return y
```
"""

TASK = """\
Write ModelNew, and make it fast:

```python
{source}
```"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and the task that the answer is judged by. `key` is equal for equal questions."""

    key: str
    task: Task
    messages: tuple[Message, ...]
    before: Solution | None = None  # the program that is to be made better
    feedback: str = ""  # what was said of it

    def ids(self, template: Template) -> tuple[int, ...]:
        """The prompt in a student's tokens, open for the reply. Raises UsageError if its template won't."""
        return Conversation(template, Style.TOOLS, feeds_thinking=False).prompt(self.messages, ()).ids


def question_of_task(task: Task) -> Question:
    """A program for a whole task, from scratch; with a worked example."""
    asked = TASK.format(source=task.source.strip())
    return Question(key=task.digest, task=task, messages=_messages(FORM + EXAMPLE, asked))


def question_of_skill(skill: Skill) -> Question:
    """One of StitchCUDA's atomic skills: its own text holds a program, which is example enough."""
    question = Question(key=skill.digest, task=skill.task, messages=_messages(FORM, prompt(skill).strip()))
    if not isinstance(skill, Lesson):
        return question
    before = Solution(candidate=skill.before, verdict=skill.verdict_before)
    return replace(question, before=before, feedback=skill.feedback)


def _messages(system: str, user: str) -> tuple[Message, ...]:
    return Message(role=Role.SYSTEM, text=system.strip()), Message(role=Role.USER, text=user)
