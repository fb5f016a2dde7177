"""Every threshold of the classifier, in one table."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """From which value on a figure means something. Shares of a whole are in percent, as the figures are."""

    # The program as a whole.
    at_floor: float = 1.1  # times the floor: nothing is left to be gained
    near_floor: float = 2.0  # beyond it neither bandwidth nor arithmetic is what limits
    host_share: float = 1.5  # the host's time a call over the device's
    launch_share: float = 0.3  # of its time that launching alone would take
    one_launch_share: float = 0.5  # the same, of a program with one launch

    # The system, from a trace. The profiler slows the host down, so a little idleness means nothing.
    idle: float = 10.0  # % between a call's first and last work, if the host waits in it
    copying: float = 10.0  # % of a call's device time that copies between host and device and idleness take

    # The dominant kernel.
    few_threads: float = 8_192.0  # a launch: not two warps for each multiprocessor of an H200
    much_work: float = 256.0  # bytes of the least traffic a thread: 32 values of 4 bytes in, and as many out
    used: float = 50.0  # % of the bytes of a sector that the warp asked for; neighbours' addresses give 100
    conflicts: float = 30.0  # % of shared memory's cycles
    fp64: float = 5.0  # % of arithmetic: its pipe is 2 (data-centre GPUs) to 64 times as slow
    lanes: float = 20.0  # of 32 that take part in an instruction
    spilled: float = 0.0  # bytes: a single one is more than is needed
    roof: float = 60.0  # % of peak, as in Nsight Compute's own speed-of-light rule


THRESHOLDS = Thresholds()
