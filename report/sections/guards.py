"""What the checker, the hooks and the sandbox stopped, and what was asked of you."""

from __future__ import annotations

from report.document import Block, Line, Paragraph, Section, Table, code, line
from report.figures import Summary
from report.guard_figures import AskFigures, GuardFigures
from report.sections.logged import logged, remark
from report.wording import cut, duration, many, number

ROWS = 8


def section(summary: Summary) -> Section:
    """The section."""
    found = summary.guards
    blocks = [
        Paragraph(text=line(_stopped(summary, found))),
        Paragraph(text=line(_asked(found.asks))),
        *_rules(found),
        *remark(summary),
    ]
    return Section(name="guards", title="Sandbox and approvals", blocks=blocks)


def _stopped(summary: Summary, found: GuardFigures) -> str:
    packages = logged(summary, len(found.installed), ", ".join(cut(name, 40) for name in found.installed) or "none")
    return (
        f"Sent back by the gates before anything ran: {number(sum(found.blocked.values()))}{_of_packages(found)}. "
        f"Runs that the sandbox ended: {number(sum(found.killed.values()))}. "
        f"Commands refused by the hooks: {logged(summary, sum(found.commands.values()))}. "
        f"Passed with a note: {logged(summary, found.notes)}. "
        f"Changes of which files were left out: {logged(summary, found.left_out)}. "
        f"Packages installed for runs: {packages}."
    )


def _of_packages(found: GuardFigures) -> str:
    count = sum(times for rule, times in found.blocked.items() if rule.startswith("package."))
    return f", {number(count)} of them for packages" if count else ""


def _asked(asks: AskFigures) -> str:
    if not (asks.asked or asks.granted or asks.denied or asks.still_open):
        return "Nothing was asked of you."
    kinds = ", ".join(f"{number(count)} on a {kind}" for kind, count in asks.by_kind.items())
    text = f"You were asked {many(asks.asked, 'time')}" + (f" ({kinds})" if kinds else "")
    text += f"; you granted {number(asks.granted)} and denied {number(asks.denied)}"
    if asks.wait_s.count:
        text += f", after {duration(asks.wait_s.median)} (median; the longest took {duration(asks.wait_s.most)})"
    if asks.still_open:
        text += f". {number(asks.still_open)} waited at the end, the longest for {duration(asks.open_s.most)}"
    return text + "."


def _rules(found: GuardFigures) -> list[Block]:
    rows: list[list[Line]] = [[line("gate"), line(code(rule)), line(number(n))] for rule, n in found.blocked.items()]
    rows += [[line("sandbox"), line(why), line(number(n))] for why, n in found.killed.items()]
    rows += [[line("hook"), line(code(cut(pattern, 60))), line(number(n))] for pattern, n in found.commands.items()]
    if not rows:
        return []
    kept = sorted(rows, key=lambda row: -int(row[2][0].text.replace(",", "")))[:ROWS]
    return [
        Table(head=("stopped by", "because of", "times"), rows=kept, numbers=frozenset({2}), title="What was stopped")
    ]
