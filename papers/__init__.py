"""The papers, one folder each: experiment, published numbers, claims, figures, findings, reference results."""
