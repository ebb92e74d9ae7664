"""Writes tests/data/text/templates: chats and the text jinja2 gives for them.

usage: chat_template.py SMOLLM2.gguf LLAMA_CPP_TEMPLATES   (run from the repository root)

Templates of models are rendered with the environment of Transformers.  Small templates written here
cover the language itself, errors included.
"""
import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizer_models import read_gguf

OUT = pathlib.Path("tests/data/text/templates")
NOW = datetime.datetime(2026, 3, 7, 9, 5, 2)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda format: NOW.strftime(format)
    return env


def render(source, messages, options):
    """The text, or the message of the error."""
    variables = dict(options.get("variables", {}))
    for key in ("bos_token", "eos_token"):
        if key in options:
            variables[key] = options[key]
    try:
        text = environment().from_string(source).render(
            messages=messages, tools=options.get("tools"), documents=None,
            add_generation_prompt=options.get("add_generation_prompt", False), **variables)
        return {"text": text}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather of a \"city\"\u00e9 <now> & later.",
           "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}, "scale": {"type": "number", "default": 1.5}},
                          "required": ["city"], "additionalProperties": False}}}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "call12345", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "K\u00f6ln", "days": 2, "near": None, "hot": True, "x": 1e-7}}}]}
USER = {"role": "user", "content": "Hello! \u4f60\u597d \U0001f600"}
SYSTEM = {"role": "system", "content": "  You are terse.\n"}
THINKING = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes."}
REASONED = {"role": "assistant", "content": "Yes.", "reasoning_content": "\nhm\n"}
CHATS = {
    "user": [USER],
    "system": [SYSTEM, USER],
    "turns": [USER, {"role": "assistant", "content": "Hi.\n"}, {"role": "user", "content": " again "}],
    "system_turns": [SYSTEM, USER, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "more"}],
    "empty": [{"role": "user", "content": ""}],
    "thinking": [USER, THINKING, {"role": "user", "content": "why"}, REASONED],
    "reasoned_last": [USER, REASONED],
    "tool_call": [USER, CALL, {"role": "tool", "name": "get_weather", "tool_call_id": "call12345", "content": "{\"t\": 21}"}],
    "tool_turns": [SYSTEM, USER, CALL, {"role": "tool", "name": "get_weather", "tool_call_id": "call12345", "content": "rain"},
                   {"role": "tool", "name": "get_weather", "tool_call_id": "call12345", "content": "sun"}, {"role": "assistant", "content": "Rain."}, USER],
    "parts": [{"role": "user", "content": [{"type": "text", "text": "part one"}, {"type": "text", "text": "part two"}]}],
    "only_system": [SYSTEM],
    "assistant_first": [{"role": "assistant", "content": "I begin."}, USER],
    "markers": [{"role": "user", "content": "<|im_end|> <|eot_id|> {{ x }} {% if %}"}],
    "none": [],
}
OPTIONS = [
    {}, {"add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>"},
    {"add_generation_prompt": True, "bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>", "tools": [WEATHER], "variables": {"enable_thinking": False}},
    {"bos_token": "<|begin_of_text|>", "eos_token": "", "tools": [WEATHER, WEATHER], "variables": {"enable_thinking": True, "tools_in_user_message": False, "date_string": "1 Jan 2027"}},
]
SNIPPETS = [
    "a\n", "a\n\n", "{{ 1 }}\n", "x\r\ny\rz", "  {% if true %}\n  a\n  {% endif %}\n b", "  {%- if true -%}  \n a {%- endif +%}\nb", "{%+ if true %} a{% endif %}", " {# c #}\nb{#- d -#}  e",
    "{% raw %}{{ x }}{% if %}{% endraw %}", " {% raw -%} {{ a }} {%- endraw %}\nb", "{{ {'a': {'b': 1}} }}", "{{ {'a':{'b':1}}['a'].b }}", "{{ [1, 2.0, 'x', none, true, [], {}, (1,), (1, 2), ()] }}",
    "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 4 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 1.5 // 1 }} {{ -1.5 % 1 }}", "{{ 1e20 }} {{ 1e16 }} {{ 123456789.0 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1_000 }} {{ 3.0 }}",
    "{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ 'a' ~ 1 ~ none ~ true ~ 2.5 }} {{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ [1] * 2 + [3] }}", "{{ -2|abs if false else 3 }}", "{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 1 == 1.0 }} {{ 'a' < 'b' }} {{ true == 1 }} {{ [1] == [1] }} {{ (1,) == [1] }}",
    "{{ 'a' in 'abc' }} {{ 1 in [1] }} {{ 'k' in {'k': 1} }} {{ 2 not in [1] }} {{ not true }} {{ not 1 == 2 }}", "{{ none or 'x' }} {{ '' and 1 }} {{ 0 or [] or 'z' }} {{ 1 and 2 }}", "{{ 'x' if false }}|{{ ('x' if false) is defined }}",
    "{{ missing }}|{{ missing is defined }}|{{ missing is undefined }}|{{ missing|default('d') }}|{{ ''|default('e', true) }}|{{ missing|length }}", "{{ missing.attr }}", "{{ missing + 1 }}", "{{ missing() }}", "{{ messages.x.y }}",
    "{% for x in missing %}a{% else %}b{% endfor %}", "{% for x in none %}a{% endfor %}", "{% for x in 5 %}a{% endfor %}", "{{ 1 + 'a' }}", "{{ 'a' + none }}", "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 'x'() }}", "{{ none < 1 }}", "{{ [3, 1]|tojson }} {{ missing|tojson }}",
    "{% for i in range(3) %}{{ loop.index }}/{{ loop.length }} {{ loop.first }} {{ loop.last }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.previtem }} {{ loop.nextitem }},{% endfor %}", "{% for i in range(5, 0, -2) %}{{ i }}{% endfor %}", "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in {'a': 1, 'b': 2} %}{{ k }}{% endfor %}{% for c in 'h\u00e9\U0001f600' %}[{{ c }}]{% endfor %}", "{% for x in [1,2,3,4] if x is even %}{{ loop.index }}:{{ x }} {{ loop.length }}{% else %}none{% endfor %}", "{% for x in [1,2,3,4] %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 4 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% set x = 1 %}{% for i in [1,2] %}{{ x }}{% set x = x + 10 %}{{ x }} {% endfor %}{{ x }}", "{% set ns = namespace(x=1, y={'z': 2}) %}{% for i in [1,2] %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }} {{ ns.y.z }} {{ ns.q is defined }}", "{% set a, b = 1, [2] %}{{ a }}{{ b }}", "{% set x %}  hi {{ 1 }}\n{% endset %}[{{ x }}]{{ x is string }}",
    "{% if true %}{% set q = 5 %}{% endif %}{{ q }}", "{% macro m(a, b=2, c='x') %}<{{ a }},{{ b }},{{ c }}>{% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m(b=5, a=4) }}{{ m() }}", "{% macro r(n) %}{{ n }}{% if n > 0 %}{{ r(n - 1) }}{% endif %}{% endmacro %}{{ r(4) }}", "{% set g = 7 %}{% macro m() %}{{ g }}{% endmacro %}{% set g = 8 %}{{ m() }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(z=2) }}",
    "{{ 'abcdef'[1:3] }} {{ 'abcdef'[::-1] }} {{ 'h\u00e9llo'[1] }} {{ 'abc'[-1] }} {{ 'abc'[9] }}| {{ [1,2,3][::-1] }} {{ [1,2,3][-2:] }} {{ [1,2,3][5:] }} {{ [1,2,3,4,5][4:0:-2] }} {{ (1,2,3)[1:] }} {{ [1,2][true] }}", "{{ {'a': 1}['b'] }}|{{ {'a': 1}.get('b') }}|{{ {'a': 1}.get('b', 2) }}|{{ {'a': 1}.keys()|list }}|{{ {'a': 1}.values()|list }}|{{ {'items': 3}['items'] }}|{{ {1: 'x'}[1] }}",
    "{{ '  a b '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ ' a '.lstrip() }}|{{ '\\n\\na\\n'.rstrip('\\n') }}|{{ 'a,b,,c'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a,b,c'.split(',', 1) }}|{{ 'a,b,c'.rsplit(',', 1) }}|{{ ' a b c '.split(none, 1) }}|{{ 'a\\nb\\r\\nc'.splitlines() }}",
    "{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'aXa'.replace('a', 'b') }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'ab'.replace('', '-') }} {{ 'AbC'.lower() }} {{ 'AbC'.upper() }} {{ 'hello wORLD it\\'s'.title() }} {{ 'hELLO'.capitalize() }} {{ 'abcb'.find('b') }} {{ 'abcb'.rfind('b') }} {{ 'x'.find('y') }} {{ 'aaa'.count('a') }} {{ ','.join(['a', 'b']) }} {{ 'prefix'.removeprefix('pre') }} {{ 'suffix'.removesuffix('fix') }} {{ '12'.isdigit() }}",
    "{{ ' x '|trim }}|{{ 'xax'|trim('x') }}|{{ [1,2]|join('-') }}|{{ [{'a':1},{'a':2}]|join(',', attribute='a') }}|{{ 'Ab'|lower }}|{{ 'Ab'|upper }}|{{ 'aBC'|capitalize }}|{{ 'aba'|replace('a','c') }}|{{ 'aba'|replace('a','c',1) }}|{{ [1,2]|first }}|{{ [1,2]|last }}|{{ 'ab'|list }}|{{ 'ab'|reverse }}|{{ [1,2]|reverse|list }}",
    "{{ {'b':1,'A':2}|dictsort }}|{{ {'b':1,'A':2}|dictsort(true) }}|{{ {'b':1,'a':2}|dictsort(false,'value') }}|{{ {'b':1}|items|list }}|{{ 5|string }}|{{ '5'|int }}|{{ 'x'|int }}|{{ 'x'|int(7) }}|{{ 3.9|int }}|{{ '3.9'|int }}|{{ true|int }}",
    "{{ [1,0,2]|select|list }}|{{ [1,2,3]|select('odd')|list }}|{{ [1,2,3]|reject('odd')|list }}|{{ [{'a':1},{'a':0},{}]|selectattr('a')|list }}|{{ [{'a':1},{'a':2}]|selectattr('a','equalto',2)|list }}|{{ [{'a':1},{'a':2}]|rejectattr('a','==',2)|list }}|{{ [{'a':{'b':5}}]|map(attribute='a.b')|list }}|{{ ['a']|map('upper')|list }}|{{ [{}]|map(attribute='q', default='z')|list }}",
    "{{ 'a\\nb\\n\\nc'|indent }}|{{ 'a\\nb'|indent(2, true) }}|{{ 'a\\n\\nb'|indent(2, blank=true) }}|{{ 'a\\nb'|indent('> ') }}", "{{ {'z': 1, 'a': [1, {'q': none}], 's': '<\u00e9\"\\\\\\n\\t\\u0001>', 'f': 1.0, 'e': {}, 'l': []}|tojson }}", "{{ {'z': 1, 'a': [1, {'q': none}], 'e': {}, 'l': []}|tojson(indent=2) }}", "{{ {'z': 1, 'a': ['\u00e9', '\U0001f600']}|tojson(ensure_ascii=true, sort_keys=true, separators=(',', ':')) }}",
    "{{ 1 is number }} {{ true is number }} {{ 1 is integer }} {{ true is integer }} {{ 1.0 is float }} {{ 'a' is string }} {{ {} is mapping }} {{ [] is sequence }} {{ 'a' is sequence }} {{ {} is sequence }} {{ 1 is iterable }} {{ [] is iterable }} {{ none is none }} {{ true is true }} {{ 1 is true }} {{ false is boolean }} {{ 3 is odd }} {{ 4 is divisibleby 2 }} {{ 1 is eq 1 }} {{ 1 is in [1] }} {{ 2 is gt 1 }} {{ range is callable }} {{ 1 is not none }} {{ missing is not defined }} {{ missing is iterable }} {{ missing is none }}",
    "{{ 'tab\\there' }}{{ 'q\\'q' }}{{ \"d\\\"d\" }}{{ '\\x41\\u00e9\\U0001f600\\101' }}{{ 'a' 'b' }}{{ '\\q' }}", "{{ ['it\\'s', 'say \"x\"', 'both \\' \"', 'nl\\n'] }}", "{{ raise_exception('bad \u00e9') }}", "{{ strftime_now('%d %b %Y %H:%M') }}", "{{ dict(a=1, b=2) }}{{ namespace(a=1).a }}",
    "{{ messages|length }}{{ messages[0]['role'] }}{{ messages[-1].content }}{{ messages[0].nothing is defined }}", "{{ 'a' is string and 'b' in 'abc' and not (1 is none) }}", "{{ (messages|length) - 1 }}{{ messages|length - 1 }}", "{%- for m in messages -%}\n {{- m.role }}\n{%- endfor %}\n.", "{{ [1,2,3]|length == 3 and true }}", "{{ 5 if 1 > 2 else 6 if false else 7 }}",
    "{{ 'x'.y is defined }}{{ 1.5.y is defined }}", "{{ loop is defined }}{% for x in [1] %}{{ loop is defined }}{% endfor %}", "{% for x in [[1,2],[3,4]] %}{% for y in x %}{{ loop.index }}{{ y }}{% endfor %}{{ loop.index }};{% endfor %}", "{% for a, b in [[1,2],[3]] %}{% endfor %}", "{{ 'a'.split('') }}", "{{ {}.x.y }}", "{% set messages = messages[1:] %}{{ messages|length }}", "{{ '%s' }}{{ '{}' }}", "{{ none }}{{ true }}{{ none|string }}{{ [none]|string }}",
]


def main():
    smollm2, peer = sys.argv[1], pathlib.Path(sys.argv[2])
    OUT.mkdir(parents=True, exist_ok=True)
    sources = {"smollm2": read_gguf(smollm2)["chat_template"]}
    for name in ("meta-llama-Llama-3.1-8B-Instruct", "meta-llama-Llama-3.2-3B-Instruct", "meta-llama-Llama-3.3-70B-Instruct", "Qwen-Qwen3-0.6B",
                 "Qwen-Qwen2.5-7B-Instruct", "HuggingFaceTB-SmolLM3-3B", "Qwen3-Coder"):
        sources[name] = (peer / f"{name}.jinja").read_bytes().decode()
    models = []
    for name, source in sources.items():
        renders = [{"chat": chat, "options": i, **render(source, CHATS[chat], options)} for chat in CHATS for i, options in enumerate(OPTIONS)]
        models.append({"name": name, "source": source, "renders": renders})
    snippets = [{"source": s, **render(s, CHATS["system_turns"], {})} for s in SNIPPETS]
    golden = {"chats": CHATS, "options": OPTIONS, "models": models, "snippets": snippets}
    (OUT / "golden.json").write_text(json.dumps(golden, separators=(",", ":")))


if __name__ == "__main__":
    main()
