"""What postern-httpd costs, whatever else the machine runs: the steps of SQLite's
programs, and for how much CPU time a loop or a write transaction makes others wait."""

import mmap
import os
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path

THREADS = 256
COUNTS = struct.Struct("QQQQ")  # of a thread, as in count_steps.c


class Steps:
    """Counts in each httpd that is started while counting() lasts."""

    def __init__(self, folder):
        self.library = Path(folder) / "count_steps.so"
        self.file = Path(folder) / "steps"
        source = Path(__file__).with_name("count_steps.c")
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", "-o", self.library, source], check=True
        )
        self.file.write_bytes(bytes(COUNTS.size * THREADS))
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
        for is_loop, steps, _, _ in COUNTS.iter_unpack(self.map[:]):
            if is_loop:
                loops += steps
            else:
                others += steps
        return loops, others

    def forget_longest(self):
        for at in range(0, len(self.map), COUNTS.size):
            self.map[at + 16 : at + 32] = bytes(16)

    def longest_ms(self):
        """CPU time of the longest turn of an event loop, and of the longest write
        transaction, since forget_longest()."""
        threads = list(COUNTS.iter_unpack(self.map[:]))
        return tuple(max(thread[column] for thread in threads) / 1e6 for column in (2, 3))

    def of(self, ask, tries=3):
        """The least that ask() took: meanwhile httpd may do something else."""
        took = []
        for _ in range(tries):
            before = self.now()
            ask()
            after = self.now()
            took.append([b - a for a, b in zip(before, after)])
        return tuple(min(column) for column in zip(*took))
