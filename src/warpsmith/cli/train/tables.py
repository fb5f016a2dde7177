"""A policy's figures, and two policies' beside each other, as tables for a terminal."""

from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from warpsmith.core import Ratio
    from warpsmith.learn.evaluation.comparison import Comparison
    from warpsmith.learn.evaluation.intervals import Change, Rate
    from warpsmith.learn.evaluation.standing import Standing


def standing_table(found: "Standing") -> Table:
    table = Table("", "share or mean", "95 % interval", "of", box=None, pad_edge=False)
    tasks = f"{found.num_tasks} tasks, {found.num_attempts} tries"
    _add_rate(table, "passed", found.passed, tasks)
    for name, baseline in (("eager", found.eager), ("torch.compile", found.compile)):
        if baseline is not None:
            _add_rate(table, f"faster than {name}", baseline.faster, tasks)
            measured = f"{baseline.num_measured} tasks measured"
            _add_ratio(table, f"speed-up over {name}", baseline.mean, measured)
    if found.modelled_fast is not None:
        _add_rate(table, "modelled fast", found.modelled_fast, tasks)
    modelled = " (modelled)" if found.modelled_fast is not None else ""
    _add_ratio(table, f"time over the floor{modelled}", found.over_floor, "programs that passed")
    return table


def kind_lines(found: "Standing") -> list[str]:
    lines = [f"  {count:5d}  {kind}" for kind, count in found.kinds.items() if count]
    if found.num_refused:
        lines.append(f"  {found.num_refused:5d}  tries at tasks that cannot be judged; in no figure")
    return lines


def comparison_table(found: "Comparison") -> Table:
    table = Table("", "A", "B", "B - A", "95 % interval", "", box=None, pad_edge=False)
    before, after = found.before, found.after
    _add_change(table, "passed", found.passed, (before.passed, after.passed))
    if found.faster is not None and before.eager is not None and after.eager is not None:
        _add_change(table, "faster than eager", found.faster, (before.eager.faster, after.eager.faster))
    modelled = (before.modelled_fast, after.modelled_fast)
    if found.modelled_fast is not None and modelled[0] is not None and modelled[1] is not None:
        _add_change(table, "modelled fast", found.modelled_fast, (modelled[0], modelled[1]))
    if found.speed is not None:
        speed = found.speed
        is_told = speed.low > 1.0 or speed.high < 1.0
        interval = f"{speed.low:.3g}x to {speed.high:.3g}x"
        table.add_row("speed of B over A", "", "", f"{speed.centre:.3g}x", interval, _told(is_told=is_told))
    return table


def _add_rate(table: Table, name: str, rate: "Rate", of: str) -> None:
    table.add_row(name, f"{rate.value:.1%}", f"{rate.low:.1%} to {rate.high:.1%}", of)


def _add_ratio(table: Table, name: str, ratio: "Ratio | None", of: str) -> None:
    if ratio is not None:
        table.add_row(name, f"{ratio.centre:.3g}x", f"{ratio.low:.3g}x to {ratio.high:.3g}x", of)


def _add_change(table: Table, name: str, change: "Change", sides: "tuple[Rate, Rate]") -> None:
    before, after = (f"{side.value:.1%}" for side in sides)
    interval = f"{change.low:+.1%} to {change.high:+.1%}"
    table.add_row(name, before, after, f"{change.value:+.1%}", interval, _told(is_told=change.is_told))


def _told(*, is_told: bool) -> str:
    return "" if is_told else "no difference can be told"
