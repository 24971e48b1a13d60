"""Waiting for what happens elsewhere."""

import time


def wait_for(what, look, patience_s=180):
    """Calls look() until it gives something true, and returns that.

    The patience is for a machine that is busy; what is waited for must come
    surely, and the test fails with its name when it does not.
    """
    deadline = time.monotonic() + patience_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience_s} s in vain for {what}")
        time.sleep(0.02)
