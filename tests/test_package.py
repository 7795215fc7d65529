"""The package as a module: its names, its version, its command."""

import builtins
import inspect
import subprocess
import sys
from importlib.metadata import version

import pytest

import tiltpy as tilt


def test_the_version_is_the_installed_one() -> None:
    assert tilt.__version__ == version("tiltpy")
    assert "__version__" in dir(tilt)


def test_importing_all_names_leaves_the_builtins() -> None:
    scope: dict[str, object] = {}
    exec("from tiltpy import *", scope)  # noqa: S102 - what is tested
    hidden = [name for name in vars(builtins) if scope.get(name) is not None]
    assert [name for name in hidden if name[0] != "_"] == []
    assert scope["mean"] is tilt.mean
    assert scope["f64"] is tilt.f64


def test_names_are_listed_without_modules() -> None:
    names = set(dir(tilt))
    assert {"sum", "bool", "compile", "mean", "TDom", "Result", "library"} <= names
    modules = {name for name in names if isinstance(getattr(tilt, name), type(sys))}
    assert modules - {"__builtins__"} == {"library", "sinks", "sources"}
    assert not {name for name in names if name[0] == "_" and name[:2] != "__"}
    assert not {"SCALARS", "STRING", "gc"} & names


def test_a_misspelled_name_says_the_nearest() -> None:
    with pytest.raises(AttributeError) as caught:
        tilt.sourc  # noqa: B018 - what is tested
    assert (caught.value.name, caught.value.obj) == ("sourc", tilt)


def test_the_command_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "tiltpy", "--version"]
    shown = subprocess.check_output(command, text=True)  # noqa: S603 - our own
    assert shown == f"tilt {tilt.__version__}\n"


@pytest.mark.parametrize("name", tilt.__all__)
def test_signatures_are_short(name: str) -> None:
    value = getattr(tilt, name)
    methods = [value]
    if inspect.isclass(value):
        methods += [m for n, m in vars(value).items() if n[0] != "_" and callable(m)]
    for method in methods:
        if inspect.isfunction(method):
            signature = str(inspect.signature(method))
            assert not any(word in signature for word in ("tiltpy.", "collections."))
            assert len(signature) < 360
    assert repr(tilt.CompileOptions()).endswith("cache=True, costs=Costs())")
