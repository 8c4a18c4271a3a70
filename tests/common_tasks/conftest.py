"""Short chains: the answers on made-up scores are clear."""

from functools import partial

import pytest

from common_tasks import best


@pytest.fixture(scope="module", autouse=True)
def short_chains():
    """A sixth of the draws that committed posteriors have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best, "sample", partial(best.sample, warm_up=200, kept=500))
        yield
