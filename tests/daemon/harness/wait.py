"""Waiting for what happens elsewhere."""

import time


def wait_for(what, look, patience_s=180):
    """Calls look() until it gives something true, and returns that.

    The patience is for a machine that is busy; what is waited for must come
    surely, and the test fails with its name when it does not. To look costs what
    those need who are to bring it about, so it is done less often the longer it
    takes.
    """
    began = time.monotonic()
    while True:
        found = look()
        if found:
            return found
        waited_s = time.monotonic() - began
        if waited_s > patience_s:
            raise AssertionError(f"waited {patience_s} s in vain for {what}")
        time.sleep(min(max(0.02, waited_s / 5), 0.5))
