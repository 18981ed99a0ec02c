"""`%load_ext agentcell`: `%%watch` around a whole cell, `%watch` around one expression.

A cell that begins with `%%watch` runs as it would without that line, inside the block of a run: its lines keep their numbers, it may
await at its top level, and the value of its last expression is shown behind the run. For that its first line is turned into an
expression that makes the run, and, in the tree that Python makes of the cell, the rest is moved into a `with` block around it.
"""

from __future__ import annotations

import ast
import inspect
import re
from typing import TYPE_CHECKING, Any, NoReturn

from IPython import get_ipython
from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from agentcell.display import watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from IPython.core.interactiveshell import InteractiveShell

    from agentcell.run import Run

_MAKER = "__import__('agentcell.magic', fromlist=['run_for']).run_for"
_FIRST_LINE = re.compile(r"%%watch(?:[ \t]+(?P<line>.*?))?[ \t]*\r?\n?")
_OPTION = re.compile(r"""--(?P<name>[a-z][a-z_-]*)(?:(?:=|[ \t]+)(?P<value>"[^"]*"|'[^']*'|[^\s"']\S*))?(?=\s|$)""")
_VALUE = "__agentcell_value__"


@magics_class
class WatchMagics(Magics):
    """The magics of agentcell."""

    @no_var_expand
    @line_cell_magic
    def watch(self, line: str, cell: str | None = None) -> Any:
        """Shows an agent's run live, around a cell or around one expression.

        %%watch [options] [the task in words]
        %watch [options] an expression

        The run is there as `run`, in the cell and after it. The cell's, or the expression's, own value is shown as always.

        The options are those of agentcell.watch, before everything else:
            --agent NAME  --model NAME  --asker NAME  --live-steps 6
            --expand open|closed|auto  --thinking hide|show  --split off|auto  --images all|link  --persist widget|snapshot
            --expand-trace  --no-auto  --no-display
            --redact EXPRESSION  --templates EXPRESSION  --clock EXPRESSION
        `%watch` takes the task as an option too: --task "in words".
        """
        if cell is not None:
            raise UsageError("%%watch must be the first line of the cell itself")
        options, rest = _split(line)
        rest, quiet = rest.rstrip("; \t"), rest.endswith(";")
        if not rest:
            raise UsageError("%watch needs an expression: `%watch agent.invoke(question)`; %%watch is for a whole cell")
        shell = _shell()
        namespace = shell.user_ns
        name = shell.compile.cache(rest)
        try:
            code = compile(rest, name, "eval")
        except SyntaxError as error:
            if error.msg and "await" in error.msg:
                raise UsageError("%watch cannot await: use %%watch, which takes a whole cell") from None
            if _is_code(rest):
                raise UsageError("%watch needs an expression, not a statement: `x = %watch f()`, or %%watch for a cell") from None
            raise
        with _run(options, namespace) as run:
            namespace["run"] = run
            value = eval(code, namespace)  # noqa: S307 - the person's own expression
        return None if quiet else value  # as IPython's own magics have it


class BlockMaker(ast.NodeTransformer):
    """Moves what follows the first line of a `%%watch` cell into its block."""

    def visit_Module(self, module: ast.Module) -> ast.Module:
        """The cell's tree with the block in it, where it has such a line."""
        first, *body = module.body or [ast.Pass()]
        if not _makes_run(first):
            return module
        future = [node for node in body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
        body = [node for node in body if node not in future]
        shown: list[ast.stmt] = []
        if body and isinstance(body[-1], ast.Expr):
            last = body[-1]
            body[-1] = ast.copy_location(ast.Assign([ast.Name(_VALUE, ast.Store())], last.value), last)
            shown = [ast.copy_location(_parsed(f"globals().pop({_VALUE!r}, None)"), last)]
        block = ast.With([ast.withitem(first.value, ast.Name("run", ast.Store()))], body or [ast.Pass()])  # type: ignore[attr-defined]
        module.body = [*future, ast.copy_location(block, first), *shown]
        return ast.fix_missing_locations(module)


def turn_first_line(lines: list[str]) -> list[str]:
    """A cell's lines, with a `%%watch` in the first one turned into the expression that makes the run."""
    found = _FIRST_LINE.fullmatch(lines[0]) if lines else None
    if found is None:
        return lines
    inner = next((line.split()[0] for line in lines[1:] if line.strip()), "")
    if inner.startswith("%%"):  # it is not Python yet, and the whole cell below it is its own
        return [f"__import__('agentcell.magic', fromlist=['refuse']).refuse({inner!r})\n"]
    return [f"{_MAKER}({found['line'] or ''!r})\n", *lines[1:]]


def refuse(inner: str) -> NoReturn:
    """Says that a cell magic cannot stand below `%%watch`."""
    raise UsageError(f"{inner} cannot stand below %%watch: put it above, or `with agentcell.watch(...):` into its cell")


def run_for(line: str) -> Run:
    """The run that the words behind `%%watch` ask for.

    Raises:
        UsageError: an option that there is not, or a value that it does not know.
    """
    options, task = _split(line)
    if task:
        options["task"] = task
    return _run(options, _shell().user_ns)


def load(shell: InteractiveShell) -> None:
    """Makes the magics known to a shell; a second time changes nothing."""
    unload(shell)
    shell.register_magics(WatchMagics)
    shell.input_transformers_cleanup.append(turn_first_line)
    shell.ast_transformers.append(BlockMaker())


def unload(shell: InteractiveShell) -> None:
    """Takes the magics away again."""
    if turn_first_line in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(turn_first_line)
    shell.ast_transformers[:] = [one for one in shell.ast_transformers if not isinstance(one, BlockMaker)]
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("watch", None)


def _split(line: str) -> tuple[dict[str, str | bool], str]:
    """The options at the beginning of a line, as they were written, and what follows them."""
    known = inspect.signature(watch).parameters
    options: dict[str, str | bool] = {}
    rest = line.strip()
    while rest.startswith("--"):
        found = _OPTION.match(rest)
        written = found["name"].replace("-", "_") if found else ""
        name = written.removeprefix("no_")
        if found is None or name not in known:
            offered = ", ".join(sorted(_spelled(one) for one in known.values()))
            raise UsageError(f"%watch does not know {rest.split()[0]}; its options are {offered}")
        end = found.end()
        if known[name].annotation == "bool":
            options[name] = written == name
            end = found.end("name")
        elif found["value"] is None or written != name:
            raise UsageError(f"%watch wants a value behind {_spelled(known[name])}")
        else:
            options[name] = found["value"].strip("\"'")
        rest = rest[end:].lstrip()
    return options, rest


def _spelled(parameter: inspect.Parameter) -> str:
    off = parameter.annotation == "bool" and parameter.default is True
    return f"--{'no-' if off else ''}{parameter.name.replace('_', '-')}"


def _run(options: Mapping[str, str | bool], namespace: dict[str, Any]) -> Run:
    known = inspect.signature(watch).parameters
    make: Callable[..., Run] = watch
    try:
        return make(**{name: _read(known[name], value, namespace) for name, value in options.items()})
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from error


def _read(parameter: inspect.Parameter, written: object, namespace: dict[str, Any]) -> Any:
    """An option's value; what cannot be a word is an expression of the person's."""
    annotation = str(parameter.annotation)
    if not isinstance(written, str) or annotation.startswith(("str", "Literal")):
        return written
    if annotation == "int":
        return int(written) if written.isdecimal() else written
    return eval(written, namespace)  # noqa: S307


def _shell() -> InteractiveShell:
    shell: InteractiveShell | None = get_ipython()
    if shell is None:
        raise UsageError("%watch is for a cell of a notebook, or for IPython's prompt")
    return shell


def _makes_run(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == _MAKER


def _is_code(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _parsed(source: str) -> ast.stmt:
    return ast.parse(source).body[0]
