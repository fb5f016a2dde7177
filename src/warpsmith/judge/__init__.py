"""Task and candidate in, verdict out. Candidates run in the guest; the host half imports no torch."""

from warpsmith.judge.config import ClockConfig, JudgeConfig, TimeLimits
from warpsmith.judge.judge import Judge

__all__ = ["ClockConfig", "Judge", "JudgeConfig", "TimeLimits"]
