"""What processes cost."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def _stat(pid):
    """The fields behind the name of the program; None when it is gone."""
    try:
        text = Path("/proc", str(pid), "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rsplit(")", 1)[1].split()


def _family(root):
    """The process and all that descend from it."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(entry.name)):
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_seconds(root):
    """Of a process and all its descendants, also those that have ended."""
    stats = filter(None, map(_stat, _family(root)))
    return sum(sum(map(int, stat[11:15])) for stat in stats) / TICKS


def memory_mib(pid, peak=False):
    """The memory that a process holds, or at most held since forget_peak()."""
    name = "VmHWM:" if peak else "VmRSS:"
    for line in Path("/proc", str(pid), "status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"{pid} has no {name}")


def forget_peak(pid):
    Path("/proc", str(pid), "clear_refs").write_text("5")
