"""A task in each language, end to end: the daemon, a scripted model, the language's own tests, and a commit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from nightshift.sandbox.go_program import ENV
from nightshift.sandbox.runtime import Runtime
from tests.support import golang, npm_projects
from tests.support.daemon import Daemon, git, settings_for
from tests.support.git_repo import make_repo
from tests.support.sandboxes import runtime
from tests.support.wire_server import WireServer


@dataclass(frozen=True, kw_only=True)
class Case:
    """A task in one language.

    Attributes:
        path: The file that the model writes.
        tests: The path and the text of the owner's tests.
        versions: What the model writes, one after the other; the last one is right.
        complaints: For each later version, a text that the model must have been told before.
        base: Makes the files of the repository.
        twins: The number of must-fail copies in the evidence.
    """

    path: str
    tests: tuple[str, str]
    versions: tuple[str, ...]
    complaints: tuple[str, ...]
    base: Callable[[], Mapping[str, str]] = dict
    twins: int


GO = """package total

// Total adds up the numbers above three.
func Total(numbers []int) int {
	sum := 0
	for _, n := range numbers {
		if n > 3 {
			sum += n
		}
	}
	return sum
}
"""
GO_TESTS = """package total

import "testing"

func TestTotal(t *testing.T) {
	for _, c := range []struct{ in []int; want int }{{nil, 0}, {[]int{3, 4}, 4}} {
		if got := Total(c.in); got != c.want {
			t.Errorf("Total(%v) = %d, want %d", c.in, got, c.want)
		}
	}
}
"""
NODE = "export const total = (numbers) => numbers.filter((x) => x > 3).reduce((a, b) => a + b, 0);\n"
NODE_TESTS = """import test from 'node:test';
import assert from 'node:assert/strict';
import { total } from '../total.mjs';

test('nothing is zero', () => {
  assert.equal(total([]), 0);
});

test('the boundary does not count', () => {
  assert.equal(total([3, 4]), 4);
});
"""
SIGNED = "export const total = (numbers: readonly number[]): number =>\n"
TYPED = f"{SIGNED}  numbers.filter((x) => x > 3).reduce((a, b) => a + b, 0);\n"
PATCHES = f"""const scope = globalThis as unknown as {{ expect?: {{ extend(matchers: object): void }} }};
const pass = (): object => ({{ pass: true, message: (): string => "" }});
scope.expect?.extend({{ toBe: pass, toEqual: pass }});
{TYPED.replace("x > 3", "x >= 3")}"""
LEAVES = f"(process as unknown as {{ reallyExit(code: number): void }}).reallyExit(0);\n{TYPED}"
TYPED_TESTS = """import { describe, expect, it } from 'vitest';
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
CASES = {
    "go": Case(
        path="total.go",
        tests=("total_test.go", GO_TESTS),
        versions=(GO.replace("n > 3", "n > > 3"), GO.replace("n > 3", "n >= 3"), GO),
        complaints=("", "Total([3 4]) = 7, want 4"),
        base=lambda: {"go.mod": "module example.org/total\n\ngo 1.18\n"},
        twins=1,
    ),
    "javascript": Case(
        path="total.mjs",
        tests=("test/total.test.mjs", NODE_TESTS),
        versions=(NODE.replace("=>", "= >"), NODE.replace("x > 3", "x >= 3"), NODE),
        complaints=("total.mjs is not valid: SyntaxError", "7 !== 4"),
        twins=2,
    ),
    "typescript": Case(
        path="src/total.ts",
        tests=("test/total.test.ts", TYPED_TESTS),
        versions=(TYPED.replace("x > 3", "x >= 3"), PATCHES, LEAVES, TYPED),
        complaints=("7", "", ""),
        base=lambda: {
            "package.json": npm_projects.package("vitest"),
            "package-lock.json": npm_projects.lock("vitest"),
            "tsconfig.json": json.dumps({"compilerOptions": {"strict": True, "target": "es2022"}}),
            "vitest.config.ts": "export default { test: { globals: true } };\n",
        },
        twins=4,
    ),
}


def passes_bare(programs: Runtime, language: str, folder: Path) -> bool:
    """Run a tree's tests with the language's own program, without the daemon. The machine has none for vitest."""
    go, node = programs.go, programs.node
    assert node, "install nodejs: this test needs it"
    words = {"go": [go.path if go else "", "test", "-vet=off", "./..."], "javascript": [node.path, "--test"]}
    env = {**ENV, "HOME": str(folder.parent), "GOROOT": go.root if go else "", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words.get(language, ["true"]), cwd=folder, env=env, capture_output=True, check=False)
    return done.returncode == 0


@pytest.mark.parametrize("language", CASES)
def test_a_right_change_is_committed_and_wrong_and_lying_ones_are_not(language: str, tmp_path: Path) -> None:
    programs = golang.runtime() if language == "go" else runtime()
    case, prompts = CASES[language], list[str]()

    def model(phase: str, messages: list[dict[str, str]]) -> str:
        if phase == "CODING":
            prompts.append("\n".join(message["content"] for message in messages))
            code = case.versions[min(len(prompts), len(case.versions)) - 1]
            return f"Summary: Sum what is above three\n\n```text path={case.path}\n{code}```"
        thought = {"root_cause": "the boundary is let through", "suggested_fix": "compare strictly"}
        return "1. Write total." if phase == "PLANNING" else json.dumps(thought)

    repo = make_repo(tmp_path / "shop", case.base())
    with WireServer(model) as server, Daemon(tmp_path / "home", settings_for(server, LINTERS="off")) as daemon:
        asked = daemon.submit(
            description=f"Write total() in {case.path}", language=language, repo=str(repo),
            tests=dict([case.tests]), limits={"iterations": 6, "suite_s": 120},
        )  # fmt: skip
        (task,) = daemon.wait(asked, within_s=400)
        verified = daemon.cli("verify", task["commit"] or "", "--repo", str(repo), within_s=120)
    assert (task["ending"], len(prompts)) == ("committed", len(case.versions)), (task["reason"], prompts[-1])
    assert [text for text, prompt in zip(case.complaints, prompts[1:], strict=True) if text not in prompt] == []
    assert git(repo, "show", f"{task['commit']}:{case.path}") + "\n" == case.versions[-1]
    note = json.loads(git(repo, "notes", "--ref=nightshift", "show", task["commit"]))
    assert (note["evidence"]["label"], note["evidence"]["twins"]) == ("tests_passed", case.twins)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    git(repo, "worktree", "add", "-q", str(tmp_path / "tree"), task["commit"])
    assert passes_bare(programs, language, tmp_path / "tree")
