"""Options of the test run, and what all tests may rely on."""

import gc
import os
import signal
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from tests import covering, shared_code
from tests.costs import set_default_costs
from tiltpy.compiler import stages


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden texts with what is found now",
    )
    parser.addoption(
        "--deep",
        action="store_true",
        help="many more random cases and cycles: hours instead of minutes",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Nothing is found in the user's cache, and nothing is left there.

    The workers of a parallel run inherit the folder. Every kernel is verified. Runs
    over few rows have the kernels of those over many, and threads share few rows, too:
    tests are for these. What users have with few rows is in `test_few_rows`, and in
    some random settings. LLVM compiles each text once, for all workers. No test has
    to be done by a deadline.
    """
    examples = 2_000 if config.getoption("--deep") else 100
    settings.register_profile("tests", deadline=None, max_examples=examples)
    settings.load_profile("tests")
    stages.VERIFY_KERNELS = True
    set_default_costs(
        baseline_rows=0, vector_rows=1 << 12, portion_rows=4, shared_result_rows=4
    )
    if not hasattr(config, "workerinput"):
        for name in ("XDG_CACHE_HOME", shared_code.FOLDER):
            folder = TemporaryDirectory(prefix="tiltpy-cache-")
            os.environ[name] = folder.name
            config.add_cleanup(folder.cleanup)
    shared_code.share(deep=config.getoption("--deep"))


def pytest_collection(session: pytest.Session) -> None:
    """Import the modules in every second worker from the other end.

    pytest rewrites the assertions of a module that is imported for the first time. So
    two workers in a fresh clone each find half of the modules rewritten.
    """
    worker: dict[str, str] | None = getattr(session.config, "workerinput", None)
    if worker is None or int(worker["workerid"].removeprefix("gw")) % 2 == 0:
        return
    ignored = [Path(folder) for folder in session.config.getoption("ignore") or ()]
    for argument in map(Path, session.config.args):
        for path in sorted(argument.glob("**/test_*.py"), reverse=True):
            if not any(path.is_relative_to(folder) for folder in ignored):
                import_module(".".join(path.with_suffix("").parts))


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out parameter sets that marked tests can do without, but in a deep run."""
    if not config.getoption("--deep"):
        covering.leave_out(config, items)


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and tests, which stay to the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Return whether golden texts are to be rewritten."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def deep(request: pytest.FixtureRequest) -> bool:
    """Return whether this is the long run."""
    return bool(request.config.getoption("--deep"))


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> Iterator[None]:
    """Ctrl-C works, even in a background job that was told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
