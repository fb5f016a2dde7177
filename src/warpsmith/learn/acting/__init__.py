"""Policies at work on real tasks.

A student's agents are in threads (`episodes`), and their next words are drawn together: `chorus` draws for
all that wait, `speaker` is the student's voice in one conversation, `source` runs the episodes of a step.
`teaching` does the same for policies that speak for themselves. `suites` are the tasks, `workplace` puts a
student, tasks and judges together.
"""

from warpsmith.learn.acting.source import Acting
from warpsmith.learn.acting.teaching import Teaching
from warpsmith.learn.acting.workplace import Workplace, grading_of, shelf_of

__all__ = ["Acting", "Teaching", "Workplace", "grading_of", "shelf_of"]
