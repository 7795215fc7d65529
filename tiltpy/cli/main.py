"""The `tilt` command: reading the command line, and how it ends.

Exit codes: 0 done, 1 the data or the run failed (or `fmt --check` found something),
2 the query or the arguments are wrong, 128 + n ended by the signal n: 130 for Ctrl-C,
143 for SIGTERM, 129 for SIGHUP. Errors are one line or the caret picture on stderr,
never a traceback.
"""

import atexit
import gc
import os
import re
import signal
import sys
import threading
import warnings
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import NoReturn

from tiltpy.cli.arguments import ArgumentsError
from tiltpy.cli.completion import COMPLETE, complete
from tiltpy.cli.console import FAILED, report, report_line, report_warning
from tiltpy.errors import TiltError, TiltWarning
from tiltpy.messages import closest
from tiltpy.runtime.concurrency.offload import is_abandoned

SIGNALLED = 128
"""The exit code where a signal ends a command, less the signal's number."""
ENDING = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that end a command as Ctrl-C does; under nohup SIGHUP stays ignored.

Windows has no SIGHUP.
"""
BROKEN_PIPE = 13
"""The number of SIGPIPE, on systems that have it."""

COMMANDS = {
    "run": "run a query over files",
    "live": "run a query over rows as they come",
    "plot": "draw the result of a query",
    "check": "report the errors of queries",
    "explain": "show what a query compiles to",
    "fmt": "rewrite queries in the standard format",
    "new": "write a query to start from, for the columns of a file",
    "disorder": "measure how far rows are out of order",
    "lsp": "serve an editor: errors, names, completion",
    "completion": "write a script that completes commands in a shell",
}
"""The summaries of the commands; each is the function of its name in its module."""

EXAMPLE = """\
example:
  tilt run trend.tilt --input stock=prices.parquet --time Date --output trend.parquet
"""


class _Parser(ArgumentParser):
    """A parser whose errors look like all others of the command."""

    def error(self, message: str) -> NoReturn:
        unknown = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if unknown is not None:
            choices = re.findall(r"[\w-]+", unknown[2])
            raise ArgumentsError(
                f"{_explain_choice(unknown[1], choices)}{self._help_hint}"
            )
        raise ArgumentsError(f"{message}{self._help_hint}")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Refuse words that are no options and have no place."""
        word = words[0]
        if word.startswith("-"):
            name = word.partition("=")[0]
            near = closest(name, self._option_string_actions)
            hint = f"; did you mean {near}?" if near else ""
            for action in self._actions:
                if action.option_strings and name[2:] in (action.choices or ()):
                    hint = f"; write {action.option_strings[-1]} {name[2:]}"
            raise ArgumentsError(f"there is no option {name}{hint}{self._help_hint}")
        hint = f"; data is given as --input {word}" if Path(word).exists() else ""
        raise ArgumentsError(f"{word}: one argument too many{hint}{self._help_hint}")

    @property
    def _help_hint(self) -> str:
        return f" (see {self.prog} --help)"


def _explain_choice(word: str, choices: Sequence[str]) -> str:
    """Say what is meant by a word that is none of the choices."""
    if "run" in choices and word.endswith(".tilt"):
        return f"'{word}' is a query, no command; write tilt run {word}"
    near = closest(word, choices)
    hint = f"did you mean {near}?" if near else f"there is {', '.join(choices)}"
    return f"invalid choice: '{word}'; {hint}"


def build_parser(names: Iterable[str]) -> _Parser:
    """Build the parser of the command line, for some of the commands."""
    parser = _Parser(
        prog="tilt",
        description="Compile temporal queries and run them.",
        epilog=EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in names:
        summary = COMMANDS[name]
        module = import_module(f"tiltpy.cli.{name}")
        sub = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            allow_abbrev=False,
        )
        getattr(module, f"add_{name}_arguments")(sub)
        sub.set_defaults(command=getattr(module, name), parser=sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    gc.freeze()  # what was imported stays, and a command leaves little garbage
    gc.set_threshold(100_000)
    _open_outputs()
    handlers = {
        number: signal.signal(number, _terminate)
        for number in ENDING
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        code = _run_and_report(lambda: _dispatch(argv))
        return code if argv is not None else _end_soon(code)
    except KeyboardInterrupt:
        print("tilt: interrupted", file=sys.stderr)
        return _end_now(SIGNALLED + signal.SIGINT, alone=argv is None)
    except _Termination as end:
        return _end_now(SIGNALLED + end.number, alone=argv is None)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _end_soon(code: int) -> int:
    """End the process, or return the exit code while there are threads to wait for.

    Python would free one by one what was imported, which takes 30 ms.
    """
    others = (t for t in threading.enumerate() if t is not threading.main_thread())
    if not all(thread.daemon for thread in others):
        return code
    atexit._run_exitfuncs()  # noqa: SLF001 - what Python itself begins with
    return _end_now(code, alone=True)


def _end_now(code: int, *, alone: bool) -> int:
    """Return the exit code, or end the process now if it is the command's `alone`.

    Python would wait for calls of libraries that still run. Spark's session must be
    closed first.
    """
    if is_abandoned() or (alone and "pyspark" not in sys.modules):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # nobody is left to tell
                stream.flush()
        os._exit(code)
    return code


def _open_outputs() -> None:
    """Let any text be printed, whatever the encoding.

    That stdout or stderr was closed (`>&-`) is no error.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _dispatch(argv: Sequence[str] | None) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    parser = build_parser(words[:1] if words and words[0] in COMMANDS else COMMANDS)
    if words[:1] == [COMPLETE]:
        return complete(parser, words[1:])
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    args, rest = parser.parse_known_args(words)
    if rest:
        chosen: _Parser = getattr(args, "parser", parser)
        chosen.refuse(rest)
    if args.version:
        # Slow to import, and seldom needed.
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

        try:
            print(f"tilt {version('tiltpy')}")
        except PackageNotFoundError:
            print("tilt, from a clone that is not installed")
        return 0
    if not hasattr(args, "command"):
        parser.error(
            "say what to do: run, live, plot, check, explain, fmt, new, disorder, "
            "lsp or completion"
        )
    command: Callable[..., int] = args.command
    with warnings.catch_warnings():
        warnings.simplefilter("always", TiltWarning)
        warnings.showwarning = partial(report_warning, warnings.showwarning)
        code = command(args)
    sys.stdout.flush()
    return code


def _run_and_report(body: Callable[[], int]) -> int:
    """Run a body and return its exit code; report its errors on stderr."""
    try:
        return body()
    except TiltError as error:
        return report(error)
    except MemoryError:
        report_line("out of memory; try a smaller --chunk")
    except BrokenPipeError:
        # The reader has seen enough. Python would complain once more at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return SIGNALLED + BROKEN_PIPE
    except OSError as error:
        report_line(str(error))
    return FAILED


class _Termination(BaseException):
    """A signal that ends the command as Ctrl-C does: no half-written file stays."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    raise _Termination(number)


if __name__ == "__main__":
    sys.exit(main())
