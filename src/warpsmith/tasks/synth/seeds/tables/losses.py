"""Losses and distances: x is what a model says, the slots what it should have said."""

from warpsmith.tasks.synth.base import Domain, Kind
from warpsmith.tasks.synth.seeds.pattern import Pattern, Slot
from warpsmith.tasks.synth.seeds.tables.row import Row, call, module, rows, slot, x

VECTORS = x("batch features")
TARGET = slot("target", "batch features")
CLASSES = slot("target", "batch", below="features")
SIGNS = slot("is_positive", "batch", Domain.MASK)
SIGNED = "torch.where({is_positive}, 1.0, -1.0)"

PAIRS: dict[str, tuple[str, str, Slot, tuple[Slot, ...]]] = {
    "L1Loss": ("l1_loss", "", x("..."), (slot("target", "..."),)),
    "MSELoss": ("mse_loss", "", x("..."), (slot("target", "..."),)),
    "SmoothL1Loss": ("smooth_l1_loss", "beta=0.7", x("..."), (slot("target", "..."),)),
    "HuberLoss": ("huber_loss", "delta=0.5", x("..."), (slot("target", "..."),)),
    "PoissonNLLLoss": ("poisson_nll_loss", "", x("..."), (slot("target", "...", Domain.POSITIVE),)),
    "GaussianNLLLoss": (
        "gaussian_nll_loss",
        "",
        VECTORS,
        (TARGET, slot("variance", "batch features", Domain.POSITIVE)),
    ),
    "KLDivLoss": (
        "kl_div",
        "reduction='batchmean'",
        VECTORS,
        (slot("target", "batch features", Domain.PROBABILITY),),
    ),
    "BCELoss": (
        "binary_cross_entropy",
        "",
        x("...", Domain.UNIT),
        (slot("target", "...", Domain.UNIT),),
    ),
    "BCEWithLogitsLoss": (
        "binary_cross_entropy_with_logits",
        "",
        x("..."),
        (slot("target", "...", Domain.UNIT),),
    ),
    "CrossEntropyLoss": ("cross_entropy", "", VECTORS, (CLASSES,)),
    "NLLLoss": ("nll_loss", "", VECTORS, (CLASSES,)),
    "MultiMarginLoss": ("multi_margin_loss", "", VECTORS, (CLASSES,)),
    "MultiLabelMarginLoss": (
        "multilabel_margin_loss",
        "",
        VECTORS,
        (slot("target", "batch features", below="features"),),
    ),
    "TripletMarginLoss": (
        "triplet_margin_loss",
        "",
        VECTORS,
        (slot("near", "batch features"), slot("far", "batch features")),
    ),
    "TripletMarginWithDistanceLoss": (
        "triplet_margin_with_distance_loss",
        "distance_function=nn.CosineSimilarity()",
        VECTORS,
        (slot("near", "batch features"), slot("far", "batch features")),
    ),
    "CosineSimilarity": ("cosine_similarity", "dim=1", VECTORS, (TARGET,)),
    "PairwiseDistance": ("pairwise_distance", "", VECTORS, (TARGET,)),
}
"""A module's name: its function's, the constants that both take, x, and the other tensors."""

SIGNED_PAIRS: dict[str, tuple[str, tuple[Slot, ...], str, str]] = {
    "SoftMarginLoss": ("soft_margin_loss", (slot("is_positive", "...", Domain.MASK),), "...", "{x}"),
    "HingeEmbeddingLoss": ("hinge_embedding_loss", (slot("is_positive", "...", Domain.MASK),), "...", "{x}"),
    "CosineEmbeddingLoss": (
        "cosine_embedding_loss",
        (slot("y", "batch features"), SIGNS),
        "batch features",
        "{x}, {y}",
    ),
    "MarginRankingLoss": ("margin_ranking_loss", (slot("y", "batch"), SIGNS), "batch", "{x}, {y}"),
}
"""The same for those whose target is 1 or -1: function, tensors, x's shape, and the call without it."""


def _table() -> dict[str, Pattern | tuple[Pattern, ...]]:
    table: dict[str, Pattern | tuple[Pattern, ...]] = {}
    for name, (function, constants, of, slots) in PAIRS.items():
        inputs = ", ".join(f"{{{one.name}}}" for one in (of, *slots))
        table[f"torch.nn.{name}"] = module(constants, of, *slots)
        given = ", ".join(part for part in (inputs, constants) if part)
        table[f"torch.nn.functional.{function}"] = call(given, of, *slots)
    for name, (function, slots, shape, inputs) in SIGNED_PAIRS.items():
        table[f"torch.nn.{name}"] = module(
            "", x(shape), *slots, apply=f"{{self}}.{{name}}({inputs}, {SIGNED})"
        )
        table[f"torch.nn.functional.{function}"] = call(f"{inputs}, {SIGNED}", x(shape), *slots)
    return table


MANY = slot("target", "batch features", Domain.UNIT)
ADAPTIVE = module(
    "{features}, {classes}, cutoffs=[{classes // 4}, {classes // 2}]",
    VECTORS,
    slot("target", "batch", below="classes"),
    take=".loss",
    classes="64, 1024, 4096",
)
CTC = "{x}.log_softmax(-1), {target}, torch.full(({batch},), {length}), torch.full(({batch},), {targets})"

LOSSES: dict[str, Row] = rows(
    Kind.LOSS,
    {
        **_table(),
        "torch.nn.MultiLabelSoftMarginLoss": module("", VECTORS, MANY),
        "torch.nn.functional.multilabel_soft_margin_loss": call("{x}, {target}", VECTORS, MANY),
        "torch.nn.AdaptiveLogSoftmaxWithLoss": ADAPTIVE,
        "torch.nn.CTCLoss": module(
            "zero_infinity=True",
            x("length batch features"),
            slot("target", "batch targets", below="features"),
            apply=f"{{self}}.{{name}}({CTC})",
            targets="4, 8",
            needs="length >= 16",
        ),
        "torch.nn.functional.ctc_loss": call(
            f"{CTC}, zero_infinity=True",
            x("length batch features"),
            slot("target", "batch targets", below="features"),
            targets="4, 8",
            needs="length >= 16",
        ),
        "torch.nn.LinearCrossEntropyLoss": module(
            "{features}, {classes}",
            VECTORS,
            slot("target", "batch", below="classes"),
            classes="64, 1024, 4096",
        ),
        "torch.nn.functional.linear_cross_entropy": call(
            "{x}, {weight}, {target}",
            VECTORS,
            slot("weight", "classes features"),
            slot("target", "batch", below="classes"),
            classes="64, 1024, 4096",
        ),
    },
)
