from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.server.pages.assets import Assets
from tests.support.app_context import Client

FOLDER = Path("nightshift/server/static")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a page whose modules import each other, including a cycle."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "vendor").mkdir()
    (tmp_path / "pages" / "one.js").write_text(
        "// from './comment.js'\nimport {\n  a,\n  b,\n} from '../two.js';\nexport {c} from '../three.js';\n"
        "import('../later.js');\nconst text = \"import {x} from './text.js'\";\n"
    )
    (tmp_path / "two.js").write_text("import {c} from './three.js';\n")
    (tmp_path / "three.js").write_text("import {a} from './two.js';\nimport h from './vendor/small.js';\n")
    (tmp_path / "vendor" / "small.js").write_text('import{x as t}from"./other.js";export{t as u};')
    (tmp_path / "vendor" / "other.js").write_text("export const x=1")
    (tmp_path / "later.js").write_text("export default 1;")
    return tmp_path


def test_a_lasting_address_may_be_kept_for_ever(shared: Client) -> None:
    for name, media in [
        ("app/ui.js", "text/javascript; charset=utf-8"),
        ("style.css", "text/css; charset=utf-8"),
        ("icons/idle.svg", "image/svg+xml"),
    ]:
        got = shared.get(Assets().url(name))
        assert got.status == 200
        assert got.body == (FOLDER / name).read_bytes()
        assert got.headers["content-type"] == media
        assert got.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize("address", ["/static/style.css", "/static/v-0123456789ab/style.css"])
def test_another_address_is_looked_up_anew(shared: Client, address: str) -> None:
    got = shared.get(address)
    assert got.body == (FOLDER / "style.css").read_bytes()
    assert got.headers["cache-control"] == "no-cache"
    again = shared.get(address, If_None_Match=got.headers["etag"])
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("path", ["../app.py", "%2e%2e/app.py", "v-0123456789ab/../../app.py", "app"])
def test_there_is_nothing_beside_the_files(shared: Client, path: str) -> None:
    got = shared.get(f"/static/{path}")
    assert got.status == 404
    assert got.json["error"] == "there is nothing at this address"


def test_the_addresses_of_all_files_change_with_the_content_of_one(folder: Path) -> None:
    before = Assets(folder).url("two.js")
    assert Assets(folder).url("two.js") == before
    (folder / "later.js").write_text("export default 2;")
    assert Assets(folder).url("two.js") != before


def test_what_a_page_needs_at_its_start_is_known(folder: Path) -> None:
    modules = Assets(folder).modules("pages/one.js")
    assert modules == ["pages/one.js", "two.js", "three.js", "vendor/small.js", "vendor/other.js"]


def test_files_of_other_kinds_are_not_served(folder: Path) -> None:
    (folder / "notes.md").write_text("secret")
    assert "notes.md" not in Assets(folder)
    assert "two.js" in Assets(folder)
