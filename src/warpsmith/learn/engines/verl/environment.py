"""Whether verl is there, and how to get it."""

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from warpsmith.core import EnvironmentMissing

VERSION = "0.9.1"
MODULES = ("verl", "ray", "transfer_queue", "pyarrow")
REMEDY = (
    "in an environment of its own, since it needs transformers below 5.11: "
    "python3 -m venv verl-env && verl-env/bin/pip install 'warpsmith[verl]'"
)


def is_there() -> bool:
    return not _missing(MODULES)


def check_environment(rollout: str | None = None) -> None:
    """Raises EnvironmentMissing unless verl can be run here, with `rollout` to draw if it is given."""
    missing = _missing(MODULES)
    if missing:
        raise EnvironmentMissing(f"{', '.join(missing)} not installed; install verl {REMEDY}")
    found = _version()
    if found != VERSION:
        raise EnvironmentMissing(
            f"verl {found} is not {VERSION}, whose configuration is known; install it {REMEDY}"
        )
    if rollout is not None and _missing((rollout,)):
        raise EnvironmentMissing(
            f"{rollout} not installed; verl-env/bin/pip install 'verl[{rollout}]=={VERSION}'"
        )


def _missing(names: tuple[str, ...]) -> list[str]:
    return [name for name in names if find_spec(name) is None]


def _version() -> str:
    try:
        return version("verl")
    except PackageNotFoundError:
        return "of no known version"
