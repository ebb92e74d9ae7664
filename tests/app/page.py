"""Serves a model and uses its page in headless Chromium, as a person would.

  python tests/app/page.py PARHELION MODEL [SCREENSHOTS]

Needs Chromium (chromium, chromium-browser or google-chrome in PATH), which is driven by its DevTools protocol over pipes.
Fails at the first thing that is not as it must be. SCREENSHOTS is a directory for pictures of the page.
"""

import base64
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

KEY = "page-test-0123456789"
LONG = "Tell me a very long story about the sea and all who live in it."


class Browser:
    """One page of a headless Chromium, and what its console said."""

    def __init__(self, directory):
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        assert program, "there is no Chromium: apt-get install chromium"
        its_input, self.output = os.pipe()
        self.input, its_output = os.pipe()
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--remote-debugging-pipe", f"--user-data-dir={directory}", "about:blank"]
        # The protocol's pipes are descriptors 3 and 4 of the browser.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{its_input} 4>&{its_output}', "browser", program, *flags],
            pass_fds=(its_input, its_output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(its_input)
        os.close(its_output)
        self.ids = itertools.count(1)
        self.unread = b""
        self.session = None
        self.complaints = []  # exceptions, errors of the console, and refused loads
        self.bodies = []  # of requests that the page has sent
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=30)

    def read(self):
        while b"\0" not in self.unread:
            more = os.read(self.input, 1 << 16)
            assert more, "the browser has ended"
            self.unread += more
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        message = {"id": next(self.ids), "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while (reply := self.read()).get("id") != message["id"]:
            self.note(reply)
        assert "error" not in reply, (method, reply)
        return reply["result"]

    def note(self, event):
        parameters = event.get("params", {})
        if event["method"] == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"]["text"])
        if event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(str(parameters["args"]))
        if event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        if event["method"] == "Network.requestWillBeSent" and "postData" in parameters["request"]:
            self.bodies.append(json.loads(parameters["request"]["postData"]))

    def run(self, script):
        """The value of a script, which may be a promise."""
        reply = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in reply, (script, reply["exceptionDetails"])
        return reply["result"].get("value")

    def wait_for(self, condition, seconds=60):
        """Until a condition of the page holds."""
        held = self.run(
            "new Promise((done) => { const end = Date.now() + %d; const look = () => { let holds = false;"
            " try { holds = (%s); } catch (error) {}"
            " if (holds || Date.now() > end) done(Boolean(holds)); else setTimeout(look, 10); }; look(); })"
            % (seconds * 1000, condition))
        assert held, f"after {seconds} s this does not hold: {condition}; the page has: {self.text('body')}"

    def open(self, address, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete' && document.getElementById('form')")

    def text(self, selector):
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def click(self, selector):
        """A press of the mouse at the middle of what is there, which must be seen."""
        box = self.run(f"JSON.stringify((({{x, y, width, height}}) => [x + width / 2, y + height / 2, width])"
                       f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect()))")
        x, y, width = json.loads(box)
        assert width > 0, f"{selector} cannot be seen"
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, selector, text):
        """Text in place of what a field has."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.run("document.activeElement.select()")
        if not text:
            self.call("Input.dispatchKeyEvent", type="keyDown", key="Delete", code="Delete", windowsVirtualKeyCode=46)
        self.call("Input.insertText", text=text)

    def press_enter(self):
        self.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")
        self.call("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter", windowsVirtualKeyCode=13)

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


def ask(address, body):
    """What the server itself answers to a request of the page."""
    body = json.dumps({**body, "stream": False, "stream_options": None}).encode()
    fields = {"content-type": "application/json", "authorization": "Bearer " + KEY}
    with urllib.request.urlopen(urllib.request.Request(address + "/v1/chat/completions", body, fields)) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


IDLE = "document.getElementById('send').innerText === 'Send'"
ANSWERS = "document.querySelectorAll('.assistant').length"


def expect_no_complaints(page):
    assert page.complaints == [], page.complaints


def needs_a_key(page):
    """Without a key a refusal is shown, and the message is not lost; with it the model's name."""
    page.wait_for("document.getElementById('model').innerText.includes('key')")
    page.type("#text", "Hello?")
    page.click("#send")
    page.wait_for("document.querySelector('.error')")
    assert "key" in page.text(".error"), page.text(".error")
    page.wait_for(IDLE)
    assert page.run("document.getElementById('text').value") == "Hello?"
    page.click("#clear")
    assert page.text("#log") == "" and page.run("document.getElementById('text').value") == ""
    page.click("summary")
    page.type("#key", KEY)
    page.press_enter()
    page.wait_for("document.getElementById('model').innerText.startsWith('SmolLM2')")
    assert all("401" in each for each in page.complaints), page.complaints
    page.complaints.clear()


def chats(page, address):
    """Messages go out with the settings, and answers come bit by bit, with their speed."""
    page.run("window.lengths = new Set(); new MutationObserver(() => lengths.add("
             "document.querySelector('.assistant')?.innerText.length ?? 0))"
             ".observe(document.getElementById('log'), {childList: true, subtree: true, characterData: true})")
    page.type("#temperature", "0")
    page.type("#max_tokens", "24")
    page.type("#system", "You answer briefly.")
    page.type("#text", "What is the capital of France?")
    page.press_enter()
    page.wait_for(f"{ANSWERS} === 1 && {IDLE}")
    assert page.run("lengths.size") > 3, "the answer did not come bit by bit"
    expected = ask(address, page.bodies[-1])
    assert page.text(".assistant").strip() == expected.strip() != "", (page.text(".assistant"), expected)
    assert page.text(".user") == "What is the capital of France?"
    assert re.fullmatch(r"\d+ tokens, \d+\.\d tokens/s", page.text("#speed")), page.text("#speed")
    body = page.bodies[-1]
    assert (body["temperature"], body["max_tokens"], "seed" in body) == (0, 24, False), body
    assert [each["role"] for each in body["messages"]] == ["system", "user"], body
    page.type("#text", "And of Italy?")
    page.click("#send")
    page.wait_for(f"{ANSWERS} === 2 && {IDLE}")
    roles = [each["role"] for each in page.bodies[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"], roles
    expect_no_complaints(page)


def keeps_to_the_length(page):
    page.type("#max_tokens", "5")
    page.type("#text", LONG)
    page.press_enter()
    page.wait_for(f"{ANSWERS} === 3 && {IDLE}")
    assert page.text("#speed").startswith("5 tokens"), page.text("#speed")
    page.type("#max_tokens", "")


def stops(page, address):
    """The button ends an answer, at the server too, and what came of it stays."""
    page.type("#text", LONG)
    page.press_enter()
    page.wait_for(f"{ANSWERS} === 4 && document.getElementById('send').innerText === 'Stop'")
    page.click("#send")
    page.wait_for(IDLE)
    last = "[...document.querySelectorAll('.assistant')].at(-1).innerText"
    assert page.run(last), "what had come is gone"
    metrics = urllib.request.urlopen(address + "/metrics").read().decode()
    while 'cancelled_total{reason="client_closed"} 1' not in metrics:
        metrics = urllib.request.urlopen(address + "/metrics").read().decode()
    expect_no_complaints(page)


def begins_anew(page):
    """`New` amid an answer leaves nothing of it behind."""
    page.type("#text", LONG)
    page.press_enter()
    page.wait_for(f"{ANSWERS} === 5")
    page.click("#clear")
    page.wait_for(IDLE)
    assert page.text("#log") == "" and page.text("#speed") == ""
    page.type("#max_tokens", "8")
    page.type("#text", "Hello.")
    page.press_enter()
    page.wait_for(f"{ANSWERS} === 1 && {IDLE}")
    roles = [each["role"] for each in page.bodies[-1]["messages"]]
    assert roles == ["system", "user"], roles
    expect_no_complaints(page)


def shows_errors(page):
    """What the server refuses is told in its words, and the next message goes well."""
    page.type("#max_tokens", "100000")
    page.type("#text", "Again.")
    page.press_enter()
    page.wait_for(f"document.querySelector('.error') && {IDLE}")
    assert "context" in page.text(".error"), page.text(".error")
    assert len(page.complaints) == 1 and "400" in page.complaints[0], page.complaints
    page.complaints.clear()
    page.type("#max_tokens", "8")
    page.press_enter()
    assert page.run("document.getElementById('text').value") == "Again."
    page.run("document.getElementById('text').focus()")
    page.press_enter()
    page.wait_for(f"{ANSWERS} === 2 && {IDLE}")
    roles = [each["role"] for each in page.bodies[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"], roles
    expect_no_complaints(page)


def fits(page, width):
    """Nothing is wider than the screen, and what one presses lies in it."""
    assert page.run("document.documentElement.scrollWidth") <= width
    for selector in ("#text", "#send", "#clear", "summary"):
        left, right, top, bottom = page.run(
            f"(({{left, right, top, bottom}}) => [left, right, top, bottom])"
            f"(document.querySelector('{selector}').getBoundingClientRect())")
        assert left >= 0 and right <= width and top >= 0 and bottom <= page.run("innerHeight"), (selector, left, right)
    assert page.run("document.getElementById('text').clientWidth") >= 120


def start(parhelion, model, directory):
    (Path(directory) / "keys").write_text(f"page {KEY}\n")
    server = subprocess.Popen([parhelion, "serve", model, "--port", "0", "--quiet", "--keys", f"{directory}/keys"],
                              stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        if found := re.search(r"http://[0-9.]+:[0-9]+", line):
            return server, found.group()
    raise AssertionError("the server ended before it listened")


def use(page, address, pictures):
    for width, height in ((1000, 800), (360, 640)):
        page.open(address, width, height)
        fits(page, width)
        needs_a_key(page)
        fits(page, width)
        chats(page, address)
        keeps_to_the_length(page)
        if width == 1000:
            stops(page, address)
            begins_anew(page)
            shows_errors(page)
        fits(page, width)
        if pictures:
            page.picture(Path(pictures) / f"page-{width}.png")


def main():
    with tempfile.TemporaryDirectory() as directory:
        server, address = start(sys.argv[1], sys.argv[2], directory)
        try:
            page = Browser(directory + "/profile")
            try:
                use(page, address, sys.argv[3] if len(sys.argv) > 3 else None)
            finally:
                page.close()
        finally:
            server.terminate()
        assert server.wait(timeout=30) == 0, "the server did not end well"
    print("the page is as it must be")


main()
