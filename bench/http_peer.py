"""The null model of bench_http behind FastAPI and uvicorn.

  python bench/http_peer.py PORT STEP_MICROSECONDS

Answers /v1/chat/completions with a stream of max_tokens events in the same format.
"""

import asyncio
import json
import sys
import time

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

STEP_SECONDS = int(sys.argv[2]) / 1e6
app = FastAPI()


def chunk(identity, created, delta, finish):
    return {
        "id": identity,
        "object": "chat.completion.chunk",
        "created": created,
        "model": "null",
        "system_fingerprint": "",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }


async def stream(max_tokens):
    created = int(time.time())
    identity = f"chatcmpl-{created}"
    yield f"data: {json.dumps(chunk(identity, created, {'role': 'assistant', 'content': ''}, None))}\n\n"
    for _ in range(max_tokens):
        await asyncio.sleep(STEP_SECONDS)
        yield f"data: {json.dumps(chunk(identity, created, {'content': 'a'}, None))}\n\n"
    yield f"data: {json.dumps(chunk(identity, created, {}, 'length'))}\n\n"
    yield "data: [DONE]\n\n"


@app.post("/v1/chat/completions")
async def chat(request: Request):
    body = await request.json()
    return StreamingResponse(stream(body["max_tokens"]), media_type="text/event-stream")


uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
