"""Speed against peers, as ratios in one run. A package of its own: Opacus installs one of the same name."""
