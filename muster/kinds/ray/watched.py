"""RayJobs and RayClusters, as Muster watches over them."""

from typing import Final

from muster.kinds.ray.raycluster import RAYCLUSTERS
from muster.kinds.ray.rayjob import RAYJOBS

DECLARED: Final = (RAYJOBS, RAYCLUSTERS)
