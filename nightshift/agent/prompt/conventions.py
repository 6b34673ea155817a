"""The owner's rules for agents: AGENTS.md files near the work, and the catalogue of the repository's skills.

Both are read from the base commit, never from a change, so a model cannot write its own rules. `protected_files`
prevents a model from writing such files at all unless the task asks for that. For each file that matters, the nearest
AGENTS.md in its folder or a parent folder is used; the one at the root comes last. In a folder without AGENTS.md, the
rules file of another tool is used (`_NAMES`). A rules file may import others (`@docs/rules.md`), as in Claude Code;
links within the repository are followed. A skill is a folder with a SKILL.md; only its name and description are shown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from nightshift.agent.prompt.budget import Shown, clip, take_lines
from nightshift.agent.prompt.text import quote
from nightshift.agent.view import base_text
from nightshift.core.code.paths import folders_of
from nightshift.core.code.tree import Linked, Tree, follow_links
from nightshift.core.gauge import Gauge
from nightshift.core.text.masking import printable

MOST_TOKENS = 4000
MOST_SKILLS = 30
_NAMES = (
    *("AGENTS.md", "agents.md", "Agents.md", "CLAUDE.md", "Claude.md", "claude.md", "GEMINI.md", "QWEN.md"),
    ".github/copilot-instructions.md",
)
_IMPORT = re.compile(r"(?<![\w`/])@([\w./+-]*\w)")
_SKILL_FOLDERS = (".agents/skills", ".claude/skills")
_SKILL_FILE = "SKILL.md"
_NAME_CHARS, _DESCRIPTION_CHARS = 64, 200
_FRONT_CHARS = 8000
_LEAST_TOKENS = 60
"""Minimum tokens that must be left for a file to be shown, because a shorter beginning of a file is useless."""
_FRAME = 60
_HEAD = (
    "The owner's rules for work in this repository, those of the nearest folder first. Keep to them in style, "
    "structure and commands where they bear on this task; its words and the rules above go before them."
)
_SKILLS = "Skills described in this repository:"
_READ = "Skills described in this repository; read the file of one that fits with `read_file`:"


def conventions(tree: Tree, paths: Iterable[str], space: int, gauge: Gauge, *, tools: bool = False) -> Shown:
    """Return the conventions for these files and the catalogue of skills, as far as they fit; empty if there are none.

    Args:
        tree: the base.
        paths: the files that matter, the most important first.
        space: limit in tokens.
        gauge: counts tokens.
        tools: whether the model can read files.
    """
    space = min(space, MOST_TOKENS)
    parts, cut = _files(tree, paths, space - gauge.tokens(_HEAD) - _FRAME, gauge)
    shown = [f"{_HEAD}\n\n" + quote("conventions", "\n\n".join(parts))] if parts else []
    head = _READ if tools else _SKILLS
    left = space - sum(map(gauge.tokens, shown)) - gauge.tokens(head) - _FRAME
    catalogue = list(skills(tree))
    lines = take_lines((f"- {name}: {about} ({path})" for name, about, path in catalogue), left, gauge)
    shown += [f"{head}\n\n" + quote("skills", "\n".join(lines))] if lines else []
    return Shown(text="\n\n".join(shown), cut=cut or len(lines) < len(catalogue))


def _files(tree: Tree, paths: Iterable[str], space: int, gauge: Gauge) -> tuple[list[str], bool]:
    parts, cut = list[str](), False
    for path, text in _with_imports(tree, nearest(tree, paths), set()):
        room = space - gauge.tokens(f"{path}:\n\n\n\n")
        shown, shorter = clip(text, room, gauge) if room >= _LEAST_TOKENS else ("", True)
        cut = cut or shorter
        if shown:
            parts.append(f"{path}:\n\n{shown}")
            space -= gauge.tokens(parts[-1] + "\n\n")
    return parts, cut


def nearest(tree: Tree, paths: Iterable[str]) -> list[str]:
    """List the convention files for these paths, in their order: the nearest file of each path, then the root's."""
    chains = (reversed(["", *(f"{folder}/" for folder in folders_of(path))]) for path in paths)
    nearest_files = (next(filter(None, (_in(folder, tree) for folder in chain)), "") for chain in chains)
    root = _in("", tree)
    return [path for path in dict.fromkeys(nearest_files) if path and path != root] + ([root] if root else [])


def _in(folder: str, tree: Tree) -> str:
    return next((folder + name for name in _NAMES if follow_links(tree, folder + name) in tree.entries()), "")


def _with_imports(tree: Tree, paths: Iterable[str], seen: set[str]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each non-empty file, once, followed by the files that it imports."""
    for path in paths:
        real = follow_links(tree, path)
        text = (base_text(tree, real) or "").strip() if real not in seen else ""
        seen.add(real)
        if text:
            yield path, text
            folder = posixpath.dirname(real)
            named = (posixpath.normpath(posixpath.join(folder, name)) for name in _IMPORT.findall(text))
            yield from _with_imports(tree, named, seen)


def skills(tree: Tree) -> Iterator[tuple[str, str, str]]:
    """Yield name, description and path of at most thirty skills; skills without name or description are skipped."""
    seen = set[str]()
    for folder in _SKILL_FOLDERS:
        for path in _skill_files(tree, f"{follow_links(tree, folder)}/"):
            if len(seen) >= MOST_SKILLS:
                return
            front = front_matter((base_text(tree, path) or "")[:_FRONT_CHARS])
            name, about = (" ".join(printable(front.get(key, "")).split()) for key in ("name", "description"))
            if name and about and name not in seen:
                seen.add(name)
                yield _short(name, _NAME_CHARS), _short(about, _DESCRIPTION_CHARS), path


def _skill_files(tree: Tree, folder: str) -> Iterator[str]:
    """Yield the skill files in a folder, including those in linked folders."""
    for path in tree.entries():
        if path.startswith(folder) and path.removeprefix(folder).split("/")[1:] == [_SKILL_FILE]:
            yield path
    links = tree.links() if isinstance(tree, Linked) else ()
    yield from (
        follow_links(tree, f"{link}/{_SKILL_FILE}") for link in links if posixpath.dirname(link) + "/" == folder
    )


def front_matter(text: str) -> dict[str, str]:
    """Return the scalar values of the YAML between two `---` lines at the start of a text; empty if there is none.

    Only nodes are read and no objects are built, so neither aliases nor merge keys can expand.
    """
    import yaml  # noqa: PLC0415 (slow to import; few repositories have skills)

    first, *lines = text.removeprefix("\ufeff").split("\n")
    ends = [at for at, line in enumerate(lines) if line.rstrip() == "---"]
    if first.rstrip() != "---" or not ends:
        return {}
    try:
        node = yaml.compose("\n".join(lines[: ends[0]]), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return {
        key.value: value.value
        for key, value in pairs
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode)
    }


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
