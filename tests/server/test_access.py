from __future__ import annotations

import stat
from pathlib import Path

from nightshift.server.auth.access import Access, read_or_make_token
from nightshift.server.auth.asgi import Scope


def scope(**headers: str) -> Scope:
    named = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    return {"type": "http", "headers": named, "client": ("10.0.0.1", 5)}


def test_the_token_opens_in_a_header_and_nothing_else_does() -> None:
    access = Access("correct horse")
    assert access.admits(scope(authorization="Bearer correct horse"))
    assert access.admits(scope(authorization="bearer correct horse"))
    for wrong in [
        "Bearer correct",
        "Bearer ",
        "Bearer",
        "Basic correct horse",
        "correct horse",
        "Bearer corr\xe9ct horse",
    ]:
        assert not access.admits(scope(authorization=wrong))
    assert not access.admits(scope())


def test_the_cookie_opens_and_does_not_hold_the_token() -> None:
    access = Access("correct horse")
    assert access.admits(scope(cookie=f"a=b; {access.cookie_name}={access.session}; c=d"))
    assert not access.admits(scope(cookie=f"{access.cookie_name}=correct horse"))
    assert not access.admits(scope(cookie=f"other={access.session}"))
    assert not access.admits(scope(authorization=f"Bearer {access.session}"))


def test_a_new_token_ends_all_sessions() -> None:
    old, new = Access("one"), Access("two")
    assert old.cookie_name != new.cookie_name
    assert not new.admits(scope(cookie=f"{new.cookie_name}={old.session}"))


def test_a_kept_token_is_made_once_and_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "token"
    token = read_or_make_token(path)
    assert len(token) >= 40
    assert read_or_make_token(path) == token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_token_file_that_a_crash_left_empty_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.touch()
    assert len(read_or_make_token(path)) >= 40
