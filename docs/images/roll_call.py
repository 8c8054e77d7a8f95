"""The recordings on docs/reading-the-roll-call.md: ``python docs/images/roll_call.py`` makes them anew, in two minutes.

It starts a local cluster, runs the two examples with real JAX processes, kills a rank of the first, and records what
the commands print in docs/images/roll-call, and the roll-call page at the time of ``stuck``: as HTML, and drawn. The
words are those of the page, the drawing is ours; a test compares the two.
"""

import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from textwrap import wrap

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RECORDINGS = HERE / "roll-call"
PAGES = {"page": "/?refresh=no", "page-of-one": "/experiments/default/missing-rank?refresh=no"}
PAGE = HERE.parent / "reading-the-roll-call.md"
BLOCK = re.compile(
    r'(<!-- recorded: (?P<name>[\w-]+)(?:, from "(?P<first>[^"]+)")?(?:, to "(?P<last>[^"]+)")? -->\n)```\n.*?^```\n',
    re.M | re.S,
)
DAEMON = re.compile(r"http://127[\d.:]+")
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"
WIDTH, MARGIN, LINE, LETTER, COLUMNS, WIDEST = 1200, 20, 19, 8, 144, 60


class PageText(HTMLParser):
    """The words of a page: lines of their own (headings, links), and rows of cells."""

    def __init__(self) -> None:
        """Begin with no row."""
        super().__init__()
        self.rows: list[tuple[str, list[str]]] = []
        self._hidden = False
        self._in_cell = False

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        """Begin a row, a cell, or what is not shown."""
        self._hidden = tag in ("style", "title")
        if tag in ("h1", "nav", "caption", "tr", "dt"):
            self.rows.append((tag, []))
        if tag in ("th", "td", "dt", "dd", "h1", "caption") or (tag == "a" and not self._in_cell):
            self.rows[-1][1].append("")
        self._in_cell = tag in ("th", "td")

    def handle_endtag(self, _tag: str) -> None:
        """End what is not shown."""
        self._hidden = False

    def handle_data(self, data: str) -> None:
        """Add to the cell."""
        if self.rows and self.rows[-1][1] and not self._hidden:
            self.rows[-1][1][-1] += data


def picture(html: str) -> str:
    """The words of a page as a picture: each run of rows is a table, whose last column has what is left."""
    parser = PageText()
    parser.feed(html)
    lines: list[tuple[str, list[tuple[int, str]]]] = []
    for is_table, run in groupby(parser.rows, key=lambda row: row[0] in ("tr", "dt")):
        if is_table:
            lines += aligned([cells for _, cells in run])
        else:
            for tag, cells in run:
                lines += [("", [])] * (tag == "caption")
                lines.append(("" if tag == "nav" else "bold", [(0, "   ".join(cells))]))
    height = LINE * len(lines) + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="{FONT}" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#ffffff" stroke="#8c959f"/>',
    ]
    for number, (style, placed) in enumerate(lines):
        for column, words in placed:
            weight = ' font-weight="700"' if style == "bold" else ""
            colour = "#b3261e" if style == "bad" else "#1f2328"
            place = f'x="{MARGIN + LETTER * column:.0f}" y="{MARGIN + LINE * number + 14}"'
            parts.append(f'<text {place} fill="{colour}"{weight}>{escape(words)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def aligned(rows: list[list[str]]) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Lines of cells, each with its column; cells that are too wide go on below."""
    count = max(map(len, rows))
    widths = [min(max(len(row[i]) for row in rows if len(row) > i), WIDEST) for i in range(count - 1)]
    columns = [sum(widths[:i]) + 3 * i for i in range(count)]
    widths.append(COLUMNS - columns[-1])
    for row in rows:
        style = "bad" if any(words in cell for cell in row for words in ("stuck:", "Warning:")) else ""
        cells = [wrap(cell, width) for cell, width in zip(row, widths, strict=False)]
        for number in range(max(map(len, cells))):
            yield style, [(columns[i], cell[number]) for i, cell in enumerate(cells) if number < len(cell)]


def filled(text: str) -> str:
    """The text of the page with its blocks as they are recorded now."""
    return BLOCK.sub(lambda found: f"{found[1]}```\n{excerpt(found['name'], found['first'], found['last'])}```\n", text)


def excerpt(name: str, first: str | None, last: str | None) -> str:
    """A recording, or what lies between two lines that begin with, or have, these words; ``...`` stands for the rest."""
    command, *lines = (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(first)) if first else 0
    end = next(i for i, line in enumerate(lines) if i >= begin and last in line) + 1 if last else len(lines)
    parts = [command, *["..."] * (begin > 0), *lines[begin:end], *["..."] * (end < len(lines))]
    return "\n".join(parts) + "\n"


class Recorder:
    """Runs commands in a shell's environment and keeps what they print."""

    def __init__(self, home: Path) -> None:
        """Use a cluster with its state in ``home``."""
        self.environment = os.environ | {
            "MUSTER_HOME": str(home),
            "NO_COLOR": "1",
            "COLUMNS": "120",
            "JAX_PLATFORMS": "cpu",
        }
        self.muster = str(Path(sys.executable).with_name("muster"))
        self.environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def run(self, command: str, *, check: bool = True) -> str:
        """What a command prints."""
        program = [self.muster, *command.split()[1:]]
        done = subprocess.run(program, env=self.environment, cwd=ROOT, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise SystemExit(f"{command} exits with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def record(self, name: str, command: str) -> None:
        """Keep a command and what it prints, without spaces at the ends of lines."""
        lines = [f"$ {command}", *(line.rstrip() for line in self.run(command).splitlines())]
        (RECORDINGS / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Make all recordings."""
    RECORDINGS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shell = Recorder(Path(folder))
        up = subprocess.Popen(
            [shell.muster, "local", "up"], env=shell.environment, cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert up.stdout is not None
            up.stdout.readline()  # it is ready
            shell.environment["KUBECONFIG"] = shell.run("muster local status -o kubeconfig").strip()
            found = DAEMON.search(shell.run("muster local status"))
            assert found is not None
            scene(shell, found[0])
        finally:
            up.terminate()
            up.communicate(timeout=60)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def scene(shell: Recorder, address: str) -> None:
    """Run both examples and record them."""
    shell.run("muster submit examples/jax/manifest.yaml --name train")
    shell.run("muster wait train --for Assembled --timeout 2m")
    shell.record("running", "muster get train")
    shell.run("muster local kill train --rank 2")
    shell.run("muster wait train --for Restarting --timeout 1m")
    shell.record("restarting", "muster get train")
    shell.run("muster wait train --timeout 4m")
    shell.record("restarted", "muster explain train")
    shell.run("muster submit examples/jax/missing-rank.yaml --name missing-rank")
    shell.run("muster wait missing-rank --for Stuck --timeout 2m")
    shell.record("stuck", "muster get missing-rank")
    shell.record("stuck-explained", "muster explain missing-rank")
    for name, path in PAGES.items():
        with urllib.request.urlopen(f"{address}{path}", timeout=5) as answer:  # noqa: S310 - of this machine
            html = answer.read().decode()
        (RECORDINGS / f"{name}.html").write_text(html, encoding="utf-8")
        (RECORDINGS / f"{name}.svg").write_text(picture(html), encoding="utf-8")
    shell.run("muster wait missing-rank --timeout 2m", check=False)
    shell.record("ended", "muster explain missing-rank")
    shell.record("list", "muster list")


if __name__ == "__main__":
    main()
