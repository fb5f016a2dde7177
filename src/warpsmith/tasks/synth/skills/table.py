"""Skills to rows and back. The same rows are written as Parquet and as lines of JSON."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never

from warpsmith.core import Candidate, EnvironmentMissing, Passed, Task, TaskError, UsageError, Verdict
from warpsmith.core.codec import from_data, to_data, to_json
from warpsmith.tasks.synth.similarity import fingerprint
from warpsmith.tasks.synth.skills.skill import Contract, Kind, Lesson, Skill, SubTask, provenance

try:
    import pyarrow as pa
    from pyarrow import parquet
except ImportError as missing:
    raise EnvironmentMissing("skills are kept by pyarrow; pip install 'warpsmith[synth]'") from missing

VERSION = 1
METADATA = b"warpsmith skills"
DAMAGE = (pa.ArrowException, OSError, ValueError, OverflowError)
BATCH = 512

SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("ops", pa.list_(pa.string())),
        pa.field("code", pa.string(), nullable=False),
        pa.field("task", pa.string(), nullable=False),  # JSON: the task but for its code
        pa.field("contract", pa.string()),  # JSON
        pa.field("files", pa.string(), nullable=False),  # JSON: path -> text
        pa.field("feedback", pa.string()),
        pa.field("answer", pa.string()),  # JSON: path -> text
        pa.field("verdict_before", pa.string()),  # JSON
        pa.field("verdict_after", pa.string()),  # JSON
        pa.field("turns", pa.list_(pa.int32())),
        pa.field("speedup", pa.float64()),
        pa.field("timed", pa.string()),
        pa.field("origin", pa.string(), nullable=False),
        pa.field("reference", pa.string(), nullable=False),
        pa.field("structure", pa.string(), nullable=False),
    ]
)
COLUMNS = (
    ("id", "SHA-256 over what is asked and, after feedback, what was answered"),
    ("kind", "`from scratch`, `repair` or `optimise`"),
    ("name", "of the step, or of the task"),
    ("ops", "from scratch: the operators of the step"),
    ("code", "the reference: a Python module with `Model`, `get_inputs` and `get_init_inputs`"),
    ("task", "JSON: how it is judged, and where it came from"),
    ("contract", "from scratch, JSON: the tensors with their sizes and types, and the launcher's signature"),
    ("files", "JSON, path to text: the template to be filled in, or the program before"),
    ("feedback", "what was said of the program before"),
    ("answer", "JSON, path to text: the program after; none from scratch"),
    ("verdict_before", "JSON: the judge's words on the program before"),
    ("verdict_after", "JSON: on the program after, which passed"),
    ("turns", "in which turns of its run the two verdicts were given"),
    ("speedup", "median time before over after, where both were timed"),
    ("timed", "`measured` or `modelled`: how"),
    ("origin", "the digest of the task that the step was taken out of, or the name of the run"),
    ("reference", "SHA-256 of the reference but for names and sizes: equal in two rows for one reference"),
    ("structure", "equal for references whose graphs are the same"),
)


def record(skill: Skill) -> dict[str, Any]:
    """A row. Raises UsageError if its task cannot be compared with others."""
    try:
        found = fingerprint(skill.task)
    except TaskError as error:
        raise UsageError(f"a skill's task cannot be read: {error}") from error
    about = to_data(replace(skill.task, source=""))
    row: dict[str, Any] = {
        **dict.fromkeys(SCHEMA.names),
        "id": skill.digest,
        "kind": skill.kind.value,
        "name": skill.name,
        "code": skill.task.source,
        "task": to_json({name: value for name, value in about.items() if name not in ("type", "source")}),
        "origin": skill.origin,
        "reference": found.reference,
        "structure": found.structure,
    }
    own: dict[str, Any]
    match skill:
        case SubTask():
            own = {
                "ops": list(skill.operators),
                "contract": to_json(skill.contract),
                "files": to_json(dict(skill.template.files)),
            }
        case Lesson():
            timed = provenance(skill)
            own = {
                "files": to_json(dict(skill.before.files)),
                "feedback": skill.feedback,
                "answer": to_json(dict(skill.after.files)),
                "verdict_before": to_json(skill.verdict_before),
                "verdict_after": to_json(skill.verdict_after),
                "turns": list(skill.turns),
                "speedup": skill.speedup,
                "timed": timed.value if timed is not None else None,
            }
        case _:
            assert_never(skill)
    return row | own


def skill_of(row: dict[str, Any], where: str) -> Skill:
    """Raises UsageError if the row is not what was written: its id is the digest of its content."""
    try:
        skill = _skill(row)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{where}: no skill ({_one_line(error)})") from error
    if skill.digest != row["id"]:
        raise UsageError(f"{where}: its id {row['id']!r:.80} is not the digest of what it holds")
    return skill


def _skill(row: dict[str, Any]) -> Skill:
    task = from_data(Task, {**json.loads(row["task"]), "source": row["code"]})
    files = Candidate.of(json.loads(row["files"]))
    if Kind(row["kind"]) is Kind.FROM_SCRATCH:
        return SubTask(
            name=row["name"],
            operators=tuple(row["ops"]),
            task=task,
            contract=from_data(Contract, json.loads(row["contract"])),
            template=files,
            origin=row["origin"],
        )
    first, last = row["turns"]
    verdict: Verdict = from_data(Verdict, json.loads(row["verdict_before"]))  # type: ignore[arg-type]
    return Lesson(
        task=task,
        before=files,
        verdict_before=verdict,
        feedback=row["feedback"],
        after=Candidate.of(json.loads(row["answer"])),
        verdict_after=from_data(Passed, json.loads(row["verdict_after"])),
        origin=row["origin"],
        turns=(int(first), int(last)),
    )


def write(rows: list[dict[str, Any]], path: Path) -> None:
    """With a seal over all rows, so that what was lost or changed is noticed when it is read."""
    seal = hashlib.sha256()
    for row in rows:
        seal.update(_text(row))
    kept = json.dumps({"version": VERSION, "seal": seal.hexdigest()})
    content = pa.Table.from_pylist(rows, schema=SCHEMA).replace_schema_metadata({METADATA: kept.encode()})
    parquet.write_table(content, path, compression="zstd", write_page_checksum=True, row_group_size=BATCH)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Every row in order.

    Raises UsageError, one line, if the file is none of skills or, at the latest at its end, if it is damaged.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file; skills are made by `warpsmith synth skills`")
    seal = hashlib.sha256()
    try:
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        kept = json.loads((file.schema_arrow.metadata or {}).get(METADATA, b"{}"))
        is_known = isinstance(kept, dict) and kept.get("version") == VERSION
        if not is_known or not file.schema_arrow.equals(SCHEMA):
            raise UsageError(f"{path} holds no skills that this warpsmith reads; make them again")
        for batch in file.iter_batches(batch_size=BATCH, columns=SCHEMA.names):
            for row in batch.to_pylist():
                seal.update(_text(row))
                yield row
    except DAMAGE as error:
        raise UsageError(f"{path} is no Parquet file, or damaged ({_one_line(error)})") from error
    if seal.hexdigest() != kept.get("seal"):
        raise UsageError(f"{path} is damaged, or was changed by somebody else: it is not what was written")


def _text(row: dict[str, Any]) -> bytes:
    return json.dumps([row[name] for name in SCHEMA.names]).encode()


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
