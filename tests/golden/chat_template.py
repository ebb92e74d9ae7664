"""Writes tests/data/text/templates/language.json: small templates and the text that Jinja2 gives for them.

usage: chat_template.py   (run from the repository root)

The templates cover the language as Transformers sets it up, errors included.  templates.py renders those of models.
"""
import datetime
import functools
import json
import pathlib

from transformers.utils.chat_template_utils import _cached_compile_jinja_template

OUT = pathlib.Path("tests/data/text/templates")
NOW = datetime.datetime(2026, 3, 7, 9, 5, 2)


@functools.cache
def compiled(source):
    """The template as Transformers compiles it, with a clock that stands still."""
    template = _cached_compile_jinja_template(source)
    template.globals["strftime_now"] = lambda format: NOW.strftime(format)
    return template


def render(source, messages, options):
    """The text, or the message of the error."""
    variables = dict(options.get("variables", {}))
    for key in ("bos_token", "eos_token"):
        if key in options:
            variables[key] = options[key]
    try:
        text = compiled(source).render(
            messages=messages, tools=options.get("tools"), documents=None,
            add_generation_prompt=options.get("add_generation_prompt", False), **variables)
        return {"text": text}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


MESSAGES = [{"role": "system", "content": "  You are terse.\n"}, {"role": "user", "content": "Hello! \u4f60\u597d \U0001f600"},
            {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "more"}]
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
    "{% filter upper %}a{{ 1 }}b{% endfilter %}|{% filter trim|replace('a', 'b') %} aa {% endfilter %}", "{% set x|upper %}a{% set y = 1 %}{% endset %}{{ x }}{{ y is defined }}", "{% macro m(a) %}<{{ a }}{{ caller(1, b=2) }}>{% endmacro %}{% call(x, b) m('q') %}[{{ x }}{{ b }}]{% endcall %}", "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}",
    "{{ '<a>'|safe }}{{ '<a>'|escape }}{{ '<a>&\\'\"'|e }}{{ '<'|safe|e }}{{ '<'|e|e }}", "{{ ('<'|safe) + '&' }}|{{ '&' + ('<'|safe) }}|{{ ('<'|safe) ~ '&' }}|{{ ('<'|e) + ('>'|safe) }}|{{ ('<'|safe) * 2 + '>' }}", "{{ (' <'|safe)|trim + '&' }}|{{ (' <'|safe).strip() + '&' }}|{{ ('<b'|safe)[0] + '&' }}|{{ ('<'|safe)|upper + '&' }}|{{ ('a<'|safe).split('a')[1] + '&' }}|{{ ('<'|safe)|replace('<', '(') + '&' }}|{{ ('<'|safe)|string + '&' }}", "{{ ('<'|safe) is string }}{{ ('<'|safe) == '<' }}{{ ('<'|safe)|tojson }}{{ [('<'|safe)] }}{{ ('<'|safe)|length }}{{ ('<'|safe) is escaped }}", "{{ 1|safe + 'a' }}", "{{ ('<'|safe) + 1 }}",
    "{% set g = [1, 2, 3]|select('odd') %}{{ g|list }}{{ g|list }}", "{% set g = [1, 2, 3]|map('string') %}{{ g|first }}{{ g|first }}{{ g|join('-') }}{{ g|first is defined }}", "{{ [1]|select|length }}", "{{ [1]|map('string')|tojson }}", "{{ ([1]|select)[0] is defined }}{{ [1]|select is iterable }}{{ [1]|select is sequence }}{{ ([]|select) and true }}", "{{ [1]|select|last }}", "{{ {'a': 1}|items|length }}", "{{ {'a': 1}.items()|length }}{{ {'a': 1}.items() is sequence }}{{ {'a': 1}.items() is iterable }}{{ {'a': 1}.items()[0] is defined }}{% if {}.items() %}x{% endif %}", "{{ {'a': 1}.items()|tojson }}", "{{ none|select|list }}{{ none|map('upper')|list }}{{ none|selectattr('x')|list }}", "{{ none|list }}", "{% for k in none|items %}{% endfor %}", "{{ {'a': 1, 'b': 2}.keys()|first }}{{ {'a': 1, 'b': 2}.values()|last }}{{ [1, 2]|reverse|first }}", "{{ [1, 2]|reverse|tojson }}", "{% for x in [1, 2, 3]|reject('even') %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}",
    "{{ messages.append(1) }}", "{{ messages.append is defined }}{{ {}.pop is defined }}{{ messages.index is defined }}", "{{ {'pop': 1}.pop is defined }}{{ {'pop': 1}['pop'] }}", "{{ {}.update({'a': 1}) }}", "{{ [1, 2].index(2) }}{{ [1, 2, 1].count(1) }}{{ [1, 2].copy() }}{{ {'a': 1}.copy() }}", "{{ [1].index(3) }}", "{{ 'a-b-c'.partition('-') }}{{ 'a-b-c'.rpartition('-') }}{{ 'abc'.partition('-') }}{{ 'abc'.rpartition('-') }}", "{{ 'a'.center(4) }}|{{ 'ab'.center(5, '*') }}|{{ 'a'.ljust(3) }}|{{ 'a'.rjust(3, '0') }}|{{ 'abc'.center(1) }}|{{ 'abc'|center(8) }}|{{ 'abc'|center(7) }}|{{ 'ab'|center(7) }}", "{{ ' '.isspace() }}{{ ''.isspace() }}{{ 'abcb'.rindex('b') }}", "{{ 'abc'.index('x') }}",
    "{{ '%s and %d: %r' % ('a', 3, 'q') }}|{{ '%5.1f|%-5s|%05d|%+d|%x|%%' % (2.25, 'a', 42, 7, 255) }}|{{ '%s' % 1 }}|{{ '%(a)s %(b)d' % {'a': 1, 'b': 2} }}|{{ '%s' % [1, 2] }}|{{ '%.2s' % 'abc' }}|{{ '% d' % 5 }}|{{ '%05d' % -42 }}|{{ '%f' % 1 }}", "{{ '%s' % (1, 2) }}", "{{ '%s %s' % 'a' }}", "{{ '%d' % 'a' }}", "{{ '%s'|format(1) }}|{{ '%(a)s'|format(a=2) }}|{{ '%s %s'|format('x', none) }}", "{{ '{} {}'.format(1, 'a') }}|{{ '{0}{1}{0}'.format('a', 'b') }}|{{ '{x}'.format(x=[1]) }}|{{ '{{}}'.format() }}|{{ 'a{}'.format(none) }}", "{{ '{} {}'.format(1) }}", "{{ '{x}'.format(1) }}", "{{ '{'.format(1) }}", "{{ '}'.format(1) }}",
    "{{ [3, 1, 2]|sort }}|{{ ['b', 'A', 'a']|sort }}|{{ ['b', 'A', 'a']|sort(case_sensitive=true) }}|{{ [1, 2]|sort(reverse=true) }}|{{ [{'a': 2, 'b': 1}, {'a': 1, 'b': 2}]|sort(attribute='a') }}|{{ [{'a': 1, 'b': 2}, {'a': 1, 'b': 1}]|sort(attribute='a,b') }}|{{ ['B', 'b', 'A']|sort(reverse=true) }}", "{{ [1, 'a']|sort }}", "{{ [3, 1]|min }}{{ [3, 1]|max }}{{ ['b', 'A']|min }}{{ ['b', 'A']|max }}{{ []|min is defined }}{{ [{'a': 2}, {'a': 1}]|min(attribute='a') }}{{ [{'a': 1, 'b': 1}, {'a': 1, 'b': 2}]|max(attribute='a') }}", "{{ [1, 1, 2]|unique|list }}{{ ['a', 'A', 'b']|unique|list }}{{ ['a', 'A']|unique(true)|list }}{{ [{'a': 1}, {'a': 1}]|unique(attribute='a')|list }}", "{{ [[1], [1]]|unique|list }}", "{{ [1, 2, 3]|sum }}{{ [{'a': 2}]|sum(attribute='a', start=10) }}{{ []|sum }}{{ [1.5, 2]|sum }}", "{{ ['a']|sum }}", "{{ [1, 2, 3, 4, 5]|batch(2)|list }}{{ [1, 2, 3]|batch(2, 0)|list }}", "{{ {'b': 1, 'B': 2, 'a': 3}|dictsort }}{{ {'b': 1, 'a': 2}|dictsort(reverse=true) }}{{ {'a': 'x', 'b': 'X'}|dictsort(by='value', reverse=true) }}",
    "{{ 2.5|round }}{{ 3.5|round }} {{ 2.675|round(2) }} {{ 1.005|round(2) }} {{ 42.55|round(1, 'floor') }} {{ 42.51|round(1, 'ceil') }} {{ 5|round }} {{ 1.25|round(1) }} {{ 7|round(1, 'floor') }} {{ true|round }}", "{{ 'a'|round }}", "{{ \"hello wORLD it's\"|title }} {{ 'a-b (c [d {e <f'|title }} {{ 'foo\tbar'|title }}", "{{ 'a\r\nb\u2028c'|indent(2) }}", "{{ {'a': 1}|attr('items') is callable }}{{ {'a': 1}|attr('a') is defined }}", "{{ 1 is sameas 1 }}{{ true is sameas true }}{{ 1 is sameas true }}{{ none is sameas none }}{{ 'ab' is lower }}{{ 'AB' is upper }}{{ '1' is lower }}{{ 'aB' is upper }}", "{{ none in 'a' }}", "{{ 1 in none }}", "{{ 'a' + [1] }}", "{{ [1] + 'a' }}", "{{ {}['x'].y }}", "{{ {}[0].y }}", "{{ [1][5].y }}", "{% if false %}{{ 1|nothing }}{% endif %}ok", "{% if true %}{{ 1|nothing }}{% endif %}ok",
]


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    snippets = [{"source": s, **render(s, MESSAGES, {})} for s in SNIPPETS]
    (OUT / "language.json").write_text(json.dumps({"messages": MESSAGES, "snippets": snippets}, separators=(",", ":")))


if __name__ == "__main__":
    main()
