"""Reads JUnit XML, the report format that most test runners can write. Untrusted code may have written the file.

A file with a document type declaration is refused. No report needs one, and XML bombs consist of entities, which need
one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.parsers import expat

from nightshift.core.tasks.verdicts import Result
from nightshift.verdict.reports.collected import OUTPUT, Collected, Told

FORM = "JUnit XML"
DEEPEST = 100
_ROOTS = frozenset({"testsuites", "testsuite"})
_FORBIDDEN = dict.fromkeys({*range(32)} - {9, 10, 13})
"""Characters that XML forbids, but that some runners write as part of a test's output."""
_ENDINGS = {"failure": Result.FAILED, "error": Result.ERROR, "skipped": Result.SKIPPED}
_KIND = re.compile(r"([A-Za-z_][\w.]*)(?:: |$)")


class Unreadable(Exception):
    """Raised if a file is not a report, or cannot be parsed; the message gives the reason."""


def read(text: str, into: Collected) -> None:
    """Read a report and add its tests to a collection.

    Args:
        text: the text of the file.
        into: the collection.

    Raises:
        Unreadable: the text is not a valid report; the tests before the fault have been added.
    """
    reader = _Reader(into)
    parser = expat.ParserCreate()
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.take
    try:
        parser.Parse(text.translate(_FORBIDDEN), True)
    except expat.ExpatError as error:
        raise Unreadable(str(error)) from None
    except UnicodeEncodeError:
        raise Unreadable("it is no text") from None
    reader.close()


class _Reader:
    def __init__(self, into: Collected) -> None:
        self._into = into
        self._suites: list[str] = []
        self._depth, self._counted, self._bad = 0, 0, 0
        self._case: Mapping[str, str] | None = None
        self._result, self._attributes = Result.PASSED, dict[str, str]()
        self._texts: list[str] | None = None
        self._length = 0
        self._details, self._printed = "", ""

    def refuse(self, *_words: Any) -> None:
        raise Unreadable("it declares a document type, which no report has")

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name not in _ROOTS:
            raise Unreadable("it is no report of tests")
        if self._depth > DEEPEST:
            raise Unreadable("it is nested too deep")
        if name in _ROOTS:
            self._suites.append(attributes.get("name", ""))
            self._counted = max(self._counted, _number(attributes, "failures") + _number(attributes, "errors"))
        elif name == "testcase":
            self._case, self._result, self._attributes = attributes, Result.PASSED, {}
            self._details = self._printed = ""
        elif self._case is not None and (name in _ENDINGS or name in {"system-out", "system-err"}):
            self._texts, self._length = [], 0
            if name in _ENDINGS and self._result in {Result.PASSED, Result.SKIPPED}:
                self._result, self._attributes = _ENDINGS[name], dict(attributes)

    def take(self, text: str) -> None:
        if self._texts is not None and self._length < 8 * OUTPUT:
            self._texts.append(text)
            self._length += len(text)

    def end(self, name: str) -> None:
        self._depth -= 1
        if name in _ROOTS:
            self._suites.pop()
        elif name == "testcase" and self._case is not None:
            self._add(self._case)
            self._case = None
        elif self._texts is not None and (name in _ENDINGS or name.startswith("system-")):
            text = "".join(self._texts)
            self._texts = None
            if name in _ENDINGS:
                self._details = self._details or text
            else:
                self._printed += text

    def close(self) -> None:
        if self._counted and not self._bad:
            self._into.fault(f"it counts {self._counted} failures and names none")

    def _add(self, case: Mapping[str, str]) -> None:
        self._bad += self._result in {Result.FAILED, Result.ERROR}
        where = case.get("file") or case.get("classname") or next((suite for suite in self._suites[::-1] if suite), "")
        message = self._attributes.get("message") or self._details.strip().partition("\n")[0]
        kind = self._attributes.get("type", "") or (match[1] if (match := _KIND.match(message)) else "")
        output = "\n".join(text.strip("\n") for text in (self._printed, self._details) if text.strip())
        name = case.get("name", "")
        self._into.add(
            Told(
                id=f"{where}::{name}" if where else name,
                result=self._result,
                duration_s=seconds(case.get("time", "")),
                kind=kind.rpartition(".")[2],
                message=message,
                output=output,
            )
        )


def seconds(text: str) -> float:
    """Parse a duration in a report; 0 if it is invalid."""
    try:
        duration = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return duration if 0 <= duration < 1e6 else 0.0


def _number(attributes: Mapping[str, str], name: str) -> int:
    text = attributes.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0
