"""The dynamic symbols of a shared object, read from its ELF tables; the object itself is never loaded."""

import struct
from collections.abc import Iterator
from pathlib import Path

from warpsmith.core import InfraError

ELF64_LITTLE = b"\x7fELF\x02\x01"
SHT_DYNSYM = 11
SHN_UNDEF = 0
STT_FUNC = 2
STB_LOCAL = 0


def exported_functions(path: Path) -> frozenset[str]:
    """Names of the functions that the object defines for others. Raises InfraError if it is no ELF file."""
    return frozenset(
        name for name, info, section in _symbols(path) if section != SHN_UNDEF and info & 15 == STT_FUNC
    )


def imported(path: Path) -> frozenset[str]:
    """Names that the object needs from others. Raises InfraError if it is no ELF file."""
    return frozenset(name for name, _, section in _symbols(path) if section == SHN_UNDEF and name)


def _symbols(path: Path) -> Iterator[tuple[str, int, int]]:
    """Name, info byte and section index of each global symbol."""
    image = path.read_bytes()
    if not image.startswith(ELF64_LITTLE):
        raise InfraError(f"{path} is no 64-bit little-endian ELF file; the linker made something else")
    (table_offset,) = struct.unpack_from("<Q", image, 40)
    entry_size, num_sections = struct.unpack_from("<HH", image, 58)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", image, table_offset + i * entry_size) for i in range(num_sections)
    ]
    for section in sections:
        if section[1] == SHT_DYNSYM:
            names = sections[section[6]][4]
            for offset in range(section[4], section[4] + section[5], 24):
                name, info, _, index, _, _ = struct.unpack_from("<IBBHQQ", image, offset)
                if info >> 4 != STB_LOCAL:
                    start = names + name
                    yield image[start : image.index(b"\0", start)].decode(errors="replace"), info, index
