"""How many steps of its own programs SQLite takes in postern-httpd: its work,
whatever the machine."""

import mmap
import os
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path

THREADS = 256


class Steps:
    """Counts in each httpd that is started while counting() lasts."""

    def __init__(self, folder):
        self.library = Path(folder) / "count_steps.so"
        self.file = Path(folder) / "steps"
        source = Path(__file__).with_name("count_steps.c")
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", "-o", self.library, source], check=True
        )
        self.file.write_bytes(bytes(16 * THREADS))
        self.file.chmod(0o666)
        with self.file.open("r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)

    @contextmanager
    def counting(self):
        added = {"LD_PRELOAD": str(self.library), "POSTERN_STEPS": str(self.file)}
        os.environ.update(added)
        try:
            yield
        finally:
            for name in added:
                del os.environ[name]

    def now(self):
        """Those of event loops so far, and those of all other threads."""
        loops = others = 0
        for is_loop, steps in struct.iter_unpack("QQ", self.map[:]):
            if is_loop:
                loops += steps
            else:
                others += steps
        return loops, others

    def of(self, ask, tries=3):
        """The least that ask() took: meanwhile httpd may do something else."""
        took = []
        for _ in range(tries):
            before = self.now()
            ask()
            after = self.now()
            took.append([b - a for a, b in zip(before, after)])
        return tuple(min(column) for column in zip(*took))
