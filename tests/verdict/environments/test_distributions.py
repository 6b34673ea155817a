from __future__ import annotations

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


def test_what_is_known_by_another_name_is_found() -> None:
    for module, distribution in (
        ("yaml", "PyYAML"), ("dateutil.parser", "python-dateutil"), ("google.protobuf.message", "protobuf"),
        ("google.cloud.storage", "google-cloud-storage"), ("flask_sqlalchemy", "Flask-SQLAlchemy"),
    ):  # fmt: skip
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
    sources = [source_of(name, (), named) for name in ("cv2", "slugs", "foo_bar")]
    assert [str(each.requirement) for each in sources if each and each.is_known] == [
        "opencv-python>=4,<5", "python-slugs==1.2", "Foo.Bar",
    ]  # fmt: skip


def test_files_that_name_packages_are_known() -> None:
    assert all(map(is_declaration, ("dev-requirements.txt", "requirements/test.in", "pyproject.toml")))
    assert not any(map(is_declaration, ("notes.txt", "sub/requirements.txt", "requirements.py")))


@given(st.text(max_size=60))
def test_what_reaches_pip_is_a_name_and_versions_whatever_was_written(text: str) -> None:
    parsed_requirement = requirement(text)
    if parsed_requirement is not None:
        assert str(parsed_requirement)[0].isalnum()
        assert not set(str(parsed_requirement)) & set(" \t\n;@/\\'\"$`&|")


def test_options_paths_and_addresses_are_no_requirements() -> None:
    assert not any(map(requirement, ("-e .", "a @ file:///etc", "./a", "a b", "", "git+https://x")))
