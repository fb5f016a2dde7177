"""What a model read and drew, token by token, and where it is kept."""

from warpsmith.learn.trajectory.drawn import Origin, samples_of, turns_in
from warpsmith.learn.trajectory.filtering import Kept, Reason, filtered
from warpsmith.learn.trajectory.nouns import Sample, Span
from warpsmith.learn.trajectory.storing import read_samples, write_samples
from warpsmith.learn.trajectory.templated import Reading, sample_of

__all__ = [
    "Kept",
    "Origin",
    "Reading",
    "Reason",
    "Sample",
    "Span",
    "filtered",
    "read_samples",
    "sample_of",
    "samples_of",
    "turns_in",
    "write_samples",
]
