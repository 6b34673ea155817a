from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.verdict.environments.npm_locks import Layout, UnreadableLock, read

HASH = "sha512-" + "A" * 86 + "=="

PNPM = f"""
lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      outer: {{specifier: ^1.0.0, version: 1.0.0(inner@2.0.0)}}
      inner: {{specifier: ^2.0.0, version: 2.0.0}}
      other: {{specifier: 'npm:inner@1', version: inner@1.0.0}}
      mine: {{specifier: 'workspace:*', version: 'link:packages/mine'}}
      away: {{specifier: 'link:../away', version: 'link:../away'}}
packages:
  outer@1.0.0: {{resolution: {{integrity: {HASH}}}}}
  inner@1.0.0: {{resolution: {{integrity: {HASH}}}}}
  inner@2.0.0: {{resolution: {{integrity: {HASH}}}, os: [darwin]}}
  far@1.0.0: {{resolution: {{tarball: 'https://host.example/far.tgz', integrity: {HASH}}}}}
snapshots:
  outer@1.0.0(inner@2.0.0): {{dependencies: {{inner: 1.0.0, far: 1.0.0}}}}
  inner@1.0.0: {{}}
  inner@2.0.0: {{optional: true}}
  far@1.0.0: {{}}
"""
YARN = f"""# yarn lockfile v1


inner@^1.0.0, "inner@~1.0.0":
  version "1.0.0"
  resolved "https://registry.yarnpkg.com/inner/-/inner-1.0.0.tgz#0f"
  integrity {HASH}

inner@^2.0.0:
  version "2.0.0"
  resolved "https://registry.yarnpkg.com/inner/-/inner-2.0.0.tgz#0f"
  integrity {HASH}

"@my/outer@^1.0.0":
  version "1.0.0"
  resolved "https://registry.yarnpkg.com/@my/outer/-/outer-1.0.0.tgz#0f"
  integrity {HASH}
  dependencies:
    inner "~1.0.0"

"other@npm:inner@^2.0.0":
  version "2.0.0"
  integrity {HASH}

"git-one@git+https://host.example/a.git":
  version "1.0.0"
  resolved "git+https://host.example/a.git#abc"
"""


def list_places(layout: Layout) -> dict[str, str]:
    return {path: f"{package.name}@{package.version}" for path, package in layout.packages.items()}


def test_a_lock_of_pnpm_is_laid_out_with_peers_aliases_and_other_versions() -> None:
    layout = read("pnpm-lock.yaml", PNPM, "")
    assert list_places(layout) == {
        "node_modules/outer": "outer@1.0.0",
        "node_modules/inner": "inner@2.0.0",
        "node_modules/other": "inner@1.0.0",
        "node_modules/outer/node_modules/inner": "inner@1.0.0",
    }
    assert layout.links == {"mine": "packages/mine"}
    assert ["away" in layout.remarks[0], "far" in layout.remarks[1], len(layout.remarks)] == [True, True, 2]
    assert layout.packages["node_modules/inner"].optional
    assert layout.packages["node_modules/inner"].limits == {"os": ["darwin"]}


def test_a_lock_of_yarn_is_laid_out_from_what_package_json_wants() -> None:
    wants = {"@my/outer": "^1.0.0", "inner": "^2.0.0", "other": "npm:inner@^2.0.0"}
    manifest = {"dependencies": wants, "devDependencies": {"git-one": "git+https://host.example/a.git"}}
    layout = read("yarn.lock", YARN, json.dumps(manifest))
    assert list_places(layout) == {
        "node_modules/@my/outer": "@my/outer@1.0.0",
        "node_modules/inner": "inner@2.0.0",
        "node_modules/other": "inner@2.0.0",
        "node_modules/@my/outer/node_modules/inner": "inner@1.0.0",
    }
    assert "git-one 1.0.0 does not come from a registry" in layout.remarks[0]


def test_the_first_format_of_npm_has_packages_below_one_another() -> None:
    inner = {"version": "1.0.0", "integrity": HASH}
    lock = {"dependencies": {"outer": {"version": "2.0.0", "integrity": HASH, "dependencies": {"inner": inner}},
                             "other": {"version": "npm:inner@1.0.0", "integrity": HASH}}}  # fmt: skip
    assert list_places(read("package-lock.json", json.dumps(lock), "")) == {
        "node_modules/outer": "outer@2.0.0",
        "node_modules/outer/node_modules/inner": "inner@1.0.0",
        "node_modules/other": "inner@1.0.0",
    }


def test_what_is_no_lock_is_told() -> None:
    for name, text in (
        ("package-lock.json", '{"packages": []}'),
        ("package-lock.json", '{"dependencies": {"../up": {"version": "1.0.0"}}}'),
        ("pnpm-lock.yaml", "a: [b"), ("pnpm-lock.yaml", "lockfileVersion: 5.4"),
        ("pnpm-lock.yaml", "!!python/object/apply:os.system [ls]"),
        ("yarn.lock", "__metadata:\n  version: 8\n"), ("yarn.lock", "noversion:\n  version 1\n"),
    ):  # fmt: skip
        with pytest.raises(UnreadableLock):
            read(name, text, "")


@given(st.sampled_from(["package-lock.json", "pnpm-lock.yaml", "yarn.lock"]), st.text(max_size=300))
def test_any_text_is_a_lock_or_is_refused(name: str, text: str) -> None:
    with contextlib.suppress(UnreadableLock):
        read(name, text, text)
