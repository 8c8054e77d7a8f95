"""``muster render``: the Kubernetes objects that a manifest becomes, without a cluster."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from muster.api.values.durations import count_of
from muster.cli.manifests import PLACEHOLDER_UID, print_warnings, read_manifest
from muster.cli.options import show, yaml_text
from muster.cli.terminal.colours import data
from muster.kinds.manifests.load import object_of
from muster.reconcilers.render.objects import render_claim, render_service
from muster.reconcilers.render.pod import render_pod
from muster.state.vocabulary.group import Member
from muster.state.vocabulary.plan import Plan


@click.command(
    epilog="\b\nExamples:\n  muster render manifest.yaml\n  muster render manifest.yaml --rank 0\n"
    "  muster render manifest.yaml -o json | jq '.items[].metadata.name'\n"
    "  diff <(muster render old.yaml --name x) <(muster render new.yaml --name x)\n"
)
@click.argument("file")
@click.option("--name", default=None, help="Name of the experiment; made from the manifest by default.")
@click.option("-n", "--namespace", default=None, help="Namespace; the manifest's, or default, by default.")
@click.option("--uid", default=PLACEHOLDER_UID, help="uid of the experiment; a placeholder by default.")
@click.option("--group", "groups", multiple=True, help="Only the pods of this group; may be given often.")
@click.option("--rank", "ranks", type=click.IntRange(0), multiple=True, help="Only this rank; may be given often.")
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", help="Format. [yaml]")
def render(
    file: str,
    name: str | None,
    namespace: str | None,
    uid: str,
    groups: tuple[str, ...],
    ranks: tuple[int, ...],
    output: str,
) -> None:
    """Print the Kubernetes objects that FILE (- is standard input) becomes. Needs no cluster.

    These are the Experiment, its headless Service, and the pods of its first epoch (epoch 0), exactly as musterd
    creates them. Names of pods are made from the experiment's uid, which only a cluster can assign: with the uid of
    an experiment that exists, the names are the ones its pods have there.
    """
    manifest = read_manifest(file)
    print_warnings(manifest.loaded.warnings)
    name = name or manifest.stable_name()
    namespace = namespace or manifest.loaded.namespace or "default"
    experiment = object_of(manifest.loaded, name=name, namespace=namespace)
    plan = manifest.plan(name=name, namespace=namespace, uid=uid)
    chosen = selected(plan, groups, ranks)
    if output == "json":
        show({"apiVersion": "v1", "kind": "List", "items": [experiment, *created(plan, chosen)]}, output)
        return
    data(*(f"# {line}" for line in heading(manifest.file, plan, len(chosen))))
    for obj in (experiment, *created(plan, chosen)):
        data("---", yaml_text(obj))


def selected(plan: Plan, groups: Sequence[str], ranks: Sequence[int]) -> list[Member]:
    """Return the members of ``groups`` with ``ranks``; all if empty. Refuses what the plan does not have."""
    known = [group.name for group in plan.groups]
    for group in groups:
        if group not in known:
            raise click.UsageError(f"there is no group {group!r}; this experiment has {', '.join(known)}")
    for rank in ranks:
        if rank >= plan.size:
            raise click.UsageError(f"there is no rank {rank}; this experiment has {plan.size}, counted from 0")
    chosen = [
        member
        for member in plan.members()
        if (not groups or member.group in groups) and (not ranks or member.rank in ranks)
    ]
    if plan.size and not chosen:
        raise click.UsageError("none of these ranks is in these groups; leave out --group or --rank")
    return chosen


def created(plan: Plan, members: Sequence[Member]) -> Iterator[dict[str, Any]]:
    """Yield what musterd creates for the experiment in epoch 0, as far as these members go."""
    yield render_service(plan)
    yield from (render_claim(plan, claim) for claim in plan.claims)
    for member in members:
        yield render_pod(plan, member, 0)


def heading(file: str, plan: Plan, pods: int) -> Iterator[str]:
    """Yield what a reader of the YAML has to know about it."""
    shown = count_of(pods, "pod") if pods == plan.size else f"{pods} of {plan.size} pods"
    yield f"What Muster makes of {file}: the Experiment, its headless Service, and {shown} of epoch 0."
    if plan.uid == PLACEHOLDER_UID:
        yield f"The uid {plan.uid} is a placeholder. The cluster assigns the real one,"
        yield "and the last five characters of every pod's name are made from it."
    yield "To run it, create the Experiment only: musterd creates the rest."
