from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.verdict.environments.distributions import (
    Requirement,
    is_declaration,
    list_declared,
    normalise,
    requirement,
    source_of,
)

NOTHING: dict[str, Requirement] = {}


@pytest.mark.parametrize(
    ("module", "distribution"),
    [
        ("yaml", "PyYAML"), ("cv2", "opencv-python-headless"), ("PIL.Image", "Pillow"),
        ("sklearn.svm", "scikit-learn"), ("bs4", "beautifulsoup4"), ("dateutil.parser", "python-dateutil"),
        ("requests.adapters", "requests"), ("toolz", "toolz"), ("google.protobuf.message", "protobuf"),
        ("google.cloud.storage", "google-cloud-storage"), ("zope.interface", "zope-interface"),
        ("flask_sqlalchemy", "Flask-SQLAlchemy"),
    ],
)  # fmt: skip
def test_what_is_known_by_another_name_is_found(module: str, distribution: str) -> None:
    source = source_of(module, (), NOTHING)
    assert source is not None
    assert source.is_known
    assert normalise(source.requirement.name) == normalise(distribution)


def test_an_unknown_module_is_taken_by_its_name_and_called_a_guess() -> None:
    source = source_of("my_helper.part", (), NOTHING)
    assert source is not None
    assert (source.requirement.name, source.is_known) == ("my-helper", False)


def test_what_many_share_is_told_apart_by_what_is_imported_or_not_at_all() -> None:
    by_name = source_of("google.cloud", ("storage",), NOTHING)
    assert by_name is not None
    assert by_name.requirement.name == "google-cloud-storage"
    assert source_of("google.cloud", (), NOTHING) is None
    assert source_of("azure", ("*",), NOTHING) is None


def test_the_owners_files_choose_between_names_and_say_which_version() -> None:
    named = list_declared(
        {
            "requirements-dev.txt": "opencv-python>=4, <5  # pictures\n-r other.txt\nhttps://x.example/a.whl\n\n",
            "pyproject.toml": "[project]\ndependencies = [\"python-slugs[fast]==1.2 ; python_version > '3'\"]\n"
            '[project.optional-dependencies]\nx = ["Foo.Bar"]\n[dependency-groups]\ndev = [{include-group = "y"}]\n',
        }
    )
    assert {str(each) for each in named.values()} == {"opencv-python>=4,<5", "python-slugs==1.2", "Foo.Bar"}
    cv2, slugs, foo = (source_of(name, (), named) for name in ("cv2", "slugs", "foo_bar"))
    assert cv2 is not None
    assert str(cv2.requirement) == "opencv-python>=4,<5"
    assert slugs is not None
    assert slugs.is_known
    assert str(slugs.requirement) == "python-slugs==1.2"
    assert foo is not None
    assert foo.is_known


def test_a_broken_file_names_nothing() -> None:
    assert list_declared({"pyproject.toml": "[project\n", "requirements.txt": "\x00\n"}) == {}
    assert list_declared({"pyproject.toml": "project = 3\ndependency-groups = [1]\n"}) == {}


@pytest.mark.parametrize("path", ["requirements.txt", "dev-requirements.txt", "requirements/test.in", "pyproject.toml"])
def test_files_that_name_packages_are_known(path: str) -> None:
    assert is_declaration(path)


@pytest.mark.parametrize("path", ["notes.txt", "sub/requirements.txt", "requirements.py", "sub/pyproject.toml"])
def test_other_files_name_none(path: str) -> None:
    assert not is_declaration(path)


@given(st.text(max_size=60))
def test_what_reaches_pip_is_a_name_and_versions_whatever_was_written(text: str) -> None:
    parsed_requirement = requirement(text)
    if parsed_requirement is not None:
        assert str(parsed_requirement)[0].isalnum()
        assert not set(str(parsed_requirement)) & set(" \t\n;@/\\'\"$`&|")


@pytest.mark.parametrize("text", ["-e .", "--index-url=x", "a @ file:///etc", "./a", "a b", "", "git+https://x"])
def test_options_paths_and_addresses_are_no_requirements(text: str) -> None:
    assert requirement(text) is None
