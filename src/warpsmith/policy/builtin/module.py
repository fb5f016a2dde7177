"""The task's module, built from its source: on the meta device where that works, to allocate nothing."""

import inspect
import linecache
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from types import ModuleType

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from warpsmith.core import TaskError

MODULE_NAME = "task_reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The module in eval mode, and what the task passes to its forward."""

    model: nn.Module
    settings: Mapping[str, object]  # the constructor's arguments by name
    arguments: tuple[object, ...]


def build_reference(source: str, device: str, *, has_inputs: bool = True) -> Reference:
    """The task's `Model` and inputs on `device` ("meta" or "cpu"). Raises whatever the task's code raises.

    Without `has_inputs`, inputs say that they are on `device` and hold nothing.
    """
    namespace = _execute(source)
    with torch.device(device), torch.no_grad():
        model_class = _model_class(namespace)
        settings = _call(namespace, "get_init_inputs")
        model = model_class(*settings)
        with nullcontext() if has_inputs else FakeTensorMode(allow_non_fake_inputs=True):
            arguments = _call(namespace, "get_inputs")
    bound = inspect.signature(model_class).bind(*settings)
    bound.apply_defaults()
    return Reference(model=model.eval(), settings=bound.arguments, arguments=tuple(arguments))


def constructor_text(model: type[nn.Module]) -> str:
    """The constructor's parameters after self, as a signature that needs no names from the task's module.

    Annotations of builtin types stay; others, and defaults that are no literals, would not resolve elsewhere.
    """
    parameters = list(inspect.signature(model.__init__).parameters.values())[1:]
    return ", ".join(_signature_parts(parameters))


def default_text(default: object) -> str | None:
    """A default as source text, if it is a plain literal."""
    if default is None or isinstance(default, bool | int | float | str):
        return (
            f'float("{default}")' if isinstance(default, float) and default - default != 0 else repr(default)
        )
    if isinstance(default, tuple | list) and all(
        isinstance(item, bool | int | float | str) for item in default
    ):
        return repr(tuple(default))
    return None


def _signature_parts(parameters: list[inspect.Parameter]) -> list[str]:
    parts: list[str] = []
    has_star = False
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            has_star = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not has_star:
            parts.append("*")
            has_star = True
        parts.append(_parameter_text(parameter))
    return parts


def _parameter_text(parameter: inspect.Parameter) -> str:
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else stars
    kind = parameter.annotation
    annotated = isinstance(kind, type) and kind in (int, float, bool, str, list, tuple, dict)
    text = f"{stars}{parameter.name}" + (f": {kind.__name__}" if annotated else "")
    if parameter.default is parameter.empty:
        return text
    default = default_text(parameter.default)
    # A default that is no literal is still a default: the builtin's program does not read it.
    return f"{text} = {default}" if annotated else f"{text}={default}"


def _execute(source: str) -> ModuleType:
    module = ModuleType(MODULE_NAME)
    file = f"<{MODULE_NAME}>"
    # torch's tracers read the source of what they trace.
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), module.__dict__)
    return module


def _model_class(namespace: ModuleType) -> type[nn.Module]:
    model = getattr(namespace, "Model", None)
    if not (isinstance(model, type) and issubclass(model, nn.Module)):
        raise TaskError("the task's file defines no class Model(nn.Module)")
    return model


def _call(namespace: ModuleType, name: str) -> list[object]:
    function = getattr(namespace, name, None)
    if not callable(function):
        raise TaskError(f"the task's file defines no function {name}()")
    result = function()
    return list(result)
