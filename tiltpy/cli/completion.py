"""`tilt completion`: scripts for bash, zsh and fish, which ask `tilt` what may follow.

The scripts call `tilt --complete WORDS...`, whose last word is the one to complete, and
which prints a completion a line, then a line `@files` where paths may follow. So there
is one place that knows commands, options, and the names in a query.
"""

import re
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

COMPLETE = "--complete"
_FILES = "@files"

_BASH = """\
_tilt() {
    local line word="${COMP_WORDS[COMP_CWORD]}" words
    COMPREPLY=()
    # An equals sign is a word of its own to bash: join what it has split.
    words="${COMP_LINE:0:COMP_POINT}"
    read -r -a words <<< "$words"
    [[ "${COMP_LINE:COMP_POINT-1:1}" == " " ]] && words+=("")
    while IFS= read -r line; do
        if [[ "$line" == @files ]]; then
            COMPREPLY+=($(compgen -f -- "${word#=}"))
            compopt -o filenames 2> /dev/null
        else
            [[ "$line" == *= ]] && compopt -o nospace 2> /dev/null
            COMPREPLY+=("$line")
        fi
    done < <(tilt --complete "${words[@]:1}" 2> /dev/null)
}
complete -F _tilt tilt
"""
_ZSH = """\
#compdef tilt
_tilt() {
    local line
    local -a found
    for line in "${(@f)$(tilt --complete "${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
        if [[ "$line" == @files ]]; then
            [[ "$PREFIX" == [^-]*=* ]] && compset -P '*='
            _files
        elif [[ -n "$line" ]]; then
            found+=("$line")
        fi
    done
    (( $#found )) && compadd -S '' -- $found
}
compdef _tilt tilt
"""
_FISH = """\
function __tilt_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in (tilt --complete $words[2..-1] 2> /dev/null)
        if test "$line" = @files
            set -l name (string match -r '^[^-=][^=]*=' -- $words[-1])
            set -l path (string replace -r '^[^-=][^=]*=' '' -- $words[-1])
            __fish_complete_path "$path" | string replace -r '^' "$name"
        else
            echo $line
        end
    end
end
complete -c tilt -f -a '(__tilt_complete)'
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def add_completion_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `tilt completion`."""
    parser.add_argument(
        "shell", choices=SCRIPTS, help="the shell to complete commands in"
    )
    parser.epilog = (
        'bash: eval "$(tilt completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc, '
        "after compinit; fish: tilt completion fish > "
        "~/.config/fish/completions/tilt.fish"
    )


def completion(args: Namespace) -> int:
    """Print the script of a shell."""
    print(SCRIPTS[args.shell], end="")
    return 0


def complete(parser: ArgumentParser, words: Sequence[str]) -> int:
    """Print what may follow, where the last word is incomplete."""
    *before, word = words or [""]
    for found in _completions(parser, before, word):
        print(found)
    return 0


def _completions(
    parser: ArgumentParser, before: Sequence[str], word: str
) -> Iterator[str]:
    commands = next(a for a in parser._actions if isinstance(a.choices, dict))  # noqa: SLF001
    choices = dict(commands.choices or {})
    if not before:
        yield from _beginning(word, [*choices, "--help", "--version"])
        return
    command = choices.get(before[0])
    if not isinstance(command, ArgumentParser):
        return
    options = command._option_string_actions  # noqa: SLF001
    action = options.get(before[-1])
    if action is not None and action.nargs != 0:
        yield from _values(action, before, word)
    elif word.startswith("-"):
        yield from _beginning(word, options)
    else:
        places = [a for a in command._actions if not a.option_strings]  # noqa: SLF001
        for place in places[:1]:
            if place.choices:
                yield from _beginning(word, [str(choice) for choice in place.choices])
            else:
                yield _FILES


def _values(action: Action, before: Sequence[str], word: str) -> Iterator[str]:
    """Yield the values of an option: choices, names of the query, or files."""
    if action.choices is not None:
        yield from _beginning(word, [str(choice) for choice in action.choices])
        return
    metavar = str(action.metavar or "")
    if "NAME=" in metavar and "=" not in word:
        statement = {"--output": "output", "-p": "param", "--param": "param"}
        kind = statement.get(action.option_strings[-1], "input")
        names = _names(before, kind)
        yield from _beginning(word, [f"{name}=" for name in names])
    if "FILE" in metavar:
        yield _FILES


def _beginning(word: str, choices: Sequence[str] | dict[str, Action]) -> list[str]:
    return [choice for choice in choices if choice.startswith(word)]


def _names(before: Sequence[str], statement: str) -> list[str]:
    """Find what the query among the words declares."""
    for word in before:
        if word.endswith(".tilt"):
            try:
                text = Path(word).read_text("utf-8")
            except (OSError, UnicodeDecodeError):
                return []
            return re.findall(rf"^[ \t]*{statement}[ \t]+~?(\w+)", text, re.MULTILINE)
    return []
