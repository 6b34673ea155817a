"""Reads the file name of a block in a reply: from its info string, the line above it, or its first comment."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORDS = (
    "bat c cc cfg conf cpp cs css csv env go h hpp htm html ini ipynb java jinja jinja2 js json jsx kt less lock md mjs"
    " cjs cts mts php pl po ps1 proto py pyi pyx r rb rs rst scss sh sql svelte svg swift tex toml ts tsv tsx txt vue"
    " xml yaml yml"
)
_EXTENSIONS = frozenset(_WORDS.split())
_BARE_NAMES = frozenset({"Makefile", "Dockerfile", "LICENSE", "Procfile", "Justfile", ".gitignore", ".dockerignore"})
_KEY = re.compile(r"(?:^|[\s{,])(path|file_?path|file_?name|file|title|name)\s*[=:]\s*", re.IGNORECASE)
_DELETE = re.compile(
    r"(?:^|[\s{,])(?:action\s*=\s*)?[\"']?(?:deleted?|removed?)[\"']?(?:\s*=\s*(?:true|yes|1))?(?=$|[\s},])",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"^(?:#{1,6}\s+|[-*+>]\s+|\d{1,3}[.)]\s+)+")
_PREFIX = re.compile(
    r"^(?:(?:new|updated|modified|the) )?(?:file ?(?:name|path)?|path|datei(?:name)?|pfad|fichier|chemin|archivo"
    r"|fichero|ruta|arquivo|caminho|percorso|bestand|plik|soubor|dosya|fil|файл|путь|文件名?|文件路径|檔案|路径|ファイル名?|パス"
    r"|파일|경로|ملف|ไฟล์|tệp|αρχείο|קובץ)(?:\s*[:=]\s*|\s+)(?=\S)",
    re.IGNORECASE,
)
"""Matches a label before a file name, such as "File:"; the colon may be missing."""
_REMARK = re.compile(
    r"\s*(?:\((?:new|new file|updated|modified|complete|full|unchanged|deleted?|created?)\)|（[^）]{1,12}）)$",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`([^`\s]+)`")
_COMMENT = re.compile(r"^\s*(?:#|//|--|;|<!--|/\*|%)\s*(.*?)\s*(?:-->|\*/)?$")
_QUOTES = "*\"'`“”„‘’«»「」『』《》"
_LABEL = re.compile(
    r"^(?:\d+:\d+:|[^\w/\\.\s]+\s+|\d{1,3}[.)]\s+|[^/\\.:：=]{1,24}\s*[:：]\s*|[^\x00-\x7f]{1,24}\s*=\s*)"
)
_FRAME = re.compile(r"^[\[(<（【](.*)[\])>）】]$")
_LINK = re.compile(r"^\[([^\]]+)\]\([^)]*\)$")
_SIGNS = re.compile(r"\A[^\w\x00-\x7f]++(?!\.)|(?<=[\x00-\x7f])[^\w\x00-\x7f\u0300-\u036f]+\Z")
"""Matches emoji, arrows and punctuation of other scripts around a path; neither accents nor a name such as `🚀.md`."""
_LINES = re.compile(r"(?::\d+(?:-\d+)?|#L\d+(?:-L?\d+)?)$")
_MAX_LINE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A path as the model wrote it (not yet validated), and whether the model asks to remove the file."""

    path: str
    delete: bool = False


def looks_like_path(text: str) -> bool:
    """Check whether a word looks like a file path: a known extension or a well-known bare name."""
    if not text or len(text) > 400 or any(c in " \t\"'`<>|*?(){}[],;=" for c in text):
        return False
    base = text.rsplit("/", 1)[-1]
    stem, dot, extension = base.rpartition(".")
    return base in _BARE_NAMES or bool(dot and stem and extension.lower() in _EXTENSIONS and "://" not in text)


def language_of(info: str) -> str:
    """Return the first word of an info string in lower case if it is a language; else empty."""
    word = re.split(r"[\s:{,=]", info.strip(), maxsplit=1)[0].lower()
    return "" if looks_like_path(word) else word


def from_info(info: str) -> Name | None:
    """Return the path in an info string.

    Accepted forms: `python path=pkg/mod.py`, also with title=, file= or filename=; `python:pkg/mod.py`, `python
    pkg/mod.py`, and the path alone.
    """
    if len(info) > _MAX_LINE:
        return None
    if key := _KEY.search(info):
        rest = info[key.end() :]
        value = _value(rest)
        others = info[: key.start()] + " " + rest[len(value) :] if rest.startswith(value) else ""
        if key.group(1).lower() not in {"title", "name"} or looks_like_path(tidy(value)):
            return Name(path=tidy(value), delete=bool(_DELETE.search(others)))
    words = [w for w in re.findall(r"[^\s{}]+", info) if w[-1] not in ":：" and without_label(f"{w} x") != "x"]
    for word in words[:2]:
        tail = word.split(":", 1)[-1] if ":" in word else word
        if looks_like_path(tail.strip("\"'")):
            return Name(path=tidy(tail), delete=bool(_DELETE.search(info)))
    return None


def _value(rest: str) -> str:
    if rest[:1] in {'"', "'"} and (end := rest.find(rest[0], 1)) > 0:
        return rest[: end + 1]
    word = re.split(r"[\s},]", rest, maxsplit=1)[0]
    if looks_like_path(word.strip("\"'`")):
        return word
    full_name = _DELETE.sub(" ", rest).strip(" }")
    return full_name if looks_like_path(re.sub(r"[ '\"]", "_", tidy(full_name))) else word


def tidy(path: str) -> str:
    """Remove the label, quotes and line numbers that a model wrote around a path, in any script."""
    text = _LABEL.sub("", _LINK.sub(r"\1", path.strip()).strip(_QUOTES)).strip(_QUOTES + " ")
    text = _REMARK.sub("", _FRAME.sub(r"\1", _LINES.sub("", text)))
    return _SIGNS.sub("", text.strip(_QUOTES + ":： ")).strip().removeprefix("./")


def without_label(path: str) -> str:
    """Remove a word such as “File” and a space from the start of a path.

    The result is wrong if the word belongs to the name of a folder.
    """
    return _PREFIX.sub("", path)


def has_label(path: str) -> bool:
    """Check whether a path contains a colon or a character of `_QUOTES`, which models write around file names."""
    return any(char in path for char in _QUOTES + ":：")


def from_label(line: str) -> Name | None:
    """Return the path from a line above a fence: a bare path, `**path**`, a heading, `File: path` or “… in `path`:”."""
    text = line.strip()
    if not text or len(text) > _MAX_LINE:
        return None
    if looks_like_path(bare := _bare(text)):
        return Name(path=tidy(bare), delete=text.lower().endswith(("(delete)", "(deleted)")))
    quoted = {q for q in _QUOTED.findall(text) if looks_like_path(q)}
    if text.rstrip("* ").endswith(":") and len(quoted) == 1:
        return Name(path=tidy(quoted.pop()))
    return None


def _bare(text: str) -> str:
    text = _MARKUP.sub("", text)
    for _ in range(3):
        text = _REMARK.sub("", text.strip().strip("*:").strip())
        text = _LABEL.sub("", _PREFIX.sub("", text)).strip()
    return text.strip(_QUOTES + " ").strip(":").strip(_QUOTES + " ")


def from_comment(first_line: str) -> Name | None:
    """Return the path from a first line such as `# pkg/mod.py`."""
    if len(first_line) > _MAX_LINE or not (match := _COMMENT.match(first_line.rstrip())):
        return None
    text = _bare(match.group(1))
    return Name(path=tidy(text)) if looks_like_path(text) else None


def without_path_line(path: str, text: str, before: str | None) -> str:
    """Remove the file's own path from its first line, where a model repeats it, unless the line was there before."""
    line, _, rest = text.partition("\n")
    name = from_comment(line)
    is_new = name is not None and name.path == path and not (before or "").startswith(line)
    return rest.lstrip("\n") if is_new and rest.strip() else text
