"""Short CUDA that a beginner could have written, from a captured graph.

`steps` cuts a graph into kernels, `kernels` writes them, `rows` writes one kernel a row where all of it fits
there, and `program` puts them into the files of a candidate.
"""

from warpsmith.learn.demonstrations.plain.program import plain_program
from warpsmith.learn.demonstrations.plain.steps import Manner

__all__ = ["Manner", "plain_program"]
