"""A task of a store, `STORE.parquet:TASK`: by its name, or by its id, of which the beginning is enough."""

import re
from dataclasses import replace
from pathlib import Path

from warpsmith.core import Task, UsageError
from warpsmith.tasks.base import Request
from warpsmith.tasks.file import check_format
from warpsmith.tasks.scale import with_scale
from warpsmith.tasks.store.store import Store

_FORM = re.compile(r"(?P<path>.+?\.parquet)(:(?P<task>.*))?", re.DOTALL)
_ID = re.compile(r"[0-9A-Fa-f]*")


class StoreSource:
    """One row of a store."""

    form = "a task of a store (STORE.parquet:TASK, its name or its id)"

    def accepts(self, spec: str) -> bool:
        """`torch.parquet:Reader` may be a module's class: it is a store's task if there is such a file."""
        found = _FORM.fullmatch(spec)
        if found is None:
            return False
        path = found["path"]
        return _ID.fullmatch(found["task"] or "") is not None or "/" in path or _is_file(path)

    def load(self, request: Request) -> Task:
        found = _FORM.fullmatch(request.spec)
        if found is None:
            raise UsageError(f"{request.spec!r:.200} names no task of a store; write {self.form}")
        store = Store(Path(found["path"]))
        if not found["task"]:
            raise UsageError(f"{store.path} holds {len(store)} tasks{store.such_as()}; write {self.form}")
        if request.inputs or request.init is not None:
            raise UsageError(
                f"{request.spec} has its own get_inputs; inputs are given only with package.module:Class"
            )
        made = store.find(found["task"])
        check_format(made.task.source, request.spec)
        where = f"{store.path.resolve()}:{made.task.digest}"
        source, scale = with_scale(made.task.source, request.spec, request.scale, request.device_kind)
        return replace(made.task, source=source, scale=scale, provenance=f"{where} ({made.task.provenance})")


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except OSError:  # too long a name, for one
        return False
