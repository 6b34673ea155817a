"""Connections to forges: repository addresses as owners write them, access tokens, and labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.errors import ConfigError
from nightshift.remote.forges import labels
from nightshift.remote.forges.connections import Connection, connections
from nightshift.remote.forges.specs import clean_text, line
from nightshift.remote.forges.texts import fence, marker, span, title


def parse_connection(address: str, kinds: dict[str, str] | None = None, repo: str = "/home/olga/hello") -> Connection:
    (connection,) = connections({address: repo}, kinds or {}, lambda kind, host: f"{kind}@{host}")
    return connection


@pytest.mark.parametrize(
    ("address", "kinds", "kind", "site", "project", "id_"),
    [
        ("https://github.com/octo/hello.git/", {}, "github", "https://github.com", "octo/hello", "gh:octo/hello"),
        ("https://GitLab.com/a/b/c", {}, "gitlab", "https://gitlab.com", "a/b/c", "gl:a/b/c"),
        (
            "http://git.lan:3000/o/h", {"git.lan:3000": "gitea"},
            "gitea", "http://git.lan:3000", "o/h", "gt:git.lan:3000/o/h",
        ),
        (
            "https://x.org/gitlab/team/app", {"x.org/gitlab": "gitlab", "x.org": "github"},
            "gitlab", "https://x.org/gitlab", "team/app", "gl:x.org/gitlab/team/app",
        ),
    ],
)  # fmt: skip
def test_an_address_says_where_and_what(
    address: str, kinds: dict[str, str], kind: str, site: str, project: str, id_: str
) -> None:
    connection = parse_connection(address, kinds)
    assert (connection.kind, connection.site, connection.project, connection.id) == (kind, site, project, id_)
    assert connection.token == f"{kind}@{site.partition('://')[2].partition('/')[0]}"
    assert connection.token not in repr(connection)


@pytest.mark.parametrize(
    ("address", "kinds", "repo", "says"),
    [
        ("octo/hello", {}, "/x", "as the browser shows it"),
        ("https://github.com/octo", {}, "/x", "is not a repository"),
        ("https://git.lan/octo/hello", {}, "/x", "forge_kinds: {git.lan: github or"),
        ("https://git.lan/octo/hello", {"git.lan": "sourcehut"}, "/x", "choose one of github"),
        ("https://github.com/octo/hello", {}, "hello", "absolute path"),
    ],
)
def test_what_is_wrong_with_a_connection_is_told_with_the_mend(
    address: str, kinds: dict[str, str], repo: str, says: str
) -> None:
    with pytest.raises(ConfigError, match="forges: ") as caught:
        parse_connection(address, kinds, repo)
    assert says in caught.value.faults[0]


@given(st.text(), st.text())
def test_labels_are_read_or_told_of_whatever_they_are(name: str, value: str) -> None:
    fields, faults = labels.read([f"nightshift:{name}-{value}", name, value], "nightshift")
    assert isinstance(fields, dict)
    assert all("nightshift" in fault for fault in faults)


@given(st.text())
def test_texts_of_others_stay_inside_of_what_shows_them(text: str) -> None:
    mask = str
    opening, *inside, closing = fence(text, mask).split("\n")
    assert opening == f"{closing}text"
    assert not any(each.strip().startswith(closing) for each in inside)
    shown = span(text, mask)
    assert "\n" not in shown
    assert shown.count("`") in {0, 2}
    assert "|" not in shown
    assert marker(text).count("-->") == 1
    assert "@\u200b" in title("@all", mask)
    assert all(char.isprintable() for char in line(text))
    assert "<!--" not in clean_text(f"a<!--{text}-->b").replace(text, "")
