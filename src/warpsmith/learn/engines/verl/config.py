"""What a recipe leaves open when many GPUs carry it out."""

from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import UsageError

ROLLOUTS = ("vllm", "sglang")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Machines, models and sizes. Raises UsageError at construction for what cannot be shared out."""

    model: Path  # the student: a folder of Hugging Face's files
    critic: Path | None = None  # one that was fitted before; None: the student's body with a fresh head
    nodes: int = 1
    gpus: int = 8  # of each node, that verl trains and draws with; judges need others
    rollout: str = "vllm"  # what draws
    prompt_tokens: int = 8_192  # of the task and the agent's guide
    response_tokens: int = 24_576  # of all that follows, in all turns
    prompts_per_step: int = 128
    samples_per_prompt: int = 1
    tensor_parallel: int = 1  # GPUs that share one copy of the model while drawing
    sequence_parallel: int = 1  # GPUs that share one sample while training
    num_workers: int = 8  # processes in which episodes run

    def __post_init__(self) -> None:
        if self.rollout not in ROLLOUTS:
            raise UsageError(f"unknown rollout {self.rollout!r}; choose one of {', '.join(ROLLOUTS)}")
        counts = {
            name: getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in ("model", "critic", "rollout")
        }
        for name, count in counts.items():
            if count < 1:
                raise UsageError(f"{name} must be 1 or more, not {count}")
        for name in ("tensor_parallel", "sequence_parallel"):
            if self.num_gpus % counts[name]:
                raise UsageError(f"{self.num_gpus} GPUs cannot be shared out by {name} {counts[name]}")

    @property
    def num_gpus(self) -> int:
        return self.nodes * self.gpus

    @property
    def num_replicas(self) -> int:
        """That each train on samples of their own."""
        return self.num_gpus // self.sequence_parallel

    @property
    def context_tokens(self) -> int:
        """The longest sample."""
        return self.prompt_tokens + self.response_tokens

    def check_divides(self, num_minibatches: int) -> None:
        """Raises UsageError unless a batch falls into that many parts, and each onto all replicas."""
        replicas = self.num_replicas
        part, left = divmod(self.prompts_per_step, num_minibatches)
        if left or part * self.samples_per_prompt % replicas:
            raise UsageError(
                f"{self.prompts_per_step} prompts of {self.samples_per_prompt} samples cannot be shared out "
                f"to {num_minibatches} steps of the optimiser on {replicas} replicas; let the samples of "
                f"each be a multiple of {replicas}"
            )
