#!/usr/bin/env python3
"""Lets jsonschema judge random texts that the grammars of random schemas allow.

usage: grammar_check.py BENCH_GRAMMAR TOKENIZER.json SCRATCH SCHEMAS TEXTS

SCHEMAS random schemas are drawn as tests/golden/json_schema.py does, and TEXTS texts are sampled token by token for each.
Every text must be JSON that is valid under its schema.  Exits 1 if one is not.  Needs jsonschema and rfc3339-validator.
"""
import json
import pathlib
import subprocess
import sys

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"))
import json_schema

FIRST_SEED = 100_000


def main():
    bench, vocabulary, scratch, schema_count, text_count = sys.argv[1:]
    schemas = [json_schema.draw_case(FIRST_SEED + i)["schema"] for i in range(int(schema_count))]
    path = pathlib.Path(scratch) / "schemas.json"
    path.write_text(json.dumps(schemas))
    command = [bench, "sample", vocabulary, str(path), text_count]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    whole = wrong = 0
    for line in lines:
        index, text = json.loads(line)
        if text is None:
            continue
        whole += 1
        checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
        validator = jsonschema.Draft202012Validator(schemas[index], format_checker=checker)
        try:
            validator.validate(json.loads(text))
        except (jsonschema.ValidationError, ValueError) as error:
            wrong += 1
            print(f"WRONG {json.dumps(schemas[index])}\n  {text}\n  {str(error).splitlines()[0]}")
    print(f"{whole} whole texts of {len(lines)} sampled, {wrong} wrong")
    return 1 if wrong or not whole else 0


if __name__ == "__main__":
    sys.exit(main())
