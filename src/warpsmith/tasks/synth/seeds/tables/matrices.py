"""Products of matrices, and linear algebra on matrices that it is well-behaved on."""

from warpsmith.tasks.synth.base import Domain, Kind
from warpsmith.tasks.synth.seeds.pattern import Pattern
from warpsmith.tasks.synth.seeds.tables.row import Row, call, rows, slot, x

COLUMNS = "features, 2 * features, 64"
MATRIX = x("rows features")
RIGHT = slot("y", "features columns")
BATCHES = x("batch rows features")
RIGHTS = slot("y", "batch features columns")
DEFINITE = x("... size size", Domain.POSITIVE_DEFINITE)
SQUARE = x("... size size")
BY = slot("y", "... size columns")


def _definite(arguments: str = "{x}", *, take: str = "") -> Pattern:
    return call(arguments, DEFINITE, take=take)


MATRICES: dict[str, Row] = {
    **rows(
        Kind.GEMM,
        {
            "torch.matmul": (
                call("{x}, {y}", x("... features"), RIGHT, columns=COLUMNS),
                call("{x}, {y}", BATCHES, RIGHTS, columns=COLUMNS),
            ),
            "torch.mm": call("{x}, {y}", MATRIX, RIGHT, columns=COLUMNS),
            "torch.bmm": call("{x}, {y}", BATCHES, RIGHTS, columns=COLUMNS),
            "torch.mv": call("{x}, {y}", MATRIX, slot("y", "features")),
            "torch.dot": call("{x}, {y}", x("features"), slot("y", "features")),
            "torch.vdot": call("{x}, {y}", x("features"), slot("y", "features")),
            "torch.inner": call("{x}, {y}", MATRIX, slot("y", "columns features"), columns=COLUMNS),
            "torch.outer": call("{x}, {y}", x("features"), slot("y", "columns"), columns=COLUMNS),
            "torch.ger": call("{x}, {y}", x("features"), slot("y", "columns"), columns=COLUMNS),
            "torch.kron": call("{x}, {y}", MATRIX, slot("y", "4 4")),
            "torch.addmm": call("{bias}, {x}, {y}", MATRIX, RIGHT, slot("bias", "columns"), columns=COLUMNS),
            "torch.addmv": call("{bias}, {x}, {y}", MATRIX, slot("y", "features"), slot("bias", "rows")),
            "torch.addr": call("{x}, {u}, {v}", MATRIX, slot("u", "rows"), slot("v", "features")),
            "torch.baddbmm": call(
                "{bias}, {x}, {y}", BATCHES, RIGHTS, slot("bias", "batch rows columns"), columns=COLUMNS
            ),
            "torch.addbmm": call(
                "{bias}, {x}, {y}", BATCHES, RIGHTS, slot("bias", "rows columns"), columns=COLUMNS
            ),
            "torch.einsum": (
                call(
                    "'...id,jd->...ij', {x}, {y}",
                    x("... rows features"),
                    slot("y", "columns features"),
                    columns=COLUMNS,
                ),
                call(
                    "'bhid,bhjd->bhij', {x}, {y}",
                    x("batch heads rows features"),
                    slot("y", "batch heads rows features"),
                ),
            ),
            "torch.tensordot": call("{x}, {y}, dims=1", x("... features"), RIGHT, columns=COLUMNS),
            "torch.chain_matmul": call("{x}, {y}", MATRIX, RIGHT, columns=COLUMNS),
            "torch.cdist": call("{x}, {y}", BATCHES, slot("y", "batch columns features"), columns=COLUMNS),
            "torch.cov": call("{x}", x("rows features"), needs="features >= 2"),
            "torch.corrcoef": call("{x}", x("rows features"), needs="features >= 2"),
            "torch.nn.functional.pdist": call("{x}", MATRIX, needs="rows >= 2"),
            "torch.pdist": call("{x}", MATRIX, needs="rows >= 2"),
            "torch.linalg.matmul": call("{x}, {y}", x("... features"), RIGHT, columns=COLUMNS),
            "torch.linalg.multi_dot": call(
                "[{x}, {y}, {z}]", MATRIX, RIGHT, slot("z", "columns features"), columns=COLUMNS
            ),
            "torch.linalg.vecdot": call("{x}, {y}", x("... features"), slot("y", "... features")),
            "torch.linalg.matrix_power": call("{x}, 3", x("... size size", Domain.SIGNED_UNIT)),
            "torch.matrix_power": call("{x}, 3", x("... size size", Domain.SIGNED_UNIT)),
        },
    ),
    **rows(
        Kind.LINALG,
        {
            "torch.linalg.cholesky": _definite(),
            "torch.linalg.cholesky_ex": _definite(take="[0]"),
            "torch.cholesky": _definite(),
            "torch.cholesky_inverse": call(
                "torch.linalg.cholesky({x})", x("size size", Domain.POSITIVE_DEFINITE)
            ),
            "torch.cholesky_solve": call("{y}, torch.linalg.cholesky({x})", DEFINITE, BY, columns="4, 16"),
            "torch.linalg.inv": _definite(),
            "torch.linalg.inv_ex": _definite(take="[0]"),
            "torch.inverse": _definite(),
            "torch.linalg.det": _definite(),
            "torch.det": _definite(),
            "torch.logdet": _definite(),
            "torch.linalg.slogdet": _definite(take="[1]"),
            "torch.slogdet": _definite(take="[1]"),
            "torch.linalg.eigh": _definite(take="[0]"),
            "torch.linalg.eigvalsh": _definite(),
            "torch.linalg.eigvals": _definite(),
            "torch.linalg.eig": _definite(take="[0]"),
            "torch.linalg.svdvals": call("{x}", x("... size columns")),
            "torch.linalg.svd": call("{x}", x("... size columns"), take="[1]"),
            "torch.svd": call("{x}", x("... size columns"), take="[1]"),
            "torch.linalg.qr": call("{x}", x("... size columns"), take="[1]"),
            "torch.qr": call("{x}", x("... size columns"), take="[1]"),
            "torch.geqrf": call("{x}", x("... size columns"), take="[0]"),
            "torch.linalg.lu": _definite(take="[2]"),
            "torch.linalg.lu_factor": _definite(take="[0]"),
            "torch.linalg.lu_factor_ex": _definite(take="[0]"),
            "torch.linalg.lu_solve": call("*torch.linalg.lu_factor({x}), {y}", DEFINITE, BY, columns="4, 16"),
            "torch.lu_solve": call("{y}, *torch.linalg.lu_factor({x})", DEFINITE, BY, columns="4, 16"),
            "torch.lu_unpack": call("*torch.linalg.lu_factor({x})", DEFINITE, take="[2]"),
            "torch.linalg.ldl_factor": _definite(take="[0]"),
            "torch.linalg.ldl_factor_ex": _definite(take="[0]"),
            "torch.linalg.ldl_solve": call(
                "*torch.linalg.ldl_factor({x}), {y}", DEFINITE, BY, columns="4, 16"
            ),
            "torch.linalg.pinv": _definite(),
            "torch.pinverse": _definite(),
            "torch.linalg.solve": call("{x}, {y}", DEFINITE, BY, columns="4, 16"),
            "torch.linalg.solve_ex": call("{x}, {y}", DEFINITE, BY, columns="4, 16", take="[0]"),
            "torch.linalg.solve_triangular": call(
                "{x}.tril(), {y}, upper=False", DEFINITE, BY, columns="4, 16"
            ),
            "torch.triangular_solve": call("{y}, {x}", DEFINITE, BY, columns="4, 16", take="[0]"),
            "torch.linalg.lstsq": call("{x}, {y}", DEFINITE, BY, columns="4, 16", take="[0]"),
            "torch.linalg.matrix_exp": call("0.1 * {x}", SQUARE),
            "torch.matrix_exp": call("0.1 * {x}", SQUARE),
            "torch.linalg.cond": _definite(),
            "torch.linalg.matrix_rank": _definite(),
            "torch.linalg.householder_product": call("*torch.geqrf({x})", x("... size size")),
            "torch.orgqr": call("*torch.geqrf({x})", x("... size size")),
            "torch.ormqr": call("*torch.geqrf({x}), {y}", SQUARE, BY, columns="4, 16"),
            "torch.linalg.tensorinv": call("{x}, ind=1", x("size size", Domain.POSITIVE_DEFINITE)),
            "torch.linalg.tensorsolve": call(
                "{x}, {y}", x("size size", Domain.POSITIVE_DEFINITE), slot("y", "size")
            ),
            "torch.linalg.cross": call("{x}, {y}", x("... 3"), slot("y", "... 3")),
            "torch.cross": call("{x}, {y}, dim=-1", x("... 3"), slot("y", "... 3")),
            "torch.linalg.vander": call("{x}, N=6", x("... features", Domain.SIGNED_UNIT)),
            "torch.vander": call("{x}, N=6, increasing=True", x("features", Domain.SIGNED_UNIT)),
            "torch.linalg.diagonal": call("{x}", SQUARE),
            "torch.linalg.matrix_norm": (
                call("{x}", x("... rows features")),
                call("{x}, ord=1", x("... rows features")),
            ),
            "torch.frobenius_norm": call("{x}, dim=-1", x("... features")),
            "torch.nuclear_norm": call("{x}", MATRIX),
        },
    ),
}
