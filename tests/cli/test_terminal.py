"""A terminal: colours on it and nowhere else, words in place of others, completion."""

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tiltpy.cli.main import main
from tiltpy.colors import paint_message

QUERY = "unit s\ninput m : f64 time ts point\nparam k : f64 = 1\n~up[t] = ~m[t] + k\n"
ROWS = "ts,m\n1970-01-01 00:00:01,10\n1970-01-01 00:00:02,20\n"
TILT = (sys.executable, "-m", "tiltpy.cli.main")
ESCAPE = "\x1b["


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("up.tilt").write_text(QUERY)
    Path("wrong.tilt").write_text(QUERY.replace("~m[t]", "~n[t]"))
    Path("m.csv").write_text(ROWS)


def on_terminal(words: Sequence[str], **environment: str) -> tuple[int, str]:
    """Run a command on a terminal: its exit code, and all that the terminal shows."""
    ours, theirs = pty.openpty()
    kept = {n: v for n, v in os.environ.items() if n not in ("NO_COLOR", "TERM")}
    process = subprocess.Popen(  # noqa: S603
        [*TILT, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**kept, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    shown = b""
    with process:
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    return process.returncode, shown.decode().replace("\r\n", "\n")


def test_colours_are_on_a_terminal_alone(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = on_terminal(["check", "wrong.tilt"])
    assert code == 2
    assert shown.startswith("\x1b[1;31merror[E0101]:\x1b[0m unknown object ~n\n")
    assert (
        "\x1b[34m   |\x1b[0m          \x1b[1;31m^^\x1b[0m\x1b[36m there is ~m" in shown
    )
    assert main(["check", "wrong.tilt"]) == 2
    plain = capsys.readouterr().err
    assert ESCAPE not in plain
    assert paint_message(plain.rstrip()) == shown.rstrip()
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert on_terminal(["check", "wrong.tilt"], **environment) == (2, plain)


def test_the_head_of_a_preview_is_bold() -> None:
    code, shown = on_terminal(["run", "up.tilt", "--input", "m.csv"])
    assert code == 0
    _, title, rows = shown.rpartition("\x1b[1m~up\x1b[0m\n")
    head, *lines = rows.splitlines()
    assert title
    assert head.startswith("\x1b[1m ")
    assert not any(ESCAPE in line for line in lines)
    code, shown = on_terminal(["run", "up.tilt", "--input", "m.csv", "--output", "-"])
    assert shown.endswith(",21\nwrote 2 snapshots to <stdout>\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("runn up.tilt", "invalid choice: 'runn'; did you mean run?"),
        ("up.tilt", "'up.tilt' is a query, no command; write tilt run up.tilt"),
        ("run up.tilt m.csv", "one argument too many; data is given as --input m.csv"),
        ("run up.tilt m", "m: one argument too many (see tilt run --help)"),
        ("run up.tilt --imput m.csv", "no option --imput; did you mean --input?"),
        ("run up.tilt --xyzzy", "no option --xyzzy (see tilt run --help)"),
        ("completion tcsh", "invalid choice: 'tcsh'"),
    ],
)
def test_words_that_mean_something_else(
    capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["help", "run"])
    assert "--input NAME=FILE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["r"], ["run"]),
        (["", ], ["run", "live", "plot", "check", "explain", "fmt", "new", "disorder",
                  "lsp", "completion", "--help", "--version"]),
        (["run", "--outp"], ["--output", "--output-format"]),
        (["run", ""], ["@files"]),
        (["run", "up.tilt", "--input", ""], ["m=", "@files"]),
        (["run", "up.tilt", "--input", "m="], ["@files"]),
        (["run", "up.tilt", "-p", ""], ["k="]),
        (["run", "up.tilt", "--time", ""], ["m="]),
        (["run", "up.tilt", "--sort", "t"], ["time"]),
        (["explain", "up.tilt", "--format", "m"], ["mermaid"]),
        (["run", "gone.tilt", "-p", ""], []),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["nothing", ""], []),
    ],
)  # fmt: skip
def test_what_may_follow(
    capsys: pytest.CaptureFixture[str], words: list[str], found: list[str]
) -> None:
    assert main(["--complete", *words]) == 0
    assert capsys.readouterr().out.split() == found


BASH = """
eval "$({tilt} completion bash)"
tilt() {{ {tilt} "$@"; }}
COMP_LINE="$1" COMP_POINT="${{#1}}"
read -r -a COMP_WORDS <<< "$1"
[[ "$1" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_tilt 2> /dev/null
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def in_bash(line: str, environment: Mapping[str, str]) -> list[str]:
    script = BASH.format(tilt=" ".join(TILT))
    done = subprocess.run(  # noqa: S603
        ["/bin/bash", "-c", script, "bash", line],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return done.stdout.split()


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
def test_bash_completes() -> None:
    environment = dict(os.environ)
    assert in_bash("tilt ex", environment) == ["explain"]
    assert set(in_bash("tilt run up.tilt --input ", environment)) >= {"m=", "m.csv"}
    assert in_bash("tilt run u", environment) == ["up.tilt"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_parse(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "tilt --complete" in script
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run(  # noqa: S603
        [path, "-n"], input=script.encode(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


FISH = """
function tilt; {tilt} $argv; end
tilt completion fish | source
complete -C "{line}"
"""


@pytest.mark.parametrize(
    ("line", "completions"),
    [
        ("tilt ru", ["run"]),
        ("tilt run up.tilt --in", ["--input", "--input-format"]),
        ("tilt run up.tilt --input m=m", ["m=m.csv"]),
        ("tilt run u", ["up.tilt"]),
    ],
)
def test_fish_completes(line: str, completions: list[str]) -> None:
    path = shutil.which("fish")
    if path is None:
        pytest.skip("fish is not installed")
    script = FISH.format(tilt=" ".join(TILT), line=line)
    done = subprocess.run(  # noqa: S603
        [path, "--no-config", "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout.split(), done.stderr) == (completions, "")
