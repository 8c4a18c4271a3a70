"""left out: a default of its settings is no value that a file can hold."""

from dataclasses import dataclass

from methods.baselines.predict_mean import PredictMean


class Hostile(PredictMean):
    name = title = "settings_are_objects"

    @dataclass(frozen=True)
    class Settings:
        make: object = print
