"""A task of a store: `STORE.parquet:ID`, where the beginning of an id is enough if no other begins so."""

import re
from dataclasses import replace
from pathlib import Path

from warpsmith.core import Task, UsageError
from warpsmith.tasks.base import Request
from warpsmith.tasks.file import check_format
from warpsmith.tasks.scale import with_scale
from warpsmith.tasks.store.store import SUFFIX, Store

_FORM = re.compile(r"(?P<path>.+\.parquet)(:(?P<id>[0-9A-Fa-f]*))?", re.DOTALL)


class StoreSource:
    """One row of a store."""

    form = "a task of a store (STORE.parquet:ID)"

    def accepts(self, spec: str) -> bool:
        found = _FORM.fullmatch(spec)
        return found is not None or (Path(spec.rpartition(":")[0]).suffix == SUFFIX and "/" in spec)

    def load(self, request: Request) -> Task:
        found = _FORM.fullmatch(request.spec)
        if found is None:
            raise UsageError(f"{request.spec!r:.200}: an id is hexadecimal; write {self.form}")
        store = Store(Path(found["path"]))
        if not found["id"]:
            some = ", ".join(one[:12] for one in store.ids()[:4]) or "none"
            raise UsageError(
                f"{store.path} holds {len(store)} tasks; name one by its id (such as {some}): {self.form}"
            )
        if request.inputs or request.init is not None:
            raise UsageError(
                f"{request.spec} has its own get_inputs; inputs are given only with package.module:Class"
            )
        made = store.find(found["id"].lower())
        check_format(made.task.source, request.spec)
        where = f"{store.path.resolve()}:{made.task.digest}"
        source, scale = with_scale(made.task.source, request.spec, request.scale, request.device_kind)
        return replace(made.task, source=source, scale=scale, provenance=f"{where} ({made.task.provenance})")
