"""Reads the report of `go test`: its JSON lines, and the compiler's messages for packages that do not build.

The `go` program writes the lines, but it copies the output of tests into them. So a test that prints `--- PASS` can
forge a result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from nightshift.core.tasks.verdicts import Result
from nightshift.verdict.answer import CaseReport, Fault, Session
from nightshift.verdict.languages.plan import SuiteFile
from nightshift.verdict.reports import go_json
from nightshift.verdict.reports.collected import BAD, Told

_UNBUILT = re.compile(r"FAIL\t(\S+) \[(?:build|setup) failed\]")
_HEAD = re.compile(r"# (\S+)(?: \[\S+\])?")
_TRACE = re.compile(r"\t(/\S+\.go):(\d{1,7})(?: .*)?")
_LINE = re.compile(r"\s*(?:\./)?([\w./-]+\.go):(\d{1,7})(?::\d+)?: ?(.*)")
_SAID = re.compile(r"\t*(?:panic|fatal error): (.*?)(?: \[recovered\])?")
_WORKSPACE = re.compile(r"^/(?:var/tmp/\S*?/)?work/")
OUTPUT = 3000


def read(session: Session, module: str, files: tuple[SuiteFile, ...]) -> Session:
    """Return the session with the tests that `go test` reported, each assigned to its test file.

    Args:
        session: the session of a command that printed the report.
        module: the module path, with which the names of the tree's packages begin.
        files: the test files.
    """
    reader = _Reader(module, files)
    lines = "".join(session.printed[:2]).split("\n")
    collected = go_json.read(lines, is_complete=not session.printed[2])
    broken = dict(reader.unbuilt(lines))
    if not (len(collected) or broken):
        return session
    tests = [reader.case(test) for test in collected if "::" in test.id]
    broken |= {
        test.id: reader.fault(test.output, "", test.id)
        for test in collected
        if "::" not in test.id and test.id not in broken
    }
    collection = [(path, fault) for package, fault in broken.items() for path in reader.files_of(package)]
    finishes = [session.exit_code] if session.exit_code is not None else []
    return replace(session, tests=tests, collection=collection, finishes=finishes)


class _Reader:
    def __init__(self, module: str, files: tuple[SuiteFile, ...]) -> None:
        self._module, self._files = module, files
        self._places: Mapping[tuple[str, str], str] = {
            (file.path.rpartition("/")[0], name): file.path for file in files for name in file.names
        }

    def _folder(self, package: str) -> str:
        """Return the folder of one of the tree's packages, relative to the root."""
        return package.removeprefix(self._module).strip("/")

    def files_of(self, package: str) -> list[str]:
        """Return the paths of a package's test files; the package's folder if none is known."""
        folder = self._folder(package)
        return [file.path for file in self._files if file.path.rpartition("/")[0] == folder] or [folder or "."]

    def case(self, test: Told) -> CaseReport:
        """Convert a reported test or subtest into a case report with its file and fault."""
        package, _, name = test.id.partition("::")
        folder, top = self._folder(package), name.partition("/")[0]
        path = self._places.get((folder, top), folder or ".")
        fault = None
        if test.result in BAD:
            fault = self.fault(test.output, name, package)
        elif test.result is Result.SKIPPED:
            fault = Fault(kind="Skipped", message=test.output.strip())
        output = test.output[-OUTPUT:] if fault else ""
        return CaseReport(
            id=f"{path}::{name}", result=test.result, fault=fault, duration_s=test.duration_s, output=output
        )

    def fault(self, text: str, name: str, package: str) -> Fault:
        """Read the fault of a test or package from its output: a panic, or a failure message with its location."""
        panics = [panic[1] for line in text.split("\n") if (panic := _SAID.fullmatch(line))]
        if panics:
            places = [(trace[1], int(trace[2])) for line in text.split("\n") if (trace := _TRACE.fullmatch(line))]
            own = [(_WORKSPACE.sub("", path), line, "panic") for path, line in places if _WORKSPACE.match(path)]
            return Fault(kind="panic", message=panics[0], frames=tuple(own[:1]))
        places_told = [match for line in text.split("\n") if (match := _LINE.fullmatch(line))]
        folder = self._folder(package)
        frames = tuple((f"{folder}/{location[1]}".lstrip("/"), int(location[2]), name) for location in places_told[:1])
        message = "\n".join(location[3] for location in places_told) or text.strip() or "it failed"
        return Fault(kind="Failure", message=message, frames=frames)

    def unbuilt(self, lines: list[str]) -> Iterator[tuple[str, Fault]]:
        """List the packages that did not build, each with the compiler's messages."""
        output, package = dict[str, list[str]](), ""
        for line in lines:
            if head := _HEAD.fullmatch(line):
                package = head[1].removesuffix("_test")
            elif unbuilt_match := _UNBUILT.search(line):
                text = output.get(unbuilt_match[1], [])
                places = [match for each in text if (match := _LINE.fullmatch(each))]
                frames = tuple((match[1], int(match[2]), "") for match in places[:1])
                yield unbuilt_match[1], Fault(kind="BuildError", message="\n".join(text) or line, frames=frames)
            elif package and not line.startswith("{"):
                output.setdefault(package, []).append(line)
