"""Lists all pages in one table. Routes, navigation and embedded data are built from this table."""

from __future__ import annotations

from dataclasses import dataclass

from nightshift.server.endpoint import flask_rule

STATUS = "/api/status"
"""Address whose answer is sent with every page."""
ENDED = "/api/tasks?limit=10&sort=ended&status=done%2Cfailed%2Ccancelled"
UNREAD = "/api/commits?limit=100&order=risk&unread=1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page that a script draws: `static/pages/<name>.js`, and optionally `<name>.css` beside it.

    Attributes:
        name: name of the page, its script and its stylesheet.
        path: path in the syntax of an endpoint's path, such as `/task/{task_id}`.
        title: title of the page.
        preload: addresses of the API whose answers are sent with the page besides the status, so that it can be drawn
            without a request. They may contain the path's parameters. If one of these requests fails because the task,
            question or commit does not exist, the page responds 404. After any other error, the script repeats the
            request and shows the error.
        key: the key to press after `g` to open the page. A page without a key is not in the navigation.
        texts: parameters of the path that are texts; all others are numbers.
        needs_hub: True if the page exists only when the settings name a hub.
    """

    name: str
    path: str
    title: str
    preload: tuple[str, ...] = ()
    key: str = ""
    texts: tuple[str, ...] = ()
    needs_hub: bool = False

    @property
    def rule(self) -> str:
        """The path in the syntax of Flask's router."""
        return flask_rule(self.path, self.texts)

    @property
    def script(self) -> str:
        """The path of the page's script inside the folder of static files."""
        return f"pages/{self.name}.js"

    @property
    def style(self) -> str:
        """The path of the page's stylesheet inside the folder of static files. The file may be missing."""
        return f"pages/{self.name}.css"


PAGES: tuple[Page, ...] = (
    Page(name="brief", path="/", title="Brief", preload=("/api/brief", "/api/approvals?open=1", ENDED), key="b"),
    Page(name="tasks", path="/tasks", title="Tasks", preload=("/api/tasks?limit=50",), key="t"),
    Page(name="review", path="/review", title="Review", preload=(UNREAD,), key="v"),
    Page(
        name="inbox",
        path="/inbox",
        title="Inbox",
        preload=("/api/approvals?open=1", "/api/decisions?limit=20"),
        key="i",
    ),
    Page(
        name="dashboard",
        path="/dashboard",
        title="Dashboard",
        preload=("/api/approvals?open=1", "/api/commits?limit=6"),
        key="d",
    ),
    Page(name="logs", path="/logs", title="Log", preload=("/api/logs?limit=250",), key="l"),
    Page(
        name="task",
        path="/task/{task_id}",
        title="Task",
        preload=("/api/task/{task_id}", "/api/task/{task_id}/timeline", "/api/commits?task={task_id}"),
    ),
    Page(name="reports", path="/reports", title="Reports", preload=("/api/reports?limit=20",), key="r"),
    Page(name="report", path="/reports/{name}", title="Report", preload=("/api/report/{name}",), texts=("name",)),
    Page(name="memory", path="/memory", title="Memory", preload=("/api/learning", "/api/lessons?limit=50"), key="m"),
    Page(
        name="repositories",
        path="/repositories",
        title="Repositories",
        preload=("/api/repositories", "/api/environments"),
        key="o",
    ),
    Page(name="hub", path="/hub", title="Nodes", key="h", needs_hub=True),
    Page(name="settings", path="/settings", title="Settings", preload=("/api/settings",), key="s"),
)
