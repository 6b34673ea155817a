"""Models: who answered, what it cost and took, what failed, and what the built-in engine spared."""

from __future__ import annotations

from collections.abc import Mapping

from core.events import Kind
from report.document import Block, Line, Paragraph, Section, Table, code, dim, line
from report.figures import Summary
from report.model_figures import ModelFigures, Usage
from report.sections.logged import logged, remark
from report.wording import cost, duration, many, number, share_of, tokens, usd


def section(summary: Summary) -> Section:
    """The section."""
    usage = summary.usage
    if not usage.models:
        blocks: list[Block] = [Paragraph(text=line("No model was called."))]
    else:
        blocks = [_table(usage), Paragraph(text=line(_per_commit(summary)))]
    return Section(name="models", title="Models", blocks=[*blocks, *_engine(summary), *_faults(summary)])


def _table(usage: Usage) -> Block:
    head = ("backend", "model", "calls", "tokens in", "out", "cost", "median", "95 %")
    rows = [_row(model) for model in usage.models]
    return Table(head=head, rows=rows, numbers=frozenset({2, 3, 4, 5, 6, 7}))


def _row(model: ModelFigures) -> list[Line]:
    return [
        line(model.backend),
        line(code(model.model)),
        line(number(model.calls)),
        line(tokens(model.tokens_in)),
        line(tokens(model.tokens_out)),
        line(cost(model.cost)),
        line(duration(model.latency_s.median)),
        line(duration(model.latency_s.p95)),
    ]


def _per_commit(summary: Summary) -> str:
    found, commits = summary.usage.cost, summary.commits.total.commits
    if not commits:
        return f"{tokens(found.tokens)} tokens were used, and nothing was committed."
    each = f"{tokens(found.tokens / commits)} tokens"
    if not found.known:
        return f"A commit took {each}; what it cost is not known, because no price is."
    least = "at least " if found.unpriced_tokens else ""
    return f"A commit cost {least}{usd(found.usd / commits)} and took {each}, work that failed included."


def _engine(summary: Summary) -> list[Block]:
    engine = summary.usage.engine
    if not (engine.saved or engine.solved or engine.declined):
        return []
    text = (
        f"The built-in engine saved {share_of(engine.saved, engine.replies)} of the replies and solved "
        f"{many(engine.solved, 'task')} without any model. Searches in vain: {logged(summary, engine.declined)}"
    )
    took = f", {duration(engine.declined_s)} together." if engine.declined else "."
    return [Paragraph(text=line(text + took))]


def _faults(summary: Summary) -> list[Block]:
    usage = summary.usage
    failed, fallbacks = sum(usage.failed.values()), sum(usage.fallbacks.values())
    text = (
        f"Calls that failed: {logged(summary, failed)}. Fallbacks to another model: {logged(summary, fallbacks)}. "
        f"Models that went away: {logged(summary, summary.happened(Kind.MODEL_DOWN))}. "
        f"Budgets reached: {logged(summary, sum(usage.budgets.values()))}."
    )
    return [
        Paragraph(text=line(text)),
        *remark(summary),
        *_pairs("Calls that failed", ("backend", "error", "times"), usage.failed),
        *_pairs("Fallbacks", ("instead of", "answered", "times"), usage.fallbacks),
    ]


def _pairs(title: str, head: tuple[str, str, str], counts: Mapping[tuple[str, str], int]) -> list[Block]:
    if not counts:
        return []
    rows = [[line(one), line(other), line(number(times))] for (one, other), times in list(counts.items())[:8]]
    left = len(counts) - len(rows)
    more: list[Block] = [Paragraph(text=line(dim(f"and {left} more")))] if left else []
    return [Table(head=head, rows=rows, numbers=frozenset({2}), title=title), *more]
