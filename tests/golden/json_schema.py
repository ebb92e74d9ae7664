#!/usr/bin/env python3
"""Writes tests/data/text/grammar/json_schema.json: random schemas, texts that the grammar of each must have, and
texts that jsonschema finds invalid. Needs jsonschema and rfc3339-validator.

    tests/golden/json_schema.py [COUNT] > tests/data/text/grammar/json_schema.json

A text that must be there has the form of docs/text/grammar.md: members in the order of the schema, at most one space
behind colons and commas. What is valid but has another form is left out.
"""
import json
import random
import string
import sys

import jsonschema

NAMES = ["id", "name", "n", "na", "größe", 'quo"te', "a\\b", "tags", "x"]


def draw_text(rng, low=0, high=6):
    alphabet = string.ascii_letters + ' "\\/\n\té中😀'
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(low, high)))


class Drawer:
    """Draws a schema together with a function that draws values of it."""

    def __init__(self, rng):
        self.rng = rng
        self.defs = {}

    def draw(self, depth):
        kinds = [self.string, self.integer, self.number, self.enum, self.constant, self.simple, self.pattern, self.format]
        if depth > 0:
            kinds += [self.object, self.object, self.array, self.any_of, self.all_of, self.reference, self.one_of, self.map]
        return self.rng.choice(kinds)(depth)

    def string(self, _):
        low = self.rng.randint(0, 3)
        high = low + self.rng.randint(0, 4)
        schema = {"type": "string"}
        if self.rng.random() < 0.5:
            schema["minLength"] = low
        if self.rng.random() < 0.5:
            schema["maxLength"] = high
        low = schema.get("minLength", 0)
        high = max(schema.get("maxLength", low + 4), low)
        return schema, lambda: draw_text(self.rng, low, high)

    def integer(self, _):
        low = self.rng.randint(-1200, 1200)
        high = low + self.rng.choice([0, 1, 9, 100, 5000])
        schema = {"type": "integer"}
        if self.rng.random() < 0.6:
            schema["minimum"] = low
        if self.rng.random() < 0.6:
            schema["maximum"] = high
        low = schema.get("minimum", min(schema.get("maximum", 0), low) - 500)
        high = schema.get("maximum", max(schema.get("minimum", 0), high) + 500)
        return schema, lambda: self.rng.randint(low, high)

    def number(self, _):
        digits = self.rng.randint(0, 3)
        low = round(self.rng.uniform(-50, 50), digits)
        high = round(low + self.rng.choice([0.5, 3, 1000]), digits + 1)
        schema = {"type": "number"}
        if self.rng.random() < 0.6:
            schema[self.rng.choice(["minimum", "exclusiveMinimum"])] = low
        if self.rng.random() < 0.6:
            schema[self.rng.choice(["maximum", "exclusiveMaximum"])] = high
        least = low if "minimum" in schema or "exclusiveMinimum" in schema else low - 100
        most = high if "maximum" in schema or "exclusiveMaximum" in schema else high + 100

        def value():
            for _ in range(1000):
                drawn = round(self.rng.uniform(least, most), self.rng.randint(0, 5))
                if drawn != 0 and "e" not in repr(drawn) and jsonschema.Draft202012Validator(schema).is_valid(drawn):
                    return drawn
            return round((least + most) / 2, 9)

        return schema, value

    def enum(self, _):
        values = [draw_text(self.rng), self.rng.randint(-5, 5), None, True, 1.5, [1, "a"], {"k": 1}]
        values = self.rng.sample(values, self.rng.randint(1, 4))
        return {"enum": values}, lambda: self.rng.choice(values)

    def constant(self, _):
        value = draw_text(self.rng)
        return {"const": value}, lambda: value

    def simple(self, _):
        kind = self.rng.choice([["null", None], ["boolean", True], ["boolean", False]])
        if self.rng.random() < 0.3:
            return {"type": [kind[0], "string"]}, lambda: self.rng.choice([kind[1], draw_text(self.rng)])
        return {"type": kind[0]}, lambda: kind[1]

    def pattern(self, _):
        pattern, texts = self.rng.choice([
            ["^[a-z]{2,4}$", ["ab", "abcd"]],
            ["b+", ["b", "xbbx", "\"b\\"]],
            ["^a|z$", ["ab\"", "yz", "a"]],
            ["^(foo|ba[rz])-\\d+$", ["foo-1", "baz-123"]],
            ["^[^\\s]*$", ["", "é😀\""]],
        ])
        return {"type": "string", "pattern": pattern}, lambda: self.rng.choice(texts)

    def format(self, _):
        name, texts = self.rng.choice([
            ["date", ["2024-02-29", "1999-12-31", "2000-02-29", "2023-02-28"]],
            ["date-time", ["2024-02-29T23:59:59Z", "1985-04-12T01:02:03.123+05:30"]],
            ["time", ["23:59:59Z", "00:00:00.5-01:00"]],
            ["uuid", ["123e4567-e89b-12d3-a456-426614174000"]],
            ["email", ["a.b+c@example.org"]],
            ["ipv4", ["127.0.0.1", "255.255.255.255"]],
            ["ipv6", ["::1", "2001:db8::8a2e:370:7334", "::", "1:2:3:4:5:6:7:8", "1::"]],
        ])
        return {"type": "string", "format": name}, lambda: self.rng.choice(texts)

    def object(self, depth):
        names = self.rng.sample(NAMES, self.rng.randint(1, 4))
        drawn = {name: self.draw(depth - 1) for name in names}
        required = [name for name in names if self.rng.random() < 0.6]
        schema = {"type": "object", "properties": {name: one[0] for name, one in drawn.items()}}
        if required:
            schema["required"] = required
        other = None
        if self.rng.random() < 0.4:
            schema["additionalProperties"] = False
        elif self.rng.random() < 0.4:
            schema["additionalProperties"], other = self.draw(0)

        def value():
            result = {name: drawn[name][1]() for name in names if name in required or self.rng.random() < 0.5}
            if other is not None:
                for name in self.rng.sample(["other", "nam", "names", ""], self.rng.randint(0, 2)):
                    result[name] = other()
            return result

        return schema, value

    def map(self, depth):
        item, draw = self.draw(depth - 1)
        schema = {"type": "object", "additionalProperties": item, "minProperties": 1, "maxProperties": 3}
        return schema, lambda: {f"k{i}": draw() for i in range(self.rng.randint(1, 3))}

    def array(self, depth):
        prefix = [self.draw(depth - 1) for _ in range(self.rng.choice([0, 0, 1, 2]))]
        schema = {"type": "array"}
        if prefix:
            schema["prefixItems"] = [one[0] for one in prefix]
        schema["items"], rest = self.draw(depth - 1)
        low = self.rng.randint(0, 3)
        high = low + self.rng.randint(0, 3)
        if self.rng.random() < 0.5:
            schema["minItems"] = low
        else:
            low = 0
        if self.rng.random() < 0.5:
            schema["maxItems"] = high
        return schema, lambda: [prefix[i][1]() if i < len(prefix) else rest() for i in range(self.rng.randint(low, high))]

    def any_of(self, depth):
        drawn = [self.draw(depth - 1) for _ in range(self.rng.randint(1, 3))]
        return {"anyOf": [one[0] for one in drawn]}, lambda: self.rng.choice(drawn)[1]()

    def one_of(self, depth):
        drawn = [self.draw(depth - 1) for _ in range(2)]
        schemas = [
            {"type": "object", "properties": {"kind": {"const": f"k{i}"}, "value": one[0]}, "required": ["kind", "value"]}
            for i, one in enumerate(drawn)
        ]

        def value():
            i = self.rng.randrange(len(drawn))
            return {"kind": f"k{i}", "value": drawn[i][1]()}

        return {"oneOf": schemas}, value

    def all_of(self, depth):
        first, draw = self.draw(depth - 1)
        schema = {"allOf": [{"type": "object", "properties": {"a": first}, "required": ["a"]},
                            {"properties": {"b": {"type": "boolean"}}, "required": ["b"]}]}
        return schema, lambda: {"a": draw(), "b": self.rng.choice([True, False])}

    def reference(self, depth):
        name = f"d/{len(self.defs)}"
        self.defs[name] = None
        item, draw = self.draw(depth - 1)
        pointer = "#/$defs/" + name.replace("/", "~1")
        self.defs[name] = {"type": "object", "properties": {"v": item, "next": {"anyOf": [{"type": "null"}, {"$ref": pointer}]}},
                           "required": ["v", "next"], "additionalProperties": False}

        def value():
            result = None
            for _ in range(self.rng.randint(1, 3)):
                result = {"v": draw(), "next": result}
            return result

        return {"$ref": pointer}, value


def write(rng, value):
    space = rng.choice([True, False])
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": ") if space else (",", ":"))


def mutate(rng, value):
    """A value near another one."""
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return value[:at] + rng.choice([[], [mutate(rng, value[at])], [value[at], value[at]]]) + value[at + 1:]
    if isinstance(value, dict) and value and rng.random() < 0.8:
        name = rng.choice(list(value))
        result = dict(value)
        kind = rng.randrange(3)
        if kind == 0:
            del result[name]
        elif kind == 1:
            result[name] = mutate(rng, value[name])
        else:
            result[name + "s"] = value[name]
        return result
    if isinstance(value, str) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return value[:at] + rng.choice(["", "0", "zz", '"', "-"]) + value[at + 1:]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and rng.random() < 0.7:
        return rng.choice([value + 1, value - 1, -value, value * 10, value + 0.5])
    return rng.choice([None, True, 0, "", [], {}, -1.25, "x"])


def is_valid(validator, value):
    return validator.is_valid(value)


def draw_case(seed):
    rng = random.Random(seed)
    drawer = Drawer(rng)
    schema, draw = drawer.draw(3)
    if drawer.defs:
        schema = {**schema, "$defs": drawer.defs}
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
    values = [draw() for _ in range(6)]
    for value in values:
        validator.validate(value)
    wrong = [mutate(rng, value) for value in values for _ in range(4)]
    wrong = [value for value in wrong if not is_valid(validator, value)]
    return {"schema": schema, "accepted": sorted({write(rng, value) for value in values}),
            "refused": sorted({write(rng, value) for value in wrong})}


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    print("[")
    for seed in range(count):
        end = "," if seed + 1 < count else ""
        print(json.dumps(draw_case(seed), ensure_ascii=False) + end)
    print("]")


if __name__ == "__main__":
    main()
