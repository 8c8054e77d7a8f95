"""Each pod works on its own part of one list, which it finds by the six variables of a jobset pod.

The pods of a jobset do not meet: each knows from its variables which part of the work is its own. Here the type
``worker`` adds up the squares below 20,000 in 20 parts, the pods of ``worker-2`` the cubes below 4,000 in 4 parts, one
after another, and ``master`` prints the number of jobs.
"""

import os
import time

NUMBERS = 1000
"""Numbers per pod."""


def main() -> None:
    """Do this pod's part, and print it with the pod's place."""
    kind = os.environ["REPLICATED_JOB_NAME"]
    job, pod = int(os.environ["JOB_INDEX"]), int(os.environ["JOB_COMPLETION_INDEX"])
    place = " ".join(
        f"{name}={os.environ[name]}"
        for name in (
            *("REPLICATED_JOB_NAME", "REPLICATED_JOB_REPLICAS", "JOB_INDEX", "JOB_COMPLETION_INDEX"),
            *("JOB_GLOBAL_INDEX", "GLOBAL_REPLICAS"),
        )
    )
    if kind == "master":
        print(f"{place}: there are {os.environ['GLOBAL_REPLICAS']} jobs", flush=True)
        return
    power, part = (2, job * 4 + pod) if kind == "worker" else (3, pod)
    total = sum(number**power for number in range(part * NUMBERS, (part + 1) * NUMBERS))
    time.sleep(0.5)
    print(f"{place}: part {part} is {total}", flush=True)


if __name__ == "__main__":
    main()
