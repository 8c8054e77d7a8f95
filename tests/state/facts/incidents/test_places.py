"""Where nodes are is counted node by node, and comes to the same as a count of all labels."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from muster.state.facts.incidents.grouping import Key, Places, places_of

RACK, POOL, ZONE = "topology.kubernetes.io/rack", "karpenter.sh/nodepool", "topology.kubernetes.io/zone"
LABELS = st.dictionaries(st.sampled_from([RACK, POOL, ZONE, "other"]), st.sampled_from(["", "a", "b"]))
NODES = st.sampled_from(["n1", "n2", "n3"])


@given(st.lists(st.tuples(NODES, st.none() | LABELS)))
def test_what_changes_node_by_node_is_counted_as_all_at_once(changes: list[tuple[str, dict[str, str] | None]]) -> None:
    places, labels = Places(), dict[str, dict[str, str]]()
    for node, each in changes:
        if each is None:
            places.drop(node)
            labels.pop(node, None)
        else:
            places.put(node, places_of(each))
            labels[node] = each
    assert len(places) == len(labels)
    assert places.sizes == Counter(place for each in labels.values() for place in places_of(each))
    assert all(places.of(node) == tuple(places_of(each)) for node, each in labels.items())
    assert places.sizes == Places(labels).sizes


def test_an_empty_label_names_no_place() -> None:
    labels = {ZONE: "z1", RACK: "", "cloud.google.com/gce-topology-block": "b7"}
    assert list(places_of(labels)) == [Key("rack", "b7"), Key("zone", "z1")]
