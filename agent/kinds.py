"""What kind of thing a task builds: given by the owner, or inferred from the words of the description."""

from __future__ import annotations

import re

from core.tasks import Kind, TaskSpec

_WORDS: dict[Kind, str] = {
    Kind.WEB_APP: (
        r"fastapi|flask|django|starlette|express|web ?(?:app|site|server|service|page)|http (?:api|server|endpoint)"
        r"|rest(?:ful)? api|endpoints?|websocket|html|dashboard|health ?check"
    ),
    Kind.DATA_PIPELINE: (
        r"pipeline|etl|ingest\w*|csv|parquet|pandas|polars|data ?(?:set|frame|base export)s?|aggregate\w*|spark"
        r"|transform (?:the )?data|data (?:cleaning|processing|validation|quality)|jsonl"
    ),
    Kind.CLI_TOOL: (
        r"cli|command[- ]line|argparse|click|typer|console (?:tool|script|program)|terminal|sub-?commands?"
        r"|exit codes?|stdin|stdout"
    ),
}
_PATTERNS = {kind: re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE) for kind, words in _WORDS.items()}


def kind_of(spec: TaskSpec) -> Kind:
    """The owner's word if he gave one; else the kind whose words stand most often, and `library` without any."""
    if spec.kind is not None:
        return spec.kind
    counts = {kind: len(pattern.findall(spec.description[:20_000])) for kind, pattern in _PATTERNS.items()}
    best = max(counts, key=lambda kind: counts[kind])
    return best if counts[best] else Kind.LIBRARY
