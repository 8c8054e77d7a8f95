"""``python -m tests.deploy.grafana.pictures [--seconds N]`` draws the dashboards into docs/images.

It starts the cluster, the experiments, musterd and Prometheus of ``tests.deploy.grafana.world``, waits a minute, puts
the queries of the dashboards to Prometheus, and draws what it answers. The pictures are no screenshots of Grafana; a
line in each states that.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from tests.deploy.grafana.answers import Answer, ask, choices
from tests.deploy.grafana.dashboards import ROOT, Dashboard, dashboards
from tests.deploy.grafana.pictures.kinds import KINDS, Frame
from tests.deploy.grafana.pictures.svg import CARD, FAINT, FONT, INK, LINES, PAPER, box, cut, tag, words
from tests.deploy.grafana.world import World, world

COLUMN, ROW, GAP, HEAD = 50, 34, 4, 56
WIDTH = 24 * COLUMN + 2 * GAP
IMAGES = ROOT / "docs" / "images"
SHOWN = {"muster-experiment": ("rank-missing", "restarted")}
"""The experiments that are drawn of a dashboard that shows one at a time."""

LABEL = "Drawn by tests/deploy/grafana/pictures from the data of a live musterd and Prometheus; no Grafana screenshot."


def drawn(dashboard: Dashboard, answers: Mapping[int, list[Answer]], title: str, since: float, until: float) -> str:
    """One dashboard as SVG."""
    parts = [
        words(12, 24, title, 18, INK, font_weight="600"),
        words(12, 44, f"{LABEL} Times are minutes since the start.", 11, FAINT),
    ]
    bottom = 0.0
    for panel in dashboard.content["panels"]:
        place = panel["gridPos"]
        x, y = GAP + place["x"] * COLUMN, HEAD + place["y"] * ROW
        width, height = place["w"] * COLUMN - GAP, place["h"] * ROW - GAP
        bottom = max(bottom, y + height)
        if panel["type"] == "row":
            parts.append(words(x + 6, y + 21, panel["title"], 13, INK, font_weight="600"))
            continue
        parts.append(box(x, y, width, height, CARD, stroke=LINES, rx=3))
        parts.append(words(x + 8, y + 16, cut(panel["title"], width - 12, 12), 12, INK, font_weight="600"))
        frame = Frame(x + 4, y + 24, width - 8, height - 28, since, until)
        parts.append(KINDS[panel["type"]](panel, answers[panel["id"]], frame))
    height = bottom + GAP
    body = tag("title", escape(f"{title}. {LABEL}")) + box(0, 0, WIDTH, height, PAPER) + "\n".join(parts)
    size: dict[str, str | float] = {"viewBox": f"0 0 {WIDTH} {height:.0f}", "width": WIDTH, "height": height}
    return tag("svg", body, xmlns="http://www.w3.org/2000/svg", font_family=FONT, **size) + "\n"


def files(dashboard: Dashboard) -> list[tuple[str, Path]]:
    """The pictures of a dashboard, each with its experiment (empty where all are shown)."""
    name, experiments = dashboard.path.stem, SHOWN.get(dashboard.path.stem)
    if experiments is None:
        return [("", IMAGES / f"{name}.svg")]
    return [(experiment, IMAGES / f"{name}-{experiment}.svg") for experiment in experiments]


async def picture(here: World, dashboard: Dashboard, experiment: str, until: float) -> str:
    """Ask and draw; ``experiment`` is empty for a dashboard that shows them all."""
    every = await choices(here.server, dashboard)
    choice = next(one for one in every if one.get("experiment", "") == experiment)
    answers: dict[int, list[Answer]] = {query.number: [] for query in dashboard.queries}
    for query in dashboard.queries:
        answers[query.number].append(await ask(here.server, query, choice, here.began, until))
    title = dashboard.content["title"] + (f": {choice['namespace']}/{experiment}" if experiment else "")
    return drawn(dashboard, answers, title, here.began, until)


async def main(seconds: float) -> None:
    with tempfile.TemporaryDirectory(prefix="muster-pictures-") as folder:
        async with world(Path(folder)) as here:
            await asyncio.sleep(seconds)
            until = time.time()
            for dashboard in dashboards():
                for experiment, file in files(dashboard):
                    text = await picture(here, dashboard, experiment, until)
                    await asyncio.to_thread(file.write_text, text, "utf-8")
                    sys.stdout.write(f"{file.relative_to(ROOT)}  {len(text) / 1000:.0f} kB\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.deploy.grafana.pictures", description="Draw the dashboards.")
    parser.add_argument("--seconds", type=float, default=60.0, help="wait so long after the last event (default: 60)")
    asyncio.run(main(parser.parse_args().seconds))
