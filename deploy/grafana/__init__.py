"""The Grafana dashboards of Muster, as code: their JSON is written from here."""
