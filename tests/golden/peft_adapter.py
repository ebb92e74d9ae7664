"""Makes an adapter for the golden model `llama_tiny` by Hugging Face's peft, and what it computes.

usage: peft_adapter.py   (run from the repository root; needs torch, transformers, peft)

Writes tests/data/model/peft_tiny: the files that peft saves (but its README), with random B, so that
the adapter changes the output, and golden.safetensors with token ids, the float32 log-probability
of each id after the first with the adapter kept, and one weight with the adapter merged.
"""
import json
import pathlib
import tempfile

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

MODEL = pathlib.Path("tests/data/model/llama_tiny")
TARGET = pathlib.Path("tests/data/model/peft_tiny")
MERGED = "model.layers.1.self_attn.q_proj.weight"


def adapted_model():
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32)
    config = LoraConfig(
        r=4, lora_alpha=6, lora_dropout=0.1, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM"
    )
    adapted = get_peft_model(model, config).eval()
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    return adapted


def log_probabilities(model, ids):
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].double()
    return torch.log_softmax(logits, -1)[:-1].gather(1, torch.tensor(ids[1:])[:, None])[:, 0].float()


def save_adapter(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        config = json.loads((pathlib.Path(folder) / "adapter_config.json").read_text())
        tensors = load_file(pathlib.Path(folder) / "adapter_model.safetensors")
    config["base_model_name_or_path"] = "llama_tiny"
    config["target_modules"] = sorted(config["target_modules"])
    TARGET.mkdir(exist_ok=True)
    (TARGET / "adapter_config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    save_file(tensors, TARGET / "adapter_model.safetensors", metadata={"format": "pt"})


def main():
    model = adapted_model()
    ids = torch.randint(300, (40,)).tolist()
    save_adapter(model)
    golden = {"ids": torch.tensor(ids, dtype=torch.int32), "log_probability": log_probabilities(model, ids)}
    golden["merged." + MERGED] = dict(model.merge_and_unload().named_parameters())[MERGED].detach().clone()
    save_file(golden, TARGET / "golden.safetensors")


if __name__ == "__main__":
    main()
