"""What a store as a whole is: kept in the Parquet file itself, so that the card is made of it alone."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """How the tasks of a store came about, for its card."""

    title: str = ""
    description: str = ""
    licence: str = ""  # an SPDX name, such as "Apache-2.0"
    device: str = ""  # on what times were measured, such as "NVIDIA H200"
    filters: dict[str, str] = field(default_factory=dict)  # what every task went through -> its version
    versions: dict[str, str] = field(default_factory=dict)  # libraries that tasks were made with -> version
