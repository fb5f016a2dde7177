"""The same model as a GGUF file."""

import json

import pytest

from warpsmith.core import Message, Role
from warpsmith.policy import PolicyConfig, Sampling
from warpsmith.policy.local import LocalPolicy

gguf = pytest.importorskip("gguf")
pytest.importorskip("accelerate")

OPENING = (Message(role=Role.USER, text="Make the module in model.py faster."),)
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def written(checkpoint, path):
    """The checkpoint's weights and tokenizer, as llama.cpp's converter would write them."""
    from safetensors.numpy import load_file

    config = json.loads((checkpoint / "config.json").read_text())
    tokenizer = json.loads((checkpoint / "tokenizer.json").read_text())
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    _write_tokenizer(writer, tokenizer, (checkpoint / "chat_template.jinja").read_text())
    for name, weight in load_file(checkpoint / "model.safetensors").items():
        writer.add_tensor(_name(name), weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _write_tokenizer(writer, tokenizer, template):
    ids = tokenizer["model"]["vocab"]
    special = {token["content"] for token in tokenizer["added_tokens"]}
    tokens = sorted(ids, key=ids.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in special else 1 for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(ids["<|im_end|>"])
    writer.add_chat_template(template)


def _name(name):
    plain = name.removeprefix("model.")
    if plain.startswith("layers."):
        _, layer, rest = plain.split(".", 2)
        part, _, kind = rest.rpartition(".")
        return f"blk.{layer}.{NAMES[part]}.{kind}"
    return {"embed_tokens.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}[plain]


def test_a_gguf_file_speaks_as_the_folder_that_it_was_made_from(checkpoint, tmp_path):
    config = PolicyConfig(sampling=Sampling(temperature=0.0, max_tokens=12), style="files")
    ours = LocalPolicy(str(checkpoint), config).respond(OPENING, ())
    policy = LocalPolicy(str(written(checkpoint, tmp_path / "tiny.gguf")), config)
    theirs = policy.respond(OPENING, ())
    assert theirs.tokens.ids == ours.tokens.ids
    assert theirs.tokens.logprobs == pytest.approx(ours.tokens.logprobs, abs=1e-3)
    assert theirs.tokens.prompt_ids == ours.tokens.prompt_ids
