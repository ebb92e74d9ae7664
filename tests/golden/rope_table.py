"""Writes tests/data/exec/rope_table.json: cos and sin of Transformers' LlamaRotaryEmbedding in float32."""

import json
import pathlib

import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
CASES = [
    ("none", 64, 10000.0, {"rope_type": "default"}),
    ("none", 64, 100000.0, {"rope_type": "default"}),
    ("none", 128, 1000000.0, {"rope_type": "default"}),
    ("linear", 32, 10000.0, {"rope_type": "linear", "factor": 4.0}),
    ("llama3", 64, 500000.0, LLAMA3),
    ("llama3", 128, 500000.0, {**LLAMA3, "factor": 32.0}),
]
POSITIONS = [0, 1, 2, 77, 1000, 4095]


def case(kind, dim, theta, scaling):
    config = LlamaConfig(
        hidden_size=dim,
        num_attention_heads=1,
        head_dim=dim,
        max_position_embeddings=4096,
        rope_parameters={"rope_theta": theta, **scaling},
    )
    cos, sin = LlamaRotaryEmbedding(config)(torch.zeros(1), torch.tensor([POSITIONS]))
    half = dim // 2
    rows = torch.cat((cos[0, :, :half], sin[0, :, :half]), dim=1)
    return {
        "scaling": kind,
        "d": dim,
        "theta": theta,
        "factor": scaling.get("factor", 1.0),
        "low_freq_factor": scaling.get("low_freq_factor", 1.0),
        "high_freq_factor": scaling.get("high_freq_factor", 4.0),
        "original_max_position": scaling.get("original_max_position_embeddings", 0),
        "rows": rows.tolist(),
    }


def main():
    root = pathlib.Path(__file__).resolve().parents[1]
    golden = {"positions": POSITIONS, "cases": [case(*each) for each in CASES]}
    (root / "data/exec/rope_table.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
