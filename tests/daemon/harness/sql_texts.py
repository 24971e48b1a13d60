"""The SQL of the store as the compiler sees it, and what each engine takes of it."""

import re
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
BEGINS = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|CREATE TABLE)\s")
# What a string of the preprocessed source is made of: adjacent literals.
LITERALS = re.compile(r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
PARAM = re.compile(r'\.name = \(?"(\$\w+)"\)?, \.kind = DB_PARAM_(?:GIVEN_)?(TEXT|INT|BLOB)')
# `$name` and the kind of a field of a struct (core/store/row.h).
FIELD = re.compile(r'\{ ?((?:"[^"]*" ?)+), \(ROW_(\w+)\)')
TOKENS = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|\$\w+|\w+|\s+|.""", re.S)
# Calls that bind the members of a struct.
WRITES = re.compile(r"row_(?:write\w*|post)\(")

KINDS = {"TEXT": "text", "INT": "bigint", "BLOB": "bytea"}
ROW_KINDS = {"HASH": "bytea", "INT64": "bigint", "TIME": "bigint", "UINT": "bigint",
             "SET": "bigint", "BOOL": "bigint"}
# Parameters that core/store/row.c gives by itself; and one that is left out as its caller decides.
OTHERS = {"$limit": "bigint", "$created": "bigint", "$id": "text", "$name": "text",
          "$domain": "text", "$this_host": "text", "$seq": "bigint"}


@dataclass
class Text:
    """A statement: `params` are its parameters in the order of first use, with the types that
    the C code gives them."""

    file: str
    line: int
    sql: str
    params: dict = field(default_factory=dict)

    @property
    def name(self):
        return f"{self.file}:{self.line}"

    def for_postgresql(self):
        """With what core/db does to a text: numbers for names, and without what only SQLite has."""
        tokens = TOKENS.findall(self.sql)
        numbers = {name: f"${i + 1}" for i, name in enumerate(self.params)}
        sql = "".join(numbers.get(t, t) for t in tokens)
        sql = re.sub(r"\s+INDEXED BY \w+", "", sql)
        sql = re.sub(r"\+?([\w.]+) (=|<>) ([$\w.]+) +COLLATE +NOCASE",
                     r'lower(\1) \2 lower(\3 COLLATE "C")', sql)
        sql = sql.replace("group_concat(", "string_agg(")
        return re.sub(r"\bCROSS JOIN (?=\w+(?: \w+)? +ON\b)", "JOIN ", sql)


def preprocessed(path):
    flags = ["-std=gnu17", "-D_GNU_SOURCE", "-I."]
    run = subprocess.run(["gcc", "-E", *flags, path], cwd=ROOT, check=True, capture_output=True,
                         text=True)
    return run.stdout


def own_source(source, path):
    """The text of the file itself and of our headers, without those of the system, and for each
    offset the line it stands in."""
    out, lines, line, keep, own = [], [], 0, False, False
    for row in source.splitlines(keepends=True):
        mark = re.match(r'# (\d+) "([^"]*)"', row)
        if mark:
            line, own = int(mark[1]), mark[2] == path
            keep = not mark[2].startswith(("/", "<"))
            continue
        if keep:
            out.append(row)
            lines.append(line if own else 0)
        line += 1
    return out, lines


def texts_of(path):
    rows, numbers = own_source(preprocessed(path), path)
    source = "".join(rows)
    starts, at = [], 0
    for row in rows:
        starts.append(at)
        at += len(row)
    given = [(m.start(), m[1], KINDS[m[2]]) for m in PARAM.finditer(source)]
    fields = {}
    for m in FIELD.finditer(source):
        name = "".join(LITERAL.findall(m[1]))
        fields[name] = ROW_KINDS.get(m[2], "text")
    for m in LITERALS.finditer(source):
        sql = "".join(LITERAL.findall(m[0])).encode().decode("unicode_escape")
        if not BEGINS.match(sql):
            continue
        row = max(i for i, start in enumerate(starts) if start <= m.start())
        text = Text(path, numbers[row], sql)
        calls = list(calls_with(source, m.start()))
        writes = any(WRITES.search(source[begin - 20:end]) for begin, end in calls)
        for token in TOKENS.findall(sql):
            if token.startswith("$") and token not in text.params:
                text.params[token] = kind_of(
                    token, m.start(), calls, writes, given, fields)
        yield text


def calls_with(source, at):
    """Where the calls with the variable of a text begin and end."""
    begin = max(source.rfind(";", 0, at), source.rfind("{\n", 0, at), source.rfind("}\n", 0, at))
    variable = re.search(r"(\w+)(?:\[[^]]*\])*\s*=[^=]*$", source[begin:at])
    if not variable:
        return
    for use in re.finditer(rf"\b{variable[1]}\b", source[at:]):
        yield at + use.start(), source.find(";\n", at + use.start())


def kind_of(name, at, calls, writes, given, fields):
    """The kind of the value that is bound where the text is used, or next behind it, or of the
    field of that name."""
    given = [(where, kind) for where, other, kind in given if other == name]
    for begin, end in calls:
        for where, kind in given:
            if begin < where < end:
                return kind
    if writes and name in fields:
        return fields[name]
    behind = [kind for where, kind in given if where > at]
    if given:
        return behind[0] if behind else given[-1][1]
    return fields.get(name) or OTHERS[name]


@cache
def all_texts():
    files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "core/store").rglob("*.c"))
    found = {}
    for path in [*files, "core/db/migrate.c"]:
        for text in texts_of(path):
            found.setdefault(text.sql, text)
    return list(found.values())
