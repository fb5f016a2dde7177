"""Whether a model can be run by slots: by running it."""

import torch

from warpsmith.policy.local.reading import Reader
from warpsmith.policy.local.slots import Slots, attending

TRIAL = (1, 2, 3, 0, 2, 1, 3, 0)
TOLERANCE = 0.05  # of the largest logit, for other kernels in bfloat16; another model is off by far more


@torch.inference_mode()
def tried(reader: Reader) -> float:
    """Bytes of cache that a token takes; the model must say by `slots` what it says without.

    Raises NotImplementedError if it doesn't, and whatever it raises itself as that.
    """
    model = reader.model
    ids = torch.tensor([TRIAL], device=model.device)
    slots = Slots(1, len(TRIAL))
    positions = torch.arange(len(TRIAL), device=model.device)[None]
    mask = torch.ones((1, 1, 1, len(TRIAL)), dtype=torch.bool, device=model.device)
    expected = model(input_ids=ids, use_cache=False).logits[:, -1].float()
    rows = torch.zeros(1, dtype=torch.long, device=model.device)
    try:
        with attending(model):
            slots.at(rows, positions[:, :-1], 0)
            reader.read(ids[:, :-1], slots, attention_mask=None, position_ids=positions[:, :-1])
            slots.at(rows, positions[:, -1:], len(TRIAL), first=1)
            told, _ = reader.logits(ids[:, -1:], slots, attention_mask=mask, position_ids=positions[:, -1:])
        bytes_per_slot = slots.bytes_per_slot
    except (RuntimeError, TypeError, ValueError, AttributeError, LookupError) as error:
        raise NotImplementedError(f"{type(error).__name__}: {' '.join(str(error).split()):.200}") from error
    apart = float((told.float() - expected).abs().max())
    if not apart <= TOLERANCE * float(expected.abs().max()):
        raise NotImplementedError(f"logits are off by {apart:.3g} of {float(expected.abs().max()):.3g}")
    return bytes_per_slot
