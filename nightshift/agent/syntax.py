"""The cheapest check: finds syntax errors, so that files with such errors are never run. Nothing is executed here."""

from __future__ import annotations

import json
import tomllib
import warnings
from collections.abc import Callable, Mapping

from nightshift.core.code import golang, javascript
from nightshift.core.tasks.verdicts import Evidence, Failure, Label, Verdict
from nightshift.core.text.encoding import encode

_MAX_CHARS = 400_000


def _python(path: str, text: str) -> None:
    """Compile without running; this also finds errors that parsing allows, such as a stray return."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(encode(text), path, "exec", dont_inherit=True)  # bytes, so that the file's own encoding line applies


def _parse(path: str, text: str) -> None:
    """Parse Go or JavaScript; raise SyntaxError as Python's own compiler does."""
    if error := golang.fault(text) if path.lower().endswith(".go") else javascript.fault(path, text):
        raise SyntaxError(error.message, (path, error.line, 1, None))


_CHECKS: dict[str, Callable[[str, str], object]] = {
    **dict.fromkeys(("py", "pyi"), _python),
    "json": lambda _path, text: json.loads(encode(text)),
    "toml": lambda _path, text: tomllib.loads(text),
    **dict.fromkeys(("go", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"), _parse),
}
# Folders and files whose content may be invalid on purpose, or in a dialect such as JSON with comments.
_EXEMPT_FOLDERS = frozenset({"data", "fixtures", "testdata", "templates", "snapshots"})
_EXEMPT_NAMES = frozenset({"tsconfig.json", "jsconfig.json"})


def fault(path: str, text: str) -> Failure | None:
    """Return why this text is not valid for its file type, or None if it is. File types without a check always pass."""
    *folders, name = path.split("/")
    check = _CHECKS.get(name.rsplit(".", 1)[-1].lower())
    if check is None or len(text) > _MAX_CHARS or name in _EXEMPT_NAMES or _EXEMPT_FOLDERS.intersection(folders):
        return None
    try:
        check(path, text)
    except SyntaxError as error:
        return _locate_fault(path, text, type(error).__name__, error.msg, error.lineno)
    except json.JSONDecodeError as error:
        return _locate_fault(path, text, "JSONDecodeError", error.msg, error.lineno)
    except (ValueError, RecursionError, MemoryError) as error:
        return Failure(id=path, kind=type(error).__name__, message=str(error) or "too deeply nested")
    return None


def _locate_fault(path: str, text: str, kind: str, message: str, line: int | None) -> Failure:
    at = line or 1
    return Failure(
        id=path, kind=kind, message=f"{message} (line {at})", frame=f"{path}:{at}", excerpt=excerpt(text, at)
    )


def excerpt(text: str, at: int) -> str:
    """Return the lines around line `at` (1-based), numbered and with that line marked."""
    lines = text.split("\n")
    shown = range(max(1, at - 3), min(len(lines), at + 2) + 1)
    return "\n".join(f"{'>' if n == at else ' '}{n:5}  {lines[n - 1][:300]}" for n in shown)


def verdict(files: Mapping[str, str | None], tree: str) -> Verdict | None:
    """Return a failing verdict if a file has a syntax error, else None. `tree` is the digest of the checked change."""
    faults = [failure for path, text in sorted(files.items()) if text is not None and (failure := fault(path, text))]
    if not faults:
        return None
    evidence = Evidence(tree=tree, sandbox="none", label=Label.TESTS_PASSED, notes=("nothing was run",))
    reason = f"{faults[0].id} is not valid: {faults[0].kind}: {faults[0].message}. Nothing was run."
    return Verdict(passed=False, reason=reason, evidence=evidence, failures=tuple(faults))
