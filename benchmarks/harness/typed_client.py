"""The peer: the same work with kubernetes_asyncio's typed models, its Watch and its lists."""

import asyncio
import time

from benchmarks.harness.measuring import ROUNDS, best_of, resident, serving
from benchmarks.servers.synthetic_pods import line

EVENTS, TRACKED, LISTED = 10, 1_000, 500


def event_typed() -> float:
    """Return microseconds per event: kubernetes_asyncio's Watch to V1Pod and a dict."""
    from kubernetes_asyncio.watch import Watch

    lines = [line(number, number + 1).decode() for number in range(EVENTS)]

    async def work() -> float:
        async with Watch() as watch:

            def typed() -> None:
                store = {}
                for each in lines:
                    obj = watch.unmarshal_event(each, "V1Pod")["object"]
                    store[obj.metadata.uid] = obj

            return best_of(typed, EVENTS, rounds=50)

    return asyncio.run(work())


def memory_typed() -> float:
    """Return bytes of resident memory per V1Pod in a dict."""
    from kubernetes_asyncio.watch import Watch

    async def work() -> float:
        async with Watch() as watch:
            store = {"": watch.unmarshal_event(line(0, 1).decode(), "V1Pod")["object"]}
            before = resident()
            for number in range(1, TRACKED):
                obj = watch.unmarshal_event(line(number, number + 1).decode(), "V1Pod")["object"]
                store[obj.metadata.uid] = obj
            return (resident() - before) / TRACKED

    return asyncio.run(work())


def list_typed() -> float:
    """Return microseconds per pod of kubernetes_asyncio's paged list of V1Pod."""
    from kubernetes_asyncio.client import ApiClient, Configuration, CoreV1Api

    async def work(url: str) -> float:
        async with ApiClient(Configuration(host=url)) as client:
            api, best = CoreV1Api(client), float("inf")
            for _ in range(ROUNDS):
                found, proceed, began = [], "", time.process_time()
                while True:
                    page = await api.list_pod_for_all_namespaces(limit=500, _continue=proceed)
                    found += page.items
                    proceed = page.metadata._continue  # noqa: SLF001 - the client's name for continue
                    if not proceed:
                        break
                best = min(best, time.process_time() - began)
                assert len(found) == LISTED
            return best / LISTED * 1e6

    with serving("list_server", LISTED) as (url, _):
        return asyncio.run(work(url))


def watch_typed() -> float:
    """Return microseconds per event of kubernetes_asyncio's Watch, HTTP included."""
    from kubernetes_asyncio.client import ApiClient, Configuration, CoreV1Api
    from kubernetes_asyncio.watch import Watch

    async def work(url: str) -> float:
        async with ApiClient(Configuration(host=url)) as client:
            api, best = CoreV1Api(client), float("inf")
            for _ in range(ROUNDS):
                store, began = {}, time.process_time()
                async with Watch().stream(api.list_pod_for_all_namespaces, timeout_seconds=60) as stream:
                    async for event in stream:
                        store[event["object"].metadata.uid] = event["object"]
                        if len(store) == LISTED:
                            break
                best = min(best, time.process_time() - began)
            return best / LISTED * 1e6

    with serving("list_server", LISTED) as (url, _):
        return asyncio.run(work(url))
