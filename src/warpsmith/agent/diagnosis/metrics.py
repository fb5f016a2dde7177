"""What Nsight Compute is asked for, by its names.

The names of `Counter` are CUPTI's, so that its host library can say without a GPU whether a chip has them
(`tests/agent/diagnosis/test_metrics.py`). Those of `LAUNCH` are the tool's own, which nothing can check
offline.
"""

from enum import StrEnum
from typing import Final


class Counter(StrEnum):
    """Hardware counters, and what is worked out of them on the device."""

    TIME = "gpu__time_duration.sum"
    SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
    MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
    DRAM = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
    BYTES_READ = "dram__bytes_read.sum"
    BYTES_WRITTEN = "dram__bytes_write.sum"
    FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
    FADD = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"
    FMUL = "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"
    DFMA = "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"
    DADD = "smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"
    DMUL = "smsp__sass_thread_inst_executed_op_dmul_pred_on.sum"
    TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
    OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
    ISSUE = "smsp__issue_active.avg.per_cycle_active"
    ELIGIBLE = "smsp__warps_eligible.avg.per_cycle_active"
    LANES = "smsp__thread_inst_executed_per_inst_executed.ratio"
    INSTRUCTIONS = "smsp__inst_executed.sum"
    L2_HITS = "lts__t_sector_hit_rate.pct"
    L1_HITS = "l1tex__t_sector_hit_rate.pct"
    SECTORS_LOADED = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"
    SECTORS_STORED = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"
    USED_LOADED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"
    USED_STORED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"
    CONFLICTS_LOADED = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
    CONFLICTS_STORED = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"
    WAVEFRONTS_LOADED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
    WAVEFRONTS_STORED = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
    LOCAL = "smsp__sass_inst_executed_op_local.sum"


STALL: Final = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS: Final = (
    "long_scoreboard",
    "short_scoreboard",
    "barrier",
    "math_pipe_throttle",
    "mio_throttle",
    "lg_throttle",
    "tex_throttle",
    "wait",
    "no_instruction",
    "membar",
    "branch_resolving",
    "drain",
    "dispatch_stall",
)
"""Why a warp waited, beside what every warp does: `selected` and `not_selected`."""

LAUNCH: Final = (
    "launch__registers_per_thread",
    "launch__waves_per_multiprocessor",
    "launch__occupancy_limit_registers",
    "launch__occupancy_limit_shared_mem",
    "launch__occupancy_limit_blocks",
    "launch__occupancy_limit_warps",
)


def stall_metric(reason: str) -> str:
    """The counter of one reason of `STALLS`: warps that waited for it, a scheduled instruction."""
    return STALL.format(reason)


def cupti_metrics() -> tuple[str, ...]:
    """All that CUPTI knows too."""
    return (*Counter, *map(stall_metric, STALLS))


def all_metrics() -> tuple[str, ...]:
    """All that the tool is asked for: 16 passes or so, hardly more than for a few of them."""
    return (*cupti_metrics(), *LAUNCH)
