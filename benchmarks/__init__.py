"""Benchmarks of speed as ratios to other libraries, measured in the same run.

This file makes the folder a package of its own, because Opacus installs one of the same name.
"""
