#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the examples of docs/vnpu-tools.md.

usage: trace_docs.py PAGE VNPU_RUN VECTORS

Runs what follows "$ " in blocks marked `console`, in a scratch folder with copies of the vectors, and compares standard
output and error with the lines below: exactly, but for "…", which stands for anything on its line.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def examples(page):
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        command, output = None, []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command is not None:
                    yield command, output
                command, output = line[2:], []
            else:
                output.append(line)
        yield command, output


def pattern(lines):
    return "".join(".*".join(map(re.escape, line.split("…"))) + "\n" for line in lines)


def main():
    page, program, vectors = (pathlib.Path(a) for a in sys.argv[1:])
    failed = ran = status = 0
    with tempfile.TemporaryDirectory() as folder:
        for vector in vectors.glob("*.txt"):
            shutil.copy(vector, folder)
        path = f"{program.resolve().parent}:{os.environ['PATH']}"
        for command, output in examples(page.read_text(encoding="utf-8")):
            result = subprocess.run(["bash", "-c", f"(exit {status})\n{command}"], cwd=folder, text=True, check=False,
                                    env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            status = result.returncode
            ran += 1
            if not re.fullmatch(pattern(output), result.stdout):
                failed += 1
                print(f"$ {command}\n{result.stdout}--- is not\n" + "\n".join(output))
    print(f"{ran} examples, {failed} failed")
    return 1 if failed or ran < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
