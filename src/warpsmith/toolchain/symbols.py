"""What a shared object says of itself in its ELF tables; the object itself is never loaded."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from warpsmith.core import InfraError

ELF64_LITTLE = b"\x7fELF\x02\x01"
SHT_SYMTAB, SHT_DYNSYM = 2, 11
SHF_EXECINSTR = 4
SHN_UNDEF = 0
STT_FUNC = 2
STB_LOCAL, STB_GLOBAL = 0, 1
SYSTEM_CALLS = (b"\x0f\x05", b"\x0f\x34", b"\xcd\x80")  # syscall, sysenter, int 0x80


@dataclass(frozen=True, slots=True)
class _Symbol:
    """One that others may see, or that is needed of others."""

    name: str
    binding: int
    kind: int
    section: int


@dataclass(frozen=True, slots=True)
class _Section:
    """Where a part of the file lies."""

    kind: int
    flags: int
    start: int
    num_bytes: int
    link: int  # the index of a section that belongs to it


def exported_functions(path: Path) -> frozenset[str]:
    """Names of the functions that the object defines for others. Raises InfraError if it is no ELF file."""
    return frozenset(one.name for one in _symbols(path) if one.section != SHN_UNDEF and one.kind == STT_FUNC)


def insisting_exports(path: Path) -> frozenset[str]:
    """Names that the object defines for others and not weakly, as inlined code of headers is."""
    return frozenset(
        one.name for one in _symbols(path) if one.section != SHN_UNDEF and one.binding == STB_GLOBAL
    )


def imported(path: Path) -> frozenset[str]:
    """Names that the object needs from others. Raises InfraError if it is no ELF file."""
    return frozenset(one.name for one in _symbols(path) if one.section == SHN_UNDEF and one.name)


def needed_by(objects: Iterable[Path]) -> frozenset[str]:
    """Names that compiled files need of others, before anything is linked. Raises InfraError as the rest."""
    return frozenset(
        one.name for path in objects for one in _symbols(path, SHT_SYMTAB) if one.section == SHN_UNDEF
    )


def holds_name(path: Path, name: str) -> bool:
    """Whether `name` stands in the object as a string, as each kernel's mangled name does."""
    return b"\0" + name.encode() + b"\0" in path.read_bytes()


def may_call_system(path: Path) -> bool:
    """Whether the bytes of a system call occur in its machine code, maybe within another instruction."""
    image = path.read_bytes()
    parts = [
        image[one.start : one.start + one.num_bytes]
        for one in _sections(path, image)
        if one.flags & SHF_EXECINSTR
    ]
    return any(call in part for part in parts for call in SYSTEM_CALLS)


def _sections(path: Path, image: bytes) -> list[_Section]:
    if not image.startswith(ELF64_LITTLE):
        raise InfraError(f"{path} is no 64-bit little-endian ELF file; the linker made something else")
    (table_offset,) = struct.unpack_from("<Q", image, 40)
    entry_size, num_sections = struct.unpack_from("<HH", image, 58)
    rows = (
        struct.unpack_from("<IIQQQQIIQQ", image, table_offset + i * entry_size) for i in range(num_sections)
    )
    return [_Section(kind=row[1], flags=row[2], start=row[4], num_bytes=row[5], link=row[6]) for row in rows]


def _symbols(path: Path, table: int = SHT_DYNSYM) -> Iterator[_Symbol]:
    """Each global symbol of a table."""
    image = path.read_bytes()
    sections = _sections(path, image)
    for section in sections:
        if section.kind == table:
            names = sections[section.link].start
            for offset in range(section.start, section.start + section.num_bytes, 24):
                name, info, _, index, _, _ = struct.unpack_from("<IBBHQQ", image, offset)
                if info >> 4 != STB_LOCAL:
                    start = names + name
                    text = image[start : image.index(b"\0", start)].decode(errors="replace")
                    yield _Symbol(name=text, binding=info >> 4, kind=info & 15, section=index)
