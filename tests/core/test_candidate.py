import os

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


def _folder(path, **files):
    for name, text in {"model_new.py": "", **files}.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return path


def test_a_module_beside_the_program_belongs_to_it_if_it_is_imported(tmp_path):
    folder = _folder(
        tmp_path,
        **{
            "model_new.py": "from ops import f",
            "ops.py": "import more",
            "more.py": "",
            "model.py": "",
            "other.py": "",
        },
    )
    assert [path for path, _ in Candidate.from_folder(folder).files] == ["model_new.py", "more.py", "ops.py"]


def test_a_file_in_place_of_a_folder_is_a_program_by_itself(tmp_path):
    (tmp_path / "answer.py").write_text("x = 1")
    assert Candidate.from_folder(tmp_path / "answer.py").files == (("model_new.py", "x = 1"),)


def test_a_workspace_leaves_out_what_is_frozen_or_built(tmp_path):
    files = {
        "binding.cpp": "",
        "binding_registry.h": "",
        "utils/compile.py": "",
        "build/x.cu": "",
        "model.py": "",
    }
    folder = _folder(tmp_path, **files, **{"kernels/a_binding.cpp": "", "cuda_extension.so": ""})
    assert [path for path, _ in Candidate.from_folder(folder).files] == [
        "kernels/a_binding.cpp",
        "model_new.py",
    ]


@pytest.mark.parametrize("name", ["kernels/a.cu", "model_new.py", "kernels"])
def test_a_link_that_leaves_the_folder_is_refused(tmp_path, name):
    folder = _folder(tmp_path / "program")
    outside = _folder(tmp_path / "outside", **{"a.cu": "secret"})
    link = folder / name
    link.unlink(missing_ok=True)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside if name == "kernels" else outside / "a.cu")
    with pytest.raises(UsageError, match="symbolic link"):
        Candidate.from_folder(folder)


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path):
    folder = _folder(tmp_path, **{"kernels/a.cu": ""})
    os.mkfifo(folder / "kernels" / "b.cu")
    with pytest.raises(UsageError, match="no regular file"):
        Candidate.from_folder(folder)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path):
    folder = _folder(tmp_path, **{"kernels/a.cu": ""})
    os.truncate(folder / "kernels" / "a.cu", 1 << 40)
    with pytest.raises(UsageError, match="bytes"):
        Candidate.from_folder(folder)


@pytest.mark.parametrize(
    "paths",
    [["a\nb.cu"], ["a\x1b.cu"], ["A.cu", "a.cu"], ["a.cu", "a.cu/b.cu"], ["torch.py"], ["typing.py"],
     ["cuda_extension.py"]],
    ids=["newline", "escape", "case", "file and folder", "torch", "standard library", "generated"],
)  # fmt: skip
def test_names_that_mislead_or_cannot_lie_side_by_side_are_refused(paths):
    with pytest.raises(UsageError):
        Candidate.of({"model_new.py": "", **dict.fromkeys(paths, "")})


@pytest.mark.parametrize(
    ("files", "form"),
    [
        (
            {"model_new.py": "from torch.utils.cpp_extension import load", "kernels/a.cu": ""},
            Form.SINGLE_FILE,
        ),
        ({"model_new.py": "import torch.utils.cpp_extension as e", "kernels/a.cu": ""}, Form.SINGLE_FILE),
        ({"model_new.py": "# no load_inline here\n'load_inline'", "kernels/a.cu": ""}, Form.LAUNCHER),
        ({"model_new.py": "", "kernels/a.cu": "REGISTER_BINDING(a, b);"}, Form.TORCH),
    ],
)
def test_a_program_that_compiles_for_itself_is_told_by_its_code_and_not_its_comments(files, form):
    assert Candidate.of(files).form is form


def test_a_file_that_is_no_python_is_no_program(tmp_path):
    page = tmp_path / "answer.md"
    page.write_text("# An answer")
    with pytest.raises(UsageError, match=r"name a folder with model_new\.py, or one \.py file"):
        Candidate.from_folder(page)
