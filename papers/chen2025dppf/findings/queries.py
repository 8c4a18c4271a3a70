"""Functions and values that the texts of these findings may use."""

from scipy.stats import f as f_law

from papers.chen2025dppf import filters, published
from papers.chen2025dppf.tables import METHODS

#: level of each F test.
LEVEL = 0.05


def shared(rows) -> dict[str, object]:
    """Names that all texts may use. ``n``: numbers of rows of the settings that tables show."""
    return {"count": filters.PARTICLES, "METHODS": METHODS, "n": "300", "slope": published.TRUTH["beta1"]}


def chen2025dppf_second_noise(rows) -> dict[str, object]:
    """Counts of settings by how the spread and the means of the chains compare.

    * ``filter``: settings, of ``all``, in which the slope's spread over runs is smaller for the filter than published
      for the chain.
    * ``slopes``: by prior, settings in which that of the chain without a second noise is ``below`` or ``above`` the
      filter's (F test).
    * ``gaps``: by prior, differences of all means without a second noise from the exact ones.
    """
    own = rows("rival", parameter="beta1")
    chain, filtered, theirs, k, count = (
        own[c].astype(float) for c in ("once_sd", "filter_sd", "published_sd_of_all", "once_runs", "filter_runs")
    )
    p = f_law.cdf((chain / filtered) ** 2, k - 1, count - 1)
    words = {"below": p < LEVEL / 2, "above": p > 1 - LEVEL / 2}
    slopes = {q: {w: v[own["prior"] == q].sum() for w, v in words.items()} for q in own["prior"].unique()}
    far = abs(rows("rival").astype({"once_z": float}).set_index("prior")["once_z"]).groupby(level=0)
    gaps = {prior: {"count": len(z), "rms": (z**2).mean() ** 0.5, "largest": z.max()} for prior, z in far}
    return {"all": len(own), "filter": (filtered < theirs).sum(), "slopes": slopes, "gaps": gaps, "level": LEVEL}


def chen2025dppf_seed(rows) -> dict[str, object]:
    """The ``common`` seed of the releases, and the ``other`` one with its number of rows ``at``."""
    own = published.releases().query("dataset == 'chen_lr' and not used_by.str.startswith('history')")
    seeds = own.drop_duplicates("n").set_index("n")["seed"].astype(int)
    common = seeds.mode().item()
    ((at, other),) = seeds[seeds != common].items()
    return {"common": common, "at": at, "other": other}
