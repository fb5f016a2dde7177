"""`python -m warpsmith.tasks.synth.skills.helper`: runs parts of one task on the meta device.

It is a stranger's code that runs here, so the process is thrown away afterwards. If that code answers in our
place, it gets a contract that no program can keep: the judge goes by the task.
"""

from typing import Any

import torch

from warpsmith.judge.channel import serve
from warpsmith.judge.oracle.record import record
from warpsmith.tasks.synth.skills.protocol import Answer, Call, Looked, NoLook, Tensor


def looked(source: str) -> Looked | NoLook:
    """What `source`'s model takes and gives."""
    try:
        return _looked(source)
    except Exception as error:  # noqa: BLE001 - whatever a stranger's code raises
        return NoLook(why=f"{type(error).__name__}: {error}".splitlines()[0][:200])


@torch.no_grad()
def _looked(source: str) -> Looked | NoLook:
    task: dict[str, Any] = {"__name__": "task"}
    exec(compile(source, "task.py", "exec"), task)  # what this process is for
    with torch.device("meta"):
        model = task["Model"](*task["get_init_inputs"]()).eval()
        inputs = task["get_inputs"]()
        parameters = {
            name: value for name, value in model.state_dict(keep_vars=True).items() if torch.is_tensor(value)
        }
        answers: list[Any] = []
        if not all(torch.is_tensor(one) for one in inputs):
            return NoLook(why="it takes something else than tensors")
        done = record(lambda: answers.append(model(*inputs)), [*inputs, *parameters.values()])
    if not torch.is_tensor(answers[0]):
        return NoLook(why="it gives something else than one tensor")
    return Looked(
        inputs=tuple(_tensor("", one) for one in inputs),
        parameters=tuple(_tensor(name, one) for name, one in parameters.items()),
        output=_tensor("", answers[0]),
        num_launches=len(done.launches),
    )


def _tensor(name: str, one: torch.Tensor) -> Tensor:
    return Tensor(
        name=name,
        shape=tuple(one.shape),
        dtype=str(one.dtype).removeprefix("torch."),
        is_contiguous=one.is_contiguous(),
    )


def main() -> None:
    serve(Call, lambda call: Answer(nonce=call.nonce, answer=looked(call.request.source)))


if __name__ == "__main__":
    main()
