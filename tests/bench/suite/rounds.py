"""Paired rounds: the contenders take turns, so that whatever else the machine
does meanwhile meets all of them, and what counts is the ratio within a round."""

import statistics
from dataclasses import dataclass


@dataclass
class Row:
    """One line of a table: a metric of ours over that of another, or (no base) by itself."""

    name: str
    metric: str
    ours: str
    base: str | None = None
    aim: float | None = None
    at_most: bool = False  # the aim is an upper bound


@dataclass
class Result:
    row: Row
    values: list  # ratios, or the metric itself
    ours: float  # medians
    base: float | None

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def reached(self):
        if self.row.aim is None:
            return None
        if self.row.at_most:
            return self.median <= self.row.aim
        return self.median >= self.row.aim


def play(contenders, n):
    """Runs {name: function} n times, in turn forwards and backwards; each
    gives {metric: number}. The list of rounds {name: {metric: number}}."""
    rounds = []
    for i in range(n):
        order = list(contenders) if i % 2 == 0 else list(reversed(contenders))
        rounds.append({name: contenders[name]() for name in order})
    return rounds


def compare(rounds, row):
    """What the rounds say about one row."""
    ours = [played[row.ours][row.metric] for played in rounds]
    if row.base is None:
        return Result(row, ours, statistics.median(ours), None)
    base = [played[row.base][row.metric] for played in rounds]
    return Result(
        row,
        [a / b for a, b in zip(ours, base)],
        statistics.median(ours),
        statistics.median(base),
    )


def number(value):
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(results):
    """The lines of a table in Markdown."""
    yield "| row | aim | min | median | max | ours | other |"
    yield "|---|---|---|---|---|---|---|"
    for result in results:
        row, aim = result.row, ""
        if row.aim is not None:
            aim = f"{'≤' if row.at_most else '≥'} {row.aim:g}"
        show = number if row.base is None else "{:.2f}".format
        base = "" if row.base is None else number(result.base)
        marks = "**" if result.reached is False else ""
        yield (
            f"| {row.name} | {aim} | {show(min(result.values))} |"
            f" {marks}{show(result.median)}{marks} | {show(max(result.values))} |"
            f" {number(result.ours)} | {base} |"
        )
