"""Writes tests/data/state: files made by the Python packages `safetensors` and `gguf`.

Run from the repository root, in an environment with numpy, torch, safetensors and gguf.
"""

from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFValueType, GGUFWriter, quants
from safetensors.torch import save_file

OUT = Path("tests/data/state")
QUANTISED = {
    "q8_0": GGMLQuantizationType.Q8_0,
    "q4_0": GGMLQuantizationType.Q4_0,
    "q4_1": GGMLQuantizationType.Q4_1,
    "q5_0": GGMLQuantizationType.Q5_0,
    "q5_1": GGMLQuantizationType.Q5_1,
}
# The package reads these but does not write them: blocks of any bits but for the f16 numbers at these places.
READ_ONLY = {
    "q4_k": (GGMLQuantizationType.Q4_K, 144, (0, 2)),
    "q5_k": (GGMLQuantizationType.Q5_K, 176, (0, 2)),
    "q6_k": (GGMLQuantizationType.Q6_K, 210, (208,)),
}


def write_safetensors() -> None:
    """One tensor of every kind, with values that the test computes again."""
    ramp = torch.arange(6, dtype=torch.float64).reshape(2, 3)
    tensors = {
        "f64": ramp / 4,
        "f32": (ramp / 4).float(),
        "f16": (ramp / 4).half(),
        "bf16": (ramp / 4).bfloat16(),
        "i64": ramp.long() - 2,
        "i32": ramp.int() - 2,
        "i8": (ramp - 2).to(torch.int8),
        "u64": ramp.to(torch.uint64),
        "u8": ramp.to(torch.uint8),
        "bool": ramp > 2,
        "scalar": torch.tensor(1.5),
        "empty": torch.zeros(0, 3),
        "name \u00e9 \"quoted\"": torch.tensor([7.0]),
    }
    save_file(tensors, OUT / "kinds.safetensors", metadata={"format": "pt"})


def write_gguf() -> None:
    """Every metadata type and every tensor type that is read, and the dequantised values."""
    writer = GGUFWriter(OUT / "kinds.gguf", "test")
    writer.add_uint8("v.u8", 200)
    writer.add_int8("v.i8", -100)
    writer.add_uint16("v.u16", 60000)
    writer.add_int16("v.i16", -30000)
    writer.add_uint32("v.u32", 4000000000)
    writer.add_int32("v.i32", -2000000000)
    writer.add_float32("v.f32", 1.5)
    writer.add_bool("v.bool", True)
    writer.add_string("v.string", "h\u00e9llo")
    writer.add_uint64("v.u64", 2**63 + 1)
    writer.add_int64("v.i64", -(2**62))
    writer.add_float64("v.f64", 0.1)
    writer.add_array("a.string", ["a", "", "b\u00e9"])
    writer.add_array("a.i32", [1, -2, 3])
    writer.add_array("a.f32", [0.5, -1.5])
    writer.add_array("a.bool", [True, False])
    writer.add_key_value("a.u64", [1, 2**63], GGUFValueType.ARRAY, GGUFValueType.UINT64)
    values = np.random.default_rng(0).standard_normal((2, 64), dtype=np.float32)
    values[0, :32] = 0
    expected = {}
    writer.add_tensor("f32", values)
    writer.add_tensor("f16", values.astype(np.float16))
    bf16 = torch.from_numpy(values).bfloat16().view(torch.uint16).numpy()
    writer.add_tensor("bf16", bf16.view(np.uint8), raw_dtype=GGMLQuantizationType.BF16)
    expected["f32"] = values
    expected["f16"] = values.astype(np.float16).astype(np.float32)
    expected["bf16"] = torch.from_numpy(values).bfloat16().float().numpy()
    for name, kind in QUANTISED.items():
        packed = quants.quantize(values, kind)
        writer.add_tensor(name, packed, raw_dtype=kind)
        expected[name] = quants.dequantize(packed, kind)
    random = np.random.default_rng(1)
    for name, (kind, block_bytes, halves) in READ_ONLY.items():
        packed = random.integers(0, 256, (2, 2 * block_bytes), dtype=np.uint8)
        for block in range(2):
            for at in halves:
                scale = random.standard_normal((2, 1)).astype(np.float16) / 16
                packed[:, block * block_bytes + at :][:, :2] = scale.view(np.uint8)
        writer.add_tensor(name, packed, raw_dtype=kind)
        expected[name] = quants.dequantize(packed, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file({k: torch.from_numpy(v) for k, v in expected.items()}, OUT / "gguf_values.safetensors")


def write_narrowing() -> None:
    """f32 values, hard ones among them, and what torch narrows them to."""
    generator = torch.Generator().manual_seed(1)
    bits = torch.randint(-(2**31), 2**31, (400,), generator=generator).int()
    near = torch.tensor([0.0, -0.0, 1.0, 65504.0, 65519.996, 65520.0, 65536.0, 1e30, -1e30, 6.1e-5])
    ties = torch.tensor([2**-24, 2**-25, 2**-25 * 1.000001, 3 * 2**-25, 1 + 2**-11, 1 + 3 * 2**-11])
    bounds = torch.tensor([2**-14, 2**-14 - 2**-26, 2**-14 - 2**-25, float("inf"), -float("inf")])
    small = torch.rand(200, generator=generator) * 2**-13
    values = torch.cat([bits.view(torch.float32), near, ties, bounds, small])
    values = values[~values.isnan()].contiguous()
    tensors = {"f32": values, "f16": values.half(), "bf16": values.bfloat16()}
    save_file(tensors, OUT / "narrowing.safetensors")


def write_rope_rows() -> None:
    """Rows of q_proj in half layout, and as llama.cpp's converter interleaves them per head."""
    heads, rows, columns = 2, 12, 3
    half = torch.arange(rows * columns, dtype=torch.float32).reshape(rows, columns)
    pairs = half.reshape(heads, 2, rows // heads // 2, columns)
    interleaved = pairs.swapaxes(1, 2).reshape(rows, columns).contiguous()
    save_file({"half": half, "interleaved": interleaved}, OUT / "rope_rows.safetensors")


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    write_safetensors()
    write_gguf()
    write_narrowing()
    write_rope_rows()
