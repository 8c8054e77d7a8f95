"""Which Experiment a write is about."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExperimentRef:
    """One life of one Experiment: a deleted and recreated Experiment of the same name has another ``uid``."""

    namespace: str
    name: str
    uid: str
