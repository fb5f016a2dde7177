"""`warpsmith doctor`: what this machine has, what it lacks, and the exact fix."""

from typing import TYPE_CHECKING

from warpsmith.cli import options
from warpsmith.cli.console import Console
from warpsmith.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from rich.table import Table

    from warpsmith.cli.checks import Examination

STYLES = {"ok": "green", "weak": "yellow", "missing": "red"}
MEANS = {"cuda": "cuda (times measured on the GPU)", "cpu": "cpu (times modelled)"}

EXAMPLES = (
    "warpsmith doctor",
    "warpsmith doctor --json | jq '.checks[] | select(.state != \"ok\")'",
)


def doctor(json: options.JsonOption = False) -> ExitCode:
    """Look at this machine: GPU, compilers, profilers, sandbox, torch, folders; each with the exact fix.

    Exit code 6 only if the main job cannot run here on any device; else 0, whatever else is missing.
    """
    from warpsmith.cli.checks import examine

    console = Console(is_json=json)
    examination = examine()
    devices = examination.devices
    code = ExitCode.OK if devices else ExitCode.ENVIRONMENT
    console.say(_table(examination), "")
    if devices:
        console.say(f"warpsmith optimize runs here on: {', '.join(MEANS[device] for device in devices)}")
    else:
        console.say("warpsmith optimize cannot run here yet: fix what is missing for the cpu device above")
    console.document(
        {"command": "doctor", "exit_code": int(code), "devices": devices, "checks": examination.checks}
    )
    return code


def _table(examination: "Examination") -> "Table":
    from rich.table import Table
    from rich.text import Text

    from warpsmith.report.plain import printable

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("what", "state", "found, or how to get it", "for"):
        table.add_column(column, overflow="fold")
    for check in examination.checks:
        text = "\n".join(filter(None, (check.found, check.fix)))
        state = Text(check.state.value, style=STYLES[check.state.value])
        table.add_row(Text(check.name), state, Text(printable(text)), Text(check.needed_for))
    return table
