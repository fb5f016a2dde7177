"""A model from a folder: Hugging Face's files, an adapter for such ones, or GGUF.

Nothing is downloaded, no code of it is run.
"""

import os
import struct
import threading
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from warpsmith.core import EnvironmentMissing, InfraError, UsageError
from warpsmith.device import Device, select_device
from warpsmith.policy.local import adapter
from warpsmith.policy.local.template import Template

PACKAGES = ("transformers", "safetensors")
GGUF_PACKAGES = ("gguf", "accelerate")

# What transformers, tokenizers, safetensors and gguf raise for files that are not what they should be.
BROKEN = (
    OSError,
    ValueError,
    RuntimeError,
    LookupError,
    TypeError,
    AttributeError,
    EOFError,
    ImportError,
    struct.error,
)


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True, eq=False)
class Checkpoint:
    """A model in memory. Conversations share it, and take turns by its lock."""

    model: Any
    template: Template
    device: Device  # where it runs
    context_tokens: int
    stop_ids: frozenset[int]
    turn: threading.Lock = field(default_factory=threading.Lock)


_LOADED: WeakValueDictionary[tuple[Path, str | None], Checkpoint] = WeakValueDictionary()
_LOADING = threading.Lock()


def load(path: str) -> Checkpoint:
    """The model at `path`, read once for all who hold it at the same time.

    On a GPU in bfloat16 if torch can use one, else in float32 on the CPU: without the instructions for it,
    bfloat16 takes 5 times as long there.

    Raises:
        UsageError: there is no such model, or its files are broken or don't fit each other.
        EnvironmentMissing: the extra `local` is not installed.
        InfraError: it does not fit into memory.
    """
    place = located(path)
    _check_packages(PACKAGES if place[1] is None else (*PACKAGES, *GGUF_PACKAGES))
    if adapter.is_adapter(place[0]):
        _check_packages(adapter.PACKAGES, extra="lora")
    with _LOADING:
        checkpoint = _LOADED.get(place)
        if checkpoint is None:
            checkpoint = _LOADED[place] = _read(*place)
        return checkpoint


def located(path: str) -> tuple[Path, str | None]:
    """(folder, name of the GGUF file in it or None). Raises UsageError, naming what was found instead."""
    try:
        return _located(path)
    except UsageError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # too long, a null byte, no such user
        raise UsageError(f"{path!r:.200} cannot be looked for: {_line(error):.100}") from error


def _located(path: str) -> tuple[Path, str | None]:
    found = Path(path).expanduser().resolve()
    if found.suffix == ".gguf" and found.is_file():
        return found.parent, found.name
    if not found.is_dir():
        what = "is neither a folder nor a .gguf file" if found.exists() else "does not exist"
        raise UsageError(f"{path} {what}; write local:DIR with a checkpoint's folder, or local:FILE.gguf")
    if (found / "config.json").is_file() or adapter.is_adapter(found):
        return found, None
    files = sorted(file.name for file in found.glob("*.gguf"))
    if len(files) > 1:
        raise UsageError(
            f"{path} holds several models; write local:{path}/NAME with one of {', '.join(files)}"
        )
    if not files:
        raise UsageError(
            f"{path} is no checkpoint: it holds neither config.json, adapter_config.json nor a .gguf file"
        )
    return found, files[0]


def out_of_memory(error: BaseException) -> bool:
    """Whether it is that: for the GPU torch has a class, for the host only words."""
    text = str(error).lower()
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ in ("OutOfMemoryError", "AcceleratorOutOfMemoryError")
        or (isinstance(error, RuntimeError) and ("allocate memory" in text or "out of memory" in text))
    )


def _check_packages(names: tuple[str, ...], extra: str = "local") -> None:
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise EnvironmentMissing(f"{', '.join(missing)} not installed; pip install 'warpsmith[{extra}]'")


def _read(folder: Path, gguf: str | None) -> Checkpoint:
    name = str(folder if gguf is None else folder / gguf)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # it warns at every fork otherwise
    import torch
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    tokenizer = _tokenizer(folder, gguf, name)
    template = Template(tokenizer, name)
    device = select_device("auto" if torch.cuda.is_available() else "cpu")
    try:
        model = _model(folder, gguf, name, device).to(device.kind).eval()
    except (RuntimeError, MemoryError) as error:
        if out_of_memory(error):
            raise InfraError(
                f"{name} does not fit into the memory of {device.name}: {_line(error)}"
            ) from error
        raise
    _check_fit(tokenizer, model, name)
    context = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if not isinstance(context, int):
        raise UsageError(f"{name}: config.json does not say max_position_embeddings, how long a text may be")
    return Checkpoint(
        model=model,
        template=template,
        device=device,
        context_tokens=context,
        stop_ids=_stop_ids(model, tokenizer, template),
    )


def _options(gguf: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    return options if gguf is None else options | {"gguf_file": gguf}


def _tokenizer(folder: Path, gguf: str | None, name: str) -> Any:
    from transformers import AutoTokenizer

    # Without these files transformers makes an empty tokenizer from the config, and says nothing.
    known = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")
    if gguf is None and not any((folder / file).is_file() for file in known):
        raise UsageError(f"{name} has no tokenizer; copy its tokenizer.json into the folder")
    try:
        return AutoTokenizer.from_pretrained(str(folder), **_options(gguf))
    except BROKEN as error:
        raise UsageError(f"{name}: its tokenizer cannot be read: {_line(error)}") from error


def _model(folder: Path, gguf: str | None, name: str, device: Device) -> Any:
    if not adapter.is_adapter(folder):
        return _whole(folder, gguf, name, device)
    base = adapter.base_of(folder)
    model = _whole(base, None, str(base), device)
    adapter.read(model, folder)
    for parameter in adapter.trained(model):  # as a trainer's autocast would have them, at each step anew
        parameter.data = parameter.data.to(model.dtype)
    return model


def _whole(folder: Path, gguf: str | None, name: str, device: Device) -> Any:
    import torch
    import transformers
    from safetensors import SafetensorError

    options = _options(gguf)
    if gguf is not None and hasattr(
        transformers, "GgufConfig"
    ):  # newer ones keep the blocks packed, which is slow
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    try:
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            str(folder),
            dtype=torch.bfloat16 if device.kind == "cuda" else torch.float32,
            output_loading_info=True,
            **options,
        )
    except (*BROKEN, SafetensorError) as error:
        if out_of_memory(error):
            raise
        raise UsageError(f"{name}: its weights cannot be read: {_line(error)}") from error
    lacking = sorted(info["missing_keys"]) + sorted(str(key) for key in info["mismatched_keys"])
    if lacking:  # transformers would go on with random ones
        raise UsageError(
            f"{name} lacks {len(lacking)} weights, or has them in another shape: {lacking[0]}, …"
        )
    return model


def _check_fit(tokenizer: Any, model: Any, name: str) -> None:
    rows = model.get_input_embeddings().weight.shape[0]
    highest = max(tokenizer.get_vocab().values(), default=-1)
    if highest >= rows:
        raise UsageError(
            f"{name}: the tokenizer has ids up to {highest}, but the model embeddings for {rows}; "
            "they don't belong together"
        )


def _stop_ids(model: Any, tokenizer: Any, template: Template) -> frozenset[int]:
    """Each end that config, tokenizer or template know: a base model's own differs from a chat's."""
    own = model.generation_config.eos_token_id
    ids = {*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id}
    if template.end_of_turn is not None:
        ids.add(template.end_of_turn[0])
    return frozenset(int(token) for token in ids if token is not None)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
