"""Reads the description of a repository's own package: name, version, entry points and import folders.

Nothing is executed. `pyproject.toml` (PEP 621, Poetry, Flit, Hatch, PDM, setuptools), `setup.cfg` and the literal
arguments in `setup.py` are parsed as data, and so are the files that contain the version.
"""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nightshift.core.code.listing import Listing, last_of
from nightshift.core.code.parsing import parse
from nightshift.verdict.languages.python.outline import last_name

CONFIG_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
UNKNOWN_VERSION = "0.0.0"
MOST_MEMBERS = 200
_NO_MEMBERS = frozenset({
    "node_modules", "vendor", "third_party", "site-packages", "tests", "test", "testdata", "fixtures", "examples",
    "templates", "docs", "build", "dist",
})  # fmt: skip
"""Folders whose packages do not count as the repository's own."""
_VERSION = re.compile(
    r"""^(?:__version__|VERSION|version)(?:\s*:[^=\n]+)?\s*=\s*['"]v?([^'"\n]+)['"]""", re.MULTILINE | re.IGNORECASE
)
_PLAIN_VERSION = re.compile(r"v?\d[\w.!+-]*")
_DESCRIBED = re.compile(r"(?:^|[vV_/-])(\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)?)-(\d+)-(g[0-9a-f]+)\Z")
"""Matches `git describe --long`. In `pkg-v1.2rc1-5-gabc`, the groups are the version `1.2rc1`, the number `5` of
commits since the tag, and the commit `gabc`.
"""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SCRIPT = re.compile(r"[A-Za-z0-9_][\w.-]*")
_OBJECT = re.compile(r"[A-Za-z_][\w.]*(?::[A-Za-z_][\w.]*)?(?:\s*\[[\w,\s.-]*\])?")
_GROUP = re.compile(r"[\w][\w.-]*")
_WRITTEN = ("_version.py", "version.py", "__version__.py", "__about__.py", "about.py", "__init__.py")
_Read = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPackage:
    """A repository's own package. All paths are relative to the folder that contains the configuration.

    Attributes:
        name: the name of the package; empty if the repository is not a package.
        version: the version as written in the files.
        roots: the folders from which modules are imported, in addition to the configuration's folder.
        entry_points: group to the entry points in it, each a name with an object as `module:attribute`.
        requires: the package's requirements.
        extras: the name of each extra with its requirements.
        groups: the name of each other list of requirements, such as a dependency group, with the requirements.
        requires_python: the specifier of the accepted Python versions.
        about: further metadata fields with their values.
        version_files: the files into which a build writes the version that it gets from git tags.
    """

    name: str = ""
    version: str = UNKNOWN_VERSION
    roots: tuple[str, ...] = ()
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    requires: tuple[str, ...] = ()
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    requires_python: str = ""
    about: tuple[tuple[str, str], ...] = ()
    version_files: tuple[str, ...] = ()


def tag_version(described: str) -> str:
    """Return the version of a commit, derived from the last tag as by setuptools_scm.

    The result is `UNKNOWN_VERSION` if the tag contains no version.

    Args:
        described: the output of `git describe --long`: the tag, the number of commits since, and the commit.
    """
    match = _DESCRIBED.search(described)
    if not match:
        return UNKNOWN_VERSION
    version, since, commit = match.groups()
    if since == "0":
        return version
    low, number = re.fullmatch(r"(.*?)(\d+)", version.partition("+")[0].partition(".dev")[0]).groups()  # type: ignore[union-attr] # it ends in a digit
    return f"{low}{int(number) + 1}.dev{since}+{commit}"


def version_text(path: str, version: str) -> str:
    """Return the text that a build writes into a version file: a Python module, or just the version in other files."""
    if not path.endswith(".py"):
        return f"{version}\n"
    parts = tuple(int(part) if part.isdecimal() else part for part in re.split(r"[.+]", version))
    return (
        f"__version__ = version = {version!r}\n__version_tuple__ = version_tuple = {parts!r}\n"
        "__commit_id__ = commit_id = None\n"
    )


def read(text_of: _Read, paths: Collection[str]) -> OwnPackage:
    """Read the package that a folder contains.

    Args:
        text_of: returns the text of a file below the folder, or None.
        paths: the paths of all files below the folder.
    """
    return _Reader(text_of, paths).read()


def find_members(text_of: _Read, paths: Collection[str]) -> tuple[str, ...]:
    """Return the import folders of the packages in subfolders, as if these packages were installed in editable mode.

    Such packages are, for example, members of a workspace, dependencies given by a path, and requirements of the form
    `-e PATH`.

    Args:
        text_of: returns the text of a file of the repository, or None.
        paths: the paths of all files of the repository.
    """
    listing, roots = paths if isinstance(paths, Listing) else Listing(dict.fromkeys(paths, "")), list[str]()
    configs = (path for path in listing.having(last_of, *CONFIG_FILES) if "/" in path)
    folders = dict.fromkeys(path.rpartition("/")[0] for path in configs)
    members = [folder for folder in folders if not _NO_MEMBERS.intersection(folder.split("/"))]
    for folder in members[:MOST_MEMBERS]:
        below = [path.removeprefix(f"{folder}/") for path in listing.below(f"{folder}/")]
        member = read(lambda path, folder=folder: text_of(f"{folder}/{path}"), below)  # type: ignore[misc]
        if member.name:
            roots += [f"{folder}/{root}" for root in member.roots] or [folder]
    return tuple(roots)


class _Reader:
    def __init__(self, text_of: _Read, paths: Collection[str]) -> None:
        self._text = text_of
        self._paths = paths if isinstance(paths, Listing) else Listing(dict.fromkeys(paths, ""))
        self._pyproject = _toml(text_of("pyproject.toml") or "")
        self._project = _table(self._pyproject.get("project"))
        self._tool = _table(self._pyproject.get("tool"))
        self._cfg = _ini(text_of("setup.cfg") or "")
        self._setup = _setup_arguments(text_of("setup.py") or "")
        self._poetry = _table(self._tool.get("poetry"))

    def read(self) -> OwnPackage:
        flit = _table(_table(self._tool.get("flit")).get("metadata"))
        meta = _table(self._cfg.get("metadata"))
        name = next((
            value for value in (
                self._project.get("name"), self._poetry.get("name"), flit.get("dist-name"), flit.get("module"),
                meta.get("name"), self._setup.get("name"),
            ) if isinstance(value, str) and _NAME.fullmatch(value)
        ), "")  # fmt: skip
        roots = tuple(dict.fromkeys(root for root in map(_folder, self._roots()) if root))
        requires, extras = self._needs(flit)
        asked = (
            self._project.get("requires-python"), _table(self._poetry.get("dependencies")).get("python"),
            flit.get("requires-python"), self._options.get("python_requires"), self._setup.get("python_requires"),
        )  # fmt: skip
        return OwnPackage(
            name=name,
            version=self._version(name, roots) or UNKNOWN_VERSION,
            roots=roots,
            entry_points=self._entry_points(),
            requires=requires,
            extras=extras,
            groups=self._groups(),
            requires_python=next((_specifier(specifier) for specifier in asked if isinstance(specifier, str)), ""),
            about=tuple(self._about(meta)),
            version_files=tuple(path for path in map(_folder, self._version_files()) if path),
        )

    @property
    def _options(self) -> Mapping[str, Any]:
        return _table(self._cfg.get("options"))

    # The methods below find the folders from which modules are imported.

    def _roots(self) -> Iterator[str]:
        setuptools = _table(self._tool.get("setuptools"))
        for mapping in (
            setuptools.get("package-dir"),
            _pairs(self._options.get("package_dir")),
            self._setup.get("package_dir"),
        ):
            yield from _roots_of(_table(mapping))
        find = _table(_table(setuptools.get("packages")).get("find"))
        yield from _strings(find.get("where"))
        yield from _strings(_table(self._cfg.get("options.packages.find")).get("where"))
        for package in _list(self._poetry.get("packages")):
            yield from _strings(_table(package).get("from"))
        wheel = _table(_table(_table(_table(self._tool.get("hatch")).get("build")).get("targets")).get("wheel"))
        yield from (path.rpartition("/")[0] for path in _strings(wheel.get("packages")))
        yield from _strings(wheel.get("sources"))
        yield from _strings(_table(_table(self._tool.get("hatch")).get("build")).get("dev-mode-dirs"))
        yield from _strings(_table(_table(self._tool.get("pdm")).get("build")).get("package-dir"))
        yield from _strings(_table(self._tool.get("maturin")).get("python-source"))
        if self._paths.below("src/"):
            yield "src"

    # The methods below find the version, which may be in the configuration or in a file that the configuration names.

    def _version(self, name: str, roots: Sequence[str]) -> str:
        meta = _table(self._cfg.get("metadata"))
        for version in (self._project.get("version"), self._poetry.get("version"), self._setup.get("version")):
            if isinstance(version, str) and _PLAIN_VERSION.fullmatch(version):
                return version
        declared = str(meta.get("version", "")).strip()
        if _PLAIN_VERSION.fullmatch(declared):
            return declared
        return next(filter(None, self._dynamic_versions(name, roots, declared)), "")

    def _dynamic_versions(  # noqa: C901 (one place after the other where a version may stand)
        self, name: str, roots: Sequence[str], declared: str
    ) -> Iterator[str]:
        if declared.startswith("attr:"):
            yield self._of_attribute(declared[5:].strip(), roots)
        if declared.startswith("file:"):
            yield self._of_file(declared[5:].strip())
        dynamic = _table(_table(_table(self._tool.get("setuptools")).get("dynamic")).get("version"))
        if isinstance(dynamic.get("attr"), str):
            yield self._of_attribute(dynamic["attr"], roots)
        for path in _strings(dynamic.get("file")):
            yield self._of_file(path)
        for table in (_table(self._tool.get("hatch")).get("version"), _table(self._tool.get("pdm")).get("version")):
            for path in _strings(_table(table).get("path")):
                yield self._of_file(path, str(_table(table).get("pattern", "")))
        yield from map(self._of_file, self._version_files())
        for path in self._paths.having(last_of, "PKG-INFO"):
            is_own = path == "PKG-INFO" or path.endswith(".egg-info/PKG-INFO")
            text = self._text(path) if is_own else None
            if text and (match := re.search(r"^Version: (\S+)$", text.partition("\n\n")[0], re.MULTILINE)):
                yield match[1]
        flit = str(_table(_table(self._tool.get("flit")).get("metadata")).get("module", ""))
        for module in filter(None, (flit, str(_table(_table(self._tool.get("flit")).get("module")).get("name", "")),
                                    re.sub(r"[-.]+", "_", name), name.replace("-", "/"))):  # fmt: skip
            for root in ("", *(f"{root}/" for root in roots)):
                base = f"{root}{module.replace('.', '/')}"
                for path in (f"{base}.py", *(f"{base}/{file}" for file in _WRITTEN)):
                    yield self._of_file(path)

    def _version_files(self) -> Iterator[str]:
        scm = (_table(self._tool.get(tool)) for tool in ("setuptools_scm", "setuptools-scm"))
        hooks = _table(_table(_table(self._tool.get("hatch")).get("build")).get("hooks"))
        for table in (*scm, *map(_table, hooks.values()), _table(_table(self._tool.get("pdm")).get("version"))):
            for name in ("version_file", "version-file", "write_to"):
                yield from _strings(table.get(name))

    def _of_attribute(self, dotted: str, roots: Sequence[str]) -> str:
        module, _, attribute = dotted.rpartition(".")
        base = module.replace(".", "/")
        for root in ("", *(f"{root}/" for root in roots)):
            for path in (f"{root}{base}.py", f"{root}{base}/__init__.py"):
                version = self._of_file(
                    path, rf"(?m)^{re.escape(attribute)}(?:\s*:[^=\n]+)?\s*=\s*['\"](?P<version>[^'\"]+)"
                )
                if version:
                    return version
        folder = base if any(path.startswith(f"{base}/") for path in self._paths) else f"src/{base}"
        return next(filter(None, (self._of_file(f"{folder}/{file}") for file in _WRITTEN)), "")

    def _of_file(self, path: str, pattern: str = "") -> str:
        path = path.removeprefix("./")
        text = self._text(path) if path in self._paths else None
        if text is None:
            return ""
        if pattern and len(pattern) < 300:
            return _match_pattern(pattern, text)
        match = _VERSION.search(text)
        if match:
            return match[1] if _PLAIN_VERSION.fullmatch(match[1]) else ""
        version = text.strip()
        return version.removeprefix("v") if _PLAIN_VERSION.fullmatch(version) else ""

    # The methods below read entry points, requirements and metadata.

    def _entry_points(self) -> dict[str, dict[str, str]]:
        tool = _table(self._tool.get("flit"))
        groups: list[tuple[str, Mapping[str, Any]]] = [
            ("console_scripts", _table(self._project.get("scripts"))),
            ("gui_scripts", _table(self._project.get("gui-scripts"))),
            *((group, _table(table)) for group, table in _table(self._project.get("entry-points")).items()),
            ("console_scripts", _table(self._poetry.get("scripts"))),
            *((group, _table(table)) for group, table in _table(self._poetry.get("plugins")).items()),
            ("console_scripts", _table(tool.get("scripts"))),
            *((group, _table(table)) for group, table in _table(tool.get("entrypoints")).items()),
        ]
        groups += [(group, _pairs(text)) for group, text in _table(self._cfg.get("options.entry_points")).items()]
        literal = self._setup.get("entry_points")
        if isinstance(literal, str):
            groups += list(_ini(literal).items())
        groups += [(group, _pairs(lines)) for group, lines in _table(literal).items()]
        entry_points: dict[str, dict[str, str]] = {}
        for group, table in groups:
            for name, target in table.items():
                at = _target(target)
                sound = bool(_OBJECT.fullmatch(at)) and "\n" not in str(name)
                if not sound or not _GROUP.fullmatch(group) or "=" in str(name) or not str(name).strip():
                    continue
                if group.endswith("_scripts") and not _SCRIPT.fullmatch(name):
                    continue
                entry_points.setdefault(group, {})[str(name).strip()] = at
        return entry_points

    def _needs(self, flit: Mapping[str, Any]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
        requires = [*_strings(self._project.get("dependencies")), *_strings(flit.get("requires"))]
        requires += _lines(self._options.get("install_requires"))
        requires += _lines(self._setup.get("install_requires"))
        dynamic = _table(_table(self._tool.get("setuptools")).get("dynamic"))
        for path in _strings(_table(dynamic.get("dependencies")).get("file")):
            requires += (self._text(path) or "").splitlines()
        poetry = _table(self._poetry.get("dependencies"))
        optional = {name for name, value in poetry.items() if _table(value).get("optional")}
        requires += _of_poetry({name: value for name, value in poetry.items() if name not in optional | {"python"}})
        extras = {
            name: tuple(_strings(lines)) for name, lines in _table(self._project.get("optional-dependencies")).items()
        }
        for path, table in _table(dynamic.get("optional-dependencies")).items():
            extras[path] = tuple(line for file in _strings(_table(table).get("file"))
                                 for line in (self._text(file) or "").splitlines())  # fmt: skip
        flits = _table(flit.get("requires-extra"))
        for name, lines in (*flits.items(), *_table(self._setup.get("extras_require")).items(),
                            *_table(self._cfg.get("options.extras_require")).items()):  # fmt: skip
            extras[name] = (*extras.get(name, ()), *_lines(lines))
        for name, names in _table(self._poetry.get("extras")).items():
            chosen = {each: poetry[each] for each in _strings(names) if each in poetry}
            extras[name] = tuple(_of_poetry(chosen))
        return tuple(requires), extras

    def _groups(self) -> dict[str, tuple[str, ...]]:
        declared = _table(self._pyproject.get("dependency-groups"))
        groups = {str(name): tuple(_of_group(declared, name, ())) for name in declared}
        uv = _strings(_table(self._tool.get("uv")).get("dev-dependencies"))
        groups |= {"dev": (*groups.get("dev", ()), *uv)} if uv else {}
        for name, lines in _table(_table(self._tool.get("pdm")).get("dev-dependencies")).items():
            groups[name] = (*groups.get(name, ()), *_strings(lines))
        old = {"dev": {"dependencies": self._poetry.get("dev-dependencies")}}
        for name, table in (*old.items(), *_table(self._poetry.get("group")).items()):
            lines = _of_poetry(_table(_table(table).get("dependencies")))
            groups |= {name: (*groups.get(name, ()), *lines)} if lines else {}
        hatch = _table(_table(self._tool.get("hatch")).get("envs"))
        for name, table in hatch.items():
            lines = [*_strings(_table(table).get("dependencies")), *_strings(_table(table).get("extra-dependencies"))]
            groups |= {name: (*groups.get(name, ()), *lines)} if lines else {}
        tests = _lines(self._setup.get("tests_require"))
        return groups | ({"tests": (*groups.get("tests", ()), *tests)} if tests else {})

    def _about(self, meta: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """List the metadata fields that programs may read: summary, license, authors, URLs, classifiers, keywords."""
        project = self._project
        summary = project.get("description") or self._poetry.get("description") or meta.get("description")
        yield from (("Summary", summary),) if isinstance(summary, str) else ()
        license_ = project.get("license") or self._poetry.get("license") or meta.get("license")
        named = license_ if isinstance(license_, str) else _table(license_).get("text")
        field_ = "License-Expression" if isinstance(project.get("license"), str) else "License"
        yield from ((field_, named),) if isinstance(named, str) else ()
        for author in _list(project.get("authors")):
            person, mail = _table(author).get("name"), _table(author).get("email")
            if isinstance(mail, str):
                yield "Author-email", f"{person} <{mail}>" if isinstance(person, str) else mail
            elif isinstance(person, str):
                yield "Author", person
        for name, url in _table(project.get("urls")).items():
            yield from (("Project-URL", f"{name}, {url}"),) if isinstance(url, str) else ()
        yield from (("Classifier", classifier) for classifier in _strings(project.get("classifiers")))
        keywords = _strings(project.get("keywords"))
        yield from (("Keywords", ",".join(keywords)),) if keywords else ()


def _target(given: object) -> str:
    """Return the object that an entry point names, which Poetry may also give in a table."""
    value = _table(given).get("callable") or _table(given).get("reference") or given
    return value.strip() if isinstance(value, str) else ""


def _of_group(groups: Mapping[str, Any], name: str, seen: tuple[str, ...]) -> Iterator[str]:
    """Yield the requirements of a dependency group and of the groups that it includes."""
    wanted = re.sub(r"[-_.]+", "-", name).lower()
    own = next((lines for each, lines in groups.items() if re.sub(r"[-_.]+", "-", each).lower() == wanted), None)
    for member in _list(own) if wanted not in seen else ():
        if isinstance(member, str):
            yield member
        elif isinstance(included := _table(member).get("include-group"), str):
            yield from _of_group(groups, included, (*seen, wanted))


def _of_poetry(table: Mapping[str, Any]) -> list[str]:
    """Return Poetry's dependencies as requirements.

    A dependency on a git repository, URL or path becomes `name @ address`.
    """
    requirements = []
    for name, given in table.items():
        value = (
            next((constraint for constraint in given if isinstance(constraint, Mapping)), "*")
            if isinstance(given, list)
            else given
        )
        more = _table(value)
        if address := next((more[key] for key in ("git", "url", "path", "file") if isinstance(more.get(key), str)), ""):
            requirements.append(f"{name} @ {address}")
            continue
        version = value if isinstance(value, str) else more.get("version", "*")
        extras = f"[{','.join(_strings(more.get('extras')))}]" if more.get("extras") else ""
        marker = f" ; {more['markers']}" if isinstance(more.get("markers"), str) else ""
        requirements.append(f"{name}{extras}{_specifier(str(version))}{marker}")
    return requirements


def _specifier(text: str) -> str:
    """Convert a Poetry constraint into a version specifier; a constraint that is already a specifier stays as it is."""
    text = text.partition("||")[0].strip()
    return ",".join(filter(None, (_one_specifier(part.strip()) for part in text.split(","))))


def _one_specifier(part: str) -> str:
    if part in {"*", ""}:
        return ""
    sign, version = part[0], part[1:].strip()
    numbers = re.match(r"\d+(?:\.\d+)*", version if sign in "^~" else part)
    if sign == "^" and numbers:
        parts = [int(number) for number in numbers[0].split(".")]
        at = next((position for position, number in enumerate(parts) if number), len(parts) - 1)
        return f">={version},<{'.'.join(map(str, [*parts[:at], parts[at] + 1]))}"
    if sign == "~" and not part.startswith("~=") and numbers:
        parts = [int(number) for number in numbers[0].split(".")]
        upper = parts[:2] if len(parts) > 1 else parts[:1]
        return f">={version},<{'.'.join(map(str, [*upper[:-1], upper[-1] + 1]))}"
    return f"=={part}" if numbers else part


def _roots_of(table: Mapping[str, Any]) -> Iterator[str]:
    """List the folders from which the packages in a `package_dir` mapping are imported."""
    for package, folder in table.items():
        if not isinstance(folder, str):
            continue
        inside = package.replace(".", "/")
        path = folder.removeprefix("./").rstrip("/")
        if not package:
            yield path
        elif path.endswith(f"/{inside}"):
            yield path.removesuffix(f"/{inside}")


def _folder(path: str) -> str:
    """Return the normalised path of a folder below the repository; empty for the root and for folders outside."""
    folder = path.strip().removeprefix("./").strip("/")
    return folder if folder not in {"", "."} and not path.startswith("/") and ".." not in folder.split("/") else ""


def _match_pattern(pattern: str, text: str) -> str:
    try:
        match = re.search(pattern, text[:100_000])
        return (match["version"] if "version" in match.re.groupindex else match[1]) if match else ""
    except (re.error, IndexError):
        return ""


def _setup_arguments(text: str) -> dict[str, Any]:
    """Return the literal arguments of the `setup` call in a setup.py.

    A name is replaced by the literal that is assigned to it.
    """
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    assigned: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, node.value)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and last_name(node.func) == "setup"]
    arguments: dict[str, Any] = {}
    for word in calls[0].keywords if calls else ():
        node = assigned.get(word.value.id, word.value) if isinstance(word.value, ast.Name) else word.value
        try:
            if word.arg:
                arguments[word.arg] = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
    return arguments


def _toml(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _ini(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",), allow_no_value=True, comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign] # names keep their letters
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return {name: {key: value or "" for key, value in parser.items(name)} for name in parser.sections()}


def _pairs(given: object) -> dict[str, str]:
    """Parse lines of the form `name = value`, which may be given as a text or as a list."""
    lines = given.splitlines() if isinstance(given, str) else _strings(given)
    pairs = (line.partition("=") for line in lines if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _lines(given: object) -> list[str]:
    return [line for text in _strings(given) for line in text.splitlines() if line.strip()]


def _table(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _list(given: object) -> list[Any]:
    return given if isinstance(given, list) else []


def _strings(given: object) -> list[str]:
    if isinstance(given, str):
        return [given]
    return [text for text in given if isinstance(text, str)] if isinstance(given, list | tuple) else []
