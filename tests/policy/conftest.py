"""A real HTTP server on this machine that does what a test tells it to, right or wrong."""

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


@dataclass
class Server:
    """What it was asked: (path, headers, body). `acts` are played in turn, the last one for ever."""

    url: str
    acts: list
    asked: list = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)  # set at the end: nothing waits longer


def send(handler, status, body, headers=()):
    data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    handler.send_response(status)
    for name, value in {"content-type": "application/json", **dict(headers)}.items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def sends(status, body, **headers):
    """An act: this answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _server: send(handler, status, body, named)


@contextmanager
def serving(*acts, get=None):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            server.asked.append((self.path, dict(self.headers), body))
            act = server.acts.pop(0) if len(server.acts) > 1 else server.acts[0]
            self.play(act)

        def do_GET(self):
            server.asked.append((self.path, dict(self.headers), None))
            self.play(get or sends(404, {"error": {"message": "no such path"}}))

        def play(self, act):
            try:
                act(self, server)
            except OSError:
                self.close_connection = True  # the client has gone

        def log_message(self, *_):
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            pass

    http = Quiet(("127.0.0.1", 0), Handler)
    server = Server(url=f"http://127.0.0.1:{http.server_port}/v1", acts=list(acts))
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.gone.set()
        http.shutdown()
        http.server_close()
        thread.join()


def completion(content=None, *, calls=(), usage=USAGE, finish="stop", **message):
    """A chat completion; `calls` are (name, arguments as text)."""
    wire = [
        {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(calls)
    ]
    said = {"role": "assistant", "content": content, **({"tool_calls": wire} if wire else {}), **message}
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": finish, "message": said}],
    }
    return body | ({"usage": usage} if usage else {})


@pytest.fixture
def http():
    """The pieces above, for tests to take from."""

    class Http:
        pass

    pieces = Http()
    pieces.serving, pieces.sends, pieces.send, pieces.completion = serving, sends, send, completion
    return pieces
