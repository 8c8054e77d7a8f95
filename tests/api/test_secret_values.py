"""The values of a pod's own secrets are removed from words, in every form, and nothing else is."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from muster.api.values.secrets import LONGEST, MOST, MOST_CHARACTERS, REMOVED, SHORTEST, secrets_in, without_values
from tests.bounds.test_bounds import steps

VALUE = "k9#mQ2/vL+7x"


def left(text: str, **environment: str) -> str:
    """What is left of the text of a program with that environment."""
    return without_values(text, secrets_in(environment.items()))


@pytest.mark.parametrize("name", ["API_TOKEN", "SECRET_KEY", "DB_PASSWORD", "MYSQL_PWD", "WANDB_API_KEY", "auth"])
def test_the_value_of_a_variable_whose_name_says_so_is_removed(name: str) -> None:
    assert left(f"ValueError: bad {VALUE}: refused", **{name: VALUE}) == f"ValueError: bad {REMOVED}: refused"


@pytest.mark.parametrize("name", ["MODEL", "MAX_TOKENS", "TOKENIZERS_PARALLELISM", "PATH", "AUTHOR", "COMPASS"])
def test_the_value_of_another_variable_stays(name: str) -> None:
    assert left(f"bad {VALUE}", **{name: VALUE}) == f"bad {VALUE}"


@pytest.mark.parametrize("length", range(1, SHORTEST))
def test_a_value_of_one_to_seven_characters_is_not_searched(length: int) -> None:
    assert secrets_in([("API_TOKEN", VALUE[:length])]) == ()
    assert left(VALUE, API_TOKEN=VALUE[:length]) == VALUE


@pytest.mark.parametrize(
    "usual", ["production", "changeme", "20260101", "/var/run/token", "./data/x.y", "$(OTHER_TOKEN)", "token.json"]
)
def test_a_usual_word_number_or_path_is_not_searched(usual: str) -> None:
    assert left(f"in {usual} mode", API_TOKEN=usual) == f"in {usual} mode"


def test_a_value_that_is_split_over_lines_is_removed() -> None:
    for broken in (f"{VALUE[:5]}\n{VALUE[5:]}", f"{VALUE[:2]}\r\n{VALUE[2:9]}\n{VALUE[9:]}"):
        assert left(f"a {broken} b\nc", API_TOKEN=VALUE) == f"a {REMOVED} b\nc"


def test_a_value_of_many_lines_is_removed_as_a_whole_and_line_by_line() -> None:
    lines = [f"MIIEvQ{number}IBADANBgkqhkiG9w0" for number in range(3)]
    key = "\n".join(lines)
    assert left(f"x {key} y", SIGNING_KEY=key) == f"x {REMOVED} y"
    assert left(f"x {key!r} y", SIGNING_KEY=key) == f"x '{REMOVED}' y"
    assert left(f"x {lines[1]} y", SIGNING_KEY=key) == f"x {REMOVED} y"


def test_of_a_value_that_contains_another_nothing_is_left() -> None:
    longer = f"{VALUE}-{VALUE}-end"
    for order in ({"A_TOKEN": VALUE, "B_TOKEN": longer}, {"B_TOKEN": longer, "A_TOKEN": VALUE}):
        assert left(f"a {longer} b {VALUE} c", **order) == f"a {REMOVED} b {REMOVED} c"


def test_values_that_overlap_in_a_text_leave_nothing() -> None:
    one, two = "abc123DEF456", "F456xyz789!!"
    assert left("<abc123DEF456xyz789!!>", A_TOKEN=one, B_TOKEN=two) == f"<{REMOVED}>"


def test_a_value_is_removed_in_the_forms_in_which_programs_print_it() -> None:
    value = 'p"ss\\w0rd é/1'
    quoted = quote(value, safe="")
    for printed in (value, quoted, value.encode("unicode_escape").decode()):
        assert left(f"<{printed}>", API_TOKEN=value) == f"<{REMOVED}>"


@pytest.mark.parametrize("safe", ["", "/", "/:@!$&'()*+,;=", "!'()*~", "#"])
def test_a_value_that_is_quoted_in_a_url_is_removed_whatever_was_quoted(safe: str) -> None:
    value = "p s#a/b:c@d!e$f&g+h%i é"
    for printed in (quote(value, safe=safe), quote(value, safe=safe).lower(), quote_plus(value, safe=safe)):
        assert left(f"https://x/?a={printed}&b=%41", API_TOKEN=value) == f"https://x/?a={REMOVED}&b=%41"


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "a-longer-user:"])
@pytest.mark.parametrize("after", ["", "\n", ":1", "\n\n\n"])
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
def test_a_value_in_base64_is_removed_also_inside_of_a_longer_text(
    before: str, after: str, encode: Callable[[bytes], bytes]
) -> None:
    for value in (VALUE, "~~~???>>>ÿÿ!", "0123-abcd-4567"):
        printed = encode(f"{before}{value}{after}".encode()).decode()
        for shown in (printed, printed.rstrip("="), f"{printed[:7]}\n{printed[7:]}", quote(printed)):
            hidden = left(f"<{shown}>", API_TOKEN=value)
            assert REMOVED in hidden
            assert len(hidden.replace(REMOVED, "")) <= len(shown) - len(value) + 6


def test_a_part_of_a_value_at_the_ends_of_a_text_is_removed() -> None:
    assert left(f"{VALUE[3:]} was wrong", API_TOKEN=VALUE) == f"{REMOVED} was wrong"
    assert left(f"wrong: {VALUE[:9]}", API_TOKEN=VALUE) == f"wrong: {REMOVED}"
    assert left(f"wrong: {VALUE[:9]}…", API_TOKEN=VALUE) == f"wrong: {REMOVED}…"
    assert left(f"…{VALUE[2:]} b", API_TOKEN=VALUE) == f"…{REMOVED} b"


def test_the_password_in_a_url_is_a_secret_and_the_rest_is_not() -> None:
    said = left("host db refused s3cr%21t-9, also s3cr!t-9", DATABASE_URL="postgres://me:s3cr%21t-9@db:5432/x")
    assert said == f"host db refused {REMOVED}, also {REMOVED}"


def test_the_number_and_the_length_of_values_are_bounded() -> None:
    many = secrets_in((f"A{number}_TOKEN", f"{number:04}{VALUE}") for number in range(10 * MOST))
    assert len(many) == MOST
    assert max(map(len, secrets_in([("A_TOKEN", "x1" * LONGEST)]))) <= 2 * LONGEST
    long = secrets_in((f"A{number}_TOKEN", f"{number:04}" + "x1" * LONGEST) for number in range(MOST))
    assert MOST_CHARACTERS - LONGEST < sum(map(len, long)) <= MOST_CHARACTERS


def test_the_time_is_linear_in_the_text() -> None:
    secrets = secrets_in([("A_TOKEN", "ab1" * 40), ("B_TOKEN", VALUE)])
    one, two = (steps(lambda: without_values("ab1" * 40 * n, secrets)) for n in (50, 100))  # noqa: B023
    assert two <= 2.3 * one
