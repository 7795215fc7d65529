"""The session that all tests of Spark share."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.spark.sessions import local_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start Spark in this process, which may have one session only."""
    with local_session(tmp_path_factory.mktemp("spark")) as session:
        yield session
