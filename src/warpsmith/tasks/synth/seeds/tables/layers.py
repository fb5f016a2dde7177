"""Layers with weights, recurrent ones, activations with constants, and modules that move data."""

from warpsmith.tasks.synth.base import Domain, Kind
from warpsmith.tasks.synth.seeds.tables.row import Row, call, module, rows, slot, x

OUT = "features, 2 * features, 4 * features"
HEADS = "4, 8, 16, 32 if features % heads == 0"
VECTORS = x("... features")
TOKENS = x("batch length features")
IMAGES = x("batch channels height width")
RECURRENT = "batch_first=True"
BLOCK = "{features}, {heads}, {out}, dropout=0.0, batch_first=True"
TWO = "{self}.{name}({x}, {state})"

LAYERS: dict[str, Row] = {
    **rows(
        Kind.GEMM,
        {
            "torch.nn.Linear": (
                module("{features}, {out}", VECTORS, out=OUT),
                module("{features}, {out}, bias=False", VECTORS, out=OUT),
            ),
            "torch.nn.Bilinear": module(
                "{features}, {other}, {out}",
                VECTORS,
                slot("y", "... other"),
                other="features",
                out="16, 8, 32",
            ),
            "torch.nn.functional.linear": call(
                "{x}, {weight}, {bias}", VECTORS, slot("weight", "out features"), slot("bias", "out"), out=OUT
            ),
            "torch.nn.functional.bilinear": call(
                "{x}, {y}, {weight}",
                VECTORS,
                slot("y", "... features"),
                slot("weight", "out features features"),
                out="16, 8, 32",
            ),
            "torch.bilinear": call(
                "{x}, {y}, {weight}, None",
                VECTORS,
                slot("y", "... features"),
                slot("weight", "out features features"),
                out="16, 8, 32",
            ),
        },
    ),
    **rows(
        Kind.RECURRENT,
        {
            "torch.nn.RNN": module(f"{{features}}, {{out}}, {RECURRENT}", TOKENS, take="[0]", out=OUT),
            "torch.nn.LSTM": (
                module(f"{{features}}, {{out}}, {RECURRENT}", TOKENS, take="[0]", out=OUT),
                module(
                    f"{{features}}, {{out}}, {RECURRENT}, bidirectional=True", TOKENS, take="[0]", out=OUT
                ),
                module(f"{{features}}, {{out}}, num_layers=2, {RECURRENT}", TOKENS, take="[0]", out=OUT),
            ),
            "torch.nn.GRU": (
                module(f"{{features}}, {{out}}, {RECURRENT}", TOKENS, take="[0]", out=OUT),
                module(f"{{features}}, {{out}}, num_layers=2, {RECURRENT}", TOKENS, take="[0]", out=OUT),
            ),
            "torch.nn.RNNCell": module(
                "{features}, {out}", x("batch features"), slot("state", "batch out"), apply=TWO, out=OUT
            ),
            "torch.nn.GRUCell": module(
                "{features}, {out}", x("batch features"), slot("state", "batch out"), apply=TWO, out=OUT
            ),
            "torch.nn.LSTMCell": module(
                "{features}, {out}",
                x("batch features"),
                slot("state", "batch out"),
                slot("cell", "batch out"),
                apply="{self}.{name}({x}, ({state}, {cell}))[0]",
                out=OUT,
            ),
        },
    ),
    **rows(
        Kind.LAYER,
        {
            "torch.nn.MultiheadAttention": module(
                "{features}, {heads}, batch_first=True",
                TOKENS,
                apply="{self}.{name}({x}, {x}, {x}, need_weights=False)[0]",
                heads=HEADS,
            ),
            "torch.nn.TransformerEncoderLayer": module(
                BLOCK,
                TOKENS,
                heads=HEADS,
                out="4 * features, 2 * features",
            ),
            "torch.nn.TransformerDecoderLayer": module(
                BLOCK,
                TOKENS,
                slot("memory", "batch length features"),
                heads=HEADS,
                out="4 * features, 2 * features",
            ),
            "torch.nn.TransformerEncoder": module(
                f"nn.TransformerEncoderLayer({BLOCK}), num_layers=2, enable_nested_tensor=False",
                TOKENS,
                heads=HEADS,
                out="4 * features, 2 * features",
            ),
            "torch.nn.TransformerDecoder": module(
                f"nn.TransformerDecoderLayer({BLOCK}), num_layers=2",
                TOKENS,
                slot("memory", "batch length features"),
                heads=HEADS,
                out="4 * features, 2 * features",
            ),
            "torch.nn.Transformer": module(
                "{features}, {heads}, 1, 1, {out}, dropout=0.0, batch_first=True",
                TOKENS,
                slot("target", "batch length features"),
                heads=HEADS,
                out="4 * features, 2 * features",
            ),
            "torch.nn.functional.scaled_dot_product_attention": (
                call(
                    "{x}, {key}, {value}",
                    x("batch heads length features"),
                    slot("key", "batch heads length features"),
                    slot("value", "batch heads length features"),
                ),
                call(
                    "{x}, {key}, {value}, is_causal=True",
                    x("batch heads length features"),
                    slot("key", "batch heads length features"),
                    slot("value", "batch heads length features"),
                ),
            ),
        },
    ),
    **rows(
        Kind.NORM,
        {
            "torch.nn.LayerNorm": module("{features}", VECTORS, needs="features >= 2"),
            "torch.nn.RMSNorm": module("{features}, eps=1e-6", VECTORS),
            "torch.nn.functional.layer_norm": call("{x}, ({features},)", VECTORS, needs="features >= 2"),
            "torch.nn.functional.rms_norm": call("{x}, ({features},), eps=1e-6", VECTORS),
            "torch.layer_norm": call("{x}, ({features},)", VECTORS, needs="features >= 2"),
            "torch.rms_norm": call("{x}, ({features},), eps=1e-6", VECTORS),
            "torch.group_norm": call("{x}, {groups}", IMAGES, groups="4, 2, 8 if channels % groups == 0"),
            "torch.instance_norm": call(
                "{x}, None, None, None, None, True, 0.1, 1e-5, False", IMAGES, needs="height >= 2"
            ),
            "torch.batch_norm": call(
                "{x}, None, None, None, None, True, 0.1, 1e-5, False", IMAGES, needs="batch >= 2"
            ),
            "torch.nn.functional.normalize": (call("{x}, dim=-1", VECTORS), call("{x}, dim=1", IMAGES)),
            "torch.renorm": call("{x}, 2, 0, 1.0", x("rows features")),
            "torch.norm_except_dim": call("{x}, 2, 0", x("rows features")),
        },
    ),
    **rows(
        Kind.ELEMENTWISE,
        {
            "torch.nn.PReLU": (module("", x("...")), module("{channels}, init=0.1", IMAGES)),
            "torch.nn.functional.prelu": call(
                "{x}, {weight}", IMAGES, slot("weight", "channels", Domain.UNIT)
            ),
            "torch.prelu": call("{x}, {weight}", IMAGES, slot("weight", "channels", Domain.UNIT)),
            "torch.nn.CELU": module("alpha=1.5", x("...")),
            "torch.nn.GELU": (module("", x("...")), module("approximate='tanh'", x("..."))),
            "torch.nn.Threshold": module("0.1, -1.0", x("...")),
            "torch.nn.functional.threshold": call("{x}, 0.1, -1.0", x("...")),
            "torch.threshold": call("{x}, 0.1, -1.0", x("...")),
            "torch.nn.functional.celu": call("{x}, alpha=1.5", x("...")),
            "torch.celu": call("{x}, alpha=1.5", x("...")),
            "torch.nn.GLU": module("", VECTORS, needs="features % 2 == 0"),
            "torch.nn.functional.glu": call("{x}, dim=-1", VECTORS, needs="features % 2 == 0"),
        },
    ),
    **rows(
        Kind.SOFTMAX,
        {
            "torch.nn.Softmax": module("dim=-1", VECTORS),
            "torch.nn.LogSoftmax": module("dim=-1", VECTORS),
            "torch.nn.Softmin": module("dim=-1", VECTORS),
            "torch.nn.functional.softmax": call("{x}, dim=-1", VECTORS),
            "torch.nn.functional.log_softmax": call("{x}, dim=-1", VECTORS),
            "torch.nn.functional.softmin": call("{x}, dim=-1", VECTORS),
            "torch.nn.Softmax2d": module("", IMAGES),
        },
    ),
    **rows(
        Kind.SHAPE,
        {
            "torch.nn.PixelShuffle": module("2", IMAGES, needs="channels % 4 == 0"),
            "torch.nn.PixelUnshuffle": module("2", IMAGES, needs="height % 2 == 0 and width % 2 == 0"),
            "torch.nn.ChannelShuffle": module("{groups}", IMAGES, groups="4, 2, 8 if channels % groups == 0"),
            "torch.nn.functional.pixel_shuffle": call("{x}, 2", IMAGES, needs="channels % 4 == 0"),
            "torch.nn.functional.pixel_unshuffle": call(
                "{x}, 2", IMAGES, needs="height % 2 == 0 and width % 2 == 0"
            ),
            "torch.nn.functional.channel_shuffle": call(
                "{x}, {groups}", IMAGES, groups="4, 2 if channels % groups == 0"
            ),
            "torch.nn.Upsample": (
                module("scale_factor=2, mode='nearest'", IMAGES),
                module("scale_factor=2, mode='bilinear'", IMAGES),
                module("scale_factor=2, mode='bicubic', align_corners=True", IMAGES),
            ),
            "torch.nn.UpsamplingBilinear2d": module("scale_factor=3", IMAGES),
            "torch.nn.UpsamplingNearest2d": module("scale_factor=3", IMAGES),
            "torch.nn.functional.interpolate": call(
                "{x}, scale_factor=0.5, mode='area'", IMAGES, needs="height >= 4 and width >= 4"
            ),
            "torch.nn.functional.pad": call("{x}, (1, 2), value=0.5", VECTORS),
            "torch.constant_pad_nd": call("{x}, (1, 2), 0.5", VECTORS),
            "torch.nn.Flatten": module("", IMAGES),
            "torch.nn.Unflatten": module(
                "1, ({groups}, {channels // groups})", IMAGES, groups="4, 2, 8 if channels % groups == 0"
            ),
            "torch.nn.functional.grid_sample": call(
                "{x}, {grid}, align_corners=False",
                IMAGES,
                slot("grid", "batch height width 2", Domain.SIGNED_UNIT),
            ),
            "torch.nn.functional.affine_grid": call(
                "{x}, ({batch}, 3, 32, 32), align_corners=False", x("batch 2 3")
            ),
        },
    ),
}
