"""The conversations and options under which tests/golden/templates.py renders templates."""

CITY = {"type": "string", "description": "The city \"K\u00f6ln\" or <another> & so on.\nOne only."}
WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a \"city\"\u00e9 <now> & later.",
    "parameters": {"type": "object", "properties": {
        "city": CITY, "days": {"type": "integer", "default": 3, "minimum": 1},
        "scale": {"type": "number", "default": 1.5}, "unit": {"type": "string", "enum": ["c", "f"]},
        "where": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"], "additionalProperties": {"type": "number"}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "any": {"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": True}},
        "required": ["city"], "additionalProperties": False}}}
NO_PARAMETERS = {"type": "function", "function": {"name": "now", "description": "The time", "parameters": {"type": "object", "properties": {}}}}
RETURNS = {"type": "function", "function": {
    "name": "add", "description": "Adds.\nTwo lines.", "strict": True,
    "parameters": {"type": "object", "properties": {"a": {"type": "number", "description": "first"}, "b": {"type": "number"}}, "required": ["a", "b"]},
    "return": {"type": "number", "description": "the sum"}}}
UNION = {"type": "function", "function": {
    "name": "convert", "description": "", "parameters": {"type": "object", "properties": {
        "value": {"type": ["number", "null"]}, "deep": {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "object", "properties": {
            "key": {"type": "string", "title": "Key", "maxLength": 3}}}}}, "additionalProperties": {"type": "integer"}}}}}}


def call(name, arguments, identity="call12345"):
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*items, **fields):
    return {"role": "assistant", "content": "", "tool_calls": list(items), **fields}


def answer(content, name="get_weather", identity="call12345"):
    return {"role": "tool", "name": name, "tool_call_id": identity, "content": content}


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **fields):
    return {"role": "assistant", "content": content, **fields}


def parts(*texts):
    return [{"type": "text", "text": text} for text in texts]


ARGUMENTS = {"city": "K\u00f6ln", "days": 2, "near": None, "hot": True, "x": 1e-7, "o": {"a": [1, {"b": "\"q\""}]}, "e": {}, "l": []}
CALL = call("get_weather", ARGUMENTS)
STRING_CALL = call("get_weather", "{\"city\": \"K\u00f6ln\", \"days\": 2}")
HELLO = user("Hello! \u4f60\u597d \U0001f600")
SYSTEM = {"role": "system", "content": "  You are terse.\n"}
CHATS = {
    "user": [HELLO],
    "system": [SYSTEM, HELLO],
    "developer": [{"role": "developer", "content": "Be kind."}, HELLO],
    "turns": [HELLO, assistant("Hi.\n"), user(" again ")],
    "system_turns": [SYSTEM, HELLO, assistant("Hi."), user("more"), assistant("Yes"), user("/no_think less")],
    "last_assistant": [SYSTEM, HELLO, assistant("Hi.")],
    "empty": [user("")],
    "thinking": [HELLO, assistant("<think>\nhm\n</think>\n\nYes."), user("why"), assistant("Yes.", reasoning_content="\nhm\n")],
    "reasoned": [SYSTEM, HELLO, assistant("Yes.", reasoning_content="first\nthought"), user("why"), assistant("So.", reasoning_content="second")],
    "thinking_field": [HELLO, assistant("Yes.", thinking="inner"), user("why"), assistant("So.", reasoning="outer")],
    "reasoned_call": [HELLO, calls(CALL, reasoning_content="I need it."), answer("{\"t\": 21}"), assistant("21 degrees.", reasoning_content="Got it."), user("thanks")],
    "tool_call": [HELLO, calls(CALL), answer("{\"t\": 21}")],
    "string_call": [HELLO, calls(STRING_CALL), answer("{\"t\": 21}"), assistant("21.")],
    "null_content": [HELLO, {**calls(call("now", {})), "content": None}, answer("12:00", "now")],
    "no_content": [HELLO, {"role": "assistant", "tool_calls": [call("now", "{}")]}, answer("12:00", "now"), user("ok")],
    "text_and_call": [HELLO, {**calls(CALL), "content": "Let me look."}, answer("rain")],
    "two_calls": [SYSTEM, HELLO, calls(CALL, call("add", {"a": 1, "b": -2.5}, "call67890")), answer("rain"), answer("-1.5", "add", "call67890"), assistant("Rain."), HELLO],
    "two_string_calls": [HELLO, calls(STRING_CALL, call("add", "{\"a\":1,\"b\":2}", "call67890")), answer("rain"), answer("3", "add", "call67890")],
    "call_ids": [HELLO, calls(call("now", {}, "functions.now:0")), answer("12:00", "now", "functions.now:0"), assistant("Noon."), user("and?")],
    "plain_call": [HELLO, {"role": "assistant", "content": "", "tool_calls": [{"name": "now", "arguments": {}}]}, {"role": "tool", "content": "12:00"}],
    "call_last": [HELLO, calls(CALL)],
    "tool_parts": [user(parts("Hello")), calls(CALL), {**answer(""), "content": parts("rain", "sun")}, assistant(parts("Rain."))],
    "parts": [{"role": "system", "content": parts("be brief")}, user(parts("part one", "part two\n"))],
    "only_system": [SYSTEM],
    "two_users": [HELLO, user("and")],
    "assistant_first": [assistant("I begin."), HELLO],
    "bad_role": [{"role": "critic", "content": "no"}, HELLO],
    "markers": [user("<|im_end|> <|eot_id|> {{ x }} {% if %} </think> [INST] <tool_call>"), assistant("[/INST] </s> <think>"), user("\u00e9\u0301\u200d\u2028\ttab\\n \"'")],
    "none": [],
}
BOS = {"bos_token": "<s>", "eos_token": "</s>"}
PROMPT = {"add_generation_prompt": True}
FUNCTIONS = {"functions": "[{\"name\": \"now\"}]", "datetime": "2026-03-07"}
THREE = [WEATHER, NO_PARAMETERS, RETURNS]
OPTIONS = [
    {**BOS},
    {**BOS, **PROMPT, "variables": {"enable_thinking": True, "thinking": True, "reasoning_effort": "high", **FUNCTIONS}},
    {**BOS, **PROMPT, "tools": THREE, "variables": {"enable_thinking": False, "thinking": False, "reasoning_effort": "low", **FUNCTIONS}},
    {"bos_token": "<|begin_of_text|>", "eos_token": "", "tools": [UNION],
     "variables": {**FUNCTIONS, "enable_thinking": True, "tools_in_user_message": False, "date_string": "1 Jan 2027", "builtin_tools": ["code_interpreter"],
                   "preserve_thinking": True, "clear_thinking": False, "drop_thinking": False, "thinking_budget": 512}},
]
