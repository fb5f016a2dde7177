"""What each of a reference's operators does with its operands, seen in one run: nothing, or nothing used."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from warpsmith.judge.names import names
from warpsmith.judge.operators import Operator, name_of

# They make, copy or view memory, or bring a number to Python.
FREE = names(
    "empty empty_like empty_strided new_empty new_empty_strided zeros zeros_like new_zeros zero_ ones "
    "ones_like new_ones full full_like new_full fill_ arange scalar_tensor clone copy_ _to_copy eye "
    "_unsafe_view _reshape_alias resize_ set_ lift lift_fresh detach detach_ alias _local_scalar_dense "
    "linspace tril_indices triu_indices is_pinned lift_fresh_copy contiguous cat stack constant_pad_nd"
)
SINKS = names("_local_scalar_dense is_nonzero equal")  # what they read decides what Python does next
PRODUCTS = names("mm addmm bmm baddbmm convolution _convolution mv addmv dot")
FEW = 64  # elements, below which an operator is not worth a word
SPARSE = 0.1  # share of elements that are not zero


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """Where an operator is called from, as a reader of the task finds it."""

    line: int  # of the task's file; 0 if it is not known
    module: str  # path of the innermost module
    operator: str

    @property
    def text(self) -> str:
        where = [part for part in (self.module, f"line {self.line}" if self.line else "") if part]
        return f"{self.operator} ({', '.join(where)})" if where else self.operator


@dataclass(slots=True)
class Facts:
    """What all runs of the operators at one site have in common."""

    num_runs: int = 0
    num_elements: int = 0  # written, of all runs
    is_identity: bool = True
    is_constant: bool = True  # though an operand is not
    is_random: bool = False
    is_dead: bool = True
    can_be_skipped: bool = True
    is_inexact: bool = True  # gives floating-point tensors
    density: float = 1.0  # the smallest share of elements of an operand that are not zero
    is_diagonal: bool = False


@dataclass(slots=True)
class Trace:
    """One run of the reference."""

    sites: dict[Site, Facts] = field(default_factory=dict)  # in the order of their first run
    order: list[Site] = field(default_factory=list)  # of each operator that computed, in turn


def traced(run: Any, model: torch.nn.Module, source: Path) -> Trace:
    """What `run` does; `run` gives its outputs."""
    recorder = Recorder(model, source)
    with recorder:
        outputs = run()
    recorder.mark_live(tree_iter(outputs))
    return Trace(sites=recorder.sites, order=recorder.order)


class Sites:
    """Finds out where an operator was called from."""

    def __init__(self, model: torch.nn.Module, source: Path) -> None:
        self._source = str(source)
        self._paths = {id(module): path for path, module in model.named_modules() if path}

    def of(self, operator: Operator, frame: FrameType | None) -> Site:
        line, module = 0, ""
        while frame is not None and not (line and module):
            if not line and frame.f_code.co_filename == self._source:
                line = frame.f_lineno
            if not module and frame.f_code.co_name == "_call_impl":
                module = self._paths.get(id(frame.f_locals.get("self")), "")
            frame = frame.f_back
        return Site(line=line, module=module, operator=name_of(operator))


class Recorder(TorchDispatchMode):
    """Looks at operands and results of each operator that computes."""

    def __init__(self, model: torch.nn.Module, source: Path) -> None:
        TorchDispatchMode.__init__(self)
        self.sites: dict[Site, Facts] = {}
        self.order: list[Site] = []
        self._where = Sites(model, source)
        self._steps: list[tuple[Facts | None, frozenset[int], frozenset[int]]] = []
        self._sinks: set[int] = set()
        self._names: dict[int, int] = {}
        self._held: list[StorageWeakRef] = []  # keeps addresses from being used again, not data
        for tensor in (*model.buffers(), *model.parameters()):
            self._sinks.add(self._piece(tensor))

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its whole compiler, which takes seconds

    def __torch_dispatch__(
        self, func: Operator, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        is_free = not computes(func)
        given = list(tensors_of((args, kwargs)))
        before = [tensor.clone() for tensor in given] if func._schema.is_mutable and not is_free else given
        out = func(*args, **kwargs)
        made = list(tensors_of(out))
        facts = None
        if not is_free:
            self.order.append(self._where.of(func, sys._getframe()))
            facts = self.sites.setdefault(self.order[-1], Facts())
            _note(facts, func, before, made)
        reads = frozenset(map(self._piece, given))
        self._steps.append((facts, reads, frozenset(map(self._piece, made))))
        if name_of(func) in SINKS:
            self._sinks.update(reads)
        return out

    def mark_live(self, outputs: Iterable[object]) -> None:
        """Say of each site whether anything that it writes is read on the way to `outputs`."""
        live = {self._piece(tensor) for tensor in outputs if isinstance(tensor, torch.Tensor)} | self._sinks
        for facts, reads, writes in reversed(self._steps):
            if writes & live:
                live |= reads
                if facts is not None:
                    facts.is_dead = False

    def _piece(self, tensor: torch.Tensor) -> int:
        reference = StorageWeakRef(tensor.untyped_storage())
        if reference.cdata not in self._names:
            self._names[reference.cdata] = len(self._names)
            self._held.append(reference)
        return self._names[reference.cdata]


def computes(operator: Operator) -> bool:
    """Whether an operator does more than make, copy or view memory."""
    return not (operator.is_view or operator.namespace in ("prim", "prims") or name_of(operator) in FREE)


def tensors_of(tree: object) -> Iterator[torch.Tensor]:
    return (leaf for leaf in tree_iter(tree) if isinstance(leaf, torch.Tensor))


def _note(facts: Facts, operator: Operator, given: list[torch.Tensor], made: list[torch.Tensor]) -> None:
    facts.num_runs += 1
    facts.num_elements += sum(tensor.numel() for tensor in made)
    facts.is_random |= torch.Tag.nondeterministic_seeded in operator.tags
    facts.is_inexact &= bool(made) and all(tensor.is_floating_point() for tensor in made[:1])
    rivals = [tensor for tensor in given if made and _is_like(tensor, made[0])]
    facts.can_be_skipped &= len(made) == 1 and bool(rivals) and rivals[0] is given[0]
    facts.is_identity = facts.is_identity and any(_is_equal(tensor, made[0]) for tensor in rivals)
    facts.is_constant = facts.is_constant and _loses_all(given, made)
    if name_of(operator) in PRODUCTS:
        for tensor in given:
            _note_operand(facts, tensor)


def _note_operand(facts: Facts, tensor: torch.Tensor) -> None:
    if tensor.numel() < FEW:
        return
    density = float(torch.count_nonzero(tensor)) / tensor.numel()
    if 0.0 < density < facts.density:
        facts.density = density
        is_square = tensor.dim() == 2 and tensor.shape[0] == tensor.shape[1]
        on_diagonal = float(torch.count_nonzero(tensor.diagonal())) if is_square else -1.0
        facts.is_diagonal = on_diagonal == round(density * tensor.numel())


def _is_like(tensor: torch.Tensor, made: torch.Tensor) -> bool:
    """Of the same elements, but for dimensions of size one."""
    squeezed = [[size for size in one.shape if size != 1] for one in (tensor, made)]
    return tensor.dtype == made.dtype and squeezed[0] == squeezed[1]


def _is_equal(tensor: torch.Tensor, made: torch.Tensor) -> bool:
    return made.numel() > 1 and torch.equal(tensor.reshape(-1), made.reshape(-1))


def _loses_all(given: list[torch.Tensor], made: list[torch.Tensor]) -> bool:
    """Whether a result is the same number everywhere although an operand is not."""
    if len(made) != 1 or made[0].numel() < 2 or not made[0].is_floating_point():
        return False
    return _is_flat(made[0]) and any(tensor.numel() > 1 and not _is_flat(tensor) for tensor in given)


def _is_flat(tensor: torch.Tensor) -> bool:
    return bool((tensor == tensor.reshape(-1)[0]).all()) if tensor.numel() else True
