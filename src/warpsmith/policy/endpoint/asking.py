"""Asking an endpoint that may be slow, busy, broken or hostile: retries, a rate, and an end to everything.

Used by the policies whose client library is built like OpenAI's, which names its errors the same way.
"""

import math
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self, TypeVar

from warpsmith.core import EnvironmentMissing, InfraError, UsageError
from warpsmith.policy.base import PolicyConfig
from warpsmith.policy.endpoint.client import Late, within

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")

MAX_WAIT_S = 60.0
BUSY = (408, 409, 425, 429)
NO_CREDIT = ("insufficient_quota", "credit balance", "insufficient balance", "billing")


class NoReply(InfraError):
    """The endpoint answered with something else than a reply; asking again may help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Time from outside: its jumps must not become waits or costs."""

    now_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def since_s(self, began_s: float) -> float:
        return max(0.0, self.now_s() - began_s)


@dataclass(slots=True, kw_only=True)
class Rate:
    """At most so many requests a minute to `url`, evenly spread, by all conversations of this process."""

    url: str
    per_minute: float
    clock: Clock
    _next_s: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self) -> None:
        interval_s = 60.0 / self.per_minute
        with self._lock:
            now_s = self.clock.now_s()
            # A clock that was set back would otherwise be waited for.
            wait_s = 0.0 if self._next_s is None else self._next_s - now_s
            wait_s = wait_s if 0.0 <= wait_s <= MAX_WAIT_S * 60 else 0.0
            self._next_s = now_s + wait_s + interval_s
        if wait_s:
            self.clock.sleep(wait_s)


@cache
def rate_of(url: str, per_minute: float | None, clock: Clock) -> Rate | None:
    """The one for this endpoint. Raises UsageError for a rate that lets nothing through."""
    if per_minute is None:
        return None
    if not 0.0 < per_minute < math.inf:
        raise UsageError(
            f"requests per minute must be above 0, not {per_minute:g}; leave it out for no limit"
        )
    return Rate(url=url, per_minute=per_minute, clock=clock)


class Asking:
    """Sends requests of one client to one endpoint, with all that may go wrong.

    `library` is the client's package, whose errors are told apart; `url` and `key_name` are for messages.
    """

    def __init__(
        self, library: str, url: str, model: str, key_name: str, config: PolicyConfig, clock: Clock
    ) -> None:
        self._errors = import_module(library)
        self.url = re.sub(r"//[^/@]*@", "//", url)
        self._secret: str | None = None
        self._model = model
        self._key_name = key_name
        self._config = config
        self._clock = clock
        self._rate = rate_of(url, config.requests_per_minute, clock)
        self._has_answered = False

    def keeping_secret(self, key: str | None) -> Self:
        """The key is never repeated, though a server might do so in its errors."""
        self._secret = key
        return self

    def ask(self, once: Callable[[], T]) -> T:
        """What `once` gives, tried as often as the config says.

        Raises InfraError, EnvironmentMissing or UsageError, each of one line; nothing else.
        """
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        retrying = Retrying(
            retry=retry_if_exception(self._may_pass),
            stop=stop_after_attempt(max(1, self._config.max_attempts)),
            wait=self._wait_s,
            sleep=self._clock.sleep,
            reraise=True,
        )
        try:
            reply: T = retrying(self._attempt, once)
        except (self._library_error, OSError, ValueError, TypeError) as error:
            if isinstance(error, UsageError):
                raise
            explained = self._explained(error)
            said = str(explained)
            raise type(explained)(said.replace(self._secret, "(key)") if self._secret else said) from error
        return reply

    @property
    def _library_error(self) -> type[Exception]:
        name = "OpenAIError" if self._errors.__name__ == "openai" else "AnthropicError"
        return getattr(self._errors, name)  # type: ignore[no-any-return]

    def _attempt(self, once: Callable[[], T]) -> T:
        if self._rate is not None:
            self._rate.wait()
        reply = within(self._config.timeout_s, once)
        self._has_answered = True
        return reply

    def _wait_s(self, state: "RetryCallState") -> float:
        """What the endpoint asks for, or else exponential with jitter so that parallel runs spread out."""
        from tenacity import wait_random_exponential

        error = state.outcome.exception() if state.outcome else None
        asked_s = retry_after_s(getattr(getattr(error, "response", None), "headers", {}))
        if asked_s is not None:
            return asked_s
        return wait_random_exponential(multiplier=self._config.retry_wait_s, max=MAX_WAIT_S)(state)

    def _may_pass(self, error: BaseException) -> bool:
        errors = self._errors
        if isinstance(error, errors.APIStatusError):
            self._has_answered = True
            is_busy = error.status_code in BUSY and not _is_without_credit(error)
            return is_busy or error.status_code >= 500
        if isinstance(error, errors.APIConnectionError) and not isinstance(error, errors.APITimeoutError):
            # An endpoint that never answered is not running, or misspelt; one that hung up is another thing.
            return self._has_answered or not _is_unreachable(error)
        return isinstance(error, errors.APITimeoutError | errors.APIResponseValidationError | NoReply | Late)

    def _explained(self, error: Exception) -> InfraError | UsageError:
        """One line that says what to do about it."""
        errors, url = self._errors, self.url
        if isinstance(error, errors.APITimeoutError | Late):
            return InfraError(f"{url}: no reply within {self._config.timeout_s:g} s")
        if isinstance(error, errors.APIStatusError):
            return self._status_explained(error.status_code, error)
        if isinstance(error, errors.APIConnectionError) and _is_unreachable(error) and not self._has_answered:
            return EnvironmentMissing(f"no endpoint at {url}; start the server or pass another --base-url")
        if isinstance(error, errors.APIConnectionError):
            return InfraError(f"{url}: the connection broke ({line_of(error.__cause__ or error)})")
        return InfraError(f"{url}: {line_of(error)}")

    def _status_explained(self, status: int, error: Exception) -> InfraError | UsageError:
        said = line_of(error)
        if status in (401, 403):
            return EnvironmentMissing(f"{self.url} refuses the key; export {self._key_name} with a valid one")
        if 300 <= status < 400:
            there = getattr(error, "response", error).headers.get("location", "nowhere")  # type: ignore[union-attr]
            return UsageError(f"{self.url} redirects to {there:.200}; pass that address as --base-url")
        if status == 402 or _is_without_credit(error):
            return EnvironmentMissing(f"{self.url}: the account has no credit left ({said}); top it up")
        if status == 404:
            return UsageError(
                f"{self.url} has no model {self._model!r} ({said}); see {self.url}models, or is /v1 missing?"
            )
        return InfraError(f"{self.url}: HTTP {status}: {said}")


def retry_after_s(headers: Any) -> float | None:
    """The wait that an answer's headers ask for, between 0 and MAX_WAIT_S; None if they ask for none."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name)
        if text is None:
            continue
        seconds = _seconds(str(text), unit_s)
        if seconds is not None and not math.isnan(seconds):
            return min(max(seconds, 0.0), MAX_WAIT_S)
    return None


def _seconds(text: str, unit_s: float) -> float | None:
    try:
        return float(text) * unit_s
    except ValueError:
        pass
    try:
        return (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):  # no date either; TypeError: one without a zone
        return None


def line_of(error: BaseException) -> str:
    """What an error says, on one line."""
    said = re.sub(r"^Error code: \d+ - ", "", " ".join(str(error).split()))  # told beside it
    return said[:300] or type(error).__name__


def _is_without_credit(error: Exception) -> bool:
    said = f"{error} {getattr(error, 'body', '')}".lower()  # the code stands in the body alone
    return any(sign in said for sign in NO_CREDIT)


def _is_unreachable(error: Exception) -> bool:
    """Whether no connection was made at all, by the name that httpx and its successor give to it."""
    cause: BaseException | None = error.__cause__
    names = ("ConnectError", "ConnectTimeout", "UnsupportedProtocol", "InvalidURL", "LocalProtocolError")
    return cause is not None and type(cause).__name__ in names
