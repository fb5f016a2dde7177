"""Looking up, scattering, sorting, selecting."""

from warpsmith.tasks.synth.base import Domain, Kind
from warpsmith.tasks.synth.seeds.tables.row import Row, call, module, rows, slot, x

MATRIX = x("rows features")
INDICES = slot("index", "rows features", below="rows")
PLACES = slot("index", "rows", below="rows")
SOURCE = slot("source", "rows features")
VOCABULARY = "1024, 32768, 4096"

INDEXING: dict[str, Row] = {
    **rows(
        Kind.INDEXING,
        {
            "torch.nn.Embedding": module(
                "{vocabulary}, {features}",
                x("batch length", below="vocabulary"),
                vocabulary=VOCABULARY,
                features="64, 1024, 128, 512",
            ),
            "torch.nn.EmbeddingBag": module(
                "{vocabulary}, {features}, mode='sum'",
                x("batch length", below="vocabulary"),
                vocabulary=VOCABULARY,
                features="64, 128, 512",
            ),
            "torch.nn.functional.embedding": call(
                "{index}, {x}",
                MATRIX,
                slot("index", "batch length", below="rows"),
                batch="8, 64",
                length="128, 512",
            ),
            "torch.nn.functional.embedding_bag": call(
                "{index}, {x}, mode='mean'",
                MATRIX,
                slot("index", "batch length", below="rows"),
                batch="8, 64",
                length="128, 512",
            ),
            "torch.embedding": call(
                "{x}, {index}",
                MATRIX,
                slot("index", "batch length", below="rows"),
                batch="8, 64",
                length="128, 512",
            ),
            "torch.gather": call("{x}, 0, {index}", MATRIX, INDICES),
            "torch.take_along_dim": call(
                "{x}, {index}, dim=1", MATRIX, slot("index", "rows features", below="features")
            ),
            "torch.take": call(
                "{x}, {index}", MATRIX, slot("index", "rows features", below="rows * features")
            ),
            "torch.index_select": call("{x}, 0, {index}", MATRIX, PLACES),
            "torch.index_add": call("{x}, 0, {index}, {source}", MATRIX, PLACES, SOURCE),
            "torch.index_fill": call("{x}, 0, {index}, 0.5", MATRIX, PLACES),
            "torch.index_put": call("{x}, ({index},), {source}, accumulate=True", MATRIX, PLACES, SOURCE),
            "torch.index_reduce": call("{x}, 0, {index}, {source}, 'amax'", MATRIX, PLACES, SOURCE),
            "torch.scatter_add": call("{x}, 0, {index}, {source}", MATRIX, INDICES, SOURCE),
            "torch.scatter_reduce": call("{x}, 0, {index}, {source}, reduce='amax'", MATRIX, INDICES, SOURCE),
            "torch.masked_fill": call(
                "{x}, {is_hidden}, -1.0", x("..."), slot("is_hidden", "...", Domain.MASK)
            ),
            "torch.masked_scatter": call(
                "{x}, {is_taken}, {source}",
                x("..."),
                slot("is_taken", "...", Domain.MASK),
                slot("source", "..."),
            ),
            "torch.where": call(
                "{is_x}, {x}, {y}", x("..."), slot("is_x", "...", Domain.MASK), slot("y", "...")
            ),
            "torch.select_scatter": call("{x}, {source}, 0, 0", MATRIX, slot("source", "features")),
            "torch.slice_scatter": call(
                "{x}, {source}, start=0, end=1", MATRIX, slot("source", "1 features")
            ),
            "torch.diagonal_scatter": call("{x}, {source}", x("size size"), slot("source", "size")),
            "torch.sort": call("{x}, dim=-1", x("... features"), take="[0]"),
            "torch.msort": call("{x}", MATRIX),
            "torch.topk": call(
                "{x}, {most}", x("... features"), take="[0]", most="4, 8, 16, 32 if most <= features"
            ),
            "torch.bucketize": call("{x}, {x}", x("features")),
            "torch.searchsorted": call("{x}, {x}", x("... features")),
            "torch.stft": call("{x}, 16, return_complex=True", x("batch length")),
        },
    ),
    **rows(
        Kind.REDUCTION,
        {
            "torch.kthvalue": call(
                "{x}, {rank}, dim=-1", x("... features"), take="[0]", rank="3, 1, 8 if rank <= features"
            ),
            "torch.median": (call("{x}, dim=-1", x("... features"), take="[0]"), call("{x}", x("..."))),
            "torch.mode": call("{x}, dim=-1", x("... features"), take="[0]"),
            "torch.max": (call("{x}, dim=-1", x("... features"), take="[0]"), call("{x}", x("..."))),
            "torch.min": (call("{x}, dim=-1", x("... features"), take="[0]"), call("{x}", x("..."))),
            "torch.amax": call("{x}, dim=-1", x("... features")),
            "torch.amin": call("{x}, dim=-1", x("... features")),
            "torch.aminmax": call("{x}, dim=-1", x("... features"), take="[1]"),
            "torch.nanmedian": call("{x}, dim=-1", x("... features"), take="[0]"),
            "torch.quantile": call("{x}, 0.3, dim=-1", x("... features")),
            "torch.nanquantile": call("{x}, 0.3, dim=-1", x("... features")),
            "torch.trace": call("{x}", x("size size")),
            "torch.norm": (call("{x}, dim=-1", x("... features")), call("{x}", x("..."))),
            "torch.histc": call("{x}, bins=16, min=-4.0, max=4.0", x("...")),
        },
    ),
    **rows(
        Kind.SCAN,
        {
            "torch.cummax": call("{x}, dim=-1", x("... features"), take="[0]"),
            "torch.cummin": call("{x}, dim=-1", x("... features"), take="[0]"),
        },
    ),
}
