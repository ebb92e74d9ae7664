"""Serves a model and asks it through the official Python clients of OpenAI and Anthropic, as they are.

  python tests/app/clients.py PARHELION MODEL

Needs the packages openai and anthropic. Fails at the first answer that is not as it must be.
"""

import json
import re
import subprocess
import sys

import anthropic
import openai

MESSAGES = [{"role": "user", "content": "Say hello."}]
PARAMETERS = {
    "type": "object",
    "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer", "enum": [1, 2, 3]}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "weather", "description": "Tells it.", "parameters": PARAMETERS}}


def check_arguments(arguments):
    assert set(arguments) == {"city", "days"}, arguments
    assert arguments["city"] in ("Oslo", "Rome") and arguments["days"] in (1, 2, 3), arguments


def openai_chat(client):
    model = client.models.list().data[0].id
    assert client.models.retrieve(model).id == model
    whole = client.chat.completions.create(model=model, messages=MESSAGES, max_tokens=16, temperature=0)
    assert whole.choices[0].message.role == "assistant"
    assert 0 < whole.usage.completion_tokens <= 16
    text, usage, finish = "", None, None
    for chunk in client.chat.completions.create(
        model=model, messages=MESSAGES, max_tokens=16, temperature=0, stream=True,
        stream_options={"include_usage": True},
    ):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    assert text == whole.choices[0].message.content, (text, whole)
    assert finish == whole.choices[0].finish_reason
    assert usage.completion_tokens == whole.usage.completion_tokens
    two = client.chat.completions.create(model=model, messages=MESSAGES, max_tokens=8, n=2, seed=3, logprobs=True)
    assert [choice.index for choice in two.choices] == [0, 1]
    assert len(two.choices[0].logprobs.content) > 0
    return model


def openai_tools(client, model):
    whole = client.chat.completions.create(
        model=model, messages=MESSAGES, tools=[TOOL], tool_choice="required", max_tokens=60, seed=1)
    assert whole.choices[0].finish_reason == "tool_calls", whole
    call = whole.choices[0].message.tool_calls[0]
    assert call.function.name == "weather"
    check_arguments(json.loads(call.function.arguments))
    arguments = ""
    for chunk in client.chat.completions.create(
        model=model, messages=MESSAGES, tools=[TOOL], max_tokens=60, seed=1, stream=True,
        tool_choice={"type": "function", "function": {"name": "weather"}},
    ):
        for each in chunk.choices[0].delta.tool_calls or []:
            arguments += each.function.arguments or ""
    check_arguments(json.loads(arguments))


def openai_schema(client, model):
    form = {"type": "json_schema", "json_schema": {"name": "trip", "strict": True, "schema": PARAMETERS}}
    whole = client.chat.completions.create(
        model=model, messages=MESSAGES, response_format=form, max_tokens=60, seed=1)
    check_arguments(json.loads(whole.choices[0].message.content))
    completion = client.completions.create(model=model, prompt="Once", max_tokens=5, echo=True, logprobs=1)
    assert completion.choices[0].text.startswith("Once")


def openai_responses(client, model):
    whole = client.responses.create(model=model, input="Say hello.", max_output_tokens=16, temperature=0)
    assert whole.usage.output_tokens > 0
    events = list(client.responses.create(
        model=model, input="Say hello.", max_output_tokens=16, temperature=0, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].response.output_text == whole.output_text
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == whole.output_text
    tool = {"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": True}
    called = client.responses.create(
        model=model, input="Say hello.", tools=[tool], tool_choice="required", max_output_tokens=60)
    check_arguments(json.loads(called.output[0].arguments))


def openai_stored_responses(client, model):
    ask = {"model": model, "max_output_tokens": 16, "temperature": 0}
    first = client.responses.create(input="Say hello.", instructions="Be brief.", store=True, **ask)
    assert client.responses.retrieve(first.id).output_text == first.output_text
    second = client.responses.create(input="Again.", previous_response_id=first.id, store=True, **ask)
    assert second.previous_response_id == first.id
    whole = client.responses.create(
        input=[{"role": "user", "content": "Say hello."}, *first.output, {"role": "user", "content": "Again."}], **ask)
    assert second.output_text == whole.output_text, (second, whole)
    items = list(client.responses.input_items.list(second.id, order="asc", limit=2))
    assert [item.role for item in items] == ["user", "assistant", "user"], items
    endless = {"ignore_eos": True}
    behind = client.responses.create(input="Count.", background=True, store=True, extra_body=endless, **ask)
    assert behind.status in ("queued", "in_progress"), behind
    while behind.status in ("queued", "in_progress"):
        behind = client.responses.retrieve(behind.id)
    assert behind.status == "incomplete" and behind.usage.output_tokens == 16, behind
    long = client.responses.create(
        model=model, input="Count.", background=True, store=True, extra_body=endless)
    assert client.responses.cancel(long.id).status in ("cancelled", "incomplete")  # it may have come to its end
    for response in (first, second, behind, long):
        client.responses.delete(response.id)
    try:
        client.responses.retrieve(first.id)
        raise AssertionError("a response that was deleted is still there")
    except openai.NotFoundError as error:
        assert error.code == "response_not_found", error


def openai_errors(client, model):
    try:
        client.chat.completions.create(model="other", messages=MESSAGES)
        raise AssertionError("a model that is not there was served")
    except openai.NotFoundError as error:
        assert error.code == "model_not_found", error
    try:
        client.chat.completions.create(model=model, messages=MESSAGES, temperature=-1)
        raise AssertionError("a temperature below 0 was taken")
    except openai.BadRequestError as error:
        assert error.param == "temperature", error


def anthropic_messages(client, model):
    ask = {"model": model, "messages": MESSAGES, "max_tokens": 16, "extra_body": {"temperature": 0}}
    whole = client.messages.create(**ask)
    assert whole.role == "assistant" and whole.usage.output_tokens > 0
    with client.messages.stream(**ask) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == "".join(block.text for block in whole.content if block.type == "text")
    assert final.stop_reason == whole.stop_reason
    counted = client.messages.count_tokens(model=model, messages=MESSAGES)
    assert counted.input_tokens == whole.usage.input_tokens + whole.usage.cache_read_input_tokens
    tool = {"name": "weather", "description": "Tells it.", "input_schema": PARAMETERS}
    with client.messages.stream(
        model=model, messages=MESSAGES, max_tokens=60, tools=[tool],
        tool_choice={"type": "tool", "name": "weather"},
    ) as stream:
        called = stream.get_final_message()
    assert called.stop_reason == "tool_use", called
    check_arguments(called.content[0].input)
    try:
        client.messages.create(model="other", messages=MESSAGES, max_tokens=5)
        raise AssertionError("a model that is not there was served")
    except anthropic.NotFoundError:
        pass


def main():
    server = subprocess.Popen(
        [sys.argv[1], "serve", sys.argv[2], "--port", "0", "--quiet", "--stored-responses", "8"],
        stdout=subprocess.PIPE, text=True)
    try:
        address = None
        while address is None:
            line = server.stdout.readline()
            assert line, "the server ended before it listened"
            found = re.search(r"http://[0-9.]+:[0-9]+", line)
            address = found and found.group()
        client = openai.OpenAI(base_url=address + "/v1", api_key="none", max_retries=0)
        model = openai_chat(client)
        openai_tools(client, model)
        openai_schema(client, model)
        openai_responses(client, model)
        openai_stored_responses(client, model)
        openai_errors(client, model)
        anthropic_messages(anthropic.Anthropic(base_url=address, api_key="none", max_retries=0), model)
    finally:
        server.terminate()
    assert server.wait(timeout=30) == 0, "the server did not end well"
    print("all answers are as they must be")


main()
