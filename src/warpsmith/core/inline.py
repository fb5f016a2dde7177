"""A call of torch's `load_inline` or `load`: what a single-file candidate asks to be compiled."""

import hashlib
import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineCall:
    """What one call compiles, and how; its `name` is left out, since it may differ from run to run.

    Either sources as text, or paths of the candidate's own files.
    """

    cpp_sources: tuple[str, ...] = ()
    cuda_sources: tuple[str, ...] = ()
    functions: tuple[tuple[str, str], ...] | None = None  # name and docstring; None: the sources bind them
    files: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()
    cuda_flags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    include_paths: tuple[str, ...] = ()
    has_implicit_headers: bool = True

    @property
    def digest(self) -> str:
        """A key over all of it; short, since it becomes a file's name."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]
