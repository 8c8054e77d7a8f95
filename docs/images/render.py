"""The picture of the terminal in the README: ``python docs/images/render.py`` makes demo.svg of demo.txt.

demo.txt is a recording of ``make demo 2>&1 | cat``, from which lines were removed and none was changed, but for the
path of a log at the end of one line. The colors are those of the terminal.
"""

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE = Path(__file__).parent
COLUMNS = 112
BACKGROUND = (13, 17, 23)
THEME = TerminalTheme(
    BACKGROUND,
    (201, 209, 217),
    [(72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34)] + [(121, 192, 255)] * 4,
)
COLORS = (
    (r"^──.*", "bold"),
    (r"^\$ .*", "bold"),
    (r"^\d\d:\d\d:\d\d", "dim"),
    (r"^\.\.\.$", "dim"),
    (r"\b(Succeeded|Running) ", "green"),
    (r"\b(Pending|Assembling|Restarting) ", "yellow"),
    (r"\bFailed ", "red"),
    (r"missing ranks? \d", "bold red"),
    (r"rank \d is in [^;]*", "bold red"),
    (r"rank 2 \([^()]*\) ended with exit code 137 \(SIGKILL\)", "bold red"),
    (r"Stuck=True|Stuck  RanksMissing|reason=\"RanksMissing\"", "bold red"),
)
# Text keeps its place by its length in the picture, so any monospaced font will do and none is fetched.
PICTURE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>make demo, shortened</title>
<style>
.{unique_id}-matrix {{
    font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
    font-size: {char_height}px;
    line-height: {line_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def colored(line: str) -> Text:
    """A line of the recording as the terminal shows it."""
    text = Text(line)
    for pattern, style in COLORS:
        for found in re.finditer(pattern, line):
            text.stylize(style, *found.span())
    return text


def main() -> None:
    """Make the picture."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), highlight=False)
    for line in (HERE / "demo.txt").read_text(encoding="utf-8").splitlines():
        console.print(colored(line), soft_wrap=False)
    console.save_svg(
        str(HERE / "demo.svg"), title="make demo", theme=THEME, code_format=PICTURE, unique_id="muster-demo"
    )


if __name__ == "__main__":
    main()
