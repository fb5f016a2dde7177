"""Students that say what they are told to, and judges that know their programs."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from warpsmith.agent.optimize import Bench
from warpsmith.core import BuildFailed, Task
from warpsmith.device import select_device
from warpsmith.learn.answering.reply import read_reply
from warpsmith.learn.demonstrations.reader import Reader
from warpsmith.policy.local.tokens import TokenOutput
from warpsmith.sandbox import pick
from warpsmith.toolchain import Build

SOURCE = "class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
KERNEL = 'extern "C" int add(const float* x, cudaStream_t stream) { return 0; }'
MODULE = "import cuda_extension\nclass ModelNew:\n    def forward(self, x):\n        cuda_extension.{name}(x)"


def reply(name="add", kernel=KERNEL):
    return f"kernels/k.cu\n```cuda\n{kernel}\n```\n\nmodel_new.py\n```python\n{MODULE.format(name=name)}\n```"


def task(name="one"):
    return Task(task_id=name, source=f"{SOURCE}# {name}\n", provenance="test")


class Judge:
    """Answers by a table from what a program's module calls; what it raises is raised."""

    held_s = 0.0

    def __init__(self, verdicts):
        self.verdicts = verdicts
        self.asked = []

    def _of(self, candidate):
        text = candidate.text("model_new.py")
        verdict = next((v for name, v in self.verdicts.items() if f".{name}(" in text), BuildFailed(log="no"))
        if isinstance(verdict, BaseException):
            raise verdict
        return verdict

    def build(self, candidate):
        verdict = self._of(candidate)
        return verdict if isinstance(verdict, BuildFailed) else object.__new__(Build)

    def measure(self, candidate):
        self.asked.append(candidate.digest)
        return self._of(candidate)


class Says:
    """Draws the texts in turn, for whatever prompts; "..." at the end of one: cut there."""

    def __init__(self, template, *texts):
        self.template = template
        self.texts = texts
        self.seeds = []

    def generate(self, prompts, sampling):
        self.seeds.append(sampling.seed)
        return tuple(self._output(self.texts[row % len(self.texts)]) for row in range(len(prompts)))

    def _output(self, text):
        ids = self.template.ids(text.removesuffix("..."))
        ids = ids if text.endswith("...") else [*ids, self.template.end_of_turn[0]]
        return TokenOutput(ids=tuple(ids), logprobs=(-0.5,) * len(ids), is_cut=text.endswith("..."))


@pytest.fixture(scope="session")
def talk():
    """How tests make tasks, replies and the programs in them, and who says such replies."""

    def program(*args, **how):
        return read_reply(reply(*args, **how), is_cut=False).candidate

    return SimpleNamespace(reply=reply, task=task, program=program, says=Says, kernel=KERNEL)


@pytest.fixture(scope="session")
def template(base):
    return Reader.of(base).template


@pytest.fixture
def judged():
    """`opened` for a court of fake judges, which know these verdicts."""

    def of(verdicts):
        judge = Judge(verdicts)

        @contextmanager
        def opened(given):
            if given.task_id in verdicts:
                raise verdicts[given.task_id]
            yield Bench(
                task=given,
                judge=judge,
                sandbox=pick("process"),
                device=select_device("cpu"),
                environment={},
            )

        return opened, judge

    return of
