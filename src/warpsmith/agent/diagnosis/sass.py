"""What a kernel's machine code is made of: opcodes, counted in the listing of `cuobjdump -sass`.

Counts are static: an instruction in a loop is one. So they say that something is there, hardly how much it
costs.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

TOOL = "cuobjdump"
_FUNCTION = re.compile(r"^\s*Function : (?P<name>\S+)")
# Such as: an address in a comment, a predicate, LDG.E.128 and its operands.
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P[T\d]\s+)?(?P<opcode>[A-Z][A-Z0-9_.]*)")

FP64 = ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX")
FP32 = ("FADD", "FMUL", "FFMA", "FSETP", "FMNMX", "FADD32I", "FMUL32I", "FFMA32I")
LOCAL = ("LDL", "STL")
TENSOR = ("HMMA", "IMMA", "DMMA", "HGMMA", "IGMMA", "QGMMA", "UTCMMA", "OMMA", "QMMA")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The opcodes of one kernel, without their modifiers, and how often each is there."""

    kernel: str  # mangled
    opcodes: tuple[tuple[str, int], ...]

    @property
    def num_instructions(self) -> int:
        return sum(count for _, count in self.opcodes)

    def count(self, opcodes: Iterable[str]) -> int:
        wanted = frozenset(opcodes)
        return sum(count for opcode, count in self.opcodes if opcode in wanted)


def read(text: str) -> tuple[Listing, ...]:
    """A listing a kernel, in the order of the text; none if there is no machine code in it."""
    found: dict[str, Counter[str]] = {}
    counts: Counter[str] | None = None
    for line in text.splitlines():
        if function := _FUNCTION.match(line):
            counts = found.setdefault(function["name"], Counter())
        elif counts is not None and (instruction := _INSTRUCTION.match(line)):
            counts[instruction["opcode"].partition(".")[0]] += 1
    return tuple(
        Listing(kernel=name, opcodes=tuple(sorted(counts.items()))) for name, counts in found.items()
    )
