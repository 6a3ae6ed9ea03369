# SPDX-License-Identifier: Apache-2.0
"""Which functions a shared library wants from others: read from its dynamic symbol table (ELF, 64 bits)."""

from __future__ import annotations

import struct
from pathlib import Path

_DYNAMIC_SYMBOLS = 11  # SHT_DYNSYM
_SHARED = 3  # ET_DYN


def is_shared_library(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(18)
    except OSError:
        return False
    return head[:6] == b"\x7fELF\x02\x01" and head[16:18] == _SHARED.to_bytes(2, "little")


def imported_symbols(library: Path) -> set[str]:
    """The mangled names of the undefined dynamic symbols.

    Raises:
        ValueError: not a little-endian ELF library of 64 bits.
    """
    data = library.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{library} is not a little-endian ELF library of 64 bits")
    try:
        return _read(data)
    except (struct.error, IndexError) as error:
        raise ValueError(f"{library}: damaged ELF tables") from error


def _read(data: bytes) -> set[str]:
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry_bytes, count = struct.unpack_from("<HH", data, 0x3A)
    # name, type, flags, address, offset, size, link, info, alignment, entry size
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * entry_bytes) for i in range(count)]
    names: set[str] = set()
    for section in sections:
        if section[1] != _DYNAMIC_SYMBOLS:
            continue
        text = sections[section[6]]
        strings = data[text[4] : text[4] + text[5]]
        for offset in range(section[4], section[4] + section[5], 24):
            name, _, _, defined_in = struct.unpack_from("<IBBH", data, offset)
            if defined_in == 0 and name:
                names.add(strings[name : strings.index(b"\0", name)].decode())
    return names
