"""The language of a task follows the names in the task first, then the folders that it names, then its repository."""

from __future__ import annotations

import pytest

from nightshift.core.tasks.language_choice import choose_language
from nightshift.core.tasks.submission import parse_spec
from nightshift.core.tasks.task import Language

PYTHON, JAVASCRIPT, GO = Language.PYTHON, Language.JAVASCRIPT, Language.GO
EXPRESS = ("package.json", "app.js", "lib/view.js", "test/app.test.js", "README.md")
MODULE = ("go.mod", "router.go", "router_test.go", "README.md")
DJANGO = ("manage.py", "shop/models.py", "shop/views.py", "shop/tests.py", "shop/urls.py", "package.json", "lint.js")
MONOREPO = ("pyproject.toml", "api/app.py", "web/package.json", "web/src/cart.ts", "tools/go.mod", "tools/main.go")


@pytest.mark.parametrize(
    ("fields", "paths", "language"),
    [
        ({"description": "Fix the discount"}, EXPRESS, JAVASCRIPT),
        ({"description": "Fix the discount"}, DJANGO, PYTHON),
        ({"description": "Fix the discount"}, ("main.go", "web/a.js", "web/b.js", "go.mod"), GO),
        ({"description": "Fix the discount"}, (), PYTHON),
        ({"description": "Fix total in web/src/cart.ts"}, MONOREPO, JAVASCRIPT),
        ({"description": "The tool in tools/ crashes"}, MONOREPO, GO),
        ({"description": "Write slugify in TypeScript"}, (), JAVASCRIPT),
        ({"description": "Let us go on: write slugify"}, (), PYTHON),
        ({"description": "Mend app.js", "tests": {"test_app.py": "def test_a():\n    assert True\n"}}, EXPRESS, PYTHON),
        ({"description": "Mend it", "test_command": ["make", "test"]}, MODULE, GO),
        ({"description": "Mend it", "packages": ["httpx"]}, EXPRESS, PYTHON),
    ],
)  # fmt: skip
def test_names_go_before_folders_and_folders_before_the_repository(
    fields: dict[str, object], paths: tuple[str, ...], language: Language
) -> None:
    assert choose_language(parse_spec(fields), lambda: paths) is language
