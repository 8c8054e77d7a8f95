"""Elements, parts, times, and the parts to replace when a page is rendered again."""

from hypothesis import given
from hypothesis import strategies as st

from muster.daemon.web.page.html import Html, Outline, Part, changes, dated, element, join, part


def test_text_is_escaped_once_and_elements_are_not() -> None:
    inner = element("b", "<&>", title='"')
    assert inner == '<b title="&quot;">&lt;&amp;&gt;</b>'
    assert element("p", inner, "<") == f"<p>{inner}&lt;</p>"
    assert part("p", '"', inner, "<").html == f'<p id="&quot;">{inner}&lt;</p>'
    assert isinstance(join((inner,)), Html)


def test_attributes_without_a_value_and_elements_without_an_end() -> None:
    assert element("input", name="q", value="", selected=False, hidden=True, class_="") == (
        '<input name="q" value="" hidden>'
    )
    assert element("rect", stroke_width="1") == '<rect stroke-width="1"/>'


def page(*rows: tuple[str, str], head: str = "h") -> Part:
    return part("main", "main", element("h1", head), part("table", "t", *(part("tr", *row) for row in rows)))


def test_only_the_parts_that_differ_are_replaced() -> None:
    old = Outline.of(page(("a", "1"), ("b", "2")))
    assert list(changes(old, page(("a", "1"), ("b", "2")))) == []
    assert [each.id for each in changes(old, page(("a", "1"), ("b", "3")))] == ["b"]


def test_a_part_whose_frame_or_order_differs_is_replaced_whole() -> None:
    old = Outline.of(page(("a", "1"), ("b", "2")))
    assert [each.id for each in changes(old, page(("b", "2"), ("a", "1")))] == ["t"]
    assert [each.id for each in changes(old, page(("a", "1")))] == ["t"]
    assert [each.id for each in changes(old, page(("a", "1"), ("b", "2"), head="other"))] == ["main"]


rows = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("123")).map(lambda found: tuple(found.items()))


@given(rows, rows, st.sampled_from("hi"))
def test_replacing_those_parts_makes_the_old_page_the_new_one(
    old: tuple[tuple[str, str], ...], new: tuple[tuple[str, str], ...], head: str
) -> None:
    before, after = page(*old), page(*new, head=head)
    text = str(before.html)
    for each in changes(Outline.of(before), after):
        text = text.replace(found(before, each.id), each.html)
    assert text == after.html


def found(inside: Part, wanted: str) -> str:
    """Return the HTML of the part of that id."""
    if inside.id == wanted:
        return inside.html
    parts = (each for each in inside.children if isinstance(each, Part))
    return next((html for each in parts if (html := found(each, wanted))), "")


def test_a_time_in_a_sentence_is_an_element_that_the_script_writes_in_the_readers_zone() -> None:
    text = dated("no step since 2026-11-23T04:16:25Z; <last> step 4")
    assert text == (
        'no step since <time datetime="2026-11-23T04:16:25Z">2026-11-23 04:16:25 UTC</time>; &lt;last&gt; step 4'
    )


def test_what_is_no_time_stays_text() -> None:
    assert dated("2026-99-99T99:99:99Z & more") == "2026-99-99T99:99:99Z &amp; more"
    assert dated("2026-02-31T04:16:25Z").startswith("<time")
