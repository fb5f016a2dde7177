"""A model of one's own, in this process: a checkpoint folder or GGUF file whose tokens are seen as drawn.

`checkpoint` reads it, and `adapter` what was trained on top of it; `template` makes ids of messages,
`conversation` keeps the ids of earlier turns, and `policy` is the voice in a conversation. `engine` runs the
model: by `plain` where a conversation goes on, by `decoding` where many replies begin at once. For that,
`trial` asks whether the model can be run so, `places` knows who is drawn when, `stepping` draws one token
more for all, `slots` is where keys and values lie; and `drawing` is the distribution. torch and transformers
are imported when one is made.
"""

from warpsmith.policy.local.policy import LocalPolicy
from warpsmith.policy.local.tokens import TokenOutput, TokenPolicy

__all__ = ["LocalPolicy", "TokenOutput", "TokenPolicy"]
