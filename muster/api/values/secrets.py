"""Finds secrets in the output of programs and the messages of controllers, and takes them out.

``without_secrets`` removes the values of a pod's own secrets, the values of variables that a Secret fills, and what
looks like a credential, before any of it is in a sentence, Event, page or log.
"""

import json
import re
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import accumulate
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

REMOVED: Final = "[removed]"

_STRONG: Final = (
    r"pass(?:word|wd|phrase|code)|secret|token|credentials?|authorization|signature|cookie|jwt|bearer"
    r"|(?:api|access|account|private|shared|secret|signing|encryption|master|storage|license|auth)[_.-]?key"
    r"|connection[_.-]?string|key[_.-]?data|client[_.-]?id[_.-]?secret"
)
"""Words that end the name of a secret value, wherever they are in it: ``AWS_SECRET_ACCESS_KEY``, ``dbPassword``."""
_AFTER: Final = r"(?:[_.-]?(?:key|value|id|base64|b64|hash|[0-9]{1,3}))?"
"""Suffixes of such names: ``SECRET_KEY``, ``TOKEN_VALUE``. Not an ``s``: ``max_tokens=4096`` is no secret."""
_WEAK: Final = r"pass|pwd|auth|sig|sas|pat|pin|otp|dsn|psk|creds"
"""Short words that are whole parts of a name: ``pwd=``, ``X-Auth:``, and not ``bypass=``."""
_QUOTED: Final = r'b?\\{1,3}["\'][^"\'\\]{3,}' + r'|b?"(?:[^"\\]|\\.){3,}"?' + r"|b?'(?:[^'\\]|\\.){3,}'?"
_VALUE: Final = rf"(?:(?:bearer|basic|digest|token)\s+)?(?:{_QUOTED}|[^\s\"',;&)}}\]]{{4,}})"
_SHUT: Final = r"(?:\\{0,3}[\"'\]]){0,2}\s{0,4}"
"""After a name: quotes, in a text in JSON with a backslash, and the end of an index."""
_IS: Final = r"(?:=>|:=|=|:|%3A|%3D)\s{0,4}"
_FIELD: Final = r"(?:\\{0,3}[\"'])?[,;]?\s{1,8}(?:\\{0,3}[\"'])?value(?:\\{0,3}[\"'])?\s{0,4}[:=]\s{0,4}"
"""Between name and value of a variable as Kubernetes writes it: ``name: TOKEN, value: ...``."""

_NAMED: Final = rf"(?i:(?P<name>(?:{_STRONG}){_AFTER}(?:{_SHUT}{_IS}|{_FIELD}))(?:{_VALUE}))"
_PART: Final = (
    rf"(?i:(?P<part>(?:^|[^a-z])(?:{_WEAK})(?:[\"'\]]{{0,2}}\s{{0,4}}(?:=>|:=|=)|[\"']:)\s{{0,4}})(?:{_VALUE}))"
)
_OPTION: Final = (
    rf"(?i:(?P<option>(?:^|[\s\"'\[])--?[a-z0-9_-]{{0,40}}(?:{_STRONG}|{_WEAK})(?:[\"',]{{0,3}}\s{{1,4}}))"
    rf"(?:{_QUOTED}|[^\s\"',;-][^\s\"',;]{{3,}}))"
)
_PAIR: Final = (
    r"(?i:(?P<pair>(?:auth|credentials|login)\s{0,4}[:=]?\s{0,4}\(\s{0,4}[\"'][^\"']{1,256}[\"'],\s{0,4}"
    rf"|\s(?:-u|--user)[= ][^\s:]{{1,256}}:)(?:{_QUOTED}|[^\s\"',;)]{{4,}}))"
)
"""A user with a password: ``auth=('me', '...')``, ``-u me:...``."""
_NEAR: Final = (
    rf"(?i:(?P<near>(?:{_STRONG}|(?:api|access|secret|private|account) key){_AFTER}s?"
    r"(?:[\s\"',:>|(\[{{=]|->|\b(?:is|was|provided|value|id|key|b)\b){1,16})(?:[a-z0-9+/_=.~!@#$^*-]{12,}))"
)
"""In a sentence, a pair or a list after such a word: a secret only where it looks like one."""
_LOOSE: Final = (
    r"(?i:(?P<loose>[?&](?:key|code|k)="
    rf"|(?:{_STRONG})(?:\s[a-z0-9_.-]{{1,32}}){{1,4}}\s(?:is|was|of)\s[\"']?)(?:[a-z0-9+/_=.~!$^*-]{{12,}}))"
    r"|(?i:(?P<login>(?:^|[\s\"'=(])[a-z0-9_.-]{1,64}:)(?:[a-z0-9+/_=.~!$^*-]{12,})@[a-z0-9-])"
)
"""A query's ``key``, ``the password for user me is``, ``me:...@registry``: a secret only where it looks like one."""
_HEADERS: Final = r"(?i:(?P<header>\b(?:set-)?cookie[\"']?\s{0,4}[:=]\s{0,4}[\"']?)[^\"'\r\n]+)"
_SCHEME: Final = r"(?i:(?P<scheme>\b(?:bearer|basic)\s{1,4})[A-Za-z0-9._~+/=-]{8,})"
_SITE: Final = (
    r"(?P<site>(?:\b[A-Za-z][A-Za-z0-9+.-]{1,20}:)?//)(?:[^\s/@:]*:[^\s/]+|[^\s/@:]{16,})@"
    r"|(?P<quoted>%3[Aa]%2[Ff]%2[Ff])(?:[^\s/@:%]*%3[Aa][^\s/]+)%40"
)
_PEM: Final = (
    r"(?s:-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|PRIVATE KEY BLOCK)-----.*?(?:-----END [A-Z0-9 ]{1,60}-----|$))"
)
_ISSUED: Final = (
    r"hf_|gh[oprsu]_|github_pat_|glpat-|gldt-|xox[abeoprs]-|xapp-|sk-|[prs]k_(?:live|test)_|whsec_|npm_|pypi-|dckr_pat_"
    r"|dop_v1_|shp(?:at|ss|ca)_|nvapi-|r8_|gsk_|xai-|pplx-|lsv2_|hv[bs]\.|ATATT3|ya29\.|GOCSPX-|SG\.|tskey-|dapi|ops_"
    r"|AGE-SECRET-KEY-|PMAK-|rubygems_|sqp_|eyJ|EAAC|key-|atlasv1\.|glsa_|phc_|sntrys_|figd_|secret_|tvly-|jina_"
)
"""Prefixes by which issuers mark their keys: Hugging Face, GitHub, GitLab, Slack, OpenAI and Anthropic, Stripe, npm,
PyPI, Docker, DigitalOcean, Shopify, NVIDIA, Replicate, Groq, xAI, Perplexity, LangSmith, Vault, Atlassian, Google,
SendGrid, Tailscale, Databricks, 1Password, age, Postman, JSON Web Tokens and others."""
_KEYS: Final = (
    rf"\b(?:{_ISSUED})[A-Za-z0-9_.=-]{{16,}}"
    r"|\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}"
)
_LONGEST_NAME: Final = 256
_NAMES: Final = "name", "part", "option", "pair", "near", "loose", "login", "header", "scheme", "site", "quoted"
_RANDOM: Final = tuple(map(re.compile, ("[0-9]", "[a-z]", "[A-Z]")))
_HEX: Final = re.compile(r"[0-9a-fA-F]{32,}")


_SECRET_NAME: Final = re.compile(rf"(?i:.*(?:{_STRONG}){_AFTER}|(?:.*[^a-z])?(?:{_WEAK}))")


def is_secret_name(name: str) -> bool:
    """Return True if the name of a variable marks its value as a secret."""
    return len(name) <= _LONGEST_NAME and bool(_SECRET_NAME.fullmatch(name))


def without_credentials(text: str) -> str:
    """Return the text with ``[removed]`` for what looks like a credential.

    An exception prints what it was called with: an environment value, a URL with a password, a header. Three kinds of
    detectors, as in the scanners that search repositories for secrets (detect-secrets, gitleaks): names of secret
    values, forms that hold a secret (headers, URLs, PEM), and prefixes that the issuers of keys give them. They run in
    RE2, whose time is linear in the text; and in the size of a pattern, so no repeat has a large bound. It is a second
    guard, and no proof: a secret without a name, a form or a prefix passes.
    """
    return str(_detectors().sub(_removed, text)) if text else text


@cache
def _detectors() -> Any:
    import re2  # most commands read no words of programs

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    kinds = _PEM, _HEADERS, _NAMED, _OPTION, _PART, _PAIR, _SITE, _SCHEME, _KEYS, _NEAR, _LOOSE
    return re2.compile("|".join(kinds), options)


def _removed(found: Any) -> str:
    kept = next((found[name] for name in _NAMES if found[name]), "")
    value = found[0][len(kept) :]
    if (found["near"] or found["loose"] or found["login"]) and not _looks_random(value):
        return str(found[0])
    if found["login"]:
        if found.string.startswith("sha256:", found.end() - 1):  # the digest of an image
            return str(found[0])
        return f"{kept}{REMOVED}{value[value.rindex('@') :]}"
    quote = value[0] if kept and value[0] in "\"'" else ""
    after = "@" if found["site"] else "%40" if found["quoted"] else quote if quote and value.endswith(quote) else ""
    return f"{kept}{quote}{REMOVED}{after}"


def _looks_random(value: str) -> bool:
    """Return True for digits with small and capital letters, as in no Kubernetes name; or a long number in hex."""
    return all(each.search(value) for each in _RANDOM) or bool(_HEX.fullmatch(value))


_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_LINE_BEGINS: Final = re.compile(r"(?:\A|[\r\n])[ \t]{0,8}(?:export[ \t]{1,4})?\Z")
_BEFORE: Final = 24
"""Characters before a name in which its line may begin: more than the pattern has."""
_BETWEEN: Final = re.compile(
    r"(?:\\{0,3}[\"'\]]){0,2}\s{0,4}(?::=|=>|->|=|:|%3[AaDd])\s{0,4}"
    r"|\\{0,3}[\"']\s{0,4},\s{0,4}(?=b?\\{0,3}[\"'])"
)
_OR_QUOTED: Final = (
    r"(?P<escaped>b?\\+[\"'])[^\"'\\]*|(?P<double>b?\")(?:[^\"\\]|\\.)*|(?P<single>b?')(?:[^'\\]|\\.)*|(?P<bare>)"
)
_WORD: Final = re.compile(_OR_QUOTED + r"[^\s\"',;&)}\]]+", re.DOTALL)
_REST_OF_LINE: Final = re.compile(_OR_QUOTED + r"[^\r\n]+", re.DOTALL)


def without_named(text: str, names: Collection[str], prefixes: tuple[str, ...] = ()) -> str:
    """Return the text with ``[removed]`` for values of variables with these names or prefixes (lower case).

    ``env``, ``os.environ``, its items and JSON print them as ``NAME=value``, ``NAME: value`` or ``'NAME': 'value'``,
    and settings of pydantic with the name in lower case. After ``NAME=`` at the beginning of a line, as ``env`` prints
    it, the rest of the line is the value. A value that was removed is not looked at again, so the time is linear in the
    text.
    """
    if not names and not prefixes:
        return text
    kept, at, last = list[str](), 0, 0
    while found := _NAME.search(text, at):
        at = found.end()
        name = found[0].strip("-.").lower()
        if not any(each in names or each.startswith(prefixes) for each in (name, name.rpartition(".")[2])):
            continue
        if (between := _BETWEEN.match(text, at)) is None:
            continue
        line = _LINE_BEGINS.search(text[max(0, found.start() - _BEFORE) : found.start()])
        value = (_REST_OF_LINE if line and between[0] == "=" else _WORD).match(text, between.end())
        if value is not None:
            opened = value["escaped"] or value["double"] or value["single"] or ""
            kept += [text[last : value.start()], opened, REMOVED]
            at = last = value.end()
    return "".join((*kept, text[last:]))


SHORTEST: Final = 8
"""Characters: a shorter value may be a part of any text."""
LONGEST: Final = 4_096
"""Characters of a value that are looked for: a text that is looked through has no more."""
MOST: Final = 256
"""Forms of values that are looked for."""
MOST_CHARACTERS: Final = 1 << 19
"""Characters of all forms together: so many forms have 2,048 each."""
_USUAL: Final = re.compile(
    r"(?i:[a-z]{1,15}|[0-9.,:_-]{1,15}|[./~][\w./-]*|[\w-]{1,60}\.(?:json|ya?ml|toml|txt|pem|key))"
)
"""A word, a number, a path or a file: no secret, or not distinct from a usual word."""
_BREAKS: Final = re.compile(r"[\r\n]+")
_PLAIN: Final = re.compile(r"[^\r\n]")
_IN_URL: Final = re.compile(r"%[0-9A-Fa-f]{2}|[^\r\n]")
"""A character of a text, and of one that is quoted as in a URL."""
_URL_SAFE: Final = str.maketrans("+/", "-_")


def secrets_in(environment: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the values of secrets in these variables, each in the forms in which a program prints it.

    A value is a secret if the name of its variable marks it, or if it is the password in a URL, and it is long enough
    and not a usual word, path or number: those are in many texts. The forms are ``repr``, JSON, quoted in a URL, and
    base64, also of a longer text such as ``user:value``.
    """
    found: dict[str, None] = {}
    encoded: dict[str, None] = {}
    for name, value in environment:
        for secret in (value,) if is_secret_name(name) else _passwords(value):
            if len(secret) >= SHORTEST and not _USUAL.fullmatch(secret.strip()) and "$(" not in secret:
                found |= dict.fromkeys(_forms(secret[:LONGEST]))
                encoded |= dict.fromkeys(_in_base64(secret[:LONGEST]))
    forms = found | encoded
    fitting = sum(length <= MOST_CHARACTERS for length in accumulate(map(len, forms)))
    return tuple(forms)[: min(fitting, MOST)]


def without_values(text: str, values: Collection[str]) -> str:
    """Return the text with ``[removed]`` for values of ``secrets_in``, and for parts of one at its beginning or end.

    A value is found although line breaks cut it, as in a key of many lines or a text that was wrapped. The time is
    linear in the text, for each form of a value.
    """
    readings = (_PLAIN, _IN_URL) if "%" in text else (_PLAIN,)
    spans = sorted(span for character in readings for span in _found(text, values, character))
    kept, end = list[str](), 0
    for first, last in spans:
        if first >= end:
            kept += [text[end:first], REMOVED]
        end = max(end, last)
    return "".join((*kept, text[end:]))


def _found(text: str, values: Collection[str], character: re.Pattern[str]) -> list[tuple[int, int]]:
    """Return the places of the values in the text, whose characters are read so."""
    each = character.findall(text) if values else []
    read = "".join(chr(int(one[1:], 16)) if len(one) > 1 else one for one in each)
    spans = [span for value in values for span in _spans(read, value)]
    at = [match.span() for match in character.finditer(text)] if spans else []
    return [(at[first][0], at[last - 1][1]) for first, last in spans]


def _spans(text: str, value: str) -> Iterator[tuple[int, int]]:
    if len(value) < SHORTEST:
        return
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + len(value))
    begins = text.removeprefix("…")[:SHORTEST]
    if len(begins) == SHORTEST and (at := value.find(begins)) > 0 and (rest := value[at:]):
        start = len(text) - len(text.removeprefix("…"))
        if text.startswith(rest, start):
            yield start, start + len(rest)
    ended = text.removesuffix("…")
    if (at := ended.rfind(value[:SHORTEST])) >= 0 and value.startswith(ended[at:]):
        yield at, len(ended)


def _in_base64(value: str) -> Iterator[str]:
    """Yield the part that the base64 of every text with the value has, for each of the three places in it."""
    raw = value.encode(errors="replace")
    for before in range(3):
        whole = b64encode(bytes(before) + raw).decode()
        inner = whole[-(-8 * before // 6) : 8 * (before + len(raw)) // 6]
        yield inner
        yield inner.translate(_URL_SAFE)


def _forms(value: str) -> tuple[str, ...]:
    lines = [line.strip() for line in _BREAKS.split(value)] if "\n" in value else []
    bare = _BREAKS.sub("", value)
    read = bare.encode(errors="replace").decode("latin-1")  # where it was quoted in a URL
    return (
        bare,
        value.encode("unicode_escape").decode(),
        json.dumps(value)[1:-1],
        read,
        read.replace(" ", "+"),
        *(line for line in lines if len(line) >= 2 * SHORTEST),
    )


def _passwords(value: str) -> tuple[str, ...]:
    if "://" not in value or "@" not in value:
        return ()
    try:
        password = urlsplit(value).password or ""
    except ValueError:
        return ()
    return password, unquote(password)


MOST_NODES: Final = 10_000
"""Mappings and lists of a spec that are looked through."""
MOST_NAMES: Final = 1_024
MOST_PREFIXES: Final = 64


class Secrets(NamedTuple):
    """Secrets that are removed from the words of a pod's programs.

    A variable with ``valueFrom.secretKeyRef`` has a name and no value: that only the kubelet knows. Of
    ``envFrom.secretRef`` only the prefix is known.
    """

    values: tuple[str, ...] = ()
    """In the forms in which programs print them."""
    names: frozenset[str] = frozenset()
    """Names of the variables whose values come from a Secret, in lower case."""
    prefixes: tuple[str, ...] = ()
    """Prefixes of the variables of a whole Secret, in lower case."""


NO_SECRETS: Final = Secrets()


def without_secrets(text: str, secrets: Secrets = NO_SECRETS) -> str:
    """Return the text without these secrets, and without what looks like a credential."""
    bare = without_values(text, secrets.values)
    return without_credentials(without_named(bare, secrets.names, secrets.prefixes))


def secrets_of(*specs: Any) -> Secrets:
    """Return the secrets of the containers of pods (core/v1 PodSpec as JSON), which may be of any form."""
    return _secrets(
        container
        for spec in specs
        if isinstance(spec, Mapping)
        for field in ("containers", "initContainers")
        for container in _mappings(spec.get(field))
    )


def secrets_within(spec: Any) -> Secrets:
    """Return the secrets of every environment in a spec of any kind, wherever its pod templates are."""
    return _secrets(_holders(spec))


def _holders(spec: Any) -> Iterator[Mapping[str, Any]]:
    waits, seen = [spec], 0
    while waits and seen < MOST_NODES:
        each, seen = waits.pop(), seen + 1
        if isinstance(each, Mapping):
            if "env" in each or "envFrom" in each:
                yield each
            waits += [inner for inner in each.values() if isinstance(inner, Mapping | list)]
        elif isinstance(each, list):
            waits += [inner for inner in each[:MOST_NODES] if isinstance(inner, Mapping | list)]


def _secrets(holders: Iterable[Mapping[str, Any]]) -> Secrets:
    given: list[tuple[str, str]] = []
    names: dict[str, None] = {}
    prefixes: dict[str, None] = {}
    for holder in holders:
        for one in _mappings(holder.get("env")):
            name, value, source = one.get("name"), one.get("value"), one.get("valueFrom")
            if isinstance(name, str) and isinstance(value, str):
                given.append((name, value))
            elif isinstance(name, str) and isinstance(source, Mapping) and "secretKeyRef" in source:
                names[name.lower()] = None
        for one in _mappings(holder.get("envFrom")):
            prefix = one.get("prefix")
            if "secretRef" in one and isinstance(prefix, str) and prefix:
                prefixes[prefix.lower()] = None
    return Secrets(secrets_in(given), frozenset(list(names)[:MOST_NAMES]), tuple(prefixes)[:MOST_PREFIXES])


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []
