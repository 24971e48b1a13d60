"""The commands that the documents show."""

import re
import shlex

from .sandbox import TREE


def section_of(file, heading):
    """Its text, without that of its subsections, and the files that it shows."""
    blocks = []

    def take_out(block):
        blocks.append(block[1])
        return f"\0{len(blocks) - 1}\n"

    text = re.sub(r"(?ms)^```\n(.*?)^```\n", take_out, (TREE / file).read_text())
    section = re.split(r"(?m)^#+ ", text.split(f"# {heading}\n", 1)[1], maxsplit=1)[0]
    return section, [blocks[int(n)] for n in re.findall("\0([0-9]+)", section)]


def sections(file):
    """Headings of those that show commands or files."""
    text = re.sub(r"(?ms)^```\n.*?^```\n", "", (TREE / file).read_text())
    for heading in re.findall(r"(?m)^#+ (.*)$", text):
        if section_of(file, heading)[1] or any(commands(file, heading)):
            yield heading


def commands(file, heading):
    """Those of the section, without what its subsections say."""
    command = ""
    for line in re.findall(r"(?m)^    (.*)$", section_of(file, heading)[0]):
        command += line + "\n"
        try:
            words = shlex.split(command, comments=True)
        except ValueError:  # a quotation goes on
            continue
        if words and not line.endswith("\\"):
            yield command.strip()
            command = ""
