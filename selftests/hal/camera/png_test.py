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


program, file = sys.argv[1:]
for width, height in ((1, 1), (5, 3), (320, 180), (1920, 100)):
    subprocess.run([program, file, str(width), str(height)], check=True)
    with open(file, "rb") as f:
        (header, head), (kind, pixels), (end, nothing) = chunks(f.read())
    assert (header, kind, end, nothing) == (b"IHDR", b"IDAT", b"IEND", b"")
    assert struct.unpack(">IIBBBBB", head) == (width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + bytes((i * 7 + y * 13) & 255 for i in range(3 * width)) for y in range(height))
    assert zlib.decompress(pixels) == rows, (width, height)

for name, width in ((file, 30000), (file, 0), ("/nowhere/picture.png", 1)):
    failed = subprocess.run([program, name, str(width), "1"], stderr=subprocess.PIPE)
    assert failed.returncode == 1 and failed.stderr, (name, width)
