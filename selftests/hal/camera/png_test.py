#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads what a program writes as PNG, by the format's specification: png_test.py PROGRAM FILE."""
import struct
import subprocess
import sys
import zlib


def chunks(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(data):
        length, = struct.unpack_from(">I", data, at)
        kind, content = data[at + 4:at + 8], data[at + 8:at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length) == (zlib.crc32(kind + content),)
        yield kind, content
        at += 12 + length


def unfiltered(data, width, height):
    """The pixels of rows that are filtered, see "Filtering" in the specification."""
    length, before, rows = 3 * width, bytes(3 * width), []
    for at in range(0, (length + 1) * height, length + 1):
        kind, row = data[at], bytearray(data[at + 1:at + 1 + length])
        for i in range(length):
            left, up, corner = (row[i - 3], before[i], before[i - 3]) if i >= 3 else (0, before[i], 0)
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda value: abs(guess - value))
            row[i] = (row[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append(bytes(row))
        before = row
    assert len(data) == (length + 1) * height
    return b"".join(rows)


program, file = sys.argv[1:]
for width, height in ((1, 1), (5, 3), (320, 180), (1920, 100)):
    subprocess.run([program, file, str(width), str(height)], check=True)
    with open(file, "rb") as f:
        (header, head), *middle, (end, nothing) = chunks(f.read())
    assert (header, end, nothing) == (b"IHDR", b"IEND", b"") and {kind for kind, _ in middle} == {b"IDAT"}
    pixels = zlib.decompress(b"".join(content for _, content in middle))
    assert struct.unpack(">IIBBBBB", head) == (width, height, 8, 2, 0, 0, 0)
    expected = bytes((i * 7 + y * 13) & 255 for y in range(height) for i in range(3 * width))
    assert unfiltered(pixels, width, height) == expected, (width, height)

for arguments in ((file, "65536", "1"), (file, "0", "1"), (file, "2", "2", "short"), ("/nowhere/picture.png", "1", "1"),
                  ("/dev/full", "1", "1")):
    failed = subprocess.run([program, *arguments], stderr=subprocess.PIPE)
    assert failed.returncode == 1 and failed.stderr, arguments
