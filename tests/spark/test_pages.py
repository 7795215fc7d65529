"""The pages of the documentation about Spark run, and print what they say."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.docs.listing import DOCS, PAGES
from tests.docs.test_pages import check_page

ZONE = "spark.sql.session.timeZone"


@pytest.mark.parametrize("name", [n for n in PAGES if n.endswith("-spark.md")])
def test_page(
    name: str, spark: SparkSession, tmp_path: Path, update_golden: bool
) -> None:
    zone = str(spark.conf.get(ZONE))
    try:
        check_page(DOCS / name, tmp_path, update_golden)
    finally:
        spark.conf.set(ZONE, zone)
