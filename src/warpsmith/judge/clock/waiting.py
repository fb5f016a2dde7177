"""Whether a program waits for the GPU itself, inside forward: each of its calls then finds an idle stream.

Its own text is asked, and may lie: that only decides what its times are held against, and which clock counts.
"""

import re

from warpsmith.core import Candidate

WAITS = re.compile(
    r"[sS]ynchronize\b|\bcuda\w*Synchronize\w*|\bcudaMemcpy\s*\(|\.(?:item|tolist|cpu|query)\s*\("
)


def waits_itself(candidate: Candidate) -> bool:
    """Whether any of its files names a call that waits."""
    return any(WAITS.search(text) for _, text in candidate.files)
