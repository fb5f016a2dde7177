"""Convolutions, pools, pads and what else works on images of one, two or three dimensions."""

from warpsmith.tasks.synth.base import Kind
from warpsmith.tasks.synth.seeds.pattern import Pattern
from warpsmith.tasks.synth.seeds.tables.row import SPATIAL, Row, call, module, rows, slot, x

OUT = "channels, 2 * channels, 4 * channels, 64"
GROUPS = "1, channels, 2, 4, 8 if channels % groups == 0 and out % groups == 0"


def _images(dimensions: int) -> str:
    return f"batch channels {SPATIAL[dimensions]}"


def _large(dimensions: int, least: int = 8) -> str:
    """The condition that a window of up to `least` fits everywhere."""
    return " and ".join(f"{name} >= {least}" for name in SPATIAL[dimensions].split())


def _window(arguments: str, n: int, **draws: str) -> Pattern:
    return module(arguments, x(_images(n)), needs=_large(n), **draws)


def _convolutions(n: int) -> dict[str, Pattern | tuple[Pattern, ...]]:
    image, needs = x(_images(n)), _large(n)
    kernel = " ".join(["kernel"] * n)
    return {
        f"torch.nn.Conv{n}d": (
            module(
                "{channels}, {out}, kernel_size={kernel}, padding={kernel // 2}, groups={groups}",
                image,
                needs=needs,
                kernel="3, 1, 5, 7",
                out=OUT,
                groups=GROUPS,
            ),
            module(
                "{channels}, {out}, kernel_size={kernel}, stride={stride}, dilation={dilation}",
                image,
                needs=needs,
                kernel="3, 2",
                stride="2, 1",
                dilation="1, 2, 3",
                out=OUT,
            ),
        ),
        f"torch.nn.ConvTranspose{n}d": module(
            "{channels}, {out}, kernel_size={kernel}, stride={stride}",
            image,
            needs=needs,
            kernel="3, 2, 4",
            stride="2, 1",
            out=OUT,
        ),
        f"torch.nn.functional.conv{n}d": call(
            "{x}, {weight}, padding={kernel // 2}",
            image,
            slot("weight", f"out channels {kernel}"),
            needs=needs,
            kernel="3, 1, 5",
            out=OUT,
        ),
        f"torch.nn.functional.conv_transpose{n}d": call(
            "{x}, {weight}, stride={stride}",
            image,
            slot("weight", f"channels out {kernel}"),
            needs=needs,
            kernel="3, 2",
            stride="2, 1",
            out=OUT,
        ),
    }


def _pools(n: int) -> dict[str, Pattern | tuple[Pattern, ...]]:
    image, needs = x(_images(n)), _large(n)
    table: dict[str, Pattern | tuple[Pattern, ...]] = {
        f"torch.nn.MaxPool{n}d": _window(
            "{kernel}, stride={stride}, padding={kernel // 2}, dilation={dilation}",
            n,
            kernel="3, 2, 5",
            stride="2, 1",
            dilation="1, 2 if kernel % 2 == 1",
        ),
        f"torch.nn.AvgPool{n}d": _window("{kernel}, stride={stride}", n, kernel="3, 2, 4", stride="2, 1, 3"),
        f"torch.nn.LPPool{n}d": _window("2, kernel_size={kernel}", n, kernel="3, 2, 4"),
        f"torch.nn.AdaptiveAvgPool{n}d": _window("{target}", n, target="4, 1, 2, 7"),
        f"torch.nn.AdaptiveMaxPool{n}d": _window("{target}", n, target="4, 1, 2, 7"),
        f"torch.nn.functional.max_pool{n}d": call("{x}, 3, stride=2, padding=1", image, needs=needs),
        f"torch.nn.functional.avg_pool{n}d": call("{x}, 3, stride=2", image, needs=needs),
        f"torch.nn.functional.lp_pool{n}d": call("{x}, 2.0, kernel_size=3", image, needs=needs),
        f"torch.nn.functional.adaptive_avg_pool{n}d": call("{x}, 4", image, needs=needs),
        f"torch.nn.functional.adaptive_max_pool{n}d": call("{x}, 4", image, needs=needs),
        f"torch.nn.MaxUnpool{n}d": module(
            "2",
            image,
            needs=needs,
            apply=f"{{self}}.{{name}}(*nn.functional.max_pool{n}d({{x}}, 2, return_indices=True))",
        ),
        f"torch.nn.functional.max_unpool{n}d": call(
            f"*F.max_pool{n}d({{x}}, 2, return_indices=True), 2",
            image,
            needs=needs,
        ),
        f"torch.max_pool{n}d": call("{x}, 3, stride=2, padding=1", image, needs=needs),
    }
    for kind in ("max_pool", "adaptive_max_pool"):
        size = "3, stride=2, padding=1" if kind == "max_pool" else "4"
        name = f"torch.nn.functional.{kind}{n}d_with_indices"
        table[name] = call(f"{{x}}, {size}", image, needs=needs, take="[0]")
    if n == 1:
        table["torch.adaptive_avg_pool1d"] = call("{x}, 4", image, needs=needs)
        table["torch.adaptive_max_pool1d"] = call("{x}, 4", image, needs=needs, take="[0]")
        table["torch.avg_pool1d"] = call("{x}, 3, stride=2", image, needs=needs)
        table["torch.max_pool1d_with_indices"] = call(
            "{x}, 3, stride=2, padding=1", image, needs=needs, take="[0]"
        )
    return table


def _pads(n: int) -> dict[str, Pattern | tuple[Pattern, ...]]:
    sides = "{before}, {after}"
    each = ", ".join([sides] * n)
    draws = {"before": "2, 1, 3", "after": "1, 2, 4"}
    ways = {"ReflectionPad": each, "ReplicationPad": each, "ZeroPad": each, "CircularPad": each}
    table: dict[str, Pattern | tuple[Pattern, ...]] = {
        f"torch.nn.{way}{n}d": _window(f"({padding})", n, **draws) for way, padding in ways.items()
    }
    table[f"torch.nn.ConstantPad{n}d"] = _window(f"({each}), 0.5", n, **draws)
    return table


def _norms(n: int) -> dict[str, Pattern | tuple[Pattern, ...]]:
    return {
        f"torch.nn.BatchNorm{n}d": module("{channels}", x(_images(n)), needs="batch >= 2"),
        f"torch.nn.InstanceNorm{n}d": module("{channels}, affine=True", x(_images(n)), needs=_large(n, 2)),
    }


SQUARE = x(_images(2))

CONVOLUTIONS: dict[str, Row] = {}
for _n in (1, 2, 3):
    CONVOLUTIONS |= rows(Kind.CONVOLUTION, _convolutions(_n))
    CONVOLUTIONS |= rows(Kind.POOLING, _pools(_n))
    CONVOLUTIONS |= rows(Kind.SHAPE, _pads(_n))
    CONVOLUTIONS |= rows(Kind.NORM, _norms(_n))
CONVOLUTIONS |= rows(
    Kind.CONVOLUTION,
    {
        "torch.nn.functional.conv_tbc": call(
            "{x}, {weight}, {bias}",
            x("length batch channels"),
            slot("weight", "kernel channels out"),
            slot("bias", "out"),
            needs="length >= 8",
            kernel="3, 1, 5",
            out=OUT,
        ),
        "torch.nn.Unfold": module(
            "kernel_size={kernel}, stride={stride}", SQUARE, needs=_large(2), kernel="3, 2", stride="2, 1"
        ),
        "torch.nn.functional.unfold": call("{x}, kernel_size=3, stride=2", SQUARE, needs=_large(2)),
        "torch.nn.Fold": module(
            "output_size=({side}, {side}), kernel_size={kernel}, stride={kernel}",
            x("batch channels length"),
            needs="channels % 4 == 0",
            kernel="2",
            half="2, 4, 6, 8, 16, 32, 64 if half * half == length",
            side="half * kernel",
        ),
        "torch.nn.functional.fold": call(
            "{x}, output_size=({half * 2}, {half * 2}), kernel_size=2, stride=2",
            x("batch channels length"),
            needs="channels % 4 == 0",
            half="2, 4, 6, 8, 16, 32, 64 if half * half == length",
        ),
    },
)
CONVOLUTIONS |= rows(
    Kind.NORM,
    {
        "torch.nn.LocalResponseNorm": module("{window}", SQUARE, window="3, 5 if window <= channels"),
        "torch.nn.functional.local_response_norm": call("{x}, 3", SQUARE, needs="channels >= 3"),
        "torch.nn.CrossMapLRN2d": module("{window}", SQUARE, window="3, 5 if window <= channels"),
        "torch.nn.GroupNorm": module(
            "{groups}, {channels}", SQUARE, groups="4, 2, 8, 16, 32 if channels % groups == 0"
        ),
        "torch.nn.functional.group_norm": call(
            "{x}, {groups}", SQUARE, groups="4, 2, 8 if channels % groups == 0"
        ),
        "torch.nn.functional.instance_norm": call("{x}", SQUARE, needs=_large(2, 2)),
        "torch.nn.functional.batch_norm": call("{x}, None, None, training=True", SQUARE, needs="batch >= 2"),
    },
)
