"""Runs Bandit on Python text, in addition to our own rules.

Bandit's visitor is called directly on the text, without files. The repository's Bandit configuration and `# nosec`
comments are ignored, because the author of the code could hide findings with them. Bandit tests are excluded if our own
rules do better. Importing Bandit takes 0.1 to 0.2 s, so the first file that needs it imports it. Scanning takes about
0.2 ms a line, so results are cached.
"""

from __future__ import annotations

import io
import logging
import threading
import warnings
from collections.abc import Callable
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from nightshift.core.tasks.change_checks import Severity
from nightshift.verdict.checks.catalogue import Finding
from nightshift.verdict.checks.python import read_tree

if TYPE_CHECKING:
    import ast

_LOCK = threading.Lock()
_PLACE = "/module.py"
# Bandit tests that our own rules cover, or that are useless here, such as those for asserts, pseudo-random numbers and
# the import of subprocess.
LEFT_OUT = frozenset({"B101", "B102", "B301", "B302", "B307", "B311", "B403", "B404", "B603", "B604", "B606", "B607"})
# Findings of high severity and high confidence ask the owner. The findings of these tests block instead, because they
# are easy to fix.
BLOCKING = frozenset({"B201", "B202", "B501", "B502", "B503", "B505", "B507", "B602", "B605", "B613", "B701"})
# Findings of these tests are only noted, because MD5 is usually a checksum, and Bandit cannot tell a checksum from a
# signature.
NOTED = frozenset({"B303", "B324"})


@lru_cache(maxsize=64)
def scan(text: str) -> tuple[Finding, ...]:
    """List Bandit's findings in a module; empty if the text is not valid Python. Threads may call this at once."""
    tree = read_tree(text) if text.strip() else None
    if tree is None:
        return ()
    try:
        with _LOCK:
            issues = _load()(tree, text)
    except RecursionError:
        return ()
    return tuple(
        Finding(f"bandit.{issue.test_id}", issue.lineno, f"{issue.test_id}", issue.text.strip(), (), _severity(issue))
        for issue in issues
        if issue.test_id not in LEFT_OUT
    )


def _severity(issue: Any) -> Severity:
    if issue.test_id in NOTED or (issue.severity, issue.confidence) != ("HIGH", "HIGH"):
        return Severity.NOTE
    return Severity.BLOCK if issue.test_id in BLOCKING else Severity.ASK


@cache
def _load() -> Callable[[ast.Module, str], list[Any]]:
    """Import Bandit, and return a function that lists the issues in a tree."""
    from stevedore import _cache  # noqa: PLC0415 (loaded when first needed)

    # stevedore would cache its scan of entry points in the owner's home, and has no public switch for it.
    _cache._c._disable_caching = True  # noqa: SLF001
    for name in ("bandit", "stevedore"):  # These loggers only warn about report formats, which are unused here.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # raised between Bandit and its own plug-in loader
        from bandit.core import config, meta_ast, metrics, node_visitor, test_set  # type: ignore[import-untyped]  # noqa: PLC0415 (see above)

    tests = test_set.BanditTestSet(config.BanditConfig(), profile={"exclude": sorted(LEFT_OUT)})

    def read(tree: ast.Module, text: str) -> list[Any]:
        measured = metrics.Metrics()
        measured.begin("module")
        raw = io.BytesIO(text.encode("utf-8", "replace"))
        visitor = node_visitor.BanditNodeVisitor(_PLACE, raw, meta_ast.BanditMetaAst(), tests, False, {}, measured)
        visitor.generic_visit(tree)
        visitor.context = {"file_data": raw, "filename": _PLACE, "lineno": 0, "linerange": [0, 1], "col_offset": 0}
        visitor.tester.run_tests(visitor.context, "File")
        return list(visitor.tester.results)

    return read
