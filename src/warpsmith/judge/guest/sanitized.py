"""`python -m warpsmith.judge.guest.sanitized FILE`: one call of a candidate, for a sanitizer to watch.

FILE holds a `Load` as JSON; the call is on the first of its input sets. Nothing of ours stands around it:
memory that was poisoned before would count as written.
"""

import sys
from pathlib import Path

import torch

from warpsmith.core.codec import from_json
from warpsmith.judge.guest.session import Session
from warpsmith.judge.protocol import Load, Loaded


class OneCall(Session):
    """Loads a candidate and calls it once."""

    def run(self, load: Load) -> str | None:
        """Why it could not be called. Whatever forward raises is raised."""
        answer = self.answer(load)
        if not isinstance(answer, Loaded):
            return f"the candidate cannot be loaded: {answer}"
        with torch.no_grad():
            self._call(self._fresh_inputs(load.inputs[0]))
        self._synchronize()
        return None


def main() -> None:
    request = Path(sys.argv[1]).read_text(encoding="utf-8")
    sys.exit(OneCall().run(from_json(Load, request)))


if __name__ == "__main__":
    main()
