"""A veil over tensors of every kind: noise with it, themselves without it."""

import pytest
import torch

from warpsmith.judge.clock.veil import Veil

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
    before = tensor.clone()
    Veil([[tensor]], "cpu").turn(17)
    if tensor.numel() > 8:
        assert not torch.equal(tensor, before)
    Veil([[tensor]], "cpu").turn(17)
    assert torch.equal(tensor, before)


def test_another_key_gives_nothing_back():
    tensor = torch.ones(1000)
    Veil([[tensor]], "cpu").turn(1)
    Veil([[tensor]], "cpu").turn(2)
    assert (tensor == 1.0).sum() == 0


def test_the_same_numbers_look_different_in_each_set():
    one, other = torch.ones(1000), torch.ones(1000)
    Veil([[one], [other]], "cpu").turn(1)
    assert (one.view(torch.int32) == other.view(torch.int32)).sum() == 0


def test_a_part_leaves_its_neighbours_alone():
    whole = torch.arange(100.0)
    Veil([[whole[10:20]]], "cpu").turn(1)
    assert torch.equal(whole[:10], torch.arange(10.0))
    assert torch.equal(whole[20:], torch.arange(20.0, 100.0))


def test_every_bit_is_hidden():
    zeros = torch.zeros(4096, dtype=torch.int64)
    Veil([[zeros]], "cpu").turn(3)
    share = torch.stack([(zeros >> bit & 1).double().mean() for bit in range(64)])
    assert ((share - 0.5).abs() < 0.05).all()


@pytest.mark.parametrize("name", sorted(TENSORS))
def test_what_is_copied_is_veiled_from_the_beginning(name):
    source = TENSORS[name]
    target = torch.zeros(source.shape, dtype=source.dtype)
    Veil([[target]], "cpu", sources=[[source]]).turn(5)
    if source.numel() > 8:
        assert not torch.equal(target, source)
    Veil([[target]], "cpu").turn(5)
    assert torch.equal(target, source)


def test_sets_that_are_turned_together_are_those_that_were_veiled_one_by_one():
    sets = [[torch.arange(100.0)], [torch.arange(33), torch.ones(7, dtype=torch.uint8)]]
    before = [[tensor.clone() for tensor in one] for one in sets]
    for index, one in enumerate(sets):
        Veil([one], "cpu").turn(9 + index)
    Veil(sets, "cpu").turn(9)
    for one, other in zip(sets, before, strict=True):
        assert all(map(torch.equal, one, other))


def test_pretending_changes_nothing():
    tensor = torch.arange(100.0)
    Veil([[tensor]], "cpu", pretends=True).turn(1)
    assert torch.equal(tensor, torch.arange(100.0))
