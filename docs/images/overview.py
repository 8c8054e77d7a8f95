"""The first picture of the README: ``python docs/images/overview.py`` writes overview.svg.

It has a background of its own, so that its text is readable on a light and on a dark page.
"""

from html import escape
from pathlib import Path

HERE = Path(__file__).parent
FONT = 'font-family="ui-sans-serif, system-ui, Segoe UI, Helvetica, Arial, sans-serif"'
INK, SOFT, LINE, PAPER, PANEL, BAD = "#1f2328", "#57606a", "#8c959f", "#ffffff", "#f6f8fa", "#b3261e"

BOXES = (
    (
        20,
        62,
        218,
        132,
        "An AIchor manifest",
        (
            "AIchor: InstaDeep's platform",
            "one file: framework, image,",
            "command, 4 workers, 8 hours;",
            "or an Experiment",
        ),
        INK,
    ),
    (20, 236, 218, 88, "People", ("muster get, logs, explain", "the roll-call page, kubectl"), INK),
    (318, 62, 244, 262, "musterd", (), INK),
    (334, 98, 212, 58, "makes the pods", ("of one gang, and a Service",), SOFT),
    (334, 166, 212, 58, "calls the roll", ("asks the coordinator",), SOFT),
    (334, 234, 212, 74, "decides and says", ("restarts the gang as a whole;", "names rank and cause"), SOFT),
    (642, 62, 298, 132, "The gang: one pod a rank", (), INK),
    (642, 236, 298, 88, "Prometheus and Grafana", ("alerts, each with a runbook;", "dashboards of runs and fleet"), INK),
)
RANKS = (
    (656, "0", "coordinator", INK),
    (726, "1", "arrived", INK),
    (796, "2", "missing", BAD),
    (866, "3", "arrived", INK),
)
ARROWS = (
    (238, 128, 318, 128, "submit", 278, 120),
    (318, 280, 238, 280, "the answer", 278, 272),
    (546, 127, 642, 127, "create", 602, 119),
    (642, 180, 546, 190, "who is there", 602, 206),
    (562, 280, 642, 280, "metrics", 602, 272),
)  # fmt: skip


def text(x: float, y: float, words: str, size: int, colour: str, *, bold: bool = False, middle: bool = False) -> str:
    """A line of text."""
    more = (' font-weight="600"' if bold else "") + (' text-anchor="middle"' if middle else "")
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{colour}"{more}>{escape(words)}</text>'


def picture() -> str:
    """The picture."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 392" {FONT} role="img">',
        "<title>musterd makes the pods, asks which ranks have arrived, and says it to people and to Prometheus</title>",
        '<defs><marker id="head" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto">',
        f'<path d="M0,0 L9,4 L0,8 z" fill="{LINE}"/></marker></defs>',
        f'<rect width="960" height="392" rx="8" fill="{PAPER}" stroke="{LINE}"/>',
        text(20, 38, "Kubernetes, and one daemon in it", 16, INK, bold=True),
    ]
    for x, y, width, height, head, lines, colour in BOXES:
        parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{PANEL}" stroke="{LINE}"/>')
        parts.append(text(x + 14, y + 25, head, 15 if colour == INK else 14, INK, bold=True))
        parts += [text(x + 14, y + 47 + 19 * i, line, 13, SOFT) for i, line in enumerate(lines)]
    for x, rank, state, colour in RANKS:
        dashed = ' stroke-dasharray="4 3"' if colour == BAD else ""
        parts.append(f'<rect x="{x}" y="104" width="62" height="62" rx="5" fill="{PAPER}" stroke="{colour}"{dashed}/>')
        parts.append(text(x + 31, 133, f"rank {rank}", 13, colour, bold=True, middle=True))
        parts.append(text(x + 31, 153, state, 10, colour, middle=True))
    for x1, y1, x2, y2, words, x, y in ARROWS:
        ends = f'x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"'
        parts.append(f'<line {ends} stroke="{LINE}" stroke-width="1.5" marker-end="url(#head)"/>')
        parts.append(text(x, y, words, 11, SOFT, middle=True))
    said = "3/4 ranks arrived; missing rank 2 (train-worker-0-2-x7k2p, running, but it has not called the coordinator)"
    parts.append(text(480, 363, said, 14, BAD, bold=True, middle=True))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    (HERE / "overview.svg").write_text(picture(), encoding="utf-8")
