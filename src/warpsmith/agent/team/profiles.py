"""What a planner is told of the reference: a system profile in text."""

from collections.abc import Iterable, Sequence

from warpsmith.agent.diagnosis.figures import Figure, Source
from warpsmith.judge.profile import Operator, Profile
from warpsmith.judge.protocol import NamedTensor

MAX_OPERATORS = 60
MAX_NAME = 200  # of a tensor: a stranger's module gave it
MAX_TENSORS = 60


def profile_text(profile: Profile | None) -> str:
    """Times, floors, the host's side, tensors and operators; each figure says how it is known."""
    if profile is None:
        return f"Of its shapes, operators and times nothing is known here: {Source.UNAVAILABLE}."
    floor = profile.floor
    figures = (
        Figure(name="eager's time", value=profile.eager_us, unit="us", source=Source.MODELLED),
        Figure(name="torch.compile's time", value=profile.compiled_us, unit="us", source=Source.MODELLED),
        Figure(name="floor by bandwidth", value=floor.bytes_us, unit="us", source=Source.DERIVED),
        Figure(name="floor by arithmetic", value=floor.flops_us, unit="us", source=Source.DERIVED),
        Figure(name="least bytes read", value=profile.read_bytes, unit="bytes", source=Source.COUNTED),
        Figure(name="least bytes written", value=profile.written_bytes, unit="bytes", source=Source.COUNTED),
    )
    lines = [
        f"# The reference on {profile.gpu.name}",
        "",
        *(f"- {figure}" for figure in figures),
        "",
        "On the host's side of one call of eager:",
        *(f"- {figure}" for figure in _host_figures(profile)),
        "",
        f"Inputs, which lie on the device: {_tensors_text(profile.inputs)}",
        f"Weights: {_tensors_text(profile.weights)}",
        "",
        "What eager runs, in order (bytes given to it, operations of products, modelled time):",
        *_operator_lines(profile.operators),
    ]
    return "\n".join(lines)


def _host_figures(profile: Profile) -> tuple[Figure, ...]:
    """Launches, allocations, copies, overlap and what a CUDA graph would save, as far as they are known.

    What operators move beside inputs, weights and outputs, each once, is intermediates, or read again. A
    graph is one launch, so that it saves the others at most: less, where the device is busy meanwhile.
    """
    operators, launch_us = profile.operators, profile.gpu.launch_us
    num = len(operators)
    moved = sum(one.num_bytes for one in operators)
    copies = sum("copy" in one.name.lower() for one in operators)
    known: tuple[tuple[str, float | None, str, Source], ...] = (
        ("launches", num, "", Source.COUNTED),
        ("time of these launches on the host", num * launch_us, "us", Source.DERIVED),
        ("a CUDA graph would save at most", max(0, num - 1) * launch_us, "us", Source.DERIVED),
        ("tensors between operators, each allocated anew, at most", max(0, num - 1), "", Source.DERIVED),
        (
            "bytes moved beside the least",
            max(0, moved - profile.read_bytes - profile.written_bytes),
            "bytes",
            Source.DERIVED,
        ),
        ("operators that only copy", copies, "", Source.COUNTED),
        ("copies between host and device, and waits for them", None, "", Source.UNAVAILABLE),
        ("kernels that overlap: eager has one stream", 0, "", Source.DERIVED),
    )
    return tuple(
        Figure(name=name, value=value, unit=unit, source=source) for name, value, unit, source in known
    )


def _tensors_text(tensors: Sequence[NamedTensor]) -> str:
    return _listed(map(_tensor_text, tensors), len(tensors))


def _tensor_text(tensor: NamedTensor) -> str:
    return f"{tensor.name[:MAX_NAME]} {tensor.dtype}[{','.join(map(str, tensor.shape))}]"


def _listed(texts: Iterable[str], count: int) -> str:
    shown = [text for text, _ in zip(texts, range(MAX_TENSORS), strict=False)]
    rest = f" and {count - MAX_TENSORS} more" if count > MAX_TENSORS else ""
    return ", ".join(shown) + rest if shown else "none"


def _operator_lines(operators: Sequence[Operator]) -> list[str]:
    lines = [
        f"- {one.name}: {one.num_bytes:,} bytes{f', {one.flops:,} FLOP' if one.flops else ''}, "
        f"{one.modelled_us:.1f} us"
        for one in operators[:MAX_OPERATORS]
    ]
    rest = len(operators) - MAX_OPERATORS
    return [*lines, f"- and {rest} more"] if rest > 0 else lines
