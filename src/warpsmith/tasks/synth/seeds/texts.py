"""Walks the modules of transformers by the text of its files; none of them is imported or executed."""

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from warpsmith.core import EnvironmentMissing

FAMILIES = (
    "llama",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "qwen3_next",
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3n",
    "phi",
    "phi3",
    "phimoe",
    "gpt2",
    "gpt_neo",
    "gpt_neox",
    "gpt_oss",
    "bloom",
    "falcon",
    "opt",
    "olmo",
    "olmo2",
    "olmoe",
    "cohere",
    "cohere2",
    "deepseek_v2",
    "deepseek_v3",
    "glm",
    "glm4",
    "glm4_moe",
    "granite",
    "granitemoe",
    "nemotron",
    "stablelm",
    "starcoder2",
    "mamba",
    "mamba2",
    "recurrent_gemma",
    "lfm2",
    "smollm3",
    "llama4",
    "bert",
    "roberta",
    "albert",
    "distilbert",
    "deberta_v2",
    "modernbert",
    "mpnet",
    "squeezebert",
    "funnel",
    "fnet",
    "nystromformer",
    "convbert",
    "t5",
    "bart",
    "switch_transformers",
    "whisper",
    "wav2vec2",
    "vit",
    "deit",
    "beit",
    "dinov2",
    "swin",
    "swinv2",
    "convnext",
    "convnextv2",
    "clip",
    "siglip",
    "mobilevit",
    "mobilenet_v2",
    "resnet",
    "poolformer",
    "segformer",
    "focalnet",
)
"""Models whose modules are looked at: enough for variety, few enough to import within the minute."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a constructor or of forward."""

    name: str
    is_required: bool


@dataclass(frozen=True, kw_only=True)
class ModuleText:
    """What the text of a class tells."""

    module: str  # as one would import it from
    name: str
    bases: tuple[str, ...]
    init: tuple[Parameter, ...]
    forward: tuple[Parameter, ...]
    reads: frozenset[str]  # attributes of the configuration, its own and those of the classes it is made of
    config: "ConfigText | None"
    shape: str  # equal for classes whose texts differ in the model's name alone


@dataclass(frozen=True, kw_only=True)
class ConfigText:
    """A configuration class: where it is, and what it can be given."""

    module: str
    name: str
    fields: frozenset[str]


def module_texts(families: tuple[str, ...]) -> Iterator[ModuleText]:
    """Every class with a forward of these models. Raises EnvironmentMissing without transformers."""
    root = _root()
    for family in families:
        folder = root / "models" / family
        for path in sorted(folder.glob("modeling_*.py")):
            yield from _File(path, f"transformers.models.{family}.{path.stem}").texts()
    for path in (root / "activations.py", root / "pytorch_utils.py"):
        yield from _File(path, f"transformers.{path.stem}").texts()


def release() -> str:
    """Which transformers is installed."""
    _root()
    return version("transformers")


def has_family(family: str) -> bool:
    """Whether it has a model of this name."""
    return family.isidentifier() and (_root() / "models" / family).is_dir()


def _root() -> Path:
    spec = find_spec("transformers")
    if spec is None or spec.origin is None:
        raise EnvironmentMissing("transformers is not installed; pip install 'transformers>=5.8'")
    return Path(spec.origin).parent


class _File:
    """One file of modules."""

    def __init__(self, path: Path, module: str) -> None:
        self._path, self._module = path, module
        self._tree = ast.parse(path.read_text(encoding="utf-8"))
        self._classes = {node.name: node for node in self._tree.body if isinstance(node, ast.ClassDef)}
        self._bare = {name: _bare(node) for name, node in self._classes.items()}
        self._own = {name: self._own_reads(name) for name in self._classes}
        self._uses = {
            name: sorted(set(re.findall(r"\w+", text)) & self._classes.keys())
            for name, text in self._bare.items()
        }

    def texts(self) -> Iterator[ModuleText]:
        for name, node in self._classes.items():
            forward = self._method(name, "forward")
            if forward is not None:
                yield ModuleText(
                    module=self._module,
                    name=name,
                    bases=tuple(ast.unparse(base) for base in node.bases),
                    init=_parameters(self._method(name, "__init__")),
                    forward=_parameters(forward),
                    reads=self._reads(name, set()),
                    config=self._config(name),
                    shape=self._shape(name),
                )

    def _method(self, class_name: str, name: str) -> ast.FunctionDef | None:
        """Its own, or that of a base in the same file."""
        node = self._classes.get(class_name)
        if node is None:
            return None
        own = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == name), None)
        if own is not None:
            return own
        bases = (self._method(ast.unparse(base), name) for base in node.bases)
        return next((found for found in bases if found is not None), None)

    def _reads(self, name: str, seen: set[str]) -> frozenset[str]:
        """What it reads of its configuration, and what the classes of this file read that it names."""
        seen.add(name)
        inner = (self._reads(other, seen) for other in self._uses[name] if other not in seen)
        return self._own[name].union(*inner)

    def _own_reads(self, name: str) -> frozenset[str]:
        text = self._bare[name]
        own = set(re.findall(r"\bconfig\.(\w+)", text)) | set(
            re.findall(r"getattr\((?:self\.)?config, '(\w+)'", text)
        )
        if "ROPE_INIT_FUNCTIONS" in text or "rope" in text:
            own |= {"hidden_size", "num_attention_heads", "head_dim", "max_position_embeddings"}
        return frozenset(own)

    def _config(self, class_name: str) -> ConfigText | None:
        """The configuration that its constructor's annotation names; else the one whose name fits best."""
        init = self._method(class_name, "__init__")
        if init is None or all(argument.arg != "config" for argument in init.args.args):
            return None
        annotation = next(one.annotation for one in init.args.args if one.arg == "config")
        named = re.findall(r"\w+Config\b", ast.unparse(annotation)) if annotation is not None else []
        fitting = sorted(self._configs, key=lambda name: -_common(name, class_name))
        name = next((name for name in (*named, *fitting) if name in self._configs), None)
        return self._configs[name] if name is not None else None

    @cached_property
    def _configs(self) -> dict[str, ConfigText]:
        found: dict[str, ConfigText] = {}
        for path in sorted(self._path.parent.glob("configuration_*.py")):
            module = f"{self._module.rpartition('.')[0]}.{path.stem}"
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and node.name.endswith("Config"):
                    found[node.name] = ConfigText(module=module, name=node.name, fields=_fields(node))
        return found

    def _shape(self, name: str) -> str:
        """A digest of its text without the model's name."""
        prefix = _prefix(tuple(self._classes))
        text = self._bare[name].replace(prefix, "") if prefix else self._bare[name]
        return hashlib.sha256(text.encode()).hexdigest()


def _bare(node: ast.ClassDef) -> str:
    """Its text without docstrings and comments."""
    copy = ast.parse(ast.unparse(node)).body[0]
    for one in ast.walk(copy):
        if (
            isinstance(one, ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(one, clean=False) is not None
        ):
            one.body = one.body[1:] or [ast.Pass()]
    return ast.unparse(copy)


def _prefix(names: tuple[str, ...]) -> str:
    """What most of a file's classes begin with: the model's name."""
    model = next((name for name in names if name.endswith("PreTrainedModel")), "")
    return model.removesuffix("PreTrainedModel")


def _common(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _parameters(function: ast.FunctionDef | None) -> tuple[Parameter, ...]:
    if function is None:
        return ()
    spec = function.args
    names = [argument.arg for argument in (*spec.posonlyargs, *spec.args)][1:]
    num_required = len(names) - len(spec.defaults)
    found = [Parameter(name=name, is_required=place < num_required) for place, name in enumerate(names)]
    keyed = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    return (*found, *(Parameter(name=one.arg, is_required=default is None) for one, default in keyed))


def _fields(node: ast.ClassDef) -> frozenset[str]:
    fields = {
        one.target.id
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }
    init = next(
        (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None
    )
    return frozenset(fields | {parameter.name for parameter in _parameters(init)})
