"""Functions of torch that take constants, lists or masks, by what they do."""

from warpsmith.tasks.synth.base import Domain, Kind
from warpsmith.tasks.synth.seeds.tables.row import Row, call, rows, slot, x

ANY = x("...")
LINES = x("... features")
MATRICES = x("... rows features")
POSITIVE = x("...", Domain.POSITIVE)
Y = slot("y", "...")
ABOVE_ZERO = slot("y", "...", Domain.POSITIVE)
LINE = slot("y", "... features")
POLYNOMIALS = (
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
)

FUNCTIONS: dict[str, Row] = {
    **rows(
        Kind.ELEMENTWISE,
        {
            "torch.acosh": call("1.0 + {x}", POSITIVE),
            "torch.arccosh": call("1.0 + {x}", POSITIVE),
            "torch.logit": call("{x}, eps=1e-6", x("...", Domain.UNIT)),
            "torch.special.logit": call("{x}, eps=1e-6", x("...", Domain.UNIT)),
            "torch.clamp": call("{x}, -0.5, 0.8", ANY),
            "torch.clip": call("{x}, -0.5, 0.8", ANY),
            "torch.clamp_min": call("{x}, -0.3", ANY),
            "torch.clamp_max": call("{x}, 0.6", ANY),
            "torch.pow": (call("{x}, 3", ANY), call("{x}, 1.7", POSITIVE)),
            "torch.polygamma": call("1, {x}", POSITIVE),
            "torch.special.polygamma": call("1, {x}", POSITIVE),
            "torch.mvlgamma": call("2.0 + {x}, 3", POSITIVE),
            "torch.special.multigammaln": call("2.0 + {x}, 3", POSITIVE),
            "torch.special.zeta": call("2.0 + {x}, {y}", POSITIVE, ABOVE_ZERO),
            "torch.special.ndtri": call("0.1 + 0.8 * {x}", x("...", Domain.UNIT)),
            "torch.ldexp": call("{x}, {power}", ANY, slot("power", "...", below="4")),
            **{f"torch.special.{name}": call("{x}, 3", x("...", Domain.SIGNED_UNIT)) for name in POLYNOMIALS},
        },
    ),
    **rows(
        Kind.BINARY,
        {
            "torch.lerp": (
                call("{x}, {y}, 0.3", ANY, Y),
                call("{x}, {y}, {weight}", ANY, Y, slot("weight", "...", Domain.UNIT)),
            ),
            "torch.addcmul": call("{x}, {y}, {z}, value=0.5", ANY, Y, slot("z", "...")),
            "torch.addcdiv": call("{x}, {y}, {z}, value=0.5", ANY, Y, slot("z", "...", Domain.POSITIVE)),
            "torch.add": (
                call("{x}, {y}", ANY, Y),
                call("{x}, {y}", LINES, slot("y", "features")),
                call("{x}, {y}, alpha=0.5", ANY, Y),
            ),
            "torch.sub": (
                call("{x}, {y}", ANY, Y),
                call("{x}, {y}", LINES, slot("y", "features")),
                call("{x}, {y}, alpha=0.5", ANY, Y),
            ),
            "torch.rsub": call("{x}, {y}, alpha=0.5", ANY, Y),
        },
    ),
    **rows(
        Kind.REDUCTION,
        {
            "torch.dist": call("{x}, {y}", ANY, Y),
            "torch.logsumexp": call("{x}, dim=-1", LINES),
            "torch.special.logsumexp": call("{x}, dim=-1", LINES),
            "torch.std_mean": call("{x}, dim=-1", LINES, take="[0]", needs="features >= 2"),
            "torch.var_mean": call("{x}, dim=-1", LINES, take="[0]", needs="features >= 2"),
            "torch.std": call("{x}, dim=-1", LINES, needs="features >= 2"),
            "torch.var": call("{x}, dim=-1", LINES, needs="features >= 2"),
            "torch.trapezoid": call("{x}, dim=-1", LINES, needs="features >= 2"),
            "torch.trapz": call("{x}, dim=-1", LINES, needs="features >= 2"),
        },
    ),
    **rows(
        Kind.SCAN,
        {
            "torch.diff": call("{x}, dim=-1", LINES, needs="features >= 2"),
            "torch.cumulative_trapezoid": call("{x}, dim=-1", LINES, needs="features >= 2"),
            "torch.gradient": call("{x}, dim=-1", LINES, needs="features >= 3", take="[0]"),
        },
    ),
    **rows(
        Kind.SHAPE,
        {
            "torch.cat": call("[{x}, {y}], dim=-1", LINES, LINE),
            "torch.concat": call("[{x}, {y}], dim=-1", LINES, LINE),
            "torch.concatenate": call("[{x}, {y}], dim=-1", LINES, LINE),
            "torch.stack": call("[{x}, {y}], dim=-1", LINES, LINE),
            "torch.hstack": call("[{x}, {y}]", MATRICES, slot("y", "... rows features")),
            "torch.vstack": call("[{x}, {y}]", MATRICES, slot("y", "... rows features")),
            "torch.row_stack": call("[{x}, {y}]", MATRICES, slot("y", "... rows features")),
            "torch.dstack": call("[{x}, {y}]", MATRICES, slot("y", "... rows features")),
            "torch.column_stack": call("[{x}, {y}]", MATRICES, slot("y", "... rows features")),
            "torch.block_diag": call("{x}, {y}", x("rows features"), slot("y", "rows features")),
            "torch.cartesian_prod": call("{x}, {y}", x("features"), slot("y", "features")),
            "torch.combinations": call("{x}", x("features")),
            "torch.meshgrid": call(
                "{x}, {y}, indexing='ij'", x("features"), slot("y", "columns"), columns="features", take="[0]"
            ),
            "torch.broadcast_to": call(
                "{x}, ({copies}, {rows}, {features})", x("rows features"), copies="4, 8"
            ),
            "torch.roll": call("{x}, 3, dims=-1", LINES),
            "torch.flip": call("{x}, (-1,)", LINES),
            "torch.rot90": call("{x}, 1, (-2, -1)", MATRICES),
            "torch.fliplr": call("{x}", x("rows features")),
            "torch.t": call("{x}", x("rows features")),
            "torch.atleast_3d": call("{x}", x("rows features")),
            "torch.tile": call("{x}, (2, 1)", MATRICES),
            "torch.repeat_interleave": call("{x}, 2, dim=-1", LINES),
            "torch.permute": call("{x}, (2, 0, 1)", x("batch rows features")),
            "torch.transpose": call("{x}, -1, -2", MATRICES),
            "torch.swapaxes": call("{x}, -1, -2", MATRICES),
            "torch.swapdims": call("{x}, -1, -2", MATRICES),
            "torch.movedim": call("{x}, 1, -1", x("batch channels height width")),
            "torch.moveaxis": call("{x}, 1, -1", x("batch channels height width")),
            "torch.adjoint": call("{x}", MATRICES),
            "torch.narrow": call("{x}, -1, 1, {features - 1}", LINES, needs="features >= 2"),
            "torch.select": call("{x}, -1, 0", LINES),
            "torch.unflatten": call("{x}, -1, (2, -1)", LINES, needs="features % 2 == 0"),
            "torch.flatten": call("{x}, 1", x("batch channels height width")),
            "torch.reshape": call("{x}, ({rows * 2}, -1)", x("rows features"), needs="features % 2 == 0"),
            "torch.chunk": call("{x}, 2, dim=-1", LINES, take="[1]", needs="features % 2 == 0"),
            "torch.split": call("{x}, {half}, dim=-1", LINES, take="[1]", half="features // 2"),
            "torch.tensor_split": call("{x}, 3, dim=-1", LINES, take="[1]", needs="features >= 3"),
            "torch.hsplit": call("{x}, 2", x("rows features"), take="[1]", needs="features % 2 == 0"),
            "torch.vsplit": call("{x}, 2", x("rows features"), take="[1]", needs="rows % 2 == 0"),
            "torch.dsplit": call("{x}, 2", x("batch rows features"), take="[1]", needs="features % 2 == 0"),
            "torch.unbind": call("{x}, dim=-1", LINES, take="[0]"),
            "torch.tril": call("{x}", MATRICES),
            "torch.triu": call("{x}", MATRICES),
            "torch.diag": call("{x}", x("features")),
            "torch.diag_embed": call("{x}", LINES),
            "torch.diagflat": call("{x}", LINES),
            "torch.diagonal": call("{x}, dim1=-2, dim2=-1", MATRICES),
            "torch.channel_shuffle": call(
                "{x}, 4", x("batch channels height width"), needs="channels % 4 == 0"
            ),
            "torch.pixel_shuffle": call(
                "{x}, 2", x("batch channels height width"), needs="channels % 4 == 0"
            ),
            "torch.pixel_unshuffle": call(
                "{x}, 2", x("batch channels height width"), needs="height % 2 == 0 and width % 2 == 0"
            ),
        },
    ),
}
