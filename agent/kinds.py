"""What kind of thing a task builds, and whether it asks for documentation alone: by the words of its description."""

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


_CODE = (
    r"functions?|class(?:es)?|methods?|modules?|endpoints?|routes?|options?|flags?|bugs?|features?|scripts?|tests?"
    r"|parsers?|handlers?|fields?|tables?|columns?|subcommands?"
)
_PAGES = (
    r"readmes?|docs?|documentation|docstrings?|comments?|changelogs?|release notes|guides?|tutorials?|how-?tos?"
    r"|manuals?"
    r"|faqs?|glossar(?:y|ies)|wording|typos?|spelling|licen[cs]es?|contributing|markdown|sections?|headings?|paragraphs?"
    r"|instructions|[\w./-]+\.(?:md|rst|adoc|markdown)"
)
_PROGRAMS = (
    r"generators?|readers?|writers?|builders?|renderers?|rendering|parsers?|linters?|checkers?|converters?|viewers?"
)
_NAMED = r"`(?!readme)(?![^`]*\.(?:md|rst|adoc|markdown)`)[^`]+`|[\w./-]+\.(?:py|[mc]?[jt]s)"
_MADE = re.compile(
    rf"(?<![\w-])(?:(?P<program>(?:{_PAGES})\s+(?:{_PROGRAMS}))"
    rf"|(?P<page>(?:(?:{_CODE}|{_NAMED})(?:['’]s?)?\s+)?(?:{_PAGES}))|(?P<code>{_CODE}|{_NAMED}))(?![\w-])",
    re.IGNORECASE,
)
_DOCUMENTS = re.compile(rf"(?<![\w-])(?:{_PAGES}|document|describe|explain)(?![\w-])", re.IGNORECASE)
_WORKS = (
    r"implement|build|rename|refactor|support|handle|return|raise|optimi[sz]e|port|migrate|extend|remove|delete|move|"
    r"convert|validate|parse|introduce|replace"
)
_MAKES = rf"(?:{_WORKS}|add|write|create|make|fix|change|update|correct|improve)"
_OPENING = re.compile(
    rf"^\W*(?:\d+[.)]\s*)?(?:(?:please|then|also|and|now|finally)[,\s]+)*(?P<verb>{_MAKES})\b", re.IGNORECASE
)
_CLAUSES = re.compile(rf"[.;:!?]\s+|\n|,?\s+(?:and|then)\s+(?:also\s+)?(?={_MAKES}\b)", re.IGNORECASE)


def asks_for_documents(spec: TaskSpec) -> bool:
    """Tell whether a description asks for documentation and for nothing else, as far as its words tell."""
    text = spec.description[:20_000]
    return _DOCUMENTS.search(text) is not None and not any(map(_asks_for_code, _CLAUSES.split(text)))


def _asks_for_code(clause: str) -> bool:
    opening = _OPENING.search(clause)
    if opening is None:
        return False
    first = _MADE.search(clause, opening.end())
    if first is None:
        return re.fullmatch(_WORKS, opening["verb"], re.IGNORECASE) is not None
    return first["page"] is None
