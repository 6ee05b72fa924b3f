#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trace a program that uses the virtual NPU through VNPU_TRACE, and want command lists without mistakes.

usage: trace_program.py TASKS PROGRAM [ARGUMENT...]

The program must end well, run at least TASKS tasks to their end, and leave traces in which no instance lacks its
counters, the model reported nothing and lint found nothing.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    wanted, command = int(sys.argv[1]), sys.argv[2:]
    seen = collections.Counter()
    findings = []
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        subprocess.run(command, env={**os.environ, "VNPU_TRACE": str(trace)}, check=True, stdout=sys.stderr)
        files = list(trace.parent.iterdir())
        for file in files:
            with file.open(encoding="utf-8") as lines:
                events = [json.loads(line) for line in lines]
            seen.update(event["event"] for event in events)
            findings += [f"{file.name}: {e['text']}" for e in events if e["event"] in ("lint", "report")]
            if events and events[-1]["event"] != "counters":
                findings.append(f"{file.name}: ends with {events[-1]}")
    print(f"{len(files)} traces:", dict(seen))
    print("\n".join(findings[:20]))
    return 0 if seen["task_end"] >= wanted and not findings else 1


if __name__ == "__main__":
    sys.exit(main())
