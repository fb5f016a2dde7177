"""A student at work on real tasks: agents in threads, whose next words are drawn together.

`chorus` draws for all that wait, `speaker` is the student's voice in one conversation, `source` runs the
episodes of a step.
"""

from warpsmith.learn.acting.source import Acting

__all__ = ["Acting"]
