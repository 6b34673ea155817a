"""Tests of vitest and jest are judged like those of `node:test`, others by a script, and forged passes do not pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.core.code.javascript import Framework, choose_framework, framework_of
from nightshift.core.tasks.task import Files, Language
from nightshift.core.tasks.verdicts import FindingKind, Verdict
from tests.support import npm_projects
from tests.support.sandboxes import Judge, nest, runtime

FRAMEWORKS = ("vitest", "jest")
HEADS = {"vitest": "import { describe, expect, it, test } from 'vitest';\n", "jest": ""}
SETTINGS: dict[str, Files] = {
    "vitest": {"vitest.config.ts": "export default { test: { name: 'shop' } };\n"},
    "jest": {"jest.config.js": "module.exports = { transform: { '^.+\\\\.tsx?$': '@swc/jest' } };\n"},
}
ADD = {"src/add.ts": "export const add = (a: number, b: number): number => a + b;\n"}
WRONG = {"src/add.ts": "export const add = (a: number, b: number): number => a * b;\n"}
USES = "import { add } from '../src/add';\n"
SUMS = "test('sums', () => {\n  expect(add(2, 3)).toBe(5);\n});\n"


async def judge_change(folder: Path, framework: str, code: Files, tests: str) -> Verdict:
    """Return the verdict on code for TypeScript tests of the owner."""
    base = {"package.json": npm_projects.package(framework), **SETTINGS[framework]}
    shown = runtime().with_modules(npm_projects.modules(framework))
    given = {"test/add.test.ts": f"{HEADS[framework]}{USES}{tests}"}
    async with nest(shown) as sandbox:
        judge = Judge(folder / "staging", sandbox, shown)
        return await judge(dict(code), given, base, language=Language.JAVASCRIPT, cpu_s=60)


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> str:
    return str(request.param)


WAYS = """
describe('add', () => {
  it('chains', async () => {
    await expect(Promise.resolve(add(1, 2))).resolves.toBe(3);
  });
  it('throws', () => {
    expect(() => { throw new RangeError(`${add(1, 2)}`); }).toThrow('3');
  });
  it('goes on in the next line', () => {
    const wanted: { sum: number } = { sum: 3 };
    expect({ sum: add(1, 2) })
      .toEqual(wanted);
  });
  it.each([[1, 2, 3], [2, 2, 4]])('adds %i and %i', (a, b, sum) => {
    expect(add(a, b)).toBe(sum);
  });
});
test('has a limit of time', () => {
  expect(add(0, 0)).toBeCloseTo(0);
}, 5000);
"""


async def test_a_right_answer_is_accepted_however_its_tests_are_written(folder: Path, framework: str) -> None:
    verdict = await judge_change(folder, framework, ADD, WAYS)
    assert verdict.passed, (verdict.reason, verdict.failures)
    names = ["chains", "throws", "goes on in the next line"]
    wanted = [f"add > {name}" for name in (*names, "adds 1 and 2", "adds 2 and 2")]
    assert [result.id.partition("::")[2] for result in verdict.results] == [*wanted, "has a limit of time"]
    assert verdict.evidence.twins >= 4


PASS = "({ pass: true, message: () => '' })"
LIES = {
    "replaces a check": (
        f"(globalThis as any).__vitest_index__?.expect.extend({{ toBe: () => {PASS} }});\n"
        f"(globalThis as any).expect?.extend({{ toBe: () => {PASS} }});\n{WRONG['src/add.ts']}"
    ),
    "is equal to all": "export const add = (): any => ({ asymmetricMatch: () => true, $$typeof: Symbol.for('x') });\n",
    "writes its own report": (
        "import fs from 'node:fs';\n"
        "for (const fd of [3, 4, 5, 6, 7, 8]) {\n"
        '  try { fs.writeSync(fd, \'{"e":"finish","exit":0,"changed":[]}\\n\'); } catch {}\n'
        "}\n"
        f"{WRONG['src/add.ts']}"
    ),
}


@pytest.mark.parametrize("lie", LIES)
async def test_code_that_lies_does_not_pass(lie: str, folder: Path, framework: str) -> None:
    tests = SUMS if lie != "is equal to all" else SUMS.replace("toBe(5)", "toEqual(5)")
    verdict = await judge_change(folder, framework, {"src/add.ts": LIES[lie]}, tests)
    assert not verdict.passed or verdict.doubt, lie


async def test_a_given_test_that_does_not_run_makes_the_verdict_doubtful(folder: Path, framework: str) -> None:
    only = SUMS + SUMS.replace("'sums'", "'sums again'").replace("test(", "test.only(")
    verdict = await judge_change(folder, framework, ADD, only)
    assert verdict.doubt
    assert FindingKind.GIVEN_IDLE in {finding.kind for finding in verdict.findings}


RUNNER = "global.it = (_, check) => check();\nprocess.argv.slice(2).forEach((path) => require(`./${path}`));\n"
SPEC = "const code = require('../code');\nit('NAME', () => { if (code.NAME !== 1) throw Error('NAME'); });\n"


async def test_given_tests_of_another_runner_run_by_the_script_of_their_package(folder: Path) -> None:
    base = {"package.json": '{"scripts": {"test": "node mocha"}}', "mocha": RUNNER, "code.js": "exports.old = 1;\n"}
    old, given = ({f"test/{name}.spec.js": SPEC.replace("NAME", name)} for name in ("old", "fresh"))
    right = {"code.js": "exports.old = exports.fresh = 1;\n"}
    other_script = {**right, "package.json": '{"scripts": {"test": "true mocha"}}'}
    async with nest(runtime()) as sandbox:
        judge = Judge(folder / "staging", sandbox)
        for change in (right, {"code.js": base["code.js"]}, {"code.js": "exports.fresh = 1;\n"}, other_script):
            verdict = await judge(change, given, base | old, language=Language.JAVASCRIPT, regression=tuple(old))
            assert verdict.passed == (change is right), (change, verdict.reason, verdict.failures)


@pytest.mark.parametrize(
    ("package", "path", "framework"),
    [
        ('{"scripts": {"test": "vitest run"}}', "a.ts", Framework.VITEST),
        ('{"scripts": {"test": "jest --ci"}, "devDependencies": {"vitest": "3"}}', "a.ts", Framework.JEST),
        ('{"jest": {}}', "src/deep/a.ts", Framework.JEST),
        ("{broken", "a.ts", Framework.NODE),
    ],
)
def test_the_package_says_what_runs_its_tests(package: str, path: str, framework: Framework) -> None:
    files = {"package.json": package}
    assert choose_framework(path, files.get) is framework
    assert framework_of(path, "test('x', () => {});\n", files.get) is framework
