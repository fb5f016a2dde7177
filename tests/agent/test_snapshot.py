"""What is kept of a workspace, what is not, and that putting it back touches nothing else."""

import os
from dataclasses import replace

import pytest

from warpsmith.agent.runs import snapshot
from warpsmith.agent.runs.snapshot import Blobs, Snapshot, restored, taken
from warpsmith.core import InfraError, UsageError


@pytest.fixture
def blobs(tmp_path):
    return Blobs(tmp_path / "blobs")


@pytest.fixture
def root(tmp_path):
    (folder := tmp_path / "work").mkdir()
    return folder


def put(root, **files):
    for name, body in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body if isinstance(body, bytes) else body.encode())


def test_texts_are_kept_and_what_can_be_built_again_is_not(root, blobs):
    put(
        root,
        model_new_dot_py="x = 1\n",
        kernels__a_dot_cu="// ü\n",
        kernels__a_dot_o=b"\x7fELF",
        build__log_dot_txt="built",
        data=b"\xff\xfe",
        nul=b"text\0text",
        SKILL_dot_md="ours",
        notes__plan_dot_md="plan",
    )
    made = taken(root, blobs)
    assert list(made.files) == ["kernels/a.cu", "model_new.py", "notes/plan.md"]
    assert made.skipped == ()
    assert blobs.get(made.files["kernels/a.cu"]).decode() == "// ü\n"


def test_the_same_text_is_kept_once_however_often(root, blobs, tmp_path):
    put(root, a_dot_txt="same", b_dot_txt="same")
    assert taken(root, blobs) == taken(root, blobs)
    assert len(list((tmp_path / "blobs").iterdir())) == 1


def test_what_is_too_large_or_too_much_is_named(root, blobs, monkeypatch):
    monkeypatch.setattr(snapshot, "MAX_FILE_BYTES", 10)
    monkeypatch.setattr(snapshot, "MAX_BYTES", 25)
    put(root, a_dot_txt="a" * 11, b_dot_txt="b" * 10, c_dot_txt="c" * 10, d_dot_txt="d" * 10, e="e" * 5)
    made = taken(root, blobs)
    assert list(made.files) == ["b.txt", "c.txt", "e"]
    assert made.skipped == ("a.txt", "d.txt")


def test_a_flood_of_files_does_not_push_the_program_out(root, blobs):
    for number in range(600):
        put(root, **{f"a{number}": "x"})
    put(root, model_new_dot_py="x = 1\n", kernels__z_dot_cu="// z\n")
    made = taken(root, blobs)
    assert len(made.files) == snapshot.MAX_FILES
    assert list(made.files)[:2] == ["kernels/z.cu", "model_new.py"]
    assert len(made.skipped) == snapshot.MAX_NAMED


def test_no_link_no_pipe_and_no_odd_name_is_followed(root, blobs, tmp_path):
    put(tmp_path, secret="password")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    os.close(os.open(os.fsencode(root) + b"/odd\xff", os.O_CREAT | os.O_WRONLY))
    put(root, **{"line\nbreak": "x"})
    assert list(taken(root, blobs).files) == ["line\nbreak"]


def test_putting_back_makes_exactly_what_was_there(root, blobs, tmp_path):
    put(root, model_new_dot_py="x = 1\n", kernels__a_dot_cu="// a\n", run_dot_sh="echo", kept="large")
    (root / "run.sh").chmod(0o755)
    made = replace(taken(root, blobs), skipped=("kept", "gone", "kernels/gone"))
    made.files.pop("kept")
    put(root, model_new_dot_py="x = 2\n", kernels__late_dot_cu="// late\n", run_dot_sh=b"")
    restored(root, made, blobs)
    restored(root, made, blobs)
    assert {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()} == {
        "model_new.py",
        "kernels/a.cu",
        "run.sh",
        "kept",
    }
    assert (root / "model_new.py").read_text() == "x = 1\n"
    assert os.access(root / "run.sh", os.X_OK)
    assert not os.access(root / "model_new.py", os.X_OK) or os.getuid() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blobs", "work"]


def test_putting_back_follows_no_link(root, blobs, tmp_path):
    put(root, kernels__a_dot_cu="// a\n", kernels__large="x")
    made = replace(taken(root, blobs), skipped=("kernels/large",))
    made.files.pop("kernels/large")
    put(tmp_path, outside__a_dot_cu="precious", outside__large="precious")
    (root / "kernels").rename(root / "moved")
    (root / "kernels").symlink_to(tmp_path / "outside")
    restored(root, made, blobs)
    assert not (root / "kernels").is_symlink()
    assert sorted(path.name for path in (tmp_path / "outside").iterdir()) == ["a.cu", "large"]
    assert (tmp_path / "outside" / "a.cu").read_text() == "precious"


def test_a_workspace_that_is_a_link_itself_is_replaced(root, blobs, tmp_path):
    put(tmp_path, outside__a_dot_cu="precious")
    root.rmdir()
    root.symlink_to(tmp_path / "outside")
    restored(root, Snapshot(), blobs)
    assert root.is_dir()
    assert not root.is_symlink()
    assert (tmp_path / "outside" / "a.cu").exists()


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out", "kernels/../../out"])
def test_a_path_in_the_record_that_leads_out_is_refused(root, blobs, tmp_path, name):
    digest = blobs.put(b"x")
    for made in (Snapshot(files={name: digest}), Snapshot(skipped=(name,))):
        with pytest.raises(UsageError, match="leads out of the workspace"):
            restored(root, made, blobs)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("digest", ["../task.py", "", "a/b", "ab" * 31])
def test_a_blob_is_named_by_a_digest_and_nothing_else(blobs, digest, tmp_path):
    (tmp_path / "task.py").write_text("x")
    with pytest.raises(UsageError, match="is no name of a blob"):
        blobs.get(digest)


def test_a_blob_on_a_full_disk_is_a_failure_of_ours(tmp_path):
    (tmp_path / "blobs").write_text("no folder")
    with pytest.raises(InfraError, match="cannot be written"):
        Blobs(tmp_path / "blobs").put(b"x")


def test_folders_deeper_than_calls_may_be_are_no_hindrance(root, blobs):
    place = os.open(root, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=place)
        below = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)
    put(root, model_new_dot_py="x = 1\n")
    snapshot = taken(root, blobs)
    assert set(snapshot.files) == {"model_new.py"}
    restored(root, snapshot, blobs)
    assert sorted(path.name for path in root.iterdir()) == ["kernels", "model_new.py"]
