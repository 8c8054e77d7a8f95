"""The reason why XGBoost's tracker is not asked: the effect of a connection of no worker (ADR of the same name)."""

import asyncio
import re

import pytest

from tests.frameworks.interpreters import python_of, reason_without

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(120),
    pytest.mark.skipif(python_of("xgboost") is None, reason=reason_without("xgboost")),
]

PROGRAM = """
import socket, sys, threading
import xgboost
from xgboost.tracker import RabitTracker

tracker = RabitTracker(n_workers=1, host_ip="127.0.0.1")
tracker.start()
port = tracker.worker_args()["dmlc_tracker_port"]
looker = socket.create_connection(("127.0.0.1", port))
joined = threading.Event()

def join():
    with xgboost.collective.CommunicatorContext(dmlc_tracker_uri="127.0.0.1", dmlc_tracker_port=port, dmlc_task_id="0"):
        joined.set()

worker = threading.Thread(target=join)
worker.start()
print("while a connection is open:", joined.wait(3), flush=True)
looker.close()
print("after it has closed:", joined.wait(20), flush=True)
worker.join()
tracker.wait_for()
"""


async def test_a_connection_that_says_nothing_holds_up_the_workers_and_leaves_a_warning() -> None:
    process = await asyncio.create_subprocess_exec(
        str(python_of("xgboost")), "-c", PROGRAM, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed = (await process.communicate())[0].decode()
    assert "while a connection is open: False" in printed
    assert "after it has closed: True" in printed
    assert re.search(r"WARNING: .*tracker.cc:\d+: Failed to initialize worker proxy", printed)
