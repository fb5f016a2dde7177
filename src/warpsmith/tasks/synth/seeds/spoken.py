"""What the names of parameters and of a configuration's fields mean, throughout transformers."""

import re

from warpsmith.tasks.synth.base import Domain
from warpsmith.tasks.synth.seeds.pattern import Draw, Slot

CONFIG: dict[str, str] = {
    **dict.fromkeys(
        ("hidden_size", "d_model", "n_embd", "embed_dim", "dim", "n_embed", "embedding_size"), "{hidden}"
    ),
    **dict.fromkeys(
        (
            "num_attention_heads",
            "n_head",
            "n_heads",
            "num_heads",
            "encoder_attention_heads",
            "decoder_attention_heads",
        ),
        "{heads}",
    ),
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads"), "{groups}"),
    **dict.fromkeys(
        ("head_dim", "d_kv", "kv_channels", "attention_head_size", "d_head"), "{hidden // heads}"
    ),
    **dict.fromkeys(
        (
            "intermediate_size",
            "ffn_dim",
            "d_ff",
            "n_inner",
            "encoder_ffn_dim",
            "decoder_ffn_dim",
            "hidden_dim",
            "ffn_hidden_size",
            "moe_intermediate_size",
            "shared_expert_intermediate_size",
            "d_inner",
        ),
        "{inner}",
    ),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), "8"),
    **dict.fromkeys(("num_experts_per_tok", "moe_top_k", "moe_k"), "2"),
    **dict.fromkeys(("n_group", "topk_group", "n_shared_experts"), "1"),
    **dict.fromkeys(("num_hidden_layers", "num_layers", "n_layer", "encoder_layers", "decoder_layers"), "2"),
    "vocab_size": "{vocabulary}",
    **dict.fromkeys(("max_position_embeddings", "n_positions"), "{length}"),
    "image_size": "{side}",
    "patch_size": "{patch}",
    "num_channels": "3",
}
"""What a configuration is given, by the field's name."""

OF_IMAGES = ("image_size", "patch_size", "num_channels")

DROPS = re.compile(r"\w*(dropout|drop_rate|drop_path_rate|pdrop|layerdrop|layer_dropout)\w*")

CONSTRUCTOR: dict[str, str] = {
    **dict.fromkeys(
        (
            "hidden_size",
            "dim",
            "embed_dim",
            "d_model",
            "num_features",
            "in_channels",
            "channels",
            "num_channels",
            "normalized_shape",
            "nx",
            "hidden_dim",
            "in_features",
            "input_dim",
            "n_embd",
            "emb_dim",
            "embedding_dim",
        ),
        "{hidden}",
    ),
    **dict.fromkeys(
        (
            "intermediate_size",
            "out_features",
            "nf",
            "out_channels",
            "hidden_features",
            "output_dim",
            "ffn_dim",
        ),
        "{inner}",
    ),
    **dict.fromkeys(("layer_idx", "layer_id", "layer_number", "block_idx", "idx", "layer_index", "i"), "0"),
    **dict.fromkeys(("num_heads", "n_heads", "num_attention_heads"), "{heads}"),
    "kernel_size": "3",
}
"""What a constructor is given beside a configuration."""

FLOATS = (
    "hidden_states",
    "hidden_state",
    "x",
    "input",
    "inputs",
    "inputs_embeds",
    "embeddings",
    "features",
    "query",
    "input_tensor",
    "tensor",
    "hidden",
    "layer_input",
    "feature",
    "states",
)
SHAPES = (
    "batch length hidden",
    "tokens hidden",
    "batch length inner",
    "batch hidden height width",
    "batch hidden length",
    "batch 3 side side",
    "batch height width hidden",
)
"""What a floating-point x may be, in the order in which it is tried."""

NOTHING = re.compile(
    r"\w*attention_mask|\w*mask|past_key_values?|cache\w*|layer_past|position_bias|\w*head_mask|\w*cache_position"
)
BESIDE: dict[str, tuple[Slot, ...]] = {
    **{
        name: (Slot(name=name, shape="batch length hidden"),)
        for name in (
            "input_tensor",
            "residual",
            "encoder_hidden_states",
            "key_value_states",
            "hidden_states",
            "key",
            "value",
            "query",
            "k",
            "v",
            "context",
            "memory",
        )
    },
    "position_embeddings": (
        Slot(name="cos", shape="batch length hidden//heads", domain=Domain.SIGNED_UNIT),
        Slot(name="sin", shape="batch length hidden//heads", domain=Domain.SIGNED_UNIT),
    ),
    "position_ids": (Slot(name="position_ids", shape="batch length", domain=Domain.INDEX, bound="length"),),
    **{
        name: (Slot(name=name, shape="tokens 2", domain=Domain.INDEX, bound="8"),)
        for name in ("top_k_index", "selected_experts", "router_indices", "top_k_indices")
    },
    **{
        name: (Slot(name=name, shape="tokens 2", domain=Domain.UNIT),)
        for name in ("top_k_weights", "routing_weights")
    },
}
"""Tensors beside x, by the name of the parameter."""

DRAWS = (
    Draw(name="hidden", among=("64", "128", "256", "512", "1024")),
    Draw(name="inner", among=("2 * hidden", "4 * hidden", "3 * hidden")),
    Draw(
        name="heads",
        among=("hidden // 16", "hidden // 32", "hidden // 64", "hidden // 128"),
        needs="hidden % heads == 0",
    ),
    Draw(name="groups", among=("heads // 2", "heads", "heads // 4"), needs="heads % groups == 0"),
    Draw(name="vocabulary", among=("1024", "50257", "32000", "8192")),
    Draw(name="patch", among=("4", "8", "16"), needs="side % patch == 0"),
    Draw(name="length", among=("512", "2048")),
)
"""Sizes that x does not give, each in terms of those before it."""

FROM_INNER = Draw(name="hidden", among=("inner // 2", "inner // 4"))
FILLED = "for parameter in {self}.{name}.parameters(): nn.init.normal_(parameter, std=0.02)"
"""For modules that leave their weights unwritten: their models fill them later."""
