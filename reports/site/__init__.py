"""The report as a static site that opens from disk: pages written as MyST Markdown, built by Sphinx.

    python -m reports.site --out DIR                      # from the committed reference
    python -m reports.site --out DIR --results results    # from a run

``content`` says what a site shows. ``pages``, ``paper_page``, ``method_pages``, ``dataset_pages`` and ``cells`` write
its pages, and ``build`` runs Sphinx.
"""

from reports.site.build import SiteError, write
from reports.site.content import Content, Part

__all__ = ["Content", "Part", "SiteError", "write"]
