"""Reads a task's intent from its description.

The intent is the task's kind, and whether the task asks only for documentation, only for a change that keeps behaviour,
or only for a removal.
"""

from __future__ import annotations

import re

from nightshift.core.tasks.task import Kind, TaskSpec

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
    """Return the task's kind: the owner's choice, else the kind whose words occur most often, else `library`."""
    if spec.kind is not None:
        return spec.kind
    counts = {kind: len(pattern.findall(spec.description[:20_000])) for kind, pattern in _PATTERNS.items()}
    best = max(counts, key=lambda kind: counts[kind])
    return best if counts[best] else Kind.LIBRARY


_CODE = (
    r"code|functions?|class(?:es)?|methods?|modules?|endpoints?|routes?|options?|flags?|bugs?|features?|scripts?|tests?"
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
_WORKS = (
    r"implement|build|rename|refactor|support|handle|return|raise|optimi[sz]e|port|migrate|extend|remove|delete|move|"
    r"convert|validate|parse|introduce|replace"
)
_MAKES = rf"(?:{_WORKS}|add|write|create|make|fix|change|update|correct|improve)"
_FIRST = r"^\W*(?:\d+[.)]\s*)?(?:(?:please|then|also|and|now|finally)[,\s]+)*"
"""Start of a clause that asks for something: an optional number, and filler words such as “please” before the verb."""
_OPENING = re.compile(rf"{_FIRST}(?P<verb>{_MAKES})\b", re.IGNORECASE)
_CLAUSES = re.compile(rf"[.;:!?]\s+|\n|,?\s+(?:and|then)\s+(?:also\s+)?(?={_MAKES}\b)", re.IGNORECASE)


_SURELY = (
    r"readmes?|docs?|documentation|docstrings?|changelogs?|release notes|tutorials?|how-?tos?|manuals?|faqs?"
    r"|glossar(?:y|ies)|contributing|[\w./-]+\.(?:md|rst|adoc|markdown)"
)
_PAGE = re.compile(rf"(?<![\w-])(?:{_SURELY})(?![\w-])(?!\s+(?:{_CODE}|{_PROGRAMS})(?![\w-]))", re.IGNORECASE)
_SMALL = re.compile(
    r"(?:\s+(?:an?|the|only|some|any|our|its|their|all|each|every|more|better|missing|proper|short|good|new|clear|of|for))*"
    r"[\s`]*",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"^\W*(?:please\s+)?document\s+(?:the|all|each|every|how|what|which|when|why|our|its|this|that|these|[\w./]*[`(_./])",
    re.IGNORECASE,
)
_MENDS = re.compile(
    r"^\W*(?:please\s+)?(?:describe|explain|mention|fix|change|update|correct|improve|add)\b", re.IGNORECASE
)
_LIES_IN = re.compile(rf"\b(?:in|of|to|on|from)\s+(?:the\s+|our\s+|its\s+|`)?(?={_PAGE.pattern})", re.IGNORECASE)
_MAKES_IT = re.compile(
    r"\bmake\s+(?:it|them)\s+(?!\w+er\b|more|less|clear|complete|consistent|correct|readable|right|short|say|tell)\w",
    re.IGNORECASE,
)
_IS_SO = re.compile(
    rf"^\W*(?:the|our|its|this)\s+(?:\w+\s+)?{_PAGE.pattern}(?:\s+(?:of|for|in)\s.{{1,80}}?)?"
    r"\s+(?:is|are|lacks?|needs?|should|says?|still|do(?:es)?|ha(?:s|ve))\b",
    re.IGNORECASE,
)


def asks_for_documents(spec: TaskSpec) -> bool:
    """Check whether a description clearly asks for documentation and nothing else.

    A clause that is not understood counts as a request for code, because a task that is wrongly classified as
    documentation could not be done at all.
    """
    clauses = _CLAUSES.split(spec.description[:20_000])
    return any(map(_asks_for_pages, clauses)) and not any(map(_asks_for_code, clauses))


def _asks_for_pages(clause: str) -> bool:
    if _TELLS.search(clause) or _IS_SO.search(clause) or (_MENDS.search(clause) and _LIES_IN.search(clause)):
        return True
    opening = _OPENING.search(clause)
    first = _MADE.search(clause, opening.end()) if opening else None
    if opening is None or first is None or first["page"] is None or _PAGE.search(clause, first.start()) is None:
        return False
    return _SMALL.fullmatch(clause[opening.end() : first.start()]) is not None


def _asks_for_code(clause: str) -> bool:
    opening = _OPENING.search(clause)
    if opening is None:
        return False
    first = _MADE.search(clause, opening.end())
    if first is None:
        return re.fullmatch(_WORKS, opening["verb"], re.IGNORECASE) is not None or _MAKES_IT.search(clause) is not None
    return first["page"] is None


_KEEPS = re.compile(
    rf"{_FIRST}(?:refactor|restructure|reorgani[sz]e|clean up|tidy|simplify|moderni[sz]e|deduplicate|extract|inline"
    r"|optimi[sz]e|speed up|upgrade|bump)\b|\btype (?:hints?|annotations?)\b|\b(?:faster|performance)\b"
    r"|\b(?:dead|unused) (?:code|imports?|functions?|variables?)"
    r"|\b(?:without changing|(?:do|must|should) not change|keep(?:ing)?|same) (?:(?:its|the|any|all) )?behaviou?r",
    re.IGNORECASE,
)
_ADDS = re.compile(
    rf"{_FIRST}(?:add|implement|create|write|support|let|allow|fix|return|raise|handle|extend|introduce)\b",
    re.IGNORECASE,
)


def asks_to_keep_behaviour(spec: TaskSpec) -> bool:
    """Check whether a task asks only for refactoring, types, speed or other packages, and for no new behaviour."""
    clauses = _CLAUSES.split(spec.description[:20_000])
    keeps = [clause for clause in clauses if _KEEPS.search(clause)]
    return bool(keeps) and not any(_ADDS.search(clause) for clause in clauses if clause not in keeps)


_TAKES = re.compile(
    rf"{_FIRST}(?:remove|delete|drop|rename|move|retire|purge"
    r"|prune|get rid of|throw (?:\w+ ){0,4}(?:away|out)|take (?:\w+ ){0,4}out)\b",
    re.IGNORECASE,
)
_IS_TO_GO = re.compile(
    r"\b(?:(?:can|must|should|to|may) be (?:removed|deleted|dropped|renamed|moved)|unused|obsolete|dead code"
    r"|no longer (?:used|needed)|(?:not|never) (?:used|needed)(?: any ?more)?)\b",
    re.IGNORECASE,
)
_FOLLOWS_UP = re.compile(
    r"^\W*(?:\w+\s+)?(?:fix|change|update|correct|replace)\b.{0,80}?\b(?:imports?|references?|mentions?|links?|callers?|"
    r"uses?|paths?|names?)\b",
    re.IGNORECASE,
)


def asks_to_take_away(spec: TaskSpec) -> bool:
    """Check whether a description clearly asks to remove or rename something and nothing else."""
    clauses = _CLAUSES.split(spec.description[:20_000])
    others = [clause for clause in clauses if not _TAKES.search(clause)]
    makes = any(_OPENING.search(clause) and not _FOLLOWS_UP.search(clause) for clause in others)
    return not makes and (len(others) < len(clauses) or any(map(_IS_TO_GO.search, others)))
