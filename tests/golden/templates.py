"""Writes tests/data/text/templates/models: the templates that llama.cpp ships and what Jinja2 gives for them.

usage: templates.py SMOLLM2.gguf LLAMA_CPP_TEMPLATES   (run from the repository root)
       templates.py --show TEMPLATE CHAT OPTIONS       prints one expected text

Each template is rendered as Transformers does over every conversation and set of options of template_chats.py.
A text is stored as its XXH3 hash of 128 bits; an exception of the template itself with its message; any other
error as its type and message.
"""
import ctypes
import json
import pathlib
import sys

from chat_template import render
from template_chats import CHATS, OPTIONS
from tokenizer_models import read_gguf

OUT = pathlib.Path("tests/data/text/templates/models")


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


XXHASH = ctypes.CDLL("libxxhash.so.0")
XXHASH.XXH3_128bits.restype = Hash128
XXHASH.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def hash_of(text):
    data = text.encode()
    value = XXHASH.XXH3_128bits(data, len(data))
    return f"{value.high:016x}{value.low:016x}"


def outcome(source, messages, options):
    result = render(source, messages, options)
    if "text" in result:
        return hash_of(result["text"])
    kind, message = result["error"].split(": ", 1)
    return {"raised": message} if kind == "TemplateError" else {"error": f"{kind}: {message}"}


def write(smollm2, peer):
    OUT.mkdir(parents=True, exist_ok=True)
    sources = {path.stem: path.read_bytes() for path in sorted(peer.glob("*.jinja"))}
    sources["HuggingFaceTB-SmolLM2-135M-Instruct"] = read_gguf(smollm2)["chat_template"].encode()
    templates = {}
    for name, source in sorted(sources.items()):
        (OUT / f"{name}.jinja").write_bytes(source)
        templates[name] = {chat: [outcome(source.decode(), messages, options) for options in OPTIONS] for chat, messages in CHATS.items()}
    lines = [f"{json.dumps(name)}:{json.dumps(renders, separators=(',', ':'))}" for name, renders in templates.items()]
    head = json.dumps({"chats": CHATS, "options": OPTIONS}, separators=(",", ":"))[:-1]
    (OUT / "golden.json").write_text(head + ',\n"templates":{\n' + ",\n".join(lines) + "\n}}\n")


def show(name, chat, options):
    result = render((OUT / f"{name}.jinja").read_bytes().decode(), CHATS[chat], OPTIONS[int(options)])
    sys.stdout.write(result.get("text", result.get("error")))


if __name__ == "__main__":
    if sys.argv[1] == "--show":
        show(*sys.argv[2:])
    else:
        write(sys.argv[1], pathlib.Path(sys.argv[2]))
