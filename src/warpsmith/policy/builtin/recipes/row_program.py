"""What a row kernel does in which pass: each pass goes over the columns, then its reductions are complete.

A pass is numbered by how many reductions, one after the other, must be known before it. What a pass makes and
a later one needs is kept in registers, unless the rows are too long and every pass reads them again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from warpsmith.policy.builtin.graph import Node, Value, View
from warpsmith.policy.builtin.operators import OPERATORS
from warpsmith.policy.builtin.recipes.row_domain import REDUCTIONS, Access, Domain, Kind
from warpsmith.policy.builtin.recipes.text import Read, distinct_reads


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRead:
    """An operand from memory."""

    read: Read
    access: Access

    @property
    def name(self) -> str:
        """The C variable: one element a row, or all that a thread holds of it."""
        return self.read.name

    @property
    def element(self) -> str:
        """The C variable of the element at hand."""
        is_full = self.kind in (Kind.FULL, Kind.COLUMN)
        return f"{self.name.removesuffix('_at')}_j" if is_full else self.name

    @property
    def view(self) -> View:
        return self.read.view

    @property
    def kind(self) -> Kind:
        return self.access.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One way over the columns.

    `nodes` are computed for each element, in order; `kept` of them stay in registers for later passes, as do
    the operands `loads` that are loaded here first. `row_nodes` need one evaluation a row, before the pass.
    """

    row_nodes: tuple[Node, ...]
    loads: tuple[RowRead, ...]
    reloads: tuple[RowRead, ...]  # columns, from cache
    nodes: tuple[Node, ...]
    kept: tuple[Value, ...]
    reductions: tuple[Node, ...]
    writes: tuple[Value, ...]

    @property
    def is_empty(self) -> bool:
        return not self.nodes and not self.reductions and not self.writes


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """All passes of a row kernel; the last one may be empty but for row nodes."""

    domain: Domain
    nodes: tuple[Node, ...]
    reads: tuple[RowRead, ...]
    passes: tuple[Pass, ...]
    outputs: tuple[Value, ...]
    online: dict[Value, Node]  # sum of exponentials, by the maximum that is found in the same pass
    num_kept: int  # most values kept at a time, an element

    @property
    def full_outputs(self) -> tuple[Value, ...]:
        return tuple(value for value in self.outputs if self.domain.kind_of(value) is Kind.FULL)

    @property
    def row_outputs(self) -> tuple[Value, ...]:
        return tuple(value for value in self.outputs if self.domain.kind_of(value) is Kind.ROW)

    @property
    def num_sweeps(self) -> int:
        """Passes that go over the columns at all."""
        return sum(not one.is_empty for one in self.passes)


class _Schedule:
    """Earliest and actual passes of a group's nodes."""

    def __init__(self, nodes: tuple[Node, ...], domain: Domain, online: dict[Value, Value]) -> None:
        self.nodes = nodes
        self.domain = domain
        self.maker = {node.output: node for node in nodes}
        self.online = online
        self.early: dict[Node, int] = {}
        for node in nodes:
            self.early[node] = self._earliest(node)

    def is_full(self, node: Node) -> bool:
        return node.op not in REDUCTIONS and self.domain.kind_of(node.output) is Kind.FULL

    def ready(self, value: Value) -> int:
        """The first pass in which a row value is known, or a full one can be computed."""
        node = self.maker.get(value)
        if node is None:
            return 0
        return self.early[node] + (1 if node.op in REDUCTIONS else 0)

    def _earliest(self, node: Node) -> int:
        largest = self.online.get(node.output)
        if largest is not None:
            return self.early[self.maker[largest]]
        return max((self.ready(view.value) for view in node.views), default=0)


def read_program(
    nodes: tuple[Node, ...], domain: Domain, outputs: tuple[Value, ...], *, is_streamed: bool
) -> Program:
    """The passes of `nodes`. Streamed, each pass reads and computes again all that it needs."""
    online = _online_sums(nodes) if is_streamed else {}
    schedule = _Schedule(nodes, domain, {total.output: largest for largest, total in online.items()})
    reads = _reads(nodes, domain)
    demands = _Demands(schedule, outputs, is_streamed=is_streamed)
    passes = tuple(_pass(number, schedule, demands, reads) for number in range(demands.num_passes))
    return Program(
        domain=domain,
        nodes=nodes,
        reads=reads,
        passes=passes,
        outputs=outputs,
        online=online,
        num_kept=demands.most_kept(),
    )


def cone(value: Value, nodes: tuple[Node, ...], domain: Domain) -> tuple[Node, ...]:
    """The full nodes that one element of `value` takes, in order."""
    wanted = {value}
    found: list[Node] = []
    for node in reversed(nodes):
        is_full = node.op not in REDUCTIONS and domain.kind_of(node.output) is Kind.FULL
        if is_full and node.output in wanted:
            found.append(node)
            wanted |= {view.value for view in node.views}
    return tuple(reversed(found))


class _Demands:
    """What each pass has to compute, and what is kept for it."""

    def __init__(self, schedule: _Schedule, outputs: tuple[Value, ...], *, is_streamed: bool) -> None:
        self.schedule = schedule
        self.full_nodes = [node for node in schedule.nodes if schedule.is_full(node)]
        self.reductions = [node for node in schedule.nodes if node.op in REDUCTIONS]
        self.outputs = outputs
        self.is_streamed = is_streamed
        self.pass_of = self._passes_of_nodes()
        row_passes = [schedule.ready(node.output) for node in schedule.nodes if not schedule.is_full(node)]
        self.num_passes = 1 + max([*row_passes, *self.pass_of.values()], default=0)
        self.computed: list[set[Node]] = []
        self.crossing: list[set[Value]] = []
        for number in range(self.num_passes):
            if is_streamed:
                self.computed.append(self._closure(self._wanted(number)))
                self.crossing.append(set())
            else:
                computed, crossing = self._held(number)
                self.computed.append(computed)
                self.crossing.append(crossing)

    def _passes_of_nodes(self) -> dict[Node, int]:
        """As late as the first use allows: a value that is not needed yet need not be kept."""
        passes: dict[Node, int] = {}
        for node in reversed(self.full_nodes):
            uses = [
                passes[other] for other in self.full_nodes if other in passes and _uses(other, node.output)
            ]
            uses += [self.schedule.early[one] for one in self.reductions if _uses(one, node.output)]
            passes[node] = min(uses, default=self.schedule.early[node])
        return passes

    def writes(self, number: int) -> tuple[Value, ...]:
        return tuple(
            node.output
            for node in self.full_nodes
            if node.output in self.outputs and self.pass_of[node] == number
        )

    def reductions_of(self, number: int) -> tuple[Node, ...]:
        return tuple(node for node in self.reductions if self.schedule.early[node] == number)

    def _wanted(self, number: int) -> set[Value]:
        """The full values that the pass reduces or writes."""
        online = self.schedule.online
        reduced = {node.views[0].value for node in self.reductions_of(number) if node.output not in online}
        return reduced | set(self.writes(number))

    def _closure(self, wanted: set[Value]) -> set[Node]:
        wanted = set(wanted)
        found: set[Node] = set()
        for node in reversed(self.full_nodes):
            if node.output in wanted:
                found.add(node)
                wanted |= {view.value for view in node.views}
        return found

    def _held(self, number: int) -> tuple[set[Node], set[Value]]:
        """What a pass computes anew, and which values of earlier passes it needs."""
        wanted = self._wanted(number)
        computed: set[Node] = set()
        for node in reversed(self.full_nodes):
            if self.pass_of[node] == number and node.output in wanted:
                computed.add(node)
                wanted |= {view.value for view in node.views}
        earlier = {node.output for node in self.full_nodes if self.pass_of[node] < number}
        crossing = (wanted & earlier) | self._crossing_reads(wanted, number)
        for node in reversed(self.full_nodes):
            if node.output in crossing and self._is_cheap_again(node, crossing):
                crossing.remove(node.output)
                computed.add(node)
        return computed, crossing

    def _crossing_reads(self, wanted: set[Value], number: int) -> set[Value]:
        return set() if number == 0 else {value for value in wanted if value not in self.schedule.maker}

    def _is_cheap_again(self, node: Node, crossing: set[Value]) -> bool:
        """A few instructions over values that are kept anyway."""
        operands = [
            view.value for view in node.views if self.schedule.domain.kind_of(view.value) is Kind.FULL
        ]
        return (
            not OPERATORS[node.op].is_costly
            and bool(operands)
            and all(value in crossing for value in operands)
        )

    def kept(self, number: int) -> set[Value]:
        """The values that this pass or an earlier one has and a later one needs."""
        later: set[Value] = (
            set().union(*self.crossing[number + 1 :]) if number + 1 < self.num_passes else set()
        )
        return {
            value
            for value in later
            if value not in self.schedule.maker or self.pass_of[self.schedule.maker[value]] <= number
        }

    def most_kept(self) -> int:
        full = Kind.FULL
        kind_of = self.schedule.domain.kind_of
        return max(
            (sum(kind_of(value) is full for value in self.kept(number)) for number in range(self.num_passes)),
            default=0,
        )


def _uses(node: Node, value: Value) -> bool:
    return any(view.value == value for view in node.views)


def _pass(number: int, schedule: _Schedule, demands: _Demands, reads: tuple[RowRead, ...]) -> Pass:
    computed = demands.computed[number]
    nodes = tuple(node for node in schedule.nodes if node in computed)
    reductions = demands.reductions_of(number)
    used = {view for node in (*nodes, *reductions) for view in node.views}
    operands = [read for read in reads if read.view in used]
    earlier = _loaded_before(number, schedule, demands)
    kept = demands.kept(number)
    return Pass(
        row_nodes=tuple(
            node
            for node in schedule.nodes
            if not schedule.is_full(node)
            and node.op not in REDUCTIONS
            and schedule.ready(node.output) == number
        ),
        loads=tuple(read for read in operands if read.kind is Kind.FULL and read.view not in earlier),
        reloads=tuple(read for read in operands if read.kind is Kind.COLUMN),
        nodes=nodes,
        kept=tuple(node.output for node in nodes if node.output in kept and demands.pass_of[node] == number),
        reductions=reductions,
        writes=demands.writes(number),
    )


def _loaded_before(number: int, schedule: _Schedule, demands: _Demands) -> set[View]:
    """Operands that a held program has in registers already; a streamed one has none."""
    if demands.is_streamed:
        return set()
    views: set[View] = set()
    for earlier in range(number):
        members: Iterable[Node] = (*demands.computed[earlier], *demands.reductions_of(earlier))
        views |= {view for node in members for view in node.views if view.value not in schedule.maker}
    return views


def _reads(nodes: tuple[Node, ...], domain: Domain) -> tuple[RowRead, ...]:
    made = {value for node in nodes for value in node.outputs}
    outside = [(view, node) for node in nodes for view in node.views if view.value not in made]
    accesses: dict[View, Access] = {}
    for view, node in outside:
        is_full = domain.kind_of(node.output) is Kind.FULL or (
            node.op in (*REDUCTIONS, "gather") and view == node.views[0]
        )
        access = domain.access(view) if is_full else domain.row_access(view)
        assert access is not None  # the match has looked
        accesses[view] = access
    return tuple(RowRead(read=read, access=accesses[read.view]) for read in distinct_reads(tuple(accesses)))


def _online_sums(nodes: tuple[Node, ...]) -> dict[Value, Node]:
    """Sums of exp(z - max z): with the running maximum they are found in the pass that finds the maximum."""
    maker = {node.output: node for node in nodes}
    found: dict[Value, Node] = {}
    for total in nodes:
        if total.op != "sum":
            continue
        exponential = maker.get(total.views[0].value)
        if exponential is None or exponential.op != "exp":
            continue
        difference = maker.get(exponential.views[0].value)
        if difference is None or difference.op != "sub" or len(difference.views) != 2:
            continue
        minuend, subtrahend = difference.views
        largest = maker.get(subtrahend.value)
        if largest is not None and largest.op == "amax" and largest.views[0].value == minuend.value:
            found[largest.output] = total
    return found
