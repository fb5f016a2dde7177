"""How a kernel that walks rows reads operands and writes results around an operator of its own.

A thread has `kVectors` vectors of `kWidth` columns at a time; vector k of a thread begins at the column that
the kernel names `col`.
"""

from dataclasses import dataclass

from warpsmith.policy.builtin.graph import ITEM_BYTES, Node, Value, View
from warpsmith.policy.builtin.operators import STORAGE_TYPES, Term
from warpsmith.policy.builtin.recipes import text
from warpsmith.policy.builtin.recipes.row_domain import Access, Domain, Kind
from warpsmith.policy.builtin.recipes.row_program import RowRead
from warpsmith.policy.builtin.recipes.row_sweep import col_text, converted, element_text


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOperands:
    """What the nodes of one kernel read, element for element of `domain`, and which full values it writes."""

    domain: Domain
    reads: tuple[RowRead, ...]
    writes: tuple[Value, ...] = ()

    @classmethod
    def of(cls, domain: Domain, views: tuple[View, ...], writes: tuple[Value, ...] = ()) -> "RowOperands":
        """`views` are the outside operands; each must be one that `domain` can say how to read."""
        reads: list[RowRead] = []
        for read in text.distinct_reads(views):
            access = domain.access(read.view)
            assert access is not None  # the match has looked
            reads.append(RowRead(read=read, access=access))
        return cls(domain=domain, reads=tuple(reads), writes=writes)

    @property
    def inputs(self) -> tuple[Value, ...]:
        return tuple(dict.fromkeys(read.view.value for read in self.reads))

    @property
    def widths(self) -> tuple[int, ...]:
        """Vector widths that divide a row; first the one at which the largest items fill 16 bytes."""
        if self.domain.is_side_by_side:
            return (1,)
        vectors = [read.access for read in self.reads if read.access.cols.stride == 1]
        items = [ITEM_BYTES[read.view.dtype] for read in self.reads if read.kind is Kind.FULL]
        items += [ITEM_BYTES[value.dtype] for value in self.writes]
        best = 16 // max(items, default=4)
        allowed = [
            width
            for width in (8, 4, 2, 1)
            if self.domain.num_cols % width == 0 and all(access.takes_vectors(width) for access in vectors)
        ]
        return tuple(sorted(allowed, key=lambda width: (width > best, -width)))

    # Text

    def starts(self) -> list[str]:
        """Where this row starts in each full operand and result, and what there is one of a row."""
        lines: list[str] = []
        for read in self.reads:
            offset = _row_offset(read.access)
            if read.kind is Kind.FULL:
                name, start = f"{read.name.removesuffix('_at')}_row", _moved(read.read.pointer, offset)
                lines.append(f"const {STORAGE_TYPES[read.view.dtype]}* {name} = {start};")
            elif read.kind is not Kind.COLUMN:
                element = converted(read, f"{read.read.pointer}[{offset}]")
                lines.append(f"const {read.read.ctype} {read.name} = {element};")
        for value in self.writes:
            start = _moved(text.out_name(value), _row_offset(self.domain.write_access()))
            lines.append(f"{STORAGE_TYPES[value.dtype]}* {value.name}_row = {start};")
        return lines

    def declarations(self, *, is_ragged: bool) -> list[str]:
        """A thread's vectors of every operand that varies along the row; zeros where some are not filled."""
        start = " = {}" if is_ragged else ""
        return [
            f"Vector<{STORAGE_TYPES[read.view.dtype]}, kWidth> {read.name}[kVectors]{start};"
            for read in self._walked
        ]

    def loads(self, width: int, guard: str | None) -> list[str]:
        """Lines that fill vector k of every operand; `guard` is the test on `col + j` of a single element."""
        lines: list[str] = []
        for read in self._walked:
            if read.access.takes_vectors(width):
                address = element_text(read, "col", is_address=True)
                lines.append(f"{read.name}[k] = load<kWidth>({address});")
                continue
            line = f"{read.name}[k].at[j] = {element_text(read, '(col + j)')};"
            lines += each_element([f"if ({guard}) {{", f"    {line}", "}"] if guard else [line])
        return lines

    def elements(self, nodes: tuple[Node, ...]) -> list[str]:
        """The operands of `nodes` at element `at` of vector k, as variables."""
        used = {view for node in nodes for view in node.views}
        return [
            f"const {read.read.ctype} {read.element} = {converted(read, f'{read.name}[k].at[at]')};"
            for read in self._walked
            if read.view in used
        ]

    @property
    def terms(self) -> dict[View, Term]:
        """Each operand's variable."""
        return {read.view: Term(text=read.element, ctype=read.read.ctype) for read in self.reads}

    def stores(self, width: int, guard: str | None) -> list[str]:
        """Lines that write the vectors `…_at` of all results at `col`."""
        access = self.domain.write_access()
        lines: list[str] = []
        for value in self.writes:
            if access.takes_vectors(width):
                lines.append(f"store({value.name}_row + col, {value.name}_at);")
                continue
            line = f"{value.name}_row[{col_text(access, '(col + j)')}] = {value.name}_at.at[j];"
            lines += each_element([f"if ({guard}) {{", f"    {line}", "}"] if guard else [line])
        return lines

    @property
    def _walked(self) -> list[RowRead]:
        return [read for read in self.reads if read.kind in (Kind.FULL, Kind.COLUMN)]


def is_readable(domain: Domain, node: Node) -> bool:
    """Whether `domain` can say how to read all operands of a node over all its elements."""
    return node.output.numel == domain.num_rows * domain.num_cols and all(
        domain.access(view) is not None for view in node.views
    )


def each_element(lines: list[str]) -> list[str]:
    """A loop over the elements of a vector."""
    return ["#pragma unroll", "for (int j = 0; j < kWidth; ++j) {", *deeper(lines), "}"]


def each_vector(lines: list[str]) -> list[str]:
    """A loop over the vectors of a thread."""
    return ["#pragma unroll", "for (int k = 0; k < kVectors; ++k) {", *deeper(lines), "}"]


def deeper(lines: list[str]) -> list[str]:
    """One step to the right; preprocessor lines stay at the margin."""
    return [line if line.startswith("#") else f"    {line}" for line in lines]


def _row_offset(access: Access) -> str:
    offset = text.index_text("row", access.rows.sizes, access.rows.strides, num_bits=64)
    if not access.offset:
        return offset
    return str(access.offset) if offset == "0" else f"{access.offset} + {offset}"


def _moved(pointer: str, offset: str) -> str:
    return pointer if offset == "0" else f"{pointer} + {offset}"
