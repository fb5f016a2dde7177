"""Trees of tensors in a file: a JSON header and raw bytes. No pickle, so reading one runs nobody's code.

The bytes may also lie in device memory that two processes share (`arena`); then the file is its header alone.

    8 bytes magic | 8 bytes header length, little endian | header | padding | tensors, aligned to 512 bytes

The header is {"where": "file" or "memory", "tree": node, "tensors": [...]}. A node is a list that begins with
its kind: ["tensor", index], ["tuple", node...], ["list", node...], ["dict", [key, node]...],
["number", type, text], ["text", text], ["dtype", name], ["none"], or ["foreign", type name] for what cannot
be written. Whoever wrote a file may be hostile: all that is relied on is checked, and TensorFileError raised.
"""

import errno
import json
import math
import mmap
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import torch

MAGIC = b"WSTENSR1"
ALIGNMENT = 512  # of device memory that a kernel may rely on; a file needs less
MAX_HEADER_BYTES = 16 << 20
MAX_DEPTH = 64
MAX_RANK = 64

DTYPES: dict[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(
            torch.float64,
            torch.float32,
            torch.float16,
            torch.bfloat16,
            torch.float8_e4m3fn,
            torch.float8_e5m2,
        ),
        *(
            torch.int64,
            torch.int32,
            torch.int16,
            torch.int8,
            torch.uint8,
            torch.uint16,
            torch.uint32,
            torch.uint64,
        ),
        *(torch.bool, torch.complex64, torch.complex128),
    )
}
NUMBERS: dict[str, Callable[[str], bool | int | float | complex]] = {
    "bool": lambda text: text == "True",
    "int": int,
    "float": float.fromhex,
    "complex": complex,
}


class TensorFileError(ValueError):
    """The file is not what it says it is."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Stands for an object that a tensor file cannot hold."""

    type_name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A tensor of a file, not yet read. `order` has its dimensions as they lie in memory, outermost first."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    order: tuple[int, ...]
    device: str  # "cuda" or "cpu": where it was
    offset: int

    @property
    def num_elements(self) -> int:
        return math.prod(self.shape)

    @property
    def num_bytes(self) -> int:
        return self.num_elements * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Room:
    """A part of device memory for one tree, as a row of bytes of the whole and the part's bounds."""

    memory: torch.Tensor
    start: int
    end: int

    def fill(self, path: Path, tensors: list[torch.Tensor], entries: list[Entry], end: int) -> None:
        """Copy each tensor to where its entry says."""
        if end > self.end:
            reason = f"{end - self.start} bytes do not fit into {self.end - self.start} of device memory"
            raise OSError(errno.ENOSPC, reason, str(path))
        for tensor, entry in zip(tensors, entries, strict=True):
            _copy_end_first(_shaped(_bytes_of(self.memory, entry), entry), tensor.detach())


def _copy_end_first(target: torch.Tensor, source: torch.Tensor) -> None:
    """Copy with the last part first: a kernel that still runs, unjoined, has not come to it yet."""
    axis = next((axis for axis, size in enumerate(source.shape) if size > 1), None)
    if axis is None:
        target.copy_(source)
        return
    split = source.shape[axis] - max(source.shape[axis] // 16, 1)
    for start, length in ((split, source.shape[axis] - split), (0, split)):
        target.narrow(axis, start, length).copy_(source.narrow(axis, start, length))


# --- trees ---


def is_plain(value: object) -> TypeGuard[torch.Tensor]:
    """Whether it is a dense tensor, and of no subclass, which could answer for itself."""
    if not isinstance(value, torch.Tensor) or type(value) not in (torch.Tensor, torch.nn.Parameter):
        return False
    return value.layout is torch.strided and value.dtype in DTYPES.values() and not value.is_meta


def leaves(tree: object) -> Iterator[torch.Tensor]:
    """The plain tensors of `tree`, in the order in which a file holds them."""
    if is_plain(tree):
        yield tree
    elif isinstance(tree, tuple | list):
        for item in tree:
            yield from leaves(item)
    elif isinstance(tree, dict):
        for item in tree.values():
            yield from leaves(item)


def changed(tree: object, change: Callable[[Any], object], kind: type = torch.Tensor) -> Any:
    """`tree` with `change` applied to its leaves of type `kind`."""
    if isinstance(tree, kind):
        return change(tree)
    if isinstance(tree, tuple):
        return tuple(changed(item, change, kind) for item in tree)
    if isinstance(tree, list):
        return [changed(item, change, kind) for item in tree]
    return (
        {key: changed(item, change, kind) for key, item in tree.items()} if isinstance(tree, dict) else tree
    )


def total_bytes(tree: object) -> int:
    """What the tensors of `tree` hold, each element once."""
    return sum(tensor.numel() * tensor.element_size() for tensor in leaves(tree))


def foreign_type(tree: object) -> str | None:
    """The type's name of the first thing in `tree` that a file cannot hold."""
    return _first_foreign(_node(tree, []))


# --- writing ---


def write(path: Path, tree: object, room: Room | None = None) -> None:
    """Write `tree` to a new file, its tensors into `room` if there is one.

    Raises OSError, which says where, if there is no space for it.
    """
    tensors: list[torch.Tensor] = []
    node = _node(tree, tensors)
    entries: list[Entry] = []
    size = 0 if room is None else room.start
    for tensor in tensors:
        entries.append(_entry(tensor, size))
        size = _aligned(size + entries[-1].num_bytes)
    header = json.dumps(
        {
            "where": "file" if room is None else "memory",
            "tree": node,
            "tensors": [_entry_data(entry) for entry in entries],
        }
    ).encode()
    if room is not None:
        room.fill(path, tensors, entries, size)
    start = _aligned(16 + len(header))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        _make_room(descriptor, start + (size if room is None else 0) + ALIGNMENT, path)
        os.pwrite(descriptor, MAGIC + len(header).to_bytes(8, "little") + header, 0)
        if room is None:
            mapped = mmap.mmap(descriptor, 0)
            for tensor, entry in zip(tensors, entries, strict=True):
                _view(mapped, entry, start).copy_(tensor.detach())
    finally:
        os.close(descriptor)


def room_for(tree: object) -> int:
    """The bytes that `tree` takes up in a `Room`."""
    return sum(_aligned(tensor.numel() * tensor.element_size()) for tensor in leaves(tree))


def _make_room(descriptor: int, num_bytes: int, path: Path) -> None:
    # Without it a write into the mapping would be a SIGBUS instead of an error.
    try:
        os.posix_fallocate(descriptor, 0, num_bytes)
    except OSError as error:
        room = f"{error.strerror} (needs {num_bytes >> 20} MiB); free some space there"
        raise OSError(error.errno, room, str(path.parent)) from error


def _node(tree: object, tensors: list[torch.Tensor]) -> list[Any]:
    """The header's node of `tree`; its tensors are appended to `tensors`."""
    if is_plain(tree):
        tensors.append(tree)
        return ["tensor", len(tensors) - 1]
    if isinstance(tree, tuple | list):
        kind = "tuple" if isinstance(tree, tuple) else "list"
        return [kind, *(_node(item, tensors) for item in tree)]
    if isinstance(tree, dict) and all(isinstance(key, str) for key in tree):
        return ["dict", *([key, _node(item, tensors)] for key, item in tree.items())]
    return _scalar_node(tree)


def _scalar_node(value: object) -> list[Any]:
    if value is None:
        return ["none"]
    if isinstance(value, str):
        return ["text", value]
    if isinstance(value, torch.dtype):
        return ["dtype", str(value).removeprefix("torch.")]
    if type(value) is float:
        return ["number", "float", value.hex()]
    if type(value) in (bool, int, complex):
        return ["number", type(value).__name__, str(value)]
    return ["foreign", type(value).__name__]


def _first_foreign(node: list[Any]) -> str | None:
    kind, *items = node
    if kind == "foreign":
        return str(items[0])
    if kind == "dict":
        items = [item for _, item in items]
    found = (_first_foreign(item) for item in items if kind in ("tuple", "list", "dict"))
    return next((name for name in found if name), None)


def _entry(tensor: torch.Tensor, offset: int) -> Entry:
    return Entry(
        dtype=tensor.dtype,
        shape=tuple(tensor.shape),
        order=_order(tuple(tensor.shape), tensor.stride()),
        device=tensor.device.type,
        offset=offset,
    )


def _order(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions from outermost to innermost if they fill memory densely; their own order if not."""
    order = sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis))
    expected = 1
    for axis in reversed(order):
        if shape[axis] != 1 and strides[axis] != expected:
            return tuple(range(len(shape)))
        expected *= shape[axis]
    return tuple(order)


def _entry_data(entry: Entry) -> dict[str, Any]:
    return {
        "dtype": str(entry.dtype).removeprefix("torch."),
        "shape": entry.shape,
        "order": entry.order,
        "device": entry.device,
        "offset": entry.offset,
    }


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


# --- reading ---


class TensorFile:
    """A checked tensor file. `tree` has an `Entry` a tensor and a `Foreign` for what could not be written."""

    def __init__(self, path: Path, memory: torch.Tensor | None = None) -> None:
        """`memory` is the device memory, as bytes, that the file may refer to.

        Raises TensorFileError for a file that is missing, no plain file, or not what it says it is.
        """
        self._path = path
        self._memory: torch.Tensor | None = None
        try:
            # Neither a link to elsewhere nor a pipe that blocks.
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise TensorFileError(f"cannot open {path.name}: {error.strerror}") from error
        try:
            self._start, header = self._header()
            self.entries = [_checked_entry(item) for item in header["tensors"]]
            if header.get("where") == "memory":
                if memory is None:
                    raise TensorFileError("it refers to memory that is not there")
                self._memory = memory
            held = os.fstat(self._descriptor).st_size - self._start
            size = held if self._memory is None else self._memory.numel()
            if any(entry.offset + entry.num_bytes > size for entry in self.entries):
                raise TensorFileError("a tensor lies outside the file")
            self.tree = self._decoded(header["tree"], 0)
        except (KeyError, TypeError, IndexError, ValueError, RecursionError) as error:
            os.close(self._descriptor)
            raise TensorFileError(f"{path.name}: {error}") from error

    @property
    def is_lent(self) -> bool:
        """Whether its tensors lie in device memory."""
        return self._memory is not None

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> "TensorFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, entry: Entry) -> torch.Tensor:
        """A private copy of one tensor, where its bytes are: who can write there can change it no more."""
        if self._memory is not None:
            return _shaped(_bytes_of(self._memory, entry).clone(), entry)
        data = bytearray(entry.num_bytes)
        view, done = memoryview(data), 0
        while done < entry.num_bytes:
            count = os.preadv(self._descriptor, [view[done:]], self._start + entry.offset + done)
            if count == 0:
                raise TensorFileError("the file has been cut short")
            done += count
        return _view(data, entry, -entry.offset)

    def read_all(self) -> Any:
        """The whole tree, as private copies."""
        return changed(self.tree, self.read, Entry)

    def map_private(self) -> Any:
        """The whole tree, mapped: a change stays in this process."""
        if self._memory is not None:
            return self.read_all()
        room = mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_COPY)
        return changed(self.tree, lambda entry: _view(room, entry, self._start), Entry)

    def map_shared(self) -> Any:
        """The whole tree, mapped: a change is seen by all. Raises OSError for a file that is read-only."""
        if (memory := self._memory) is not None:
            return changed(self.tree, lambda entry: _shaped(_bytes_of(memory, entry), entry), Entry)
        descriptor = os.open(self._path, os.O_RDWR | os.O_NOFOLLOW)
        try:
            room = mmap.mmap(descriptor, 0)
        finally:
            os.close(descriptor)
        return changed(self.tree, lambda entry: _view(room, entry, self._start), Entry)

    def _header(self) -> tuple[int, dict[str, Any]]:
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise TensorFileError("no plain file")
        head = os.pread(self._descriptor, 16, 0)
        length = int.from_bytes(head[8:], "little")
        if head[:8] != MAGIC or length > MAX_HEADER_BYTES:
            raise TensorFileError("no tensor file")
        header = json.loads(os.pread(self._descriptor, length, 16))
        return _aligned(16 + length), header

    def _decoded(self, node: Any, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise TensorFileError(f"nested deeper than {MAX_DEPTH}")
        kind, *items = node
        match kind:
            case "tensor":
                return self.entries[_natural(items[0])]
            case "tuple":
                return tuple(self._decoded(item, depth + 1) for item in items)
            case "list":
                return [self._decoded(item, depth + 1) for item in items]
            case "dict":
                return {str(key): self._decoded(item, depth + 1) for key, item in items}
            case _:
                return _decoded_scalar(kind, items)


def _decoded_scalar(kind: str, items: list[Any]) -> object:
    match kind:
        case "none":
            return None
        case "text":
            return str(items[0])
        case "dtype":
            return DTYPES[items[0]]
        case "number":
            return NUMBERS[items[0]](str(items[1]))
        case "foreign":
            return Foreign(str(items[0])[:200])
        case _:
            raise TensorFileError(f"unknown node {kind!r:.80}")


def _checked_entry(data: Any) -> Entry:
    shape = tuple(_natural(size) for size in data["shape"])
    order = tuple(_natural(axis) for axis in data["order"])
    offset = _natural(data["offset"])
    if len(shape) > MAX_RANK or sorted(order) != list(range(len(shape))):
        raise TensorFileError("a tensor's dimensions are out of order")
    if offset % ALIGNMENT or data["device"] not in ("cpu", "cuda"):
        raise TensorFileError("a tensor lies askew")
    return Entry(dtype=DTYPES[data["dtype"]], shape=shape, order=order, device=data["device"], offset=offset)


def _natural(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise TensorFileError(f"{value!r:.80} is no size")
    return value


def _view(room: bytearray | mmap.mmap, entry: Entry, start: int) -> torch.Tensor:
    """The tensor whose bytes lie in `room`; it keeps `room` alive."""
    if entry.num_elements == 0:
        return torch.empty(entry.shape, dtype=entry.dtype)
    return _shaped(
        torch.frombuffer(room, dtype=entry.dtype, count=entry.num_elements, offset=start + entry.offset),
        entry,
    )


def _bytes_of(memory: torch.Tensor, entry: Entry) -> torch.Tensor:
    """The tensor's bytes in device memory, as a row of its type."""
    return memory[entry.offset : entry.offset + entry.num_bytes].view(entry.dtype)


def _shaped(flat: torch.Tensor, entry: Entry) -> torch.Tensor:
    """A row of elements as the tensor that it is."""
    inverse = [entry.order.index(axis) for axis in range(len(entry.shape))]
    return flat.view([entry.shape[axis] for axis in entry.order]).permute(inverse)
