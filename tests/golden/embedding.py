"""Makes tests/data/model/qwen3_embedding: a small random model in the layout of sentence-transformers with golden vectors.

Usage: python3 tests/golden/embedding.py tests/data/model
Needs: torch, transformers, tokenizers

The folder is a checkpoint without a head (names without `model.`) with the tokenizer of llama_tiny, which puts its end
token behind a text, and with modules.json that asks for the last token's state, normalised. `golden.json` has texts, their
ids, and their vectors in float64.
"""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import Qwen3Config, Qwen3Model

from model_parity import LONG_ROPE, randomise

TEXTS = ["a", "What is a parhelion?", "Two suns beside the sun.",
         "The sea was calm, and the boats lay still in the harbour until the bell rang for the morning, and all went out."]


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def main():
    data = Path(sys.argv[1])
    target = data / "qwen3_embedding"
    torch.manual_seed(71)
    config = Qwen3Config(vocab_size=320, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=128,
                         tie_word_embeddings=True, rope_parameters=LONG_ROPE, bos_token_id=0, eos_token_id=2)
    model = Qwen3Model(config).eval()
    randomise(model)
    model.save_pretrained(target)
    # Qwen3-Embedding names the whole model though its files have the body alone.
    config_file = target / "config.json"
    config_file.write_text(config_file.read_text().replace("Qwen3Model", "Qwen3ForCausalLM"))
    tokenizer = Tokenizer.from_file(str(data / "llama_tiny" / "tokenizer.json"))
    end = tokenizer.id_to_token(2)
    tokenizer.post_processor = TemplateProcessing(single=f"$A {end}", special_tokens=[(end, 2)])
    tokenizer.save(str(target / "tokenizer.json"))
    (target / "tokenizer_config.json").write_text((data / "llama_tiny" / "tokenizer_config.json").read_text())
    kinds = ["Transformer", "Pooling", "Normalize"]
    write_json(target / "modules.json", [
        {"idx": i, "name": str(i), "path": "" if i == 0 else f"{i}_{kind}", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)])
    write_json(target / "1_Pooling" / "config.json", {
        "word_embedding_dimension": 32, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False,
        "pooling_mode_max_tokens": False, "pooling_mode_lasttoken": True, "include_prompt": True})
    golden = []
    double = model.double()
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        with torch.no_grad():
            state = double(input_ids=torch.tensor([ids])).last_hidden_state[0, -1]
        golden.append({"text": text, "ids": ids, "vector": (state / state.norm()).tolist()})
    write_json(target / "golden.json", golden)


main()
