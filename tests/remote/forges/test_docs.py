"""The example in docs/reference/forges.md works as written, and passes the tests that every forge passes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nightshift.app.forges import connections_of
from nightshift.config.load import load_settings
from nightshift.core.clock import utc_now
from nightshift.remote.forges import connections
from nightshift.remote.forges.connections import open_forge
from nightshift.remote.forges.port import Watch
from tests.remote.forges import conftest, test_away, test_issues, test_pulls
from tests.support.doc_pages import list_shown_files
from tests.support.forges.gitea_api import GiteaApi
from tests.support.forges.server import TOKEN, ForgeServer
from tests.support.forges.world import World

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "forges.md").read_text()
FILES = list_shown_files("forges.md")
LINES = re.findall(r'`"(\w+)": "([\w.:]+)",` to `(\w+)`', PAGE)


@pytest.fixture(scope="module", autouse=True)
def install_example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install the example and enter it in the tables that the page names, as a reader would."""
    assert [table for _, _, table in LINES] == ["KINDS", "SHORT"]
    folder = tmp_path_factory.mktemp("package")
    (folder / "nightshift_mini.py").write_text(FILES["nightshift_mini.py"])
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        for name, value, table in LINES:
            patch.setitem(getattr(connections, table), name, value)
        patch.setitem(conftest.APIS, "mini", GiteaApi)
        yield
    sys.modules.pop("nightshift_mini", None)


@pytest.fixture
def kind() -> str:
    """Return the kind of forge on which the contract's tests run."""
    return "mini"


async def test_the_settings_of_the_page_lead_to_the_example(tmp_path: Path) -> None:
    with ForgeServer(GiteaApi(World())) as server:
        host = server.site.partition("://")[2]
        written = FILES["config.yaml"].replace("https://", "http://").replace("git.example.org", f'"{host}"')
        written = written.replace(f'http://"{host}"/octo/hello', f'"{server.site}/octo/hello"')
        (tmp_path / "config.yaml").write_text(written.replace("the token", TOKEN))
        (connection,) = connections_of(load_settings(home=tmp_path))
        assert (connection.kind, connection.id) == ("mini", f"mi:{host}/octo/hello")
        number = server.world.issue("Mend the answer")
        forge, client = open_forge(connection, utc_now)
        seen = await forge.look(Watch(label="nightshift"))
        await client.aclose()
    assert (seen.branch, [issue.number for issue in seen.issues]) == ("main", [number])


LEFT_OUT = frozenset({
    "test_a_comment_of_somebody_permitted_becomes_a_follow_up_on_the_branch",  # needs comments on lines
    "test_failed_checks_of_our_commit_become_one_task_when_all_have_ended",
})  # fmt: skip
"""Contract tests of features that the example leaves out, as the page says."""
CONTRACT = {
    name: test
    for module in (test_issues, test_pulls, test_away)
    for name, test in vars(module).items()
    if name.startswith("test_") and name not in LEFT_OUT and not hasattr(test, "pytestmark")
}
globals().update(CONTRACT)
