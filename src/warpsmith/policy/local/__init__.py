"""A model of one's own, in this process: a checkpoint folder or GGUF file whose tokens are seen as drawn.

`checkpoint` reads it, `template` makes ids of messages, `conversation` keeps the ids of earlier turns,
`drawing` is the distribution, `engine` runs the model, and `policy` is the voice in a conversation. torch
and transformers are imported when one is made.
"""

from warpsmith.policy.local.policy import LocalPolicy
from warpsmith.policy.local.tokens import TokenOutput, TokenPolicy

__all__ = ["LocalPolicy", "TokenOutput", "TokenPolicy"]
