"""How the helper program is started for one task, and what bounds it."""

import sys
from pathlib import Path

from warpsmith.core import Command, Limits
from warpsmith.tasks.synth.filters.config import COMPILER_SETTINGS, FilterConfig

HELPER = "warpsmith.tasks.synth.filters.helper"
NURSERY = "warpsmith.tasks.synth.filters.nursery"
FILE_BYTES = 1 << 30  # compilers write; nothing else has to


def helper_command(config: FilterConfig, folder: Path) -> Command:
    """`folder` is the task's own. Compilers' caches lie in it: one task could poison another's."""
    checks = config.checks
    caches = {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
    }
    return Command(
        argv=(sys.executable, "-P", "-m", HELPER),
        cwd=folder,
        env=caches | COMPILER_SETTINGS,
        readable=(folder,),
        writable=(folder,),
        gpu=config.device.kind == "cuda",
        nursery=NURSERY,
        limits=Limits(
            memory_bytes=checks.host_bytes,
            processes=checks.num_processes,
            output_bytes=checks.most_said_bytes,
            file_bytes=FILE_BYTES,
            disk_bytes=FILE_BYTES,
        ),
    )
