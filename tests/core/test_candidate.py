import pytest

from warpsmith.core import Candidate, Form, UsageError


def test_the_digest_tells_programs_apart_that_only_moved_bytes_between_files():
    joined = Candidate.of({"model_new.py": "ab", "kernels/a.cu": "c"})
    moved = Candidate.of({"model_new.py": "a", "kernels/a.cu": "bc"})
    assert joined.digest != moved.digest
    assert joined.digest == Candidate.of({"kernels/a.cu": "c", "model_new.py": "ab"}).digest


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd.py",
        "../model.py",
        "kernels/../../x.cu",
        "a//b.cu",
        "./a.cu",
        "kernels\\a.cu",
        "a\0.cu",
        "Makefile",
        "",
    ],
)
def test_a_path_that_leaves_the_folder_or_is_no_source_is_refused(path):
    with pytest.raises(UsageError):
        Candidate.of({path: ""})


def test_too_much_source_is_refused():
    with pytest.raises(UsageError, match="at most"):
        Candidate.of({"model_new.py": "x" * (5 << 20)})


@pytest.mark.parametrize(
    ("files", "form"),
    [
        ({"model_new.py": "", "kernels/a.cu": ""}, Form.LAUNCHER),
        ({"model_new.py": "", "kernels/a.cu": "", "kernels/a_binding.cpp": ""}, Form.TORCH),
        ({"model_new.py": ""}, Form.SINGLE_FILE),
    ],
)
def test_the_form_is_told_by_the_files(files, form):
    assert Candidate.of(files).form is form


def test_a_folder_round_trips_and_leaves_out_what_is_no_source(tmp_path):
    candidate = Candidate.of(
        {"model_new.py": "class ModelNew: ...", "kernels/deep/a.cu": "__global__ void k() {}"}
    )
    candidate.write(tmp_path)
    (tmp_path / "kernels" / "a.so").write_bytes(b"\x7fELF")
    (tmp_path / "notes.py").write_text("not part of it")
    assert Candidate.from_folder(tmp_path) == candidate


def test_a_folder_without_a_module_says_what_a_candidate_is(tmp_path):
    with pytest.raises(UsageError, match=r"model_new\.py"):
        Candidate.from_folder(tmp_path)


def test_a_source_that_is_not_text_is_a_usage_error(tmp_path):
    (tmp_path / "model_new.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        Candidate.from_folder(tmp_path)


def test_half_a_surrogate_pair_is_a_usage_error():
    with pytest.raises(UsageError, match="UTF-8"):
        Candidate.of({"model_new.py": "x = '\ud800'"})
