"""The files that are installed say what is so."""

import json
import re
import subprocess
from pathlib import Path

TEMPLATE = Path(__file__).resolve().parents[2] / "tools/install/postern.conf"


def test_the_template_shows_the_defaults(box, tmp_path):
    """A line that is commented out is a setting with its default."""
    conf = tmp_path / "postern.conf"
    text = re.sub(r"(?m)^#(\w+ = )", r"\1", TEMPLATE.read_text())
    assert text != TEMPLATE.read_text()
    conf.write_text(text)
    said = subprocess.run([box.env["POSTERN_CLI"], "-c", conf, "--json", "config"],
                          capture_output=True, text=True, timeout=60, check=True).stdout
    for row in json.loads(said):
        assert row["value"] == row["default"], row["name"]
