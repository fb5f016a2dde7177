"""What a user finds in `model_new.py`."""

import pytest
import torch

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
SOURCE = f'''{HEAD}
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.unused = nn.Parameter(torch.zeros(3), requires_grad=False)


class Model(nn.Module):
    """A norm with a mask."""

    def __init__(self, width: int, scale: float = 2.0):
        super().__init__()
        self.blocks = nn.Sequential(Block(width), nn.ReLU(), Block(width))
        self.scale = scale
        self.register_buffer("mask", torch.tril(torch.ones(8, 8)), persistent=False)
        self.register_buffer("shift", torch.randn(1))

    def forward(self, x, y=None):
        normal = self.blocks[0].norm(x) * self.scale + self.shift
        return {{"normal": normal, "masked": normal.view(-1, 8, 8).transpose(1, 2) * self.mask}}, normal.t()


def get_init_inputs():
    return [64]


def get_inputs():
    return [torch.randn(5, 64)]
'''


@pytest.fixture(scope="module")
def candidate(bench):
    return bench.write(SOURCE)


@pytest.fixture(scope="module")
def model_class(bench, candidate):
    with bench.loaded(candidate):
        yield bench.module(candidate.text("model_new.py")).ModelNew


@pytest.fixture(scope="module")
def model(bench, model_class):
    torch.manual_seed(0)
    made = model_class(64)
    made.load_state_dict(bench.module(SOURCE).Model(64).state_dict())
    return made


def test_results_keep_their_containers_and_values(bench):
    outcome = bench.run(SOURCE)
    assert [outcome.error(place) < 1e-6 for place in range(3)] == [True] * 3


def test_the_state_dict_has_the_references_names_and_shapes(bench, model):
    reference = bench.module(SOURCE).Model(64)
    assert {name: item.shape for name, item in model.state_dict().items()} == {
        name: item.shape for name, item in reference.state_dict().items()
    }
    assert not model.blocks["0"].unused.requires_grad


def test_the_constructor_takes_the_references_arguments(model_class):
    assert model_class(64, scale=2.0) is not None
    with pytest.raises(ValueError, match=r"generated for width=64, scale=2.0"):
        model_class(128)


def test_an_input_of_another_shape_is_refused_at_the_door(model):
    with pytest.raises(ValueError, match=r"x must be torch.float32\[5, 64\], not torch.float32\[6, 64\]"):
        model(torch.randn(6, 64))
    with pytest.raises(ValueError, match=r"not torch.float64"):
        model(torch.randn(5, 64).double())
    with pytest.raises(ValueError, match=r"generated for y=None"):
        model(torch.randn(5, 64), 3)


def test_an_input_that_does_not_lie_in_order_is_copied(model):
    x = torch.randn(64, 5)
    with torch.no_grad():
        assert torch.equal(model(x.t())[1], model(x.t().contiguous())[1])


def test_two_writings_of_one_program_are_the_same_text(bench, candidate):
    assert bench.write(SOURCE) == candidate


def test_a_kernel_says_what_it_computes_and_its_traffic(candidate):
    for path, text in candidate.files:
        if path.endswith(".cu"):
            assert text.startswith("// ")
            assert "// Traffic: " in text
            assert "cudaGetLastError()" in text
