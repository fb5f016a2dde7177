"""Names of torch's C++ API that say where a tensor lies: on this device, a "CUDA tensor" is one on the CPU.

The one place where a program's own checks (`TORCH_CHECK(x.is_cuda())`) and requests (`torch::kCUDA`) are made
to mean the device that it is run on.
"""

from warpsmith.device.cpu.tokens import Edits, Source

_RENAMED = {"is_cuda": "is_cpu", "kCUDA": "kCPU"}


def rewrite_torch_names(source: Source, edits: Edits) -> None:
    """`x.is_cuda()` -> `x.is_cpu()`; `x.type().is_cuda()` too, and `kCUDA`, `DeviceType::CUDA`."""
    for index, token in enumerate(source.tokens):
        if token.kind != "name":
            continue
        if token.text in _RENAMED:
            edits.replace(token.start, token.end, _RENAMED[token.text])
        elif token.text == "CUDA" and _follows(source, index, ("DeviceType", "::")):
            edits.replace(token.start, token.end, "CPU")
        elif token.text == "type" and _precedes(source, index, ("(", ")", ".", "is_cuda")):
            edits.replace(token.start, token.end, "device")


def _follows(source: Source, index: int, texts: tuple[str, ...]) -> bool:
    first = index - len(texts)
    return all(source.is_mark(first + place, text) for place, text in enumerate(texts))


def _precedes(source: Source, index: int, texts: tuple[str, ...]) -> bool:
    return all(source.is_mark(index + 1 + place, text) for place, text in enumerate(texts))
