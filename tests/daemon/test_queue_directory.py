"""The milter's socket where the settings do not name it: below the queue folder
of the Postfix that they name, which is not the usual one here."""

import subprocess

from harness import wait_for
from harness.admin import Admin


def test_all_find_the_socket(own_box, email, to):
    box = own_box("--set", "admin.metrics=loopback")
    socket = f"{box.dir}/queue/postern/milter.sock"
    box.set("milter", "socket", "")
    for part in ("milter", "httpd"):
        box.restart(part)
    box.httpd().send(email)
    assert box.sink.find(to=to)
    assert f"socket={socket}" in box.log("milter")
    assert Admin(box).request("GET", "/readyz").status_code == 200
    for part in ("milter", "httpd"):
        subprocess.run(["kill", "-HUP", str(box.pid(part))], check=True)
        wait_for(f"{part} to reload", lambda part=part: "reloaded" in box.log(part))
    assert "restart_needed" not in box.log("httpd") + box.log("milter")
