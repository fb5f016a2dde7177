"""One token more for many rows at once: what a step needs lies on the device, and no step waits for it."""

from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from warpsmith.policy.local.drawing import Drawing, draw
from warpsmith.policy.local.reading import Reader
from warpsmith.policy.local.slots import Slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """How far each row is, and what it has drawn. Tensors of R rows; M is the most that a row may draw."""

    tokens: Tensor  # [R] to be read next
    lengths: Tensor  # [R] tokens that were read: the slot where the next one goes
    counts: Tensor  # [R] tokens that were drawn
    limits: Tensor  # [R]
    alive: Tensor  # [R] bool
    chances: Tensor  # [R, M] float64 in [0, 1)
    ids: Tensor  # [R, M]
    logprobs: Tensor  # [R, M] float32

    @classmethod
    def of(cls, num_rows: int, most: int, device: torch.device) -> Self:
        def zeros(*shape: int, dtype: torch.dtype = torch.long) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        return cls(
            tokens=zeros(num_rows),
            lengths=zeros(num_rows),
            counts=zeros(num_rows),
            limits=zeros(num_rows),
            alive=zeros(num_rows, dtype=torch.bool),
            chances=zeros(num_rows, most, dtype=torch.float64),
            ids=zeros(num_rows, most),
            logprobs=zeros(num_rows, most, dtype=torch.float32),
        )

    def copy(self, sources: Tensor, targets: Tensor) -> None:
        for field in (self.tokens, self.lengths, self.counts, self.limits, self.alive):
            field[targets] = field[sources]
        for table in (self.chances, self.ids, self.logprobs):
            table[targets] = table[sources]


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """How much of the memory a step works on: what a captured graph is good for."""

    num_rows: int  # the first ones
    num_slots: int


class Stepper:
    """Steps of the first rows of a board, captured on a GPU once for each width.

    The model's kernels are too small for its host to keep up: 80 ms a step for 0.5B parameters whatever the
    batch, of which a GPU computes a tenth. A graph is launched at once. It holds addresses: of weights, which
    may change in place, and of board and slots, which must stay. `why_not` says why nothing is captured.
    """

    def __init__(
        self, reader: Reader, board: Board, slots: Slots, stops: Tensor, *, is_captured: bool
    ) -> None:
        self.why_not = "" if is_captured else "not asked for"
        if is_captured and board.tokens.device.type != "cuda":
            self.why_not = "no GPU"
        self._reader = reader
        self._board = board
        self._slots = slots
        self._stops = stops
        self._graphs: dict[tuple[Width, Drawing], Any] = {}
        self._pool: Any = None

    @property
    def num_graphs(self) -> int:
        return len(self._graphs)

    def step(self, width: Width, drawing: Drawing) -> None:
        """One token more for each row that is alive; nothing is waited for.

        A width's first step is run as it is, which also loads what its kernels need; then it is captured.
        """
        if self.why_not:
            return self._step(width, drawing)
        key = (width, drawing)
        graph = self._graphs.get(key)
        if graph is not None:
            graph.replay()
            return None
        self._step(width, drawing)
        try:
            self._graphs[key] = self._captured(width, drawing)
        except RuntimeError as error:
            # Some models ask their own tensors things on the host; then they are slow, and right.
            self.why_not = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
            self._graphs.clear()
        return None

    def _captured(self, width: Width, drawing: Drawing) -> Any:
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        # Graphs run one after the other and leave their results on the board: they can share memory.
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            self._step(width, drawing)
        return graph

    def _step(self, width: Width, drawing: Drawing) -> None:
        count, board = width.num_rows, self._board
        rows = torch.arange(count, device=board.tokens.device)
        alive, counts = board.alive[:count], board.counts[:count]
        positions = board.lengths[:count, None]
        slot = torch.arange(width.num_slots, device=positions.device)
        mask = (slot <= positions)[:, None, None]  # [B, 1, 1, slots]
        self._slots.at(rows, positions, width.num_slots, first=count)
        logits, _ = self._reader.logits(
            board.tokens[:count, None], self._slots, attention_mask=mask, position_ids=positions
        )
        place = counts.clamp(max=board.ids.shape[1] - 1)[:, None]  # a row that has ended stays where it is
        drawn, logprobs = draw(logits, drawing, board.chances[:count].gather(1, place)[:, 0])
        for table, new in ((board.ids[:count], drawn), (board.logprobs[:count], logprobs)):
            table.scatter_(1, place, torch.where(alive, new, table.gather(1, place)[:, 0])[:, None])
        board.lengths[:count].add_(alive)
        counts.add_(alive)
        board.tokens[:count].copy_(torch.where(alive, drawn, board.tokens[:count]))
        is_end = (drawn[:, None] == self._stops).any(dim=1)
        alive.logical_and_(~is_end & (counts < board.limits[:count]))
