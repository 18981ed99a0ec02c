"""What kind of thing a tool does, told by the words of its name: a table, and the words that a bullet uses for each kind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_QUERY = ("query", "q", "search_query", "searchQuery", "queries", "terms", "keywords", "question", "pattern", "text")
_PATH = ("path", "file_path", "filePath", "filepath", "file", "filename", "note_path", "notePath", "note", "title", "name")
_SEARCH = "search find query lookup retrieve websearch"
_FILES = "file files note notes document doc"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolKind:
    """One kind of tool and its words.

    Attributes:
        names: Names that are of this kind as a whole, in lower case without separators; a blank between two of them.
        verbs: Words; a name that has one of these …
        objects: … and one of these (whatever else, if there are none) is of this kind too.
        doing: The bullet for a call without a telling argument.
        doing_with: The same with one; `{}` is where it stands.
        keys: The arguments that tell, the first one that is there wins.
        shown_as: How the argument is shown: as it is, as the last part of a path, or as code.
        limit: How many characters of it are shown.
        found: What a search finds, one and many; None where a count says nothing.
        rejectable: Whether a person may have said no, which the result then says.
    """

    doing: str
    doing_with: str
    keys: tuple[str, ...]
    names: str = ""
    verbs: str = ""
    objects: str = ""
    shown_as: Literal["text", "path", "code"] = "text"
    limit: int = 50
    found: tuple[str, str] | None = None
    rejectable: bool = False


TOOL_KINDS: tuple[ToolKind, ...] = (
    ToolKind(
        verbs="time date",
        objects="range window",
        doing="Calculating a time range",
        doing_with="Calculating a time range for {}",
        keys=("time_expression", "timeExpression", "expression", *_QUERY),
    ),
    ToolKind(
        verbs="fetch read open visit get browse scrape crawl load",
        objects="url urls page webpage website web link site",
        doing="Reading a page",
        doing_with="Reading {}",
        keys=("url", "urls", "uri", "link", "address", "page"),
    ),
    ToolKind(
        names="grep ripgrep rg",
        verbs=f"{_SEARCH} grep",
        objects="code codebase repo repository",
        doing="Searching the code",
        doing_with="Searching the code for {}",
        keys=("pattern", "regex", *_QUERY),
        found=("match", "matches"),
    ),
    ToolKind(
        names="glob",
        verbs=f"{_SEARCH} glob grep",
        objects="file files dir directory folder",
        doing="Searching files",
        doing_with="Searching files for {}",
        keys=("pattern", "glob", *_QUERY),
        found=("file", "files"),
    ),
    ToolKind(
        verbs=_SEARCH,
        objects="note notes vault local",
        doing="Searching notes",
        doing_with="Searching notes for {}",
        keys=_QUERY,
        found=("relevant note", "relevant notes"),
    ),
    ToolKind(
        verbs=_SEARCH,
        objects="doc docs document documents knowledge kb",
        doing="Searching documents",
        doing_with="Searching documents for {}",
        keys=_QUERY,
        found=("relevant document", "relevant documents"),
    ),
    ToolKind(
        verbs=_SEARCH,
        objects="web internet online google bing brave tavily duckduckgo ddg serper serpapi exa websearch",
        doing="Searching the web",
        doing_with="Searching the web for {}",
        keys=_QUERY,
        limit=30,
        found=("web result", "web results"),
    ),
    ToolKind(
        verbs="search",
        doing="Searching",
        doing_with="Searching for {}",
        keys=_QUERY,
        found=("result", "results"),
    ),
    ToolKind(
        names="ls",
        verbs="list browse get",
        objects="files dir directory directories folder folders tree",
        doing="Listing files",
        doing_with="Listing files in {}",
        keys=("path", "directory", "dir", "folder", "root"),
        shown_as="path",
        found=("entry", "entries"),
    ),
    ToolKind(
        verbs="list browse",
        objects="note notes",
        doing="Listing notes",
        doing_with="Listing notes in {}",
        keys=("path", "directory", "dir", "folder"),
        shown_as="path",
        found=("note", "notes"),
    ),
    ToolKind(
        verbs="read open view load get",
        objects="note notes",
        doing="Reading a note",
        doing_with="Reading {}",
        keys=_PATH,
        shown_as="path",
    ),
    ToolKind(
        names="read view cat",
        verbs="read open view cat load get",
        objects=_FILES,
        doing="Reading a file",
        doing_with="Reading {}",
        keys=_PATH,
        shown_as="path",
    ),
    ToolKind(
        names="edit multiedit applypatch strreplace",
        verbs="edit replace patch modify update insert",
        objects=_FILES,
        doing="Editing a file",
        doing_with="Editing {}",
        keys=_PATH,
        shown_as="path",
        rejectable=True,
    ),
    ToolKind(
        names="write",
        verbs="write create save append add",
        objects=_FILES,
        doing="Writing a file",
        doing_with="Writing {}",
        keys=_PATH,
        shown_as="path",
        rejectable=True,
    ),
    ToolKind(
        verbs="delete remove",
        objects=_FILES,
        doing="Deleting a file",
        doing_with="Deleting {}",
        keys=_PATH,
        shown_as="path",
        rejectable=True,
    ),
    ToolKind(
        names="bash shell localshell terminal python ipython pythonrepl pythoninterpreter codeinterpreter",
        verbs="run exec execute",
        objects="command commands cmd shell bash terminal code python script sql query",
        doing="Running a command",
        doing_with="Running {}",
        keys=("command", "commands", "cmd", "code", "script", "sql", "query", "input"),
        shown_as="code",
    ),
)
"""All kinds; the first one that fits a name is taken."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")


def kind_of(tool: str) -> ToolKind | None:
    """The kind of the tool with this name, written in any of the usual ways; None if its name tells nothing.

    Of a name like `mcp__server__read_file` only the part behind the last `__`, `/` or `:` counts: the rest names who offers it.
    """
    words = [word.lower() for word in _WORD.findall(re.split(r"__|[/:]", tool)[-1])]
    name = "".join(words)
    for kind in TOOL_KINDS:
        of_this_kind = _has_one(words, kind.verbs) and (not kind.objects or _has_one(words, kind.objects))
        if of_this_kind or name in kind.names.split():
            return kind
    return None


def _has_one(words: list[str], wanted: str) -> bool:
    return not set(words).isdisjoint(wanted.split())
