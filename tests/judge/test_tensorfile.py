"""Tensors in files: what is written is read, and nothing that a hostile file says is believed."""

import errno
import json
import os

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsmith.judge.tensorfile import (
    ALIGNMENT,
    DTYPES,
    MAGIC,
    Entry,
    Foreign,
    TensorFile,
    TensorFileError,
    changed,
    foreign_type,
    leaves,
    total_bytes,
    write,
)


def round_trip(tree, path):
    write(path, tree)
    with TensorFile(path) as file:
        return file.read_all()


def same(a, b):
    if isinstance(a, torch.Tensor):
        words = torch.uint8
        return a.dtype == b.dtype and torch.equal(
            a.contiguous().view(-1).view(words), b.contiguous().view(-1).view(words)
        )
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and (a == b or a != a)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_every_dtype_survives(tmp_path, dtype):
    tensor = (
        torch.arange(16, dtype=torch.uint8).reshape(1, 16).view(dtype)
        if dtype is not torch.bool
        else (torch.tensor([[True, False]]))
    )
    assert same(round_trip(tensor, tmp_path / "f"), tensor)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (5, 7), (1, 1, 1, 1, 1, 1)])
def test_every_shape_survives(tmp_path, shape):
    tensor = torch.randn(shape)
    read = round_trip(tensor, tmp_path / "f")
    assert read.shape == tensor.shape
    assert same(read, tensor)


def test_a_tree_survives_with_its_numbers_to_the_last_bit(tmp_path):
    tree = {
        "weights": [torch.ones(2), (torch.zeros(1), None)],
        "numbers": (
            1,
            True,
            0.1,
            float("inf"),
            -0.0,
            2**80,
            1 + 2j,
            "text \n ü",
            torch.float16,
            float("nan"),
        ),
        "empty": ((), [], {}),
    }
    assert same(round_trip(tree, tmp_path / "f"), tree)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(24).reshape(2, 3, 4).permute(2, 0, 1),
        torch.arange(24).reshape(4, 6).t(),
        torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    ],
)
def test_a_dense_layout_is_kept(tmp_path, tensor):
    read = round_trip(tensor, tmp_path / "f")
    assert torch.equal(read, tensor)
    assert read.stride() == tensor.stride()


@pytest.mark.parametrize("tensor", [torch.ones(1).expand(3, 4), torch.arange(12).reshape(3, 4)[:, ::2]])
def test_another_layout_becomes_contiguous(tmp_path, tensor):
    read = round_trip(tensor, tmp_path / "f")
    assert torch.equal(read, tensor)
    assert read.is_contiguous()


def test_parameters_come_back_as_plain_tensors(tmp_path):
    assert type(round_trip(torch.nn.Parameter(torch.ones(2)), tmp_path / "f")) is torch.Tensor


class Subclass(torch.Tensor):
    """Could answer for itself."""


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (torch.ones(2).as_subclass(Subclass), "Subclass"),
        (torch.ones(2, 2).to_sparse(), "Tensor"),
        (torch.empty(2, device="meta"), "Tensor"),
        (torch.nn.ReLU(), "ReLU"),
        ({1: 2}, "dict"),
        ([(object(),)], "object"),
        ({"a": [{2}]}, "set"),
    ],
)
def test_what_cannot_be_written_is_seen_as_foreign(tmp_path, value, name):
    assert foreign_type(value) == name
    found = []
    changed(round_trip(value, tmp_path / "f"), found.append, Foreign)
    assert found == [Foreign(name)]


def test_a_shared_mapping_reaches_the_file_and_a_private_one_does_not(tmp_path):
    write(tmp_path / "f", [torch.zeros(4)])
    with TensorFile(tmp_path / "f") as file:
        file.map_private()[0].fill_(1.0)
        assert file.read_all()[0].sum() == 0
        file.map_shared()[0].fill_(2.0)
        assert file.read_all()[0].sum() == 8


def test_bytes_and_leaves_are_counted_in_order():
    tree = {"a": torch.zeros(2), "b": [torch.zeros(3, dtype=torch.float16), 1, None]}
    assert total_bytes(tree) == 8 + 6
    assert [tensor.numel() for tensor in leaves(tree)] == [2, 3]


def test_nothing_is_written_over(tmp_path):
    write(tmp_path / "f", 1)
    with pytest.raises(FileExistsError):
        write(tmp_path / "f", 2)


def test_a_full_disk_is_an_error_that_says_where(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(
        OSError, match=r"No space left on device \(needs 3 MiB\); free some space there"
    ) as raised:
        write(tmp_path / "f", torch.zeros(1 << 20, dtype=torch.uint8).expand(3, -1).contiguous())
    assert raised.value.filename == str(tmp_path)


# --- hostile files ---


def hostile(path, tensors=(), tree=("none",), data=b"", length=None):
    header = json.dumps({"tree": tree, "tensors": list(tensors)}).encode()
    head = MAGIC + (len(header) if length is None else length).to_bytes(8, "little") + header
    path.write_bytes(head + bytes(-len(head) % ALIGNMENT) + data)
    return path


GOOD = {"dtype": "float32", "shape": [4], "order": [0], "device": "cpu", "offset": 0}


def test_an_honest_header_by_hand_is_read(tmp_path):
    with TensorFile(hostile(tmp_path / "f", [GOOD], ["tensor", 0], bytes(16))) as file:
        assert file.read_all().tolist() == [0.0] * 4


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "object"},
        {"dtype": ["float32"]},
        {"shape": [-4]},
        {"shape": [4.0]},
        {"shape": [True]},
        {"shape": [5]},
        {"shape": [2**40, 2**40]},
        {"shape": [1] * 65, "order": list(range(65))},
        {"shape": "4"},
        {"shape": None},
        {"order": []},
        {"order": [1]},
        {"order": [0, 0]},
        {"offset": 512},
        {"offset": -512},
        {"offset": 4},
        {"offset": 2**62},
        {"device": "meta"},
    ],
)
def test_a_tensor_that_is_not_there_is_not_believed(tmp_path, change):
    with pytest.raises(TensorFileError):
        TensorFile(hostile(tmp_path / "f", [GOOD | change], ["tensor", 0], bytes(16)))


def nested(depth):
    return ["list", nested(depth - 1)] if depth else ["none"]


@pytest.mark.parametrize(
    "tree",
    [
        ["tensor", 1],
        ["tensor", -1],
        ["tensor"],
        ["pickle", "x"],
        [],
        None,
        7,
        {"tensor": 0},
        ["dict", ["only a key"]],
        ["number", "float", "one"],
        ["number", "eval", "1"],
        ["dtype", "object"],
        nested(100),
    ],
)
def test_a_tree_that_is_none_is_not_believed(tmp_path, tree):
    with pytest.raises(TensorFileError):
        TensorFile(hostile(tmp_path / "f", [GOOD], tree, bytes(16)))


@pytest.mark.parametrize("content", [b"", b"short", b"X" * 64, MAGIC, MAGIC + b"\xff" * 8, MAGIC + bytes(8)])
def test_what_is_no_tensor_file_is_told(tmp_path, content):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(TensorFileError):
        TensorFile(tmp_path / "f")


def test_deep_json_does_not_exhaust_the_stack(tmp_path):
    header = b"[" * 100_000
    (tmp_path / "f").write_bytes(MAGIC + len(header).to_bytes(8, "little") + header)
    with pytest.raises(TensorFileError):
        TensorFile(tmp_path / "f")


def test_links_pipes_folders_and_missing_files_are_refused(tmp_path):
    write(tmp_path / "real", 1)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder", "missing"):
        with pytest.raises(TensorFileError):
            TensorFile(tmp_path / name)


def test_a_file_cut_short_after_it_was_opened_is_an_error_and_no_crash(tmp_path):
    write(tmp_path / "f", torch.zeros(1000))
    with TensorFile(tmp_path / "f") as file:
        os.truncate(tmp_path / "f", 500)
        with pytest.raises(TensorFileError, match="cut short"):
            file.read_all()


@given(st.binary(max_size=300))
@settings(max_examples=60, deadline=None)
def test_arbitrary_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("files") / "f"
    path.write_bytes(MAGIC + len(content).to_bytes(8, "little") + content)
    with pytest.raises(TensorFileError):
        TensorFile(path)


def test_an_entry_is_as_large_as_it_says():
    entry = Entry(dtype=torch.float16, shape=(3, 5), order=(0, 1), device="cpu", offset=0)
    assert (entry.num_elements, entry.num_bytes) == (15, 30)
