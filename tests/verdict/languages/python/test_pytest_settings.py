from __future__ import annotations

from pathlib import Path

import pytest

from nightshift.verdict.languages.python import pytest_settings
from nightshift.verdict.languages.python.pytest_settings import PytestSettings


def read(**files: str) -> PytestSettings:
    named = {name.replace("__", "."): text for name, text in files.items()}
    return pytest_settings.read(named.get)


def test_a_django_project_has_the_files_that_manage_py_finds() -> None:
    manage = "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n"
    for settings in (read(manage__py=manage), read(manage__py=manage, tox__ini="[pytest]\naddopts = -x\n")):
        assert all(map(settings.is_suite, ("shop/tests.py", "shop/test_cart.py", "tests/test_x.py", "tests/x_test.py")))
        assert not settings.is_suite("shop/models.py")
    assert not read(manage__py="print('another script')\n").is_suite("shop/tests.py")
    assert not read(manage__py=manage, tox__ini="[pytest]\npython_files = check_*.py\n").is_suite("shop/tests.py")


@pytest.mark.parametrize(
    "files",
    [
        {"pytest__ini": "[pytest]\npython_files = check_*.py\naddopts = -p one -ptwo -p no:three -x --cov=%s\n"},
        {"tox__ini": "[tox]\n[pytest]\npython_files = check_*.py\naddopts = -p one -ptwo\n"},
        {"setup__cfg": "[tool:pytest]\npython_files =\n    check_*.py\naddopts = -p one -ptwo\n"},
        {"pyproject__toml": "[tool.pytest.ini_options]\npython_files = 'check_*.py'\naddopts = '-p one -ptwo'\n"},
        {"pytest__toml": "[pytest]\npython_files = ['check_*.py']\naddopts = ['-p', 'one', '-ptwo']\n"},
    ],
)
def test_every_kind_of_file_is_read(files: dict[str, str]) -> None:
    settings = read(**files)
    assert settings.config == next(iter(files)).replace("__", ".")
    assert settings.files == ("check_*.py",)


DOCTESTS = "addopts = --doctest-modules --ignore=old\n"


@pytest.mark.parametrize(
    ("lines", "tests", "others"),
    [
        (None, "tests/testtotal.py a/test/test1.py x_test.py", "tests/testdata/a.py testing.py tests/base.py shop.py"),
        ("", "test_conftest.py", "tests/testtotal.py conftest.py"),
        ("python_files = *_spec.py\n" + DOCTESTS, "a/x_spec.py shop.py", "old/x_spec.py old/shop.py bare.py shop.txt"),
        ("python_files = *.py\ntestpaths = tests\n" + DOCTESTS, "tests/bare.py", "shop.py build/tests/a.py"),
    ],
)
def test_the_files_with_tests_are_known_by_name_or_example(lines: str | None, tests: str, others: str) -> None:
    settings = read() if lines is None else read(pytest__ini=f"[pytest]\n{lines}")
    for path in f"{tests} {others}".split():
        text = "" if path == "bare.py" else '"""\n>>> 1\n1\n"""\n'
        assert settings.is_test_file(path, {path: text}.get) is (path in tests.split()), path


def test_the_first_file_counts_even_when_it_says_nothing() -> None:
    settings = read(pytest__ini="", pyproject__toml="[tool.pytest.ini_options]\npython_files = 'x.py'\n")
    assert (settings.config, settings.files) == ("pytest.ini", PytestSettings().files)


def test_a_broken_file_says_nothing() -> None:
    assert read(pyproject__toml="[tool.pytest", tox__ini="nonsense").config is None


TREE = (
    "tests/test_a.py", "tests/unit/test_b.py", "tests/unit/helper.py", "bench/test_speed.py", "test_root.py",
    "build/test_built.py", ".hidden/test_h.py", "pkg/one/tests/test_one.py", "pkg/two/tests/test_two.py",
)  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", {"tests/test_a.py", "tests/unit/test_b.py", "bench/test_speed.py", "test_root.py",
              "pkg/one/tests/test_one.py", "pkg/two/tests/test_two.py"}),
        ("testpaths = pkg/*/tests test_root.py", {"test_root.py", *(p for p in TREE if p.startswith("pkg"))}),
        ("testpaths = build", {"build/test_built.py"}),
        ("testpaths = pkg tests/unit\naddopts = --ignore-glob */test_o* --ignore tests",
         {"pkg/two/tests/test_two.py", "tests/unit/test_b.py"}),
    ],
)  # fmt: skip
def test_pytest_finds_the_same_files_by_itself(
    lines: str, expected: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\n{lines}\n")
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("def test_it(): pass\n")
    seen = set[str]()

    class Look:
        def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.File:
            class Seen(pytest.File):
                def collect(self) -> list[pytest.Item]:
                    seen.add(self.path.relative_to(tmp_path).as_posix())
                    return []

            return Seen.from_parent(parent, path=module_path)

    monkeypatch.chdir(tmp_path)
    pytest.main(["--collect-only", "-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:asyncio"], plugins=[Look()])
    assert seen == expected
    assert set(read(pytest__ini=(tmp_path / "pytest.ini").read_text()).collected(TREE)) == expected
