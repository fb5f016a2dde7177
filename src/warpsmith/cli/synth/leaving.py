"""What all steps have in common: the folder that they write to, and what they say of a store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from warpsmith.core import UsageError
from warpsmith.core.codec import to_json

if TYPE_CHECKING:
    from warpsmith.tasks.store import About

FolderOption = Annotated[
    Path, typer.Option("--dir", metavar="DIR", help="Where all steps read and write. (default: synth)")
]
DEFAULT = Path("synth")


def make_room(folder: Path) -> None:
    """Raises UsageError if there can be no such folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({error.strerror}); name another --dir") from error


def write_json(path: Path, data: object) -> None:
    """Raises as `replace_text`."""
    replace_text(path, to_json(data, indent=2) + "\n")


def replace_text(path: Path, text: str) -> None:
    """Whole or not at all: who reads meanwhile sees what was there. Raises InfraError on a full disk."""
    from warpsmith.tasks.store.files import replacing

    with replacing(path) as new:
        new.write_text(text, encoding="utf-8")


def about(what: str, device: str = "", filters: dict[str, str] | None = None) -> "About":
    """What a store says of itself: `what` was done last with its tasks, and on which device if on one."""
    from importlib.metadata import version

    from warpsmith import __version__
    from warpsmith.tasks.store import About

    return About(
        title=title(what),
        description="Made by `warpsmith synth` from operators of installed libraries.",
        licence="Apache-2.0",
        device=device,
        filters=filters or {},
        versions={"warpsmith": __version__, "torch": version("torch")},
    )


def title(what: str) -> str:
    """Of a store, by what was done last with its tasks."""
    return f"Tasks, {what}"
