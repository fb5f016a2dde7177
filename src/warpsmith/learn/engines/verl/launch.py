"""An order on disk: a folder that one command starts, here or on the machine that it is copied to."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpsmith.core import InfraError, UsageError
from warpsmith.learn.engines.verl.config import EngineConfig
from warpsmith.learn.engines.verl.environment import check_environment, is_there
from warpsmith.learn.engines.verl.order import CHECKPOINTS, LOOPS, METRICS, TABLE, Order
from warpsmith.learn.engines.verl.overrides import as_arguments
from warpsmith.learn.engines.verl.rows import Record, write_table

OVERRIDES, NOTES, SCRIPT = "overrides.txt", "notes.txt", "launch.sh"
CONFIGS = {"verl.trainer.main_ppo": "ppo_trainer", "verl.trainer.sft_trainer": "sft_trainer_engine"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A folder that is ready to be started."""

    folder: Path
    command: tuple[str, ...]  # what the script in it runs
    is_checked: bool  # verl has looked at the configuration, and takes it
    notes: tuple[str, ...]

    @property
    def script(self) -> Path:
        return self.folder / SCRIPT

    @property
    def checkpoints(self) -> Path:
        return self.folder / CHECKPOINTS


def write(order: Order, engine: EngineConfig, rows: Sequence[Record], folder: Path) -> Written:
    """Where verl is installed, its own checks are passed first.

    Raises UsageError for what verl refuses, and if the folder cannot be written.
    """
    overrides = list(as_arguments(order.overrides))
    is_checked = is_there()
    if is_checked:
        check(order)
    command = (*_program(order, engine), *overrides, f"hydra.run.dir='{folder.absolute() / 'hydra'}'")
    try:
        _check_same(folder, overrides)
        folder.mkdir(parents=True, exist_ok=True)
        write_table(rows, folder / TABLE, at_least=int(str(order.overrides["data.train_batch_size"])))
        # JSON is YAML too.
        (folder / LOOPS).write_text(json.dumps(order.loops, indent=2) + "\n", encoding="utf-8")
        (folder / OVERRIDES).write_text("\n".join(overrides) + "\n", encoding="utf-8")
        (folder / NOTES).write_text("".join(f"{note}\n" for note in order.notes), encoding="utf-8")
        script = folder / SCRIPT
        script.write_text(_script(command, engine, folder.absolute()), encoding="utf-8")
        script.chmod(0o755)
    except OSError as error:
        raise UsageError(f"{folder} cannot be written ({error.strerror})") from error
    return Written(folder=folder, command=command, is_checked=is_checked, notes=order.notes)


def _check_same(folder: Path, overrides: Sequence[str]) -> None:
    """Checkpoints are gone on with, whoever they are of."""
    path = folder / OVERRIDES
    if not (folder / CHECKPOINTS).exists():
        return
    if not path.is_file() or path.read_text(encoding="utf-8").splitlines() != list(overrides):
        raise UsageError(f"{folder} holds checkpoints of another order; give another folder")


def check(order: Order) -> Any:
    """The configuration as verl composes it. Raises UsageError with what verl has against it."""
    from hydra import compose, initialize_config_module
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("verl.trainer.config", version_base=None):
            config = compose(CONFIGS[order.module], overrides=list(as_arguments(order.overrides)))
        _validate(order, config)
    except (HydraException, OmegaConfBaseException, AssertionError, ValueError, TypeError, OSError) as error:
        raise UsageError(f"verl refuses this configuration: {' '.join(str(error).split())[:400]}") from error
    return config


def launch(written: Written, rollout: str | None) -> None:
    """Run it to its end; what it says goes where this process's words go.

    Raises EnvironmentMissing if verl or what draws is not installed, InfraError if it did not end well.
    """
    check_environment(rollout)
    code = subprocess.run(
        [str(written.script)], env=os.environ | {"PYTHON": sys.executable}, check=False
    ).returncode
    if code:
        raise InfraError(f"verl ended with exit code {code}; {written.folder} keeps what it saved")


def _validate(order: Order, config: Any) -> None:
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    if not order.is_ray:
        for part in ("optim", "engine", "checkpoint"):
            omega_conf_to_dataclass(config[part])
        return
    from verl.trainer.ppo.utils import need_critic, need_reference_policy

    validate_config(
        config=config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config)
    )


def _program(order: Order, engine: EngineConfig) -> tuple[str, ...]:
    if order.is_ray:
        return ("-m", order.module)
    meeting = ("--standalone",) if engine.nodes == 1 else ("--rdzv-backend=c10d", "--rdzv-endpoint=$MEETING")
    shares = (f"--nnodes={engine.nodes}", f"--nproc-per-node={engine.gpus}")
    return ("-m", "torch.distributed.run", *shares, *meeting, "-m", order.module)


def _script(command: Sequence[str], engine: EngineConfig, folder: Path) -> str:
    lines = [
        "#!/bin/sh",
        f"# {engine.nodes} nodes of {engine.gpus} GPUs.",
        "set -eu",
        f"export TENSORBOARD_DIR={shlex.quote(str(folder / 'tensorboard'))}",
        f"export VERL_FILE_LOGGER_PATH={shlex.quote(str(folder / METRICS))}",
        "export TOKENIZERS_PARALLELISM=false",
    ]
    if engine.nodes > 1:
        lines += [
            "# Before: `ray start --head` on one node, `ray start --address=HEAD:6379` on the others; or,",
            "# for imitation, this script on each of them with MEETING=HEAD:29500.",
            'export RAY_ADDRESS="${RAY_ADDRESS:-auto}"',
        ]
    words = [f'"{word}"' if "$MEETING" in word else shlex.quote(word) for word in command]
    lines += ['exec "${PYTHON:-python3}" ' + " \\\n  ".join(words) + ' "$@"', ""]
    return "\n".join(lines)
