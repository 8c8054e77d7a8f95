"""Removes what looks like a credential from the words of programs, before they are in a sentence, Event, page or log.

An exception prints what it was called with: an environment value, a URL with a password, a header. Three kinds of
detectors, as in the scanners that search repositories for secrets (detect-secrets, gitleaks): names of secret values,
forms that hold a secret (headers, URLs, PEM), and prefixes that the issuers of keys give them. They run in RE2, whose
time is linear in the text; and in the size of a pattern, so no repeat has a large bound.

It is a second guard, and no proof: a secret without a name, a form or a prefix passes.
"""

import re
from functools import cache
from typing import Any, Final

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
    """Return the text with ``[removed]`` for what looks like a credential."""
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
