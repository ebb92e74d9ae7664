#include "app/http/api_state.h"

namespace parhelion::app {
namespace {

// The whole page: no other file, no other host.
constexpr std::string_view kPage = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parhelion</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; --line: #8886; --mine: #8882; }
  * { box-sizing: border-box; }
  body { margin: 0 auto; max-width: 52rem; height: 100dvh; display: flex; flex-direction: column;
         font: 16px/1.5 system-ui, sans-serif; padding: 0 1rem; }
  header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1rem; padding: .6rem 0; border-bottom: 1px solid var(--line); }
  h1 { font-size: 1.1rem; margin: 0; }
  #model, #speed { color: GrayText; font-size: .9rem; }
  #model { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  #speed { margin-left: auto; white-space: nowrap; font-variant-numeric: tabular-nums; }
  #log { flex: 1; overflow-y: auto; padding: 1rem 0; }
  .turn { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 1rem; }
  .user { background: var(--mine); border-radius: .6rem; padding: .5rem .8rem; margin-left: 15%; }
  .error { color: #c33; }
  .thought { color: GrayText; font-size: .9rem; }
  form { display: flex; gap: .5rem; padding: .6rem 0 1rem; }
  textarea { flex: 1; min-width: 0; font: inherit; padding: .5rem; resize: none; }
  details { border-top: 1px solid var(--line); padding: .4rem 0; }
  .settings { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .6rem; padding-top: .5rem; }
  label { display: flex; flex-direction: column; font-size: .85rem; }
  label.wide { grid-column: 1 / -1; }
  input { font: inherit; padding: .25rem; min-width: 0; }
  button { font: inherit; padding: .4rem 1rem; }
</style>
</head>
<body>
<header><h1>Parhelion</h1><span id="model"></span><span id="speed"></span></header>
<main id="log" aria-live="polite"></main>
<details>
  <summary>Settings</summary>
  <div class="settings">
    <label>Temperature <input id="temperature" type="number" min="0" step="0.1" placeholder="the model's"></label>
    <label>Top p <input id="top_p" type="number" min="0" max="1" step="0.05" placeholder="the model's"></label>
    <label>Most tokens <input id="max_tokens" type="number" min="1" step="1" placeholder="the context"></label>
    <label>Seed <input id="seed" type="number" step="1" placeholder="random"></label>
    <label>Key <input id="key" type="password" autocomplete="off" placeholder="if the server needs one"></label>
    <label class="wide">System <input id="system" type="text" placeholder="what the model is told first"></label>
  </div>
</details>
<form id="form">
  <textarea id="text" rows="2" placeholder="Message" aria-label="Message" autofocus></textarea>
  <button id="send">Send</button>
  <button id="clear" type="button">New</button>
</form>
<script>
"use strict";
const by = (id) => document.getElementById(id);
let turns = [];
let running = null;

function headers() {
  const key = by("key").value;
  return { "content-type": "application/json", ...(key ? { authorization: "Bearer " + key } : {}) };
}

function follow(change) {
  const log = by("log");
  const is_at_end = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  change();
  if (is_at_end) log.scrollTop = log.scrollHeight;
}

function show(kind, text) {
  const div = document.createElement("div");
  div.className = "turn " + kind;
  div.textContent = text;
  follow(() => by("log").append(div));
  return div;
}

function request() {
  const system = by("system").value.trim();
  const body = {
    messages: [...(system ? [{ role: "system", content: system }] : []), ...turns],
    stream: true, stream_options: { include_usage: true },
  };
  for (const id of ["temperature", "top_p", "max_tokens", "seed"])
    if (by(id).value !== "") body[id] = Number(by(id).value);
  return body;
}

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const data = text.slice(0, end).split("\n").find((line) => line.startsWith("data: "));
      if (data && data !== "data: [DONE]") yield JSON.parse(data.slice(6));
    }
  }
}

function tell_speed(first, last, tokens) {
  const seconds = (last - first) / 1000;
  by("speed").textContent = tokens + " tokens" +
    (tokens > 1 && seconds > 0 ? ", " + ((tokens - 1) / seconds).toFixed(1) + " tokens/s" : "");
}

async function* deltas() {
  const response = await fetch("v1/chat/completions", {
    method: "POST", headers: headers(), body: JSON.stringify(request()), signal: running.signal });
  if (!response.ok) throw new Error((await response.json()).error.message);
  for await (const event of events(response)) {
    if (event.error) throw new Error(event.error.message);
    yield { ...event.choices[0]?.delta, usage: event.usage };
  }
}

async function answer(chat, asked) {
  const control = running = new AbortController();
  const is_shown = () => chat === turns;
  by("send").textContent = "Stop";
  let thought = null, reply = null, text = "", first = 0, tokens = 0;
  try {
    for await (const { content, reasoning_content, usage } of deltas()) {
      if (!is_shown()) return;
      follow(() => {
        if (reasoning_content) (thought ??= show("thought", "")).textContent += reasoning_content;
        if (content) (reply ??= show("assistant", "")).textContent = text += content;
      });
      if (content || reasoning_content) { first ||= performance.now(); ++tokens; }
      if (usage) tokens = usage.completion_tokens;
      tell_speed(first, performance.now(), tokens);
    }
  } catch (error) {
    if (error.name !== "AbortError" && is_shown()) show("error", error.message);
  } finally {
    if (text) chat.push({ role: "assistant", content: text });
    else forget_question(chat, asked);
    if (running === control) end_answer();
  }
}

// A message without an answer is no part of the conversation: it can be sent again.
function forget_question(chat, asked) {
  chat.pop();
  if (chat === turns && !by("text").value) by("text").value = asked;
}

function end_answer() {
  running = null;
  by("send").textContent = "Send";
}

by("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) return running.abort();
  const text = by("text").value.trim();
  if (!text) return;
  by("text").value = "";
  turns.push({ role: "user", content: text });
  show("user", text);
  by("log").scrollTop = by("log").scrollHeight;
  answer(turns, text);
});
by("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); by("form").requestSubmit(); }
});
by("clear").addEventListener("click", () => {
  running?.abort();
  end_answer();
  turns = [];
  by("text").value = "";
  by("log").replaceChildren();
  by("speed").textContent = "";
});

async function tell_model() {
  const response = await fetch("v1/models", { headers: headers() });
  by("model").textContent = response.ok ? (await response.json()).data[0].id : "needs a key: see the settings";
}
by("key").addEventListener("change", tell_model);
tell_model();
</script>
</body>
</html>
)page";

}  // namespace

HandlerReply show_page(ApiCall&) {
  HttpReply reply{.content_type = "text/html; charset=utf-8", .body = std::string(kPage)};
  reply.fields.emplace_back(
      "content-security-policy",
      "default-src 'none'; script-src 'unsafe-inline'; style-src "
      "'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'");
  return {.reply = std::move(reply)};
}

}  // namespace parhelion::app
