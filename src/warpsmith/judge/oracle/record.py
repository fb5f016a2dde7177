"""What the reference does, operator by operator: launches, the memory they read and write, library FLOPs."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_iter
from torch.utils.flop_counter import flop_registry

from warpsmith.judge.clock.model import Launch, Memory, Unit, Work
from warpsmith.judge.names import names
from warpsmith.judge.operators import Operator, OperatorListener, Run, name_of
from warpsmith.judge.tensorfile import leaves

# Neither views nor kernels.
FREE = names(
    "empty empty_like empty_strided new_empty new_empty_strided _unsafe_view _reshape_alias resize_ "
    "set_ is_pinned lift lift_fresh detach detach_ alias _local_scalar_dense"
)
# They write their first argument without reading it.
OVERWRITING = names("copy_ fill_ zero_ normal_ uniform_")
# They read of a table only what they return.
GATHERING = names("embedding index_select gather index take nll_loss_forward")
# Of the operators that carry no tag, those that a compiler fuses.
FUSIBLE = (
    GATHERING
    | OVERWRITING
    | names(
        "_softmax _log_softmax native_layer_norm _fused_rms_norm native_group_norm native_batch_norm "
        "nll_loss_forward _native_batch_norm_legit_no_training cudnn_batch_norm var_mean mean sum amax "
        "amin clone _to_copy cat stack constant_pad_nd arange full zeros ones zeros_like ones_like "
        "full_like scalar_tensor where masked_fill"
    )
)
CONVOLUTIONS = names("convolution _convolution cudnn_convolution conv2d conv1d conv3d")
HALVES = (torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True)
class Record:
    """What one call of the reference did."""

    launches: tuple[Launch, ...]
    memory: tuple[Memory, ...]
    read_bytes: int  # of inputs and parameters that a kernel read, each once
    input_bytes: int  # of inputs alone: what is made of parameters may be made ahead
    written_bytes: int  # of outputs, each once


def record(call: Callable[[], object], sources: list[torch.Tensor], *, num_inputs: int = 0) -> Record:
    """Run `call` once; `sources` are its inputs, `num_inputs` of them, and then its parameters."""
    recorder = _Recorder()
    for tensor in sources[:num_inputs]:
        recorder.piece(tensor)
    num_input_pieces = len(recorder.sizes)
    for tensor in sources[num_inputs:]:
        recorder.piece(tensor)
    num_sources = len(recorder.sizes)
    with recorder:
        outputs = call()
    written = {recorder.piece(tensor): touched_bytes(tensor) for tensor in leaves(outputs)}
    return Record(
        launches=tuple(recorder.launches),
        memory=tuple(Memory(num_bytes=size, is_output=i in written) for i, size in enumerate(recorder.sizes)),
        read_bytes=sum(size for piece, size in recorder.reads.items() if piece < num_sources),
        input_bytes=sum(size for piece, size in recorder.reads.items() if piece < num_input_pieces),
        written_bytes=sum(size for piece, size in written.items() if piece >= num_sources),
    )


def touched_bytes(tensor: torch.Tensor) -> int:
    """Bytes behind `tensor`'s elements; an expanded one's count once."""
    sizes = (
        size for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if stride != 0 or size == 0
    )
    count = 1
    for size in sizes:
        count *= size
    return count * tensor.element_size()


class _Recorder(OperatorListener):
    """Names each storage by the order in which it was met."""

    def __init__(self) -> None:
        OperatorListener.__init__(self)
        self.launches: list[Launch] = []
        self.sizes: list[int] = []
        self.reads: dict[int, int] = {}  # piece -> most bytes that one launch read of it
        self._names: dict[int, int] = {}
        self._held: list[StorageWeakRef] = []  # keeps addresses from being used again, not data

    def piece(self, tensor: torch.Tensor) -> int:
        reference = StorageWeakRef(tensor.untyped_storage())
        if reference.cdata not in self._names:
            self._names[reference.cdata] = len(self.sizes)
            self._held.append(reference)
            self.sizes.append(0)
        name = self._names[reference.cdata]
        self.sizes[name] = max(self.sizes[name], touched_bytes(tensor))
        return name

    def heard(self, run: Run) -> None:
        name = name_of(run.operator)
        if run.operator.is_view or name in FREE:
            return
        given = list(_tensors((run.args, run.kwargs)))
        reads = self._touched(given[1:] if name in OVERWRITING else given)
        writes = self._touched(_tensors(run.out))
        if not run.operator._schema.is_mutable and writes.keys() <= reads.keys():
            return  # gave back what it was given
        if name in GATHERING and given:
            table = self.piece(given[0])
            reads[table] = min(reads[table], sum(writes.values()))
        for piece, size in reads.items():
            self.reads[piece] = max(size, self.reads.get(piece, 0))
        flops = flops_of(run)
        self.launches.append(
            Launch(
                name=name,
                num_bytes=sum(reads.values()) + sum(writes.values()),
                flops=flops,
                unit=_unit(name, given),
                work=Work.FUSIBLE if not flops and _is_fusible(run.operator) else Work.LIBRARY,
                reads=tuple(reads),
                writes=tuple(writes),
            )
        )

    def _touched(self, tensors: Iterable[torch.Tensor]) -> dict[int, int]:
        """Piece -> bytes of it."""
        return {self.piece(tensor): touched_bytes(tensor) for tensor in tensors}


def _tensors(tree: object) -> Iterator[torch.Tensor]:
    return (leaf for leaf in tree_iter(tree) if isinstance(leaf, torch.Tensor))


def flops_of(run: Run) -> int:
    """Of a library operator, by torch's own count; 0 for any other."""
    formula = flop_registry.get(run.operator.overloadpacket)
    return int(formula(*run.args, **run.kwargs, out_val=run.out)) if formula is not None else 0


def _is_fusible(operator: Operator) -> bool:
    tags = (torch.Tag.pointwise, torch.Tag.reduction)
    return name_of(operator) in FUSIBLE or any(tag in operator.tags for tag in tags)


def _unit(name: str, given: list[torch.Tensor]) -> Unit:
    """The unit that cuBLAS or cuDNN uses under torch's default flags: TF32 for convolutions only."""
    dtype = next((tensor.dtype for tensor in given if tensor.is_floating_point()), torch.float32)
    if dtype in HALVES:
        return Unit.BF16
    return Unit.TF32 if dtype is torch.float32 and name in CONVOLUTIONS else Unit.FP32
