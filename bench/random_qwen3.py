"""Writes a GGUF file with the shape of Qwen3-0.6B, random bf16 weights and no vocabulary.

usage: random_qwen3.py OUT.gguf
"""

import sys

import gguf
import numpy as np

HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_DIM, MLP, VOCABULARY = 1024, 28, 16, 8, 128, 3072, 151936


def main() -> None:
    generator = np.random.default_rng(0)
    writer = gguf.GGUFWriter(sys.argv[1], "qwen3")
    writer.add_block_count(LAYERS)
    writer.add_context_length(40960)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(MLP)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    writer.add_vocab_size(VOCABULARY)
    writer.add_tokenizer_model("no_vocab")

    def add(name: str, *shape: int) -> None:
        values = generator.standard_normal(shape, dtype=np.float32) * 0.02
        bits = (values.view(np.uint32) >> 16).astype(np.uint16)
        writer.add_tensor(name, bits.view(np.uint8).reshape(*shape[:-1], shape[-1] * 2), raw_dtype=gguf.GGMLQuantizationType.BF16)

    def add_norm(name: str, size: int) -> None:
        writer.add_tensor(name, np.ones(size, dtype=np.float32))

    add("token_embd.weight", VOCABULARY, HIDDEN)
    add_norm("output_norm.weight", HIDDEN)
    for layer in range(LAYERS):
        prefix = f"blk.{layer}."
        add(prefix + "attn_q.weight", HEADS * HEAD_DIM, HIDDEN)
        add(prefix + "attn_k.weight", KV_HEADS * HEAD_DIM, HIDDEN)
        add(prefix + "attn_v.weight", KV_HEADS * HEAD_DIM, HIDDEN)
        add(prefix + "attn_output.weight", HIDDEN, HEADS * HEAD_DIM)
        add(prefix + "ffn_gate.weight", MLP, HIDDEN)
        add(prefix + "ffn_up.weight", MLP, HIDDEN)
        add(prefix + "ffn_down.weight", HIDDEN, MLP)
        add_norm(prefix + "attn_q_norm.weight", HEAD_DIM)
        add_norm(prefix + "attn_k_norm.weight", HEAD_DIM)
        add_norm(prefix + "attn_norm.weight", HIDDEN)
        add_norm(prefix + "ffn_norm.weight", HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
