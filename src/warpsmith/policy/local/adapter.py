"""Low-rank adapters (LoRA, arXiv 2106.09685) inside a model, by peft, and in peft's own files."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import Tensor

from warpsmith.core import UsageError

PACKAGES = ("peft", "accelerate")
CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
NAME = "default"  # what peft calls an adapter that nobody named
PREFIX = "base_model.model."  # before each name in peft's files
OTHER_FORMS = ("use_dora", "use_qalora", "use_bdlora", "alora_invocation_tokens", "trainable_token_indices")
BASE_LINK = "base"  # beside an adapter's files: its base, where the path in them does not lead to it


def is_adapter(folder: Path) -> bool:
    return (folder / CONFIG).is_file() and not (folder / "config.json").is_file()


def base_of(folder: Path) -> Path:
    """The folder of the model that an adapter is for. Raises UsageError if it is not on this machine."""
    told = str(_config(folder).get("base_model_name_or_path") or "")
    for place in (Path(told), folder / told, folder / BASE_LINK):
        if told and (place / "config.json").is_file():
            return place.resolve()
    raise UsageError(
        f"{folder} is an adapter for {told or 'a model that it does not name'}, which is not there; "
        f"link that model's folder to {folder / BASE_LINK}"
    )


def attach(model: Any, config: Any) -> None:
    """Put an adapter of peft's `config` into `model`, in float32; all else is frozen.

    Raises UsageError if no layer has such a name, or another adapter is there.
    """
    from peft import inject_adapter_in_model

    if is_attached(model):
        raise UsageError("the model has an adapter already")
    try:
        inject_adapter_in_model(config, model)
    except ValueError as error:
        raise UsageError(f"{type(model).__name__}: {' '.join(str(error).split()):.300}") from error
    for parameter in trained(model):
        parameter.data = parameter.data.float()  # small steps of an optimiser vanish in bfloat16


def is_attached(model: Any) -> bool:
    return NAME in (getattr(model, "peft_config", None) or {})


def trained(model: Any) -> list[Any]:
    """The parameters of the adapter, and of heads that are trained whole."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def write(model: Any, folder: Path) -> None:
    """The adapter alone, bit by bit."""
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    state = get_peft_model_state_dict(model, adapter_name=NAME, save_embedding_layers=False)
    tensors = {PREFIX + name: tensor.detach().contiguous() for name, tensor in state.items()}
    save_file(tensors, str(folder / WEIGHTS), metadata={"format": "pt"})
    model.peft_config[NAME].save_pretrained(str(folder))


def restore(model: Any, folder: Path) -> None:
    """Make the values of the attached adapter those in `folder`. Raises UsageError if they don't fit."""
    from peft import get_peft_model_state_dict, set_peft_model_state_dict
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        state = {name.removeprefix(PREFIX): value for name, value in load_file(str(folder / WEIGHTS)).items()}
        wanted = get_peft_model_state_dict(model, adapter_name=NAME, save_embedding_layers=False)
        _check_same(wanted, state, folder)
        set_peft_model_state_dict(model, state, adapter_name=NAME)
    except (OSError, SafetensorError, RuntimeError) as error:
        raise UsageError(f"{folder}: its adapter cannot be read: {error!s:.200}") from error


def read(model: Any, folder: Path) -> None:
    """Attach what `write`, or peft, left in `folder`. Raises UsageError for another kind of adapter."""
    from peft import LoraConfig

    told = _config(folder)
    if told.get("peft_type") != "LORA":
        raise UsageError(f"{folder} is an {told.get('peft_type')!s:.40} adapter; LoRA alone is read here")
    others = [name for name in OTHER_FORMS if told.get(name)]
    if others:
        raise UsageError(f"{folder} is a LoRA with {', '.join(others)}, which is not read here")
    try:
        config = LoraConfig.from_pretrained(str(folder))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{folder / CONFIG} cannot be read: {error!s:.200}") from error
    config.inference_mode = False
    attach(model, config)
    restore(model, folder)


def merged_state(model: Any) -> dict[str, Tensor]:
    """The weights of a model without an adapter that computes the same, by the names that it would have.

    Sums are rounded to the base's precision. The model itself stays as it is.
    """
    state = {}
    for name, tensor in model.state_dict().items():
        owner, _, leaf = name.rpartition(".")
        if ".lora_" in name or owner.endswith("original_module"):
            continue
        value = tensor.detach()
        if owner.endswith(".base_layer"):
            owner = owner.removesuffix(".base_layer")
            if leaf == "weight":
                delta = model.get_submodule(owner).get_delta_weight(NAME)
                value = (value.float() + delta.float()).to(value.dtype)
        owner = owner.removesuffix(f".modules_to_save.{NAME}")
        state[f"{owner}.{leaf}" if owner else leaf] = value
    return state


def write_merged(model: Any, folder: Path) -> None:
    """A model without an adapter, that computes the same but for rounding."""
    import torch

    with torch.device("meta"):
        twin = type(model)(model.config)
    twin.load_state_dict(merged_state(model), strict=False, assign=True)
    twin.tie_weights()
    lacking = [name for name, parameter in twin.named_parameters() if parameter.is_meta]
    assert not lacking, lacking
    twin.generation_config = getattr(model, "generation_config", None)
    twin.save_pretrained(folder)


def _check_same(wanted: dict[str, Tensor], found: dict[str, Tensor], folder: Path) -> None:
    def shapes(state: dict[str, Tensor]) -> set[tuple[str, tuple[int, ...]]]:
        return {(name, tuple(value.shape)) for name, value in state.items()}

    apart: Iterable[tuple[str, tuple[int, ...]]] = shapes(wanted) ^ shapes(found)
    for name, shape in sorted(apart):
        raise UsageError(f"{folder}: its adapter does not fit the model: {name} {list(shape)}")


def _config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error!s:.200}") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} is not an adapter's configuration")
    return data
