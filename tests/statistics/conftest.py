"""The recorded games of five players."""

from pathlib import Path

import pandas as pd
import pytest
from rating_pools import table_of

RECORDED = Path(__file__).resolve().parents[1] / "data" / "bayeselo"


@pytest.fixture(scope="session")
def crosstable() -> pd.DataFrame:
    rows = pd.read_csv(RECORDED / "crosstable5.csv")
    return table_of(*rows.itertuples(index=False, name=None))
