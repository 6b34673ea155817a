"""TypeScript tasks, end to end: the daemon, a scripted model, and tests run by packages that a lock file pins."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support import npm_projects
from tests.support.daemon import Daemon, git, settings_for
from tests.support.git_repo import make_repo
from tests.support.wire_server import WireServer

SIGNED = "export const total = (numbers: readonly number[]): number =>\n"
RIGHT = f"{SIGNED}  numbers.filter((x) => x > 3).reduce((a, b) => a + b, 0);\n"
WRONG = RIGHT.replace("x > 3", "x >= 3")
PATCHES = f"""const scope = globalThis as unknown as {{ expect?: {{ extend(matchers: object): void }} }};
const pass = (): object => ({{ pass: true, message: (): string => "" }});
scope.expect?.extend({{ toBe: pass, toEqual: pass }});
{WRONG}"""
LEAVES = f"(process as unknown as {{ reallyExit(code: number): void }}).reallyExit(0);\n{RIGHT}"
TESTS = """import { describe, expect, it } from 'vitest';
import { total } from '../src/total';

describe('total', () => {
  it('is nothing of nothing', () => {
    expect(total([])).toBe(0);
  });

  it.each([[[5], 5], [[1, 5], 5]])('of %j', (numbers: readonly number[], sum: number) => {
    expect(total(numbers)).toEqual(sum);
  });

  it('leaves the boundary out', async () => {
    const numbers: readonly number[] = [3, 4];
    await expect(Promise.resolve(total(numbers))).resolves.toBe(4);
  });
});
"""


class Model:
    """A model that sends the given versions of the code in order and then repeats the last one."""

    def __init__(self, *code: str) -> None:
        self._code = list(code)
        self.asked: list[tuple[str, str]] = []

    def __call__(self, phase: str, messages: list[dict[str, str]]) -> str:
        self.asked.append((phase, "\n".join(message["content"] for message in messages)))
        if phase == "CODING":
            code = self._code.pop(0) if len(self._code) > 1 else self._code[0]
            return f"Summary: Sum what is above three\n\n```ts path=src/total.ts\n{code}```"
        thought = {"root_cause": "the boundary is let through", "suggested_fix": "compare strictly"}
        return "1. Write total." if phase == "PLANNING" else json.dumps(thought)

    def list_prompts(self, phase: str) -> list[str]:
        return [text for name, text in self.asked if name == phase]


def repository(folder: Path) -> Path:
    files = {
        "package.json": npm_projects.package("vitest"),
        "package-lock.json": npm_projects.lock("vitest"),
        "tsconfig.json": json.dumps({"compilerOptions": {"strict": True, "target": "es2022"}}),
        "src/other.ts": "export const other = 1;\n",
        "vitest.config.ts": "export default { test: { globals: true } };\n",
    }
    return make_repo(folder / "shop", files)


def test_a_right_change_is_committed_and_wrong_and_lying_ones_are_not(tmp_path: Path) -> None:
    repo, model = repository(tmp_path), Model(WRONG, PATCHES, LEAVES, RIGHT)
    with WireServer(model) as server, Daemon(tmp_path / "home", settings_for(server, LINTERS="off")) as daemon:
        given = {"test/total.test.ts": TESTS}
        limits = {"iterations": 6, "suite_s": 120}
        asked = daemon.submit(
            description="Write total() in src/total.ts",
            language="typescript",
            repo=str(repo),
            tests=given,
            limits=limits,
        )
        (task,) = daemon.wait(asked, within_s=400)
    prompts = model.list_prompts("CODING")
    assert (task["ending"], len(prompts)) == ("committed", 4), (task["reason"], prompts[-1])
    assert git(repo, "show", f"{task['commit']}:src/total.ts") + "\n" == RIGHT
    note = json.loads(git(repo, "notes", "--ref=nightshift", "show", task["commit"]))
    assert (note["evidence"]["label"], note["evidence"]["twins"]) == ("tests_passed", 4)
    assert "7" in prompts[1]
