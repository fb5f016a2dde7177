"""A veil over tensors of every kind: noise with it, themselves without it."""

import pytest
import torch

from warpsmith.judge.veil import Veil

TENSORS = {
    "floats": torch.arange(1000.0),
    "an odd number of bytes": torch.arange(33, dtype=torch.uint8),
    "truth values": torch.arange(100) % 3 == 0,
    "halves": torch.arange(99, dtype=torch.float16),
    "complex": torch.complex(torch.arange(9.0), torch.ones(9)),
    "indices": torch.arange(64),
    "columns": torch.arange(60.0).reshape(5, 12).t(),
    "a part": torch.arange(100.0)[3:50],
    "a scalar": torch.tensor(3.0),
    "nothing": torch.empty(0, 3),
    "one number seen often": torch.tensor([2.0]).expand(4, 5),
}


@pytest.mark.parametrize("name", sorted(TENSORS))
def test_it_hides_and_gives_back(name):
    tensor = TENSORS[name].clone(memory_format=torch.preserve_format)
    before, veil = tensor.clone(), Veil("cpu")
    veil.turn([tensor], 17)
    if tensor.numel() > 8:
        assert not torch.equal(tensor, before)
    Veil("cpu").turn([tensor], 17)
    assert torch.equal(tensor, before)


def test_another_key_gives_nothing_back():
    tensor = torch.ones(1000)
    Veil("cpu").turn([tensor], 1)
    Veil("cpu").turn([tensor], 2)
    assert (tensor == 1.0).sum() == 0


def test_the_same_numbers_look_different_in_each_set():
    one, other, veil = torch.ones(1000), torch.ones(1000), Veil("cpu")
    veil.turn([one], 1)
    veil.turn([other], 2)
    assert (one.view(torch.int32) == other.view(torch.int32)).sum() == 0


def test_a_part_leaves_its_neighbours_alone():
    whole = torch.arange(100.0)
    Veil("cpu").turn([whole[10:20]], 1)
    assert torch.equal(whole[:10], torch.arange(10.0))
    assert torch.equal(whole[20:], torch.arange(20.0, 100.0))


def test_every_bit_is_hidden():
    zeros = torch.zeros(4096, dtype=torch.int64)
    Veil("cpu").turn([zeros], 3)
    share = torch.stack([(zeros >> bit & 1).double().mean() for bit in range(64)])
    assert ((share - 0.5).abs() < 0.05).all()
