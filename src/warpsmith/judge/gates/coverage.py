"""Do its own kernels do the work?

One call is watched, and its kernels are held against the names in the build. Then it is called once more
without what its own kernels do: if the answer is still right, they are decoys. What the guest says of this is
a claim; that the answer is wrong without them is seen by the oracle.
"""

import random
from collections.abc import Iterable
from pathlib import Path

from warpsmith.core import Coverage, Crashed, KernelResources, Rejected, TimedOut, Track
from warpsmith.core.candidate import MODULE
from warpsmith.judge.clock.rounds import deal, secret_seed
from warpsmith.judge.gates import forward
from warpsmith.judge.protocol import (
    Ablate,
    Ablated,
    Ablation,
    Compare,
    Compared,
    KernelRun,
    Observe,
    Observed,
)
from warpsmith.judge.trial import Trial
from warpsmith.toolchain import Build
from warpsmith.toolchain.resources import demangled
from warpsmith.toolchain.symbols import holds_name

SMALL_SHARE = 0.05
OBSERVED = 40  # number of a call, after those of the gate `forward`
# Names of kernels that torch makes, copies or casts with: no library's work.
COPYING = ("copy", "fill", "cat", "memset", "memcpy", "spin_kernel", "distribution_nullary")

Failed = Crashed | TimedOut | Rejected


def check(trial: Trial) -> Failed | None:
    observed = _observed(trial, with_profiler=False)
    if isinstance(observed, Observed) and not _own(trial, observed.kernels) and trial.device.kind != "cpu":
        observed = _observed(trial, with_profiler=True)
    if not isinstance(observed, Observed):
        return observed
    own = _own(trial, observed.kernels)
    if not own:
        return _rejected("no kernel of the program's own runs in forward")
    return _ablated(trial, observed, own)


def _observed(trial: Trial, *, with_profiler: bool) -> Observed | Failed:
    request = Observe(inputs=forward.lend(trial, OBSERVED, 0), with_profiler=with_profiler)
    return trial.guest.ask(request, Observed, stage="coverage", limit_s=trial.config.limits.forward_s)


def _ablated(trial: Trial, observed: Observed, own: tuple[KernelRun, ...]) -> Failed | None:
    for how in Ablation:
        # Inputs never seen before: the program's buffers may hold what it made of any others.
        seed = secret_seed(random.SystemRandom())
        inputs = _fresh(trial, seed, how)
        outputs = trial.guest.exchange / f"outputs-without-{how}"
        request = Ablate(
            how=how,
            inputs=inputs,
            outputs=outputs,
            own_kernels=tuple(kernel.name for kernel in own),
            max_bytes=forward.max_bytes(trial),
        )
        answer = trial.guest.ask(request, Ablated, stage="coverage", limit_s=trial.config.limits.forward_s)
        if not isinstance(answer, Ablated):
            return answer
        if answer.is_possible:
            if answer.has_answer and _is_right(trial, outputs, seed):
                return _rejected(
                    f"the answer does not depend on the program's own kernels ({_listed(own)}): it is right "
                    "without them"
                )
            return _noted(trial, observed, answer.own_share)
    trial.advice.append("its kernels could not be left out of a call, to see what depends on them")
    return _noted(trial, observed, None)


def _fresh(trial: Trial, seed: int, how: Ablation) -> Path:
    (dealt,), _ = deal(trial, (seed,))
    if trial.device.kind == "cuda":
        return dealt
    path = trial.guest.exchange / f"inputs-without-{how}"
    forward.copy(dealt, path)
    return path


def _is_right(trial: Trial, outputs: Path, seed: int) -> bool:
    request = Compare(outputs=outputs, case=0, inputs=None, seed=seed)
    found = trial.subject.oracle.ask(request, Compared, limit_s=trial.config.limits.compare_s)
    return found.difference is None


def _noted(trial: Trial, observed: Observed, own_share: float | None) -> Failed | None:
    if own_share is None and trial.device.kind != "cpu":
        profiled = observed if _is_timed(observed) else _observed(trial, with_profiler=True)
        if not isinstance(profiled, Observed):
            return profiled
        observed, own_share = profiled, _share(trial, profiled.kernels)
    own = _own(trial, observed.kernels)
    others = _library_kernels(observed, own)
    is_pure = not (others or trial.libraries or observed.libraries)
    trial.coverage = Coverage(
        track=Track.PURE if is_pure else Track.LIBRARIES,
        own_share=own_share,
        own_kernels=_readable(kernel.name for kernel in own),
        library_kernels=tuple(dict.fromkeys((*others, *observed.libraries))),
    )
    if own_share is not None and own_share < SMALL_SHARE:
        trial.advice.append(f"its own kernels take {own_share:.1%} of the device's time")
    return None


def _own(trial: Trial, kernels: Iterable[KernelRun]) -> tuple[KernelRun, ...]:
    """Those that are in the build. On the cpu device only its own can be launched at all."""
    assert trial.build is not None
    if trial.device.kind == "cpu":
        return tuple(kernels)
    return tuple(kernel for kernel in kernels if _is_own(trial.build, kernel.name))


def _is_own(build: Build, name: str) -> bool:
    """A graph gives a kernel's mangled name, which is in the object; a profiler the readable one."""
    reported = {kernel.kernel for kernel in build.resources}
    is_built = any(holds_name(path, name) for path in build.libraries)
    return _readable([name])[0] in reported if reported else is_built


def _library_kernels(observed: Observed, own: tuple[KernelRun, ...]) -> tuple[str, ...]:
    foreign = [kernel.name for kernel in observed.kernels if kernel not in own]
    return _readable(name for name in foreign if not any(word in name.lower() for word in COPYING))


def _share(trial: Trial, kernels: tuple[KernelRun, ...]) -> float | None:
    own, all_of_it = (
        sum(kernel.device_us or 0.0 for kernel in some) for some in (_own(trial, kernels), kernels)
    )
    return own / all_of_it if all_of_it > 0 else None


def _is_timed(observed: Observed) -> bool:
    return any(kernel.device_us is not None for kernel in observed.kernels)


def _readable(names: Iterable[str]) -> tuple[str, ...]:
    blank = [
        KernelResources(kernel=name, arch="", registers=0, spill_bytes=0, shared_bytes=0, stack_bytes=0)
        for name in names
    ]
    return tuple(resources.kernel for resources in demangled(blank))


def _listed(own: tuple[KernelRun, ...]) -> str:
    return ", ".join(_readable(kernel.name for kernel in own[:4])) + (" ..." if len(own) > 4 else "")


def _rejected(message: str) -> Rejected:
    return Rejected(rule="own-kernels", where=MODULE, message=message)
