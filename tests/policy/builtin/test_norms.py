"""Norms of every kind: right at odd sizes, and with as few passes over memory as their statistics allow."""

import pytest

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n"
AFFINE = (
    "[nn.init.normal_(p) for p in self.parameters()]; "
    "[b.copy_(torch.rand(b.shape) + 0.5) for b in self.buffers() if b.is_floating_point()]"
)


def task(result, inputs, parts="pass"):
    return (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n"
        f"        super().__init__()\n        {parts}\n\n"
        f"    def forward(self, x, y=None, z=None):\n        return {result}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


def r(*shape):
    return f"torch.randn{shape}"


NORMS = {
    "batch norm": ("self.n(x)", r(3, 5, 7), f"self.n = nn.BatchNorm1d(5); {AFFINE}"),
    "batch norm of rows": ("F.relu(self.n(x))", r(9, 33), f"self.n = nn.BatchNorm1d(33); {AFFINE}"),
    "batch norm of volumes": ("self.n(x)", r(2, 3, 4, 5, 3), f"self.n = nn.BatchNorm3d(3); {AFFINE}"),
    "batch norm without weights": ("self.n(x)", r(2, 3, 9), "self.n = nn.BatchNorm1d(3, affine=False)"),
    "batch norm by the batch's statistics": (
        "self.n(x)",
        r(4, 6, 5, 3),
        "self.n = nn.BatchNorm2d(6, track_running_stats=False)",
    ),
    "batch norm by the statistics of many": (
        "self.n(x)",
        f"{r(3, 2, 30000)} * 3 + 5",
        "self.n = nn.BatchNorm1d(2, track_running_stats=False)",
    ),
    "instance norm": ("self.n(x)", r(2, 3, 11, 5), f"self.n = nn.InstanceNorm2d(3, affine=True); {AFFINE}"),
    "group norm": ("self.n(x)", r(2, 6, 7, 5), f"self.n = nn.GroupNorm(3, 6); {AFFINE}"),
    "group norm of one group": ("self.n(x)", r(2, 5, 9), f"self.n = nn.GroupNorm(1, 5); {AFFINE}"),
    "layer norm of very long rows": (
        "self.n(x)",
        f"{r(2, 7, 100, 101)} + 3",
        f"self.n = nn.LayerNorm((7, 100, 101)); {AFFINE}",
    ),
    "layer norm of channels": (
        "self.n(x.permute(0, 2, 1)).permute(0, 2, 1)",
        r(3, 17, 9),
        "self.n = nn.LayerNorm(17)",
    ),
    "layer norm without a bias": ("self.n(x)", r(5, 40), "self.n = nn.LayerNorm(40, bias=False)"),
    "rms norm of channels": ("x / (x.pow(2).mean(1, keepdim=True) + 1e-5).sqrt()", r(3, 19, 11)),
    "l1 norm": ("x / x.abs().mean(1, keepdim=True)", r(7, 301)),
    "l2 norm": ("x / x.norm(p=2, dim=1, keepdim=True)", r(7, 301)),
    "l2 norm of columns": ("F.normalize(x, dim=0)", r(7, 30)),
    "frobenius norm": ("x / x.norm(p='fro')", r(3, 70, 333)),
    "layer scale": (
        "x + self.g * F.layer_norm(x, (24,))",
        r(4, 6, 24),
        "self.g = nn.Parameter(torch.randn(24))",
    ),
}
AXES = {
    "softmax of the first axis": ("x.softmax(0)", r(17, 9)),
    "softmax of a middle axis": ("x.softmax(1)", r(3, 40, 5)),
    "log-softmax of the first axis": ("x.log_softmax(0)", r(33, 40)),
    "logsumexp of two axes": ("x.logsumexp((1, 2))", r(3, 4, 5, 6)),
    "logsumexp of the first axis": ("x.logsumexp(0)", r(40, 7)),
    "sum of the outer axes": ("x.sum((0, 2))", r(5, 6, 7)),
    "mean of two middle axes": ("x.mean((1, 2))", r(3, 4, 5, 6)),
    "maximum of the first and last": ("x.amax((0, 3))", r(3, 4, 5, 6)),
    "product of the first axis": ("x.prod(0)", r(6, 33)),
    "standard deviation of the first axis": ("x.std(0)", r(60, 12)),
    "sum of integers": ("x.sum(0)", "torch.randint(0, 99, (300, 5))"),
    "one column": ("x.sum(0)", r(77, 1)),
}
LOSSES = {
    "mse": ("F.mse_loss(x, y)", f"{r(33, 41)}, {r(33, 41)}"),
    "huber": ("F.huber_loss(x, y, delta=0.7)", f"{r(33, 41)}, {r(33, 41)}"),
    "smooth l1": ("F.smooth_l1_loss(x, y, beta=0.5)", f"{r(33, 41)}, {r(33, 41)}"),
    "l1": ("F.l1_loss(x, y, reduction='sum')", f"{r(33, 41)}, {r(33, 41)}"),
    "cross-entropy of images": ("F.cross_entropy(x, y)", f"{r(2, 7, 5, 3)}, torch.randint(0, 7, (2, 5, 3))"),
    "cross-entropy with probabilities": ("F.cross_entropy(x, y.softmax(1))", f"{r(9, 40)}, {r(9, 40)}"),
    "kl divergence": (
        "F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='batchmean')",
        f"{r(9, 31)}, {r(9, 31)}",
    ),
    "hinge": ("torch.mean(torch.clamp(1 - x * y, min=0))", f"{r(9, 31)}, {r(31)}.sign()"),
    "hinge embedding": ("F.hinge_embedding_loss(x, y)", f"{r(9, 31)}, {r(9, 31)}.sign()"),
    "cosine": ("F.cosine_embedding_loss(x, y, z)", f"{r(9, 31)}, {r(9, 31)}, {r(9)}.sign()"),
    "cosine similarity": ("(1 - F.cosine_similarity(x, y, dim=1)).mean()", f"{r(9, 31)}, {r(9, 31)}"),
    "triplet margin": ("F.triplet_margin_loss(x, y, z)", ", ".join([r(9, 31)] * 3)),
    "bce with logits": ("F.binary_cross_entropy_with_logits(x, y.sigmoid())", f"{r(9, 31)}, {r(9, 31)}"),
    "bce": ("F.binary_cross_entropy(x.sigmoid(), y.sigmoid())", f"{r(9, 31)}, {r(9, 31)}"),
    "poisson": ("F.poisson_nll_loss(x, y.abs())", f"{r(9, 31)}, {r(9, 31)}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("table", ["NORMS", "AXES", "LOSSES"])
def test_each_computes_what_the_module_does(bench, table):
    cases = globals()[table]
    errors = {name: bench.run(task(*case)).error() for name, case in cases.items()}
    assert {name: error for name, error in errors.items() if error > 3e-6} == {}


def traffic(bench, source):
    """The plan's traffic, in sizes of the first input."""
    graph, plan = bench.plan(source)
    return plan.cost.traffic_bytes / graph.inputs[0].num_bytes


@pytest.mark.parametrize(
    ("name", "times"),
    [("instance norm", 2), ("group norm", 2), ("l2 norm", 2), ("rms norm of channels", 2), ("batch norm", 2)],
)
def test_a_norm_of_rows_reads_and_writes_once(bench, name, times):
    assert traffic(bench, task(*NORMS[name])) < times + 0.5


def test_a_norm_of_very_long_rows_reads_three_times(bench):
    # Mean, variance, result; its weights are as large as a row, of which there are two.
    assert traffic(bench, task(*NORMS["layer norm of very long rows"])) < 5.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mse", "huber", "hinge", "smooth l1", "l1"])
def test_a_loss_reads_each_operand_once(bench, name):
    assert traffic(bench, task(*LOSSES[name])) < 2.1
