"""Which files ask for a second look, by what a mistake in them can reach; told by path alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Files of one concern. `points` is what touching it adds to the rank of a commit; `pattern` is met by the path."""

    name: str
    points: int
    pattern: re.Pattern[str]
    why: str


def _words(*words: str) -> str:
    """A pattern that finds the words as whole words of a path, also with `_`, `-` or `.` between them."""
    return rf"(?:^|[/_.-])(?:{'|'.join(words)})(?=$|[/_.-])"


def _area(name: str, points: int, pattern: str, why: str) -> Area:
    return Area(name=name, points=points, pattern=re.compile(pattern, re.IGNORECASE), why=why)


AREAS = (
    _area("sign-in and rights", 15, _words(
        "auth", "authn", "authz", "authenticat(?:e|ion|or)", "authori[sz]ation", "login", "logout", "oauth2?", "sso",
        "passwords?", "permissions?", "rights", "roles?", "acl", "sessions?", "tokens?", "csrf", "cors",
    ), "who may do what: tests of the happy path do not see what else became possible"),
    _area("secrets and cryptography", 15, _words(
        "crypto(?:graphy)?", "crypt", "encrypt(?:ion)?", "decrypt(?:ion)?", "hash(?:es|ing)?", "hmac", "jwt",
        "sign(?:ing|ature)?", "ssl", "tls", "certs?", "certificates?", "keys?", "secrets?", "vault", "credentials?",
    ) + r"|\.(?:pem|key|crt|p12)$|(?:^|/)\.env", "weak cryptography passes every test"),
    _area("migrations and schemas", 12, _words("migrations?", "migrate", "alembic", "schemas?") + r"|\.sql$",
          "what it does to stored data cannot be reverted by a commit"),
    _area("continuous integration and release", 12,
          r"(?:^|/)\.(?:github|gitlab|circleci|ci|buildkite)(?:/|$)|\.gitlab-ci\.yml$|(?:^|/)(?:Jenkinsfile|Dockerfile"
          r"|docker-compose[^/]*|Makefile|Procfile)$|"
          + _words("deploy(?:ment)?", "terraform", "helm", "k8s", "ansible"),
          "it runs elsewhere, with rights and secrets that the sandbox does not have"),
    _area("dependencies", 10,
          r"(?:^|/)(?:requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt|pyproject\.toml|setup\.(?:py|cfg)|Pipfile"
          r"|package\.json|Cargo\.toml|go\.mod|Gemfile|pom\.xml)$|(?:^|/)[^/]*(?:\.lock|-lock\.(?:json|yaml))$",
          "it brings in code that nobody here has read"),
    _area("shell and processes", 10, r"\.(?:sh|bash|zsh|ps1|bat|cmd)$|" + _words(
        "shell", "subprocess(?:es)?", "exec", "hooks?", "sudo", "cron(?:tab)?"),
          "a shell does what it is told, with the rights of whoever starts it"),
    _area("money", 10, _words("payments?", "billing", "invoices?", "checkout", "prices?", "pricing", "refunds?"),
          "mistakes in it cost directly, and are seen late"),
)  # fmt: skip
"""The areas, in the order in which they are named. `docs/report.md` has them too."""


def areas_of(paths: Iterable[str]) -> dict[str, list[str]]:
    """The areas that paths touch, each with its paths, in the order of `AREAS`.

    A test of such a thing is not the thing: it runs in the sandbox alone.
    """
    listed = [path for path in paths if not is_test(path)]
    found = {area.name: [path for path in listed if area.pattern.search(path)] for area in AREAS}
    return {name: paths for name, paths in found.items() if paths}


def is_test(path: str) -> bool:
    """Tell whether a path is that of a test, by the names that pytest and node:test collect."""
    name = path.rpartition("/")[2]
    return bool(
        re.match(r"test_.*\.py$|.*_test\.py$|conftest\.py$|.*\.(?:test|spec)\.[cm]?[jt]sx?$", name)
        or re.search(r"(?:^|/)(?:tests?|__tests__)/", path)
    )
