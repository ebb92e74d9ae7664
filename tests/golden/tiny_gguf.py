"""Writes tests/data/app/llama_tiny.gguf: the model of tests/data/model/llama_tiny in the other format.

usage: tiny_gguf.py   (run from the repository root)

Tensors are float32, so that both files give the same bits; rows of query and key heads are
interleaved, as GGUF files of Llama have them.
"""
import json
import pathlib

import gguf
import numpy as np
from safetensors.numpy import load_file

SOURCE = pathlib.Path("tests/data/model/llama_tiny")
OUT = pathlib.Path("tests/data/app/llama_tiny.gguf")

OUTER = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight"}
LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def gguf_name(name):
    if name in OUTER:
        return OUTER[name]
    _, _, layer, module = name.split(".", 3)
    return f"blk.{layer}.{LAYER[module.removesuffix('.weight')]}.weight"


def interleave(rows, heads):
    """Row i of a head's first half beside row i of its second half."""
    return rows.reshape(heads, 2, -1, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


def add_keys(writer, config):
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])


def add_tokenizer(writer):
    tokenizer = json.loads((SOURCE / "tokenizer.json").read_text())
    config = json.loads((SOURCE / "tokenizer_config.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.get)
    special = {added["content"] for added in tokenizer["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if t in special else gguf.TokenType.NORMAL for t in tokens])
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_bos_token_id(vocabulary[config["bos_token"]])
    writer.add_eos_token_id(vocabulary[config["eos_token"]])
    writer.add_pad_token_id(vocabulary[config["pad_token"]])
    writer.add_chat_template(config["chat_template"])


def main():
    config = json.loads((SOURCE / "config.json").read_text())
    writer = gguf.GGUFWriter(OUT, "llama")
    add_keys(writer, config)
    add_tokenizer(writer)
    heads = {"self_attn.q_proj": config["num_attention_heads"], "self_attn.k_proj": config["num_key_value_heads"]}
    for name, tensor in load_file(SOURCE / "model.safetensors").items():
        for module, count in heads.items():
            if f".{module}." in name:
                tensor = interleave(tensor, count)
        writer.add_tensor(gguf_name(name), np.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
