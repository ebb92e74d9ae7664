"""Makes tests/data/model: small random models of Hugging Face Transformers with golden values.

Usage: python3 tests/golden/model_parity.py tests/data/model
Needs: torch, transformers, tokenizers, safetensors

Each folder is a checkpoint (config.json, float32 weights) and a `golden.safetensors` with two cases, `packed` (two
documents one after another) and `single` (one document):
  <case>.token_ids, positions, labels, document_indptr   int32
  <case>.loss_weight                                     float32
  <dtype>.<case>.loss      float32[tokens], 0 where the label is -100
  <dtype>.<case>.logits    float32[tokens of the first document, vocabulary]
  <dtype>.grad.<parameter> gradient of sum(loss * loss_weight) of case `packed`
where dtype is f32 or bf16 (the model cast to bfloat16 as a whole).
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

import tiny_text

CASES = {"packed": [23, 14], "single": [19]}
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}

DEFAULT_ROPE = {"rope_type": "default", "rope_theta": 10000.0}
LLAMA3_ROPE = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
               "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
LINEAR_ROPE = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 2.5}
LONG_ROPE = {"rope_type": "default", "rope_theta": 1000000.0}

TINY = dict(vocab_size=320, hidden_size=48, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=512, rms_norm_eps=1e-5, tie_word_embeddings=True,
            rope_parameters=DEFAULT_ROPE, bos_token_id=0, eos_token_id=2, pad_token_id=0)

CONFIGS = {
    "llama_scaled": (LlamaForCausalLM, LlamaConfig, dict(
        vocab_size=131, hidden_size=36, intermediate_size=54, num_hidden_layers=2, num_attention_heads=6,
        num_key_value_heads=2, head_dim=8, max_position_embeddings=64, rms_norm_eps=1e-5,
        rope_parameters=LLAMA3_ROPE, bos_token_id=1, eos_token_id=[2, 3, 5])),
    "llama_biased": (LlamaForCausalLM, LlamaConfig, dict(
        vocab_size=160, hidden_size=36, intermediate_size=50, num_hidden_layers=3, num_attention_heads=3,
        num_key_value_heads=1, max_position_embeddings=48, attention_bias=True, mlp_bias=True,
        rope_parameters=LINEAR_ROPE, bos_token_id=1, eos_token_id=2)),
    "qwen3_grouped": (Qwen3ForCausalLM, Qwen3Config, dict(
        vocab_size=128, hidden_size=32, intermediate_size=72, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=64, rope_parameters=LONG_ROPE,
        bos_token_id=1, eos_token_id=2)),
    "qwen3_tied": (Qwen3ForCausalLM, Qwen3Config, dict(
        vocab_size=151, hidden_size=40, intermediate_size=56, num_hidden_layers=2, num_attention_heads=5,
        num_key_value_heads=5, head_dim=8, max_position_embeddings=64, tie_word_embeddings=True,
        rope_parameters=LONG_ROPE, bos_token_id=1, eos_token_id=2)),
    "qwen3_biased": (Qwen3ForCausalLM, Qwen3Config, dict(
        vocab_size=133, hidden_size=34, intermediate_size=45, num_hidden_layers=2, num_attention_heads=6,
        num_key_value_heads=3, head_dim=10, max_position_embeddings=64, attention_bias=True,
        rope_parameters=LINEAR_ROPE, bos_token_id=1, eos_token_id=2)),
    "llama_tied": (LlamaForCausalLM, LlamaConfig, dict(
        vocab_size=128, hidden_size=32, intermediate_size=44, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=64, tie_word_embeddings=True,
        rope_parameters=DEFAULT_ROPE, bos_token_id=1, eos_token_id=2)),
}


def randomise(model):
    """Weights of the size that trained ones have, so that every part of the model shapes its output."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.normal_(0.0 if name.endswith("bias") else 1.0, 0.2)
            else:
                weight.normal_(0.0, 0.7 * weight.shape[1] ** -0.5)


def make_case(lengths, ids):
    ids = ids[: sum(lengths)]
    labels, positions, bounds = ids.roll(-1), [], [0]
    for length in lengths:
        positions.append(torch.arange(length))
        bounds.append(bounds[-1] + length)
        labels[bounds[-1] - 1] = -100
    labels[5] = -100
    weight = torch.rand(len(ids)) + 0.5
    return {"token_ids": ids.int(), "positions": torch.cat(positions).int(), "labels": labels.int(),
            "document_indptr": torch.tensor(bounds).int(), "loss_weight": weight / weight.sum()}


def run_case(model, case):
    """Per-token loss of all documents, logits of the first."""
    losses, logits = [], []
    bounds = case["document_indptr"].tolist()
    for begin, end in zip(bounds, bounds[1:]):
        out = model(input_ids=case["token_ids"][None, begin:end].long(), use_cache=False).logits[0].float()
        labels = case["labels"][begin:end].long()
        losses.append(torch.nn.functional.cross_entropy(out, labels, reduction="none", ignore_index=-100))
        logits.append(out)
    return torch.cat(losses), logits[0]


def golden_values(model, dtype_name, cases):
    result = {}
    model = model.to(DTYPES[dtype_name]).eval()
    for name, case in cases.items():
        model.zero_grad()
        loss, logits = run_case(model, case)
        result[f"{dtype_name}.{name}.loss"] = loss.detach()
        result[f"{dtype_name}.{name}.logits"] = logits.detach()
        if name == "packed":
            (loss * case["loss_weight"]).sum().backward()
            for parameter, weight in model.named_parameters():
                result[f"{dtype_name}.grad.{parameter}"] = weight.grad.clone()
    return result


def write_golden(model, folder, ids):
    cases = {name: make_case(lengths, ids) for name, lengths in CASES.items()}
    tensors = {f"{name}.{key}": value for name, case in cases.items() for key, value in case.items()}
    for dtype_name in DTYPES:
        tensors |= golden_values(model, dtype_name, cases)
    drift = (tensors["bf16.packed.loss"] - tensors["f32.packed.loss"]).abs().max()
    print(f"{folder.name}: loss {tensors['f32.packed.loss'].mean():.3f}, bf16 differs by at most {drift:.4f}")
    save_file({name: value.contiguous() for name, value in tensors.items()}, folder / "golden.safetensors")


def use_classic_keys(path):
    """Rewrites config.json as Transformers 4 wrote it."""
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = rope
    config["torch_dtype"] = config.pop("dtype", "float32")
    config["transformers_version"] = "4.51.3"
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def make_random_models(folder):
    for number, (name, (model_class, config_class, keys)) in enumerate(CONFIGS.items()):
        torch.manual_seed(number)
        model = model_class._from_config(config_class(**keys), attn_implementation="eager")
        randomise(model)
        model.save_pretrained(folder / name)
        if name == "llama_scaled":
            use_classic_keys(folder / name / "config.json")
        write_golden(model, folder / name, torch.randint(0, keys["vocab_size"], (64,)))


def make_tokenizer(folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=TINY["vocab_size"], special_tokens=tiny_text.SPECIAL_TOKENS,
                                  initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False)
    tokenizer.train_from_iterator(tiny_text.plain_lines(), trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "bos_token": "<|endoftext|>",
              "pad_token": "<|endoftext|>", "model_max_length": TINY["max_position_embeddings"],
              "chat_template": tiny_text.CHAT_TEMPLATE}
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
    return tokenizer


def training_batch(ids, rows, length):
    starts = torch.randint(0, len(ids) - length - 1, (rows,))
    return torch.stack([ids[s : s + length + 1] for s in starts.tolist()])


def train_tiny(model, tokenizer, steps=1500):
    ids = [torch.tensor(tokenizer.encode(text).ids) for text in tiny_text.documents()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        order = torch.randperm(len(ids)).tolist()
        stream = torch.cat([ids[i] for i in order])
        rows = training_batch(stream, 8, 96)
        logits = model(input_ids=rows[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"llama_tiny: step {step + 1}, loss {loss.item():.3f}")


def make_tiny(folder):
    torch.manual_seed(99)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer(folder)
    model = LlamaForCausalLM._from_config(LlamaConfig(**TINY), attn_implementation="eager")
    train_tiny(model, tokenizer)
    model.save_pretrained(folder)
    for prompt in ["The sun", tiny_text.chat_prompt("What is a parhelion?")]:
        ids = torch.tensor([tokenizer.encode(prompt).ids])
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=60, do_sample=False)
        print(repr(tokenizer.decode(out[0].tolist(), skip_special_tokens=False)))
    write_golden(model, folder, torch.tensor(tokenizer.encode(" ".join(tiny_text.SENTENCES[3:])).ids))


def main():
    folder = Path(sys.argv[1])
    make_random_models(folder)
    make_tiny(folder / "llama_tiny")


if __name__ == "__main__":
    main()
