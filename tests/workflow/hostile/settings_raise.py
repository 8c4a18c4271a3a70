"""left out: its settings cannot be made."""

from dataclasses import dataclass

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "settings_raise"

    @dataclass(frozen=True)
    class Settings:
        steps: int = 1

        def __post_init__(self):
            raise SystemExit(0)
