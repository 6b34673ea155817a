"""Looks for the body of a stub in a sandbox: the run gets one message and returns one signed answer, as for a suite.

The tests run first, with a recorder in place of the function. For this the tests are rewritten: checks of an object's
identity or type become checks of its value. Then the search looks for bodies that agree with all recorded calls.
"""

from __future__ import annotations

import ast
import json
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from nightshift.core.code import literals
from nightshift.core.code.parsing import parse_quietly
from nightshift.core.text.encoding import encode
from nightshift.sandbox.inside import values
from nightshift.verdict.answer import ProgramAnswer, read_program
from nightshift.verdict.languages.plan import Plan
from nightshift.verdict.suite_runs import SuiteRuns
from nightshift_engine import stubs
from nightshift_engine.evaluation import SynthesisJob, SynthesisResult
from nightshift_engine.evaluator import plan_stage, rows
from nightshift_engine.sources import ProgramText, program_text
from nightshift_engine.stubs import Stub

TESTS_S = 8.0
"""Seconds that the tests may take with the recorder; calls that were recorded by then are used."""
CONSTANTS = 14
_INSTALL = "__import__('nightshift_repair.synthesis.recorder', fromlist=['install']).install(globals(), {name!r})"
MOST = 5
"""Maximum number of bodies that are returned."""
_SINGLE = (True, False, None)
_RENAMED = {
    "assertIs": "assertEqual", "assertIsNot": "assertNotEqual", "assertCountEqual": "assertEqual",
}  # fmt: skip
_EXPECTED = {"assertIsNone": "assertEqual", "assertIsNotNone": "assertNotEqual"}
_PRELUDE = "from nightshift_repair.synthesis.recorder import isinstance_ as isinstance\n"


class SandboxSynthesiser:
    """The implementation of `nightshift_engine.evaluation.Synthesiser` by a sandbox.

    Args:
        suite_runs: runs plans in a sandbox; may be shared.
    """

    def __init__(self, suite_runs: SuiteRuns) -> None:
        self._suite_runs = suite_runs

    async def synthesise(self, job: SynthesisJob) -> SynthesisResult:
        """Search for bodies that agree with every example in the tests and the docstring.

        Raises:
            SandboxError: nothing could be run, or the tests are not pytest tests.
        """
        text = job.job.text_of(job.path)
        program = None if text is None else program_text(text)
        if program is None:
            return SynthesisResult(why=f"the file {job.path} is missing, or Python cannot decode it")
        stub = stubs.read(program.text, job.scope)
        if isinstance(stub, str):
            return SynthesisResult(why=stub)
        stage = await plan_stage(job.job, self._suite_runs)
        planned = _recording(stage.with_task(_task(job, stub)), job.path, program, stub.name)
        suite = replace(stage.job, limits=replace(job.job.limits, cpu_s=job.budget_s + TESTS_S))
        ready, result = await self._suite_runs.executed(suite, planned)
        report = report_of(read_program(result, ready.key))
        return result_of(report, lambda body: write(stub, body), job.budget_s)


def write(stub: Stub, body: str) -> str:
    """Return the text of the whole function with these statements as its body."""
    return f"{stub.head}\n{textwrap.indent(body, stub.indent)}\n"


def _recording(plan: Plan, path: str, program: ProgramText, name: str) -> Plan:
    """Return the plan with the recorder in place of the function, and with tests that the recorder can follow."""
    files = tuple(replace(file, text=recordable(file.text)) for file in plan.files)
    texts_of_tests = {file.path: encode(file.text) for file in files}
    recorded = program.file_text(f"{program.text}\n{_INSTALL.format(name=name)}\n")
    texts = {**plan.texts, path: encode(recorded)}
    return replace(plan, files=files, texts={name: texts_of_tests.get(name, raw) for name, raw in texts.items()})


def _task(job: SynthesisJob, stub: Stub) -> dict[str, Any]:
    """Make the job of the program inside the sandbox."""
    given = [text for text in job.constants if text not in stub.constants and _is_scalar(text)]
    constants = [(text, 1) for text in stub.constants] + [(text, 2) for text in given]
    words = stub.words | {word.lower() for name in job.names for word in name.split("_")}
    return {
        "kind": "synthesis",
        "parameters": stub.parameters,
        "examples": [_pack(arguments, wanted) for arguments, wanted in stub.examples],
        "constants": constants[:CONSTANTS],
        "words": sorted(words)[:200],
        "numbers": stub.numbers,
        "budget_s": job.budget_s,
        "tests_s": min(TESTS_S, job.job.wall_s, job.budget_s / 2 + 1),
        "processes": 2 if job.job.cpus >= 2 and job.job.pids >= 4 else 1,
    }


def _pack(arguments: tuple[object, ...], wanted: object) -> str:
    """Return an example in the form of the recorder's lines."""
    return json.dumps([values.pack(list(arguments)), "gives", values.pack(wanted), None])


def _is_scalar(text: str) -> bool:
    """Check whether a constant is a finite number or a text of at most 40 characters."""
    try:
        value = literals.read(text)
    except ValueError:
        return False
    small = (type(value) in (int, float) and math.isfinite(value)) or (type(value) is str and len(value) <= 40)
    return bool(small)


@dataclass(slots=True)
class SearchReport:
    """The report of a search.

    `bodies` maps each body to its size. `examples` and `tried` count examples and expressions. `cost` is the largest
    size reached. `ended` is the way in which the run ended. `full` is true if the memory was used up.
    """

    bodies: dict[str, int] = field(default_factory=dict)
    examples: int = 0
    tried: int = 0
    cost: int = 0
    ended: str = ""
    full: bool = False


def report_of(answer: ProgramAnswer | None) -> SearchReport:
    """Read the report from the lines of a run."""
    report = SearchReport(ended="" if answer is None else answer.how)
    for row in rows(answer):
        match row:
            case ["examples", int(count)]:
                report.examples = count
            case ["found", str(body), int(size), int(_)]:
                report.bodies[body] = size
            case ["tried", int(tried), int(cost), str(why)]:
                report.tried, report.cost = report.tried + tried, max(report.cost, cost)
                report.full |= why == "memory"
    return report


def result_of(report: SearchReport, write: Callable[[str], str], budget_s: float) -> SynthesisResult:
    """Return the result of a synthesis; texts that are not a single function are left out.

    If no text is left, the result has a reason.
    """
    ordered = sorted(report.bodies, key=lambda body: (report.bodies[body], body))
    texts = [text for text in map(write, ordered) if _is_function(text)][:MOST]
    return SynthesisResult(
        texts=tuple(texts), why="" if texts else _why(report, budget_s), examples=report.examples, tried=report.tried
    )  # fmt: skip


def _is_function(text: str) -> bool:
    tree = parse_quietly(text)
    return tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], ast.FunctionDef)


def _why(report: SearchReport, budget_s: float) -> str:
    if not report.ended:
        return "the run ended without an answer"
    if not report.examples:
        return "neither the tests nor the docstring show the result of a call"
    examples = f"{report.examples} example{'s' if report.examples > 1 else ''}"
    within = "until the memory was full" if report.full else f"within {budget_s:g} s"
    return f"no expression up to size {report.cost} fits the {examples}; {report.tried:,} were tried {within}"


def recordable(text: str) -> str:
    """Rewrite a test file so that the recorder can follow it; return the text unchanged if it does not parse."""
    tree = parse_quietly(text)
    if tree is None:
        return text
    tree = ast.fix_missing_locations(_Values().visit(tree))
    futures = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    tree.body = [node for node in tree.body if node not in futures]
    return "\n".join([*map(ast.unparse, futures), _PRELUDE + ast.unparse(tree)]) + "\n"


class _Values(ast.NodeTransformer):
    """Replaces `x is True` by `x == True`, and the corresponding unittest assertions."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant) and _is_single(node.comparators[0]):
            if isinstance(node.ops[0], ast.Is):
                return ast.Compare(left=node.left, ops=[ast.Eq()], comparators=node.comparators)
            if isinstance(node.ops[0], ast.IsNot):
                return ast.Compare(left=node.left, ops=[ast.NotEq()], comparators=node.comparators)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute):
            return node
        name, arguments = node.func.attr, node.args
        if name in _EXPECTED and len(arguments) == 1:
            name, arguments = _EXPECTED[name], [*arguments, ast.Constant(value=None)]
        elif name in _RENAMED:
            name = _RENAMED[name]
        else:
            return node
        return ast.Call(
            func=ast.Attribute(value=node.func.value, attr=name, ctx=ast.Load()), args=arguments, keywords=[]
        )  # fmt: skip


def _is_single(node: ast.Constant) -> bool:
    return any(node.value is single for single in _SINGLE)
