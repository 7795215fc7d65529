"""The first line of a cell `%%tilt`, read without a kernel."""

import pytest

from tiltpy.notebook.cell_arguments import CellArgumentsError, read_cell_arguments


def test_all_options_together() -> None:
    read = read_cell_arguments(
        'out --start "2026-03-01 10:00" --end 2026-03-02 -p w=30s --param k=a=b '
        "-i stock=prices --input x'=y".replace("x'", '"x\'"')
        + " --query q --explain --plot --quiet"
    )
    assert (read.name, read.query) == ("out", "q")
    assert (read.start, read.end) == ("2026-03-01 10:00", "2026-03-02")
    assert read.params == {"w": "30s", "k": "a=b"}
    assert read.inputs == {"stock": "prices", "x'": "y"}
    assert read.explain
    assert read.plot
    assert read.quiet


def test_nothing_is_needed() -> None:
    read = read_cell_arguments("")
    assert (read.name, read.start, read.end, read.query) == (None,) * 4
    assert (read.params, read.inputs) == ({}, {})
    assert not any((read.explain, read.plot, read.quiet))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a b", "%%tilt: b: one argument too many (see %%tilt?)"),
        ("--start", "%%tilt: argument --start: expected one argument (see %%tilt?)"),
        ("--ploot x", "%%tilt has no option --ploot; did you mean --plot?"),
        ('--start "x', "%%tilt: no closing quotation; close the quotes"),
        (
            "--query for",
            "%%tilt: --query: expected the name of a variable, found 'for'",
        ),
        ("-p w", "%%tilt: -p w: write -p w=30s (see %%tilt?)"),
        ("-p w=1 -p w=2", "%%tilt: -p w=... is given twice; give it once"),
        (
            "-i stock=a.b",
            "--input stock=: expected the name of a variable, found 'a.b'",
        ),
        ("-i stock", "%%tilt: --input stock: write --input stock=prices"),
        ("--quie", "%%tilt has no option --quie; did you mean --quiet?"),
    ],
)
def test_wrong_options_are_told_in_a_line(line: str, expected: str) -> None:
    with pytest.raises(CellArgumentsError) as caught:
        read_cell_arguments(line)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
