"""A provider of chat completions whose model is a script."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


class Stub:
    """Answers each request with the next step; the last one stays.

    A step is {"say": text}, {"call": tool, "with": arguments}, {"status": number, "error": text} or {"hang": True}; or a
    function that makes one from the request.
    """

    def __init__(self):
        self.steps = []
        self.requests = []
        self.lock = threading.Lock()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                step, number = stub.next(body)
                if callable(step):
                    step = step(body)
                if step.get("hang"):
                    # Until the caller is gone, or the tests are.
                    time.sleep(600)
                elif "status" in step:
                    self.fail(step)
                else:
                    self.stream(step, number)

            def fail(self, step):
                body = json.dumps({"error": {"message": step["error"], "type": "error"}}).encode()
                self.send_response(step["status"])
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def stream(self, step, number):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                delta = {"role": "assistant"}
                reason = "stop"
                if "call" in step:
                    function = {"name": step["call"], "arguments": json.dumps(step["with"])}
                    delta["tool_calls"] = [{"index": 0, "id": f"t{number}", "type": "function", "function": function}]
                    reason = "tool_calls"
                else:
                    delta["content"] = step["say"]
                self.event({**CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
                end = {"index": 0, "delta": {}, "finish_reason": reason}
                self.event({**CHUNK, "choices": [end], "usage": USAGE})
                self.wfile.write(b"data: [DONE]\n\n")
                self.close_connection = True

            def event(self, value):
                self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def play(self, *steps):
        with self.lock:
            self.steps = list(steps)
            self.requests = []

    def next(self, body):
        with self.lock:
            self.requests.append(body)
            step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
            return step, len(self.requests)

    def user_text(self):
        """What the first request says for the user."""
        content = next(m for m in self.requests[0]["messages"] if m["role"] == "user")["content"]
        return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)

    def tools(self):
        return sorted(tool["function"]["name"] for tool in self.requests[0].get("tools", []))

    def results(self):
        """What the tools answered, as the last request tells."""
        texts = []
        for message in self.requests[-1]["messages"]:
            if message["role"] == "tool":
                content = message["content"]
                texts.append(content if isinstance(content, str) else json.dumps(content))
        return texts
