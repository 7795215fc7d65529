"""Options of the test run."""

import pytest


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


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden texts are to be rewritten."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def deep(request: pytest.FixtureRequest) -> bool:
    """Whether this is the long run."""
    return bool(request.config.getoption("--deep"))
