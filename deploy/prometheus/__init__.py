"""The alert and recording rules of Muster, as rows: a plain rule file and the chart's rules are written from them."""
