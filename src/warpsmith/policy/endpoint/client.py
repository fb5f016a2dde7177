"""An HTTP client that comes to an end: where it connects, with which key, how long and how much it reads."""

import os
import threading
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import urlsplit

from warpsmith.core import EnvironmentMissing, UsageError
from warpsmith.policy.base import PolicyConfig

T = TypeVar("T")

MAX_BODY_BYTES = 16_000_000  # of one answer; the longest honest one is some hundred kilobytes


class Late(OSError):
    """A call did not come back in its time."""


def within(limit_s: float, call: Callable[[], T]) -> T:
    """What `call` returns or raises. Raises Late after `limit_s`.

    A client's own limit is for each read: a server that drips a byte now and then is never too late for it.
    The thread that is left behind ends with its connection; being a daemon, it holds up nothing.
    """
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # noqa: BLE001 (raised again, in the thread that asked)
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True, name="warpsmith-request")
    thread.start()
    thread.join(limit_s * 1.05 + 0.05)  # the client's own limit, where it holds, tells more
    if failure:
        raise failure[0]
    if not outcome:
        raise Late(f"nothing within {limit_s:g} s")
    return outcome[0]


def bounded_client(library: ModuleType, timeout_s: float) -> Any:
    """An HTTP client whose answers end at MAX_BODY_BYTES and after `timeout_s`, whatever the server sends.

    `library` is openai or anthropic: each is built on httpx or on its successor, and takes a client of that.
    """
    bounded_stream = _bounded_stream(library, timeout_s)

    class Client(library.DefaultHttpxClient):  # type: ignore[misc,name-defined]
        def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            response = super().send(request, stream=True, **options)
            # Compression was not asked for: a small answer could unfold beyond the bound. It stays as it is.
            response.headers.pop("content-encoding", None)
            response.stream = bounded_stream(response.stream)
            if not stream:
                try:
                    response.read()
                finally:
                    response.close()
            return response

        def __del__(self) -> None:
            if not self.is_closed:
                self.close()

    # A redirect is not followed: it could carry the key to another host, and turns a POST into a GET.
    return Client(timeout=timeout_s, follow_redirects=False, headers={"accept-encoding": "identity"})


def _bounded_stream(library: ModuleType, timeout_s: float) -> Any:
    """A class of streams of the HTTP library that `library` is built on."""
    base = next(kind for kind in library.DefaultHttpxClient.__mro__ if kind.__name__ == "Client")
    http: Any = import_module(base.__module__.partition(".")[0])

    class Bounded(http.SyncByteStream):  # type: ignore[misc]
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def __iter__(self) -> Any:
            began_s, num_bytes = time.monotonic(), 0
            for chunk in self._stream:
                num_bytes += len(chunk)
                if num_bytes > MAX_BODY_BYTES:
                    raise http.ReadError(f"an answer of more than {MAX_BODY_BYTES // 1_000_000} MB")
                if time.monotonic() - began_s > timeout_s:
                    raise http.ReadTimeout("the answer does not end")
                yield chunk

        def close(self) -> None:
            self._stream.close()

    return Bounded


def key_of(variable: str, config: PolicyConfig) -> str | None:
    """The key in `variable`, which only a vendor's own endpoint must have. Raises EnvironmentMissing."""
    key = (os.environ.get(variable) or "").strip()
    if not key and config.base_url is None:
        raise EnvironmentMissing(
            f"{variable} is not set; export it, or pass --base-url for a server that needs no key"
        )
    if not key.isascii() or not key.isprintable():
        raise EnvironmentMissing(f"{variable} holds characters that no key has; export it again")
    return key or None


def url_of(config: PolicyConfig, vendor_url: str) -> str:
    """Raises UsageError for what is no address of an HTTP server."""
    url = config.base_url or vendor_url
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_good = False
    if not is_good or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"--base-url takes an address such as http://localhost:8000/v1, not {url!r:.200}")
    return url


def require(package: str, extra: str) -> None:
    """Raises EnvironmentMissing if `package` is not installed."""
    if find_spec(package) is None:
        raise EnvironmentMissing(f"{package} is not installed; pip install 'warpsmith[{extra}]'")
